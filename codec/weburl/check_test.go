package weburl

import (
	"errors"
	"strings"
	"sync"
	"testing"
)

// testTarget expects raw to be accepted as want, which is its own target.
func testTarget(t *testing.T, p *Policy, raw, want string) {
	t.Helper()
	got, err := p.Check(raw)
	if err != nil || got != want {
		t.Errorf("Check(%.200q) = %.200q, %v; want %.200q", raw, got, err, want)
		return
	}
	if again, err := p.Check(got); err != nil || again != got {
		t.Errorf("Check(%.200q) = %.200q, %v; want it unchanged", got, again, err)
	}
}

// testRefused expects raw to be refused for the given reason, in one line that
// repeats nothing of a long input.
func testRefused(t *testing.T, p *Policy, raw string, want Reason) {
	t.Helper()
	got, err := p.Check(raw)
	var e *Error
	if !errors.As(err, &e) || e.Reason != want || got != "" {
		t.Errorf("Check(%.200q) = %.200q, %v; want %s", raw, got, err, want)
		return
	}
	line := e.Error()
	if !strings.HasPrefix(line, string(want)+": ") || len(e.Explanation) < 10 || strings.ContainsAny(line, "\r\n") {
		t.Errorf("Check(%.200q): poor explanation %q", raw, line)
	}
}

func keep(t *testing.T, urls ...string) {
	t.Helper()
	for _, url := range urls {
		testTarget(t, &Policy{}, url, url)
	}
}

func refuse(t *testing.T, want Reason, urls ...string) {
	t.Helper()
	for _, url := range urls {
		testRefused(t, &Policy{}, url, want)
	}
}

// E01 E02 E04 E05 E06 E08 E09 E17
func TestQueryKeptVerbatim(t *testing.T) {
	keep(t,
		"https://g.example/?abc#123", "https://x.example/?abc", "https://x.example/?123=foo",
		"https://x.example/?abc+123", "https://x.example/?a&b=&=c&&d",
		"https://x.example/?sig=ab%2Bcd%2Fef%3D%3D&t=a+b",
		"https://x.example/issues?q=is%3Aissue+%22%F0%9F%99%8B+help%22",
		"https://x.example/?ued=https%3A%2F%2Fa%2F%3Fq%3Dx%2520y",
		"https://x.example/?cct=%24+1%0Ar+2",
		"https://x.example/?a=1;b=2", "https://x.example/?f[gh]=1",
		"https://bucket.s3.example/k?X-Amz-Signature=ab12&X-Amz-Credential=A%2F20260101%2Fus-east-1%2Fs3%2Faws4_request",
		"https://acc.blob.example/c/b?sv=2024&se=2026-01-01T00%3A00%3A00Z&sig=a%2B%2B%2Fb%3D",
		"https://storage.example/b/o?GoogleAccessId=x%40y.example&Expires=1&Signature=a%2Fb%3D",
	)
}

// E04 E07 E10 E21 E23
func TestEscapesKeptVerbatim(t *testing.T) {
	keep(t,
		"https://x.example/bad%20space/", "https://x.example/%2520", "https://x.example/%D9%85%D9%82",
		"https://h.example/foo%2f/bar", "https://h.example/foo%2F/bar", "https://x.example/wiki/2+2_(TV)",
		"https://x.example/%7Ejoe/~joe", "https://x.example/100%", "https://x.example/%zz", "https://x.example/%25ad",
	)
}

// E11 E12
func TestFragmentKeptVerbatim(t *testing.T) {
	keep(t,
		"https://x.example/#150/155", "https://x.example/#", "https://x.example/a?#", "https://x.example/#a#b?c",
		`https://x.example/404#[[0,1,a\\b]]`, `https://x.example/?q=a\b#c\d`, "https://x.example/#%0A%20",
	)
	testTarget(t, &Policy{}, `https://x.example/404#[[0,1,"a\\"b"]]`, `https://x.example/404#[[0,1,%22a\\%22b%22]]`)
}

// E12
func TestBackslashReadAsBrowsersDo(t *testing.T) {
	refuse(t, SingleLabel, `http://exa\mple.com/`)
	testTarget(t, &Policy{}, `http://example.com\a\..\b`, "http://example.com/b")
	testTarget(t, &Policy{}, `http:\\example.com`, "http://example.com/")
	refuse(t, PrivateAddress, `http://127.0.0.1\@example.com/`)
}

// E18
func TestRawSpaceEncodedOnce(t *testing.T) {
	testTarget(t, &Policy{}, "https://x.example/a b%20c?d e#f g", "https://x.example/a%20b%20c?d%20e#f%20g")
	refuse(t, BadHost, "https://x y.example/")
}

// E19
func TestOnlyUTF8(t *testing.T) {
	refuse(t, BadUTF8, "http://e.example/\xb7", "http://e.example/\xed\xa0\x80", "\xff")
	testTarget(t, &Policy{}, "http://e.example/\u00b7", "http://e.example/%C2%B7")
	refuse(t, BadHost, "http://%b7.example/", "http://a%ed%a0%80.example/")
}

// E20
func TestLengthCountsTheSerialisation(t *testing.T) {
	const prefix = "https://x.example/"
	fits := prefix + strings.Repeat("a", DefaultMaxBytes-len(prefix))
	keep(t, fits)
	refuse(t, TooLong, fits+"a", prefix+strings.Repeat("é", 400), strings.Repeat(" ", 8193), strings.Repeat("\xff", 8193))
	testTarget(t, &Policy{}, strings.Repeat(" ", 6000)+fits, fits)

	big := &Policy{MaxBytes: 64 << 10}
	fits = prefix + strings.Repeat("a", 64<<10-len(prefix))
	testTarget(t, big, fits, fits)
	testRefused(t, big, fits+"a", TooLong)
	testRefused(t, big, strings.Repeat(" ", 4*64<<10)+"a", TooLong)

	small := &Policy{MaxBytes: 30}
	testTarget(t, small, prefix+"aaaaaaaaaaaa", prefix+"aaaaaaaaaaaa")
	testRefused(t, small, prefix+"aaaaaaaaaaaaa", TooLong)
	testTarget(t, small, strings.Repeat(" ", 8000)+prefix, prefix)
}

// E25
func TestPorts(t *testing.T) {
	refuse(t, BadPort, "http://x.example:99999/", "http://x.example:65536/", "http://x.example:8a/",
		"http://x.example:-1/", "http://x.example:+80/", "http://x.example: 80/", "http://x.example:80:80/",
		"http://x.example:"+strings.Repeat("9", 400)+"/")
	refuse(t, UnsafePort, "http://x.example:0/", "http://x.example:22/", "https://x.example:25/",
		"http://x.example:6667/", "http://x.example:10080/")
	keep(t, "http://x.example:65535/", "http://x.example:443/", "https://x.example:80/")
	testTarget(t, &Policy{}, "http://x.example:/", "http://x.example/")
	testTarget(t, &Policy{}, "http://x.example:000080/", "http://x.example/")
	testTarget(t, &Policy{}, "https://x.example:443/", "https://x.example/")
}

// E15 V01 V02
func TestOnlyHTTP(t *testing.T) {
	refuse(t, BadScheme, "example.com/x", "//example.com/x", "/x", "localhost:8080", "javascript:alert(1)",
		"JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "mailto:a@b.example",
		"httpss://x.example/", "http//x.example/", "http", "ht tp://x.example/", "view-source:http://x.example/",
		"http\u017f://x.example/", "ftp://x.example/")
	refuse(t, SingleLabel, "https://omg")
	refuse(t, ControlChar, "java\tscript:alert(1)")
}

// V11
func TestDoubledScheme(t *testing.T) {
	refuse(t, SingleLabel, "http://http://x.example/", "http:https://x.example/")
}

// V03: the verdict depends on the text alone, whoever asks, also at once.
func TestCheckConcurrent(t *testing.T) {
	p := &Policy{Self: []string{"sho.rt"}}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				testTarget(t, p, "https://Bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4")
				testRefused(t, p, "https://sho.rt/x", Self)
			}
		})
	}
	wg.Wait()
}

// V09
func TestOwnHostRefused(t *testing.T) {
	p := &Policy{Self: []string{"sho.rt", "www.kürz.example", "[2606:4700::1]"}}
	for _, url := range []string{
		"https://sho.rt/a", "http://SHO.RT./a", "http://www.sho.rt:8080/", "http://ｓｈｏ。ｒｔ/", "http://sh%6F.rt/",
		"https://kürz.example/", "https://www.KÜRZ.example", "https://xn--krz-hoa.example/", "https://XN--KRZ-HOA.example./",
		"http://[2606:4700:0::1]:8080/",
	} {
		testRefused(t, p, url, Self)
	}
	testTarget(t, p, "https://notsho.rt/", "https://notsho.rt/")
	testTarget(t, p, "https://x.sho.rt/", "https://x.sho.rt/")
	testTarget(t, p, "https://sho.rt.example/", "https://sho.rt.example/")
}

// Z02 E09
func TestControlCharacters(t *testing.T) {
	for c := range 0x20 {
		refuse(t, ControlChar, "https://x.example/a"+string(rune(c))+"b", "https://x"+string(rune(c))+".example/")
	}
	refuse(t, ControlChar, "https://x.example/\x7fb", "https://x.example/\x00", "\x0bhttps://x.example/",
		"http://x.example/\r\nSet-Cookie: a=b")
	testTarget(t, &Policy{}, "\r\n\t https://x.example/ \t\r\n", "https://x.example/")
	keep(t, "https://x.example/%0D%0ASet-Cookie:%20a=b")
}

func TestEmpty(t *testing.T) {
	refuse(t, Empty, "", " ", "\r\n", " \t \n")
}

func TestCredentials(t *testing.T) {
	refuse(t, Credentials, "https://u@x.example/", "https://u:secret@x.example/", "https://:p@x.example/",
		"https://good.example@evil.example/", "https://a@b@x.example/", "https://::@x.example/")
	testTarget(t, &Policy{}, "https://@x.example/", "https://x.example/")
	testTarget(t, &Policy{}, "https://:@x.example/", "https://x.example/")
	_, err := (&Policy{}).Check("https://u:secret@x.example/")
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the password is told: %v", err)
	}
}

func TestDotSegments(t *testing.T) {
	f := func(path, want string) {
		t.Helper()
		testTarget(t, &Policy{}, "https://x.example"+path, "https://x.example"+want)
	}
	f("", "/")
	f("/.", "/")
	f("/..", "/")
	f("/../..", "/")
	f("/../a", "/a")
	f("/a/..", "/")
	f("/a/.", "/a/")
	f("/a/./b", "/a/b")
	f("/a/../b", "/b")
	f("/a//../b", "/a/b")
	f("//..", "/")
	f("//", "//")
	f("/a/b/%2e%2E", "/a/")
	f("/a/%2e/b", "/a/b")
	f("/a/.%2e/b", "/b")
	f("/...", "/...")
	f("/.a/..b", "/.a/..b")
	f("/a%2f..", "/a%2f..")
	f("/%2e%2e%2e", "/%2e%2e%2e")
	f("?..", "/?..")
}

func TestOrderOfReasons(t *testing.T) {
	f := func(raw string, want Reason) {
		t.Helper()
		testRefused(t, &Policy{Self: []string{"sho.rt"}}, raw, want)
	}
	f(strings.Repeat("\xff", 9000), TooLong)
	f("\xff\x00", BadUTF8)
	f("ftp://\x01", ControlChar)
	f("http://user@:99999/", BadHost)
	f("http://user@127.0.0.1:99999/", BadPort)
	f("http://user@127.0.0.1:22/"+strings.Repeat("a", 2048), TooLong)
	f("http://user@127.0.0.1:22/", Credentials)
	f("http://127.0.0.1:22/", PrivateAddress)
	f("http://localhost:22/", LocalName)
	f("http://wiki:22/", SingleLabel)
	f("http://sho.rt:22/", Self)
	f("http://x.example:22/", UnsafePort)
}

func TestValidate(t *testing.T) {
	if err := (&Policy{MaxBytes: 100, Self: []string{"sho.rt", "::1", "kürz.example"}}).Validate(); err != nil {
		t.Error(err)
	}
	if (&Policy{MaxBytes: -1}).Validate() == nil {
		t.Error("a negative limit passes")
	}
	if (&Policy{Self: []string{"https://sho.rt/"}}).Validate() == nil {
		t.Error("a URL passes as own host")
	}
}
