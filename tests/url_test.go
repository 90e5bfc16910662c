package tests

import (
	"strings"
	"testing"

	"curt/server"
)

// TestTargetStaysAsGiven: what was submitted is what a browser is sent, on every way in. Where want is empty it is url.
func TestTargetStaysAsGiven(t *testing.T) {
	n := start(t)
	for _, c := range []struct{ name, url, want string }{
		{"E01 a parameter without value", "https://example.com/?abc#123", ""},
		{"E01 several", "https://example.com/?a&b=&=c&&d", ""},
		{"E02 a parameter name of digits", "https://example.com/?123=foo", ""},
		{"E04 plus in a query", "https://example.com/?abc+123", ""},
		{"E04 plus and parentheses in a path", "https://example.com/wiki/2+2_(TV)", ""},
		{"E05 an escaped plus is no plus", "https://example.com/?d=aGk%2BaGk%2FaGk%3D&e=%2b", ""},
		{"E06 quotes and emoji, escaped", "https://github.com/x/y/issues?q=is%3Aissue+%22%F0%9F%99%8B%20hello%22+label%3A%22good%20first%20issue%22", ""},
		{"E07 an escaped space", "https://example.com/bad%20space/?q=a%20b#c%20d", ""},
		{"E08 escapes of escapes", "https://example.com/?ued=https%3A%2F%2Fa%2F%3Fq%3Dx%2520y%253D", ""},
		{"E09 an escaped line end is data", "https://example.com/?cct=%24+1%0Ar+2%0D%0A", ""},
		{"E10 an escaped Arabic path", "https://example.com/%D9%85%D9%82", ""},
		{"E10 a raw Arabic path is escaped once", "https://example.com/مق", "https://example.com/%D9%85%D9%82"},
		{"E11 a fragment", "https://example.com/#150/155", ""},
		{"E11 a fragment like a query", "https://example.com/#/a?b=c&d=e", ""},
		{"E11 an empty fragment", "https://example.com/a#", ""},
		{"E12 a backslash in a query", `https://example.com/?q=a\b\\c`, ""},
		{"E12 a backslash in a fragment", `https://example.com/404#[[0,1,'a\\'b']]`, ""},
		{"E12 quotes in a fragment are escaped as browsers do", `https://example.com/404#[[0,1,"a\\"b"]]`, `https://example.com/404#[[0,1,%22a\\%22b%22]]`},
		{"E17 S3", "https://bucket.s3.amazonaws.com/k%20ey?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIA%2F20300101%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=9f%2B%2F%3D", ""},
		{"E17 Azure SAS", "https://acc.blob.core.windows.net/c/b?sv=2022-11-02&st=2030-01-01T00%3A00%3A00Z&sr=b&sp=r&sig=a%2B%2Bb%2Fc%2Fd%3D", ""},
		{"E17 GCS", "https://storage.googleapis.com/b/o?X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-SignedHeaders=host&X-Goog-Signature=0a%2f1B", ""},
		{"E18 escaped spaces and a slash", "https://example.com/a%20%2F%20b", ""},
		{"E18 a raw space is escaped once", "https://example.com/a b%20%2F%20c?d e#f g", "https://example.com/a%20b%20%2F%20c?d%20e#f%20g"},
		{"E23 lower-case escapes", "https://example.com/foo%2f/bar%e2%82%ac", ""},
		{"E25 a percent sign that escapes nothing", "https://example.com/100%?a=%zz#%", ""},
		{"E25 the last port", "https://example.com:65535/", ""},
		{"a path is not cleaned", "https://example.com/a//b/;x=1/c~d,e!f$g*h", ""},
		{"sub-delimiters in a query", "https://example.com/?a=1;b=2&c[]=3&d={x}|y^z`", ""},
		{"another URL in the path", "https://web.example.org/web/2020/http://bbc.example.com/", ""},
		{"the odd ending of id", "https://example.com/index.php/id", ""},
		{"blanks around a paste", " \r\n\thttps://example.com/pasted \n", "https://example.com/pasted"},
		{"markup", `https://example.com/?q="><script>alert(1)</script>`, `https://example.com/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`},
		{"a template that looks like Redis", "https://example.com/{tag}*2\r\n", "https://example.com/%7Btag%7D*2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = c.url
			}
			kept(t, n, c.url, want, nil)
		})
	}
}

// TestEditsLeaveTheTargetAlone: a change of anything else does not encode the target again.
func TestEditsLeaveTheTargetAlone(t *testing.T) { // E07, E21
	n := start(t)
	const url = `https://example.com/bad%20space/%2520?q=a\b+%2B#%22`
	kept(t, n, url, url, func(code string) {
		n.Must("EXPIRE", code, "1000")
		n.Must("PERSIST", code)
		n.Must("BAN", code)
		n.Must("UNBAN", code)
	})
	n.Must("SHORTEN", url, "AS", "name")
	n.Must("RENAME", "name", "other-name")
	n.wantTarget("other-name", url)
	n.Restart()
	n.wantTarget("other-name", url)
	n.Crash(0, 1)
	n.wantTarget("other-name", url)
}

// TestLongTargets: stored whole or refused, never cut.
func TestLongTargets(t *testing.T) { // E20
	const prefix = "https://example.com/"
	long := func(n int) string { return prefix + strings.Repeat("a", n-len(prefix)) }
	t.Run("default", func(t *testing.T) {
		n := start(t)
		kept(t, n, long(2048), long(2048), nil)
		for _, size := range []int{2049, 8 << 10, 64 << 10} {
			refused(t, n, long(size), "too_long")
		}
	})
	t.Run("nearly a megabyte", func(t *testing.T) {
		start(t).WantError("BADURL too_long: ", "SHORTEN", long(1<<20-1))
	})
	t.Run("64 KiB", func(t *testing.T) {
		n := start(t, func(o *server.Options) { o.MaxURLBytes = 64 << 10 })
		for _, size := range []int{2049, 8 << 10, 64 << 10} {
			kept(t, n, long(size), long(size), nil)
		}
		refused(t, n, long(64<<10+1), "too_long")
	})
}

// TestBadTargets: one check for every way in.
func TestBadTargets(t *testing.T) { // V03
	n := start(t, func(o *server.Options) { o.BaseURL = "https://sho.rt" })
	for _, c := range []struct{ name, url, reason string }{
		{"E12 a backslash in a host", `http://exa\mple.com`, "single_label"}, // as browsers read it: host exa, path /mple.com
		{"E19 a byte that is not UTF-8", "http://e.example.com/\xb7", "bad_utf8"},
		{"E25 a port too high", "http://example.com:99999/", "bad_port"},
		{"E25 a port that is no number", "http://example.com:8o/", "bad_port"},
		{"E25 a bad escape in a host", "http://%zz.example.com/", "bad_host"},
		{"E25 DEL", "http://example.com/\x7f", "control_char"},
		{"V01 no scheme", "example.com/x", "bad_scheme"},
		{"V01 no scheme, two slashes", "//example.com/x", "bad_scheme"},
		{"V01 a port that looks like a path of a scheme", "example.com:8080/x", "bad_scheme"},
		{"V01 only a path", "/etc/passwd", "bad_scheme"},
		{"V02 javascript", "javascript:alert(1)", "bad_scheme"},
		{"V02 in mixed case", "JaVaScRiPt:alert(1)", "bad_scheme"},
		{"V02 after a tab", "\tjavascript:alert(1)", "bad_scheme"},
		{"V02 with a tab inside", "java\tscript:alert(1)", "control_char"},
		{"V02 data", "data:text/html,<script>alert(1)</script>", "bad_scheme"},
		{"V02 vbscript", "vbscript:msgbox(1)", "bad_scheme"},
		{"V02 file", "file:///etc/passwd", "bad_scheme"},
		{"V09 our own host", "https://sho.rt/abc", "self"},
		{"V09 with www.", "https://www.sho.rt/", "self"},
		{"V09 with a port", "http://sho.rt:8443/", "self"},
		{"V09 in capitals", "https://SHO.RT/x", "self"},
		{"V09 with a trailing dot", "https://sho.rt./x", "self"},
		{"V09 in full-width letters", "https://ｓｈｏ。ｒｔ/x", "self"},
		{"V11 a scheme twice", "http://http://example.com/", "single_label"},
		{"V11 a scheme twice, with a public look", "https://https//example.com", "single_label"},
		{"Z02 a line end", "https://example.com/\r\nSet-Cookie: a=b", "control_char"},
		{"Z02 a bare LF", "https://example.com/\nx", "control_char"},
		{"Z02 NUL", "https://example.com/\x00", "control_char"},
		{"credentials", "https://user:secret@example.com/", "credentials"},
		{"a private address", "http://10.1.2.3/", "private_address"},
		{"a private address as a number", "http://0x7f000001/", "private_address"},
		{"a mapped private address", "http://[::ffff:127.0.0.1]/", "private_address"},
		{"a local name", "http://db.internal/", "local_name"},
		{"a name without a dot", "http://build-server/", "single_label"},
		{"a port that browsers refuse", "http://example.com:6667/", "unsafe_port"},
		{"no host", "http:///", "bad_host"},
		{"nothing", "", "empty"},
		{"blanks", " \t\r\n", "empty"},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, n, c.url, c.reason) })
	}
}

// TestAnErrorQuotesNothing: what a client sent does not come back in an error, so that a reply stays one reply.
func TestAnErrorQuotesNothing(t *testing.T) { // Z03
	n := start(t)
	for _, words := range [][]string{
		{"SHORTEN", "http://a/\r\n+OK"},
		{"SHORTEN", "https://example.com/", "AS", "a\r\n+OK"},
		{"SHORTEN", "https://example.com/", "\r\n+OK"},
		{"SHORTEN", "https://example.com/", "TENANT", "\r\n+OK"},
		{"\r\n+OK"},
		{"NOSUCH\r\n+OK", "\r\n+OK", "\n$3\r\nfoo\r\n"},
		{"CLIENT", "\r\n+OK"},
		{"CLIENT", "SETINFO", "\r\n+OK", "x"},
		{"CLIENT", "SETNAME", "a\r\n+OK"},
		{"HELLO", "3", "\r\n+OK"},
		{"EXPIRE", "a", "1", "\r\n+OK"},
		{"BAN", "a\r\n+OK"},
		{"CONFIG", "\r\n+OK"},
	} {
		c := n.Dial()
		if r := c.Do(words...); !r.isError() || strings.Count(c.Raw(), "\r\n") != 1 {
			t.Errorf("%q answers %q", words, c.Raw())
		}
		if r := c.Do("ECHO", "\r\n+OK\r\n"); r.text != "\r\n+OK\r\n" || c.in.Buffered() != 0 {
			t.Errorf("after %q ECHO answers %q", words, c.Raw())
		}
	}
}
