package web

import (
	"fmt"
	"strings"
	"testing"

	"curt/server/link"
)

// E03, E24, Q02, Q09: the query is appended; the target is never written anew.
func TestForward(t *testing.T) {
	f := func(target, query, want string) {
		t.Helper()
		got, ok := forward([]byte("kept"), target, []byte(query), 2048)
		equal(t, target+" + "+query, fmt.Sprint(ok, string(got)), fmt.Sprint(want != "", "kept"+want))
	}
	f("https://h.test/", "", "")
	f("https://h.test/", "a=1", "https://h.test/?a=1")
	f("https://h.test", "a=1", "https://h.test?a=1")
	f("https://h.test/?b=2&a=1&flag&x=%2B;y", "utm=1", "https://h.test/?b=2&a=1&flag&x=%2B;y&utm=1")
	f("https://h.test/?a=1#frag?x", "b=2", "https://h.test/?a=1&b=2#frag?x")
	f("https://h.test/#frag?x", "b=2", "https://h.test/?b=2#frag?x")
	f("https://h.test/#", "b=2", "https://h.test/?b=2#")
	f("https://h.test/?", "b=2", "https://h.test/?b=2")
	f("https://h.test/?#x", "b=2", "https://h.test/?b=2#x")
	f("https://h.test/?a&", "b=2", "https://h.test/?a&b=2")
	f("https://h.test/?q=what?", "b=2", "https://h.test/?q=what?&b=2")
	f("https://h.test/??", "b=2", "https://h.test/??&b=2")
	f("https://h.test/?q=what?#?", "b=2", "https://h.test/?q=what?&b=2#?")
	f("https://h.test/", "a%20b=1", "https://h.test/?a%20b=1")
	f("https://h.test/", "%0d%0aX:y", "https://h.test/?%0d%0aX:y")
	f("https://h.test/", "a=\r\nX: y", "https://h.test/?a=%0D%0AX:%20y")
	f("https://h.test/", "a=\x00\x7f\xff é", "https://h.test/?a=%00%7F%FF%20%C3%A9")
	f("https://h.test/", "a=#b", "https://h.test/?a=%23b")
	f("https://h.test/", `"<script>`, "https://h.test/?%22%3Cscript%3E")
	f("https://h.test/", "?a&&b==c;d+e%zz[]{}|\\^`'!$()*,/:@", "https://h.test/??a&&b==c;d+e%zz[]{}|\\^`'!$()*,/:@")
	f("https://h.test/", "//evil.test/", "https://h.test/?//evil.test/")
	f("https://h.test/", "url=https://evil.test/", "https://h.test/?url=https://evil.test/")
	long := strings.Repeat("x", 2048-len("https://h.test/?"))
	f("https://h.test/", long, "https://h.test/?"+long)
	f("https://h.test/", long+"x", "")
	f("https://h.test/", long[:len(long)-1]+"<", "")
}

func TestForwardedQuery(t *testing.T) {
	links := usual()
	s := start(t, Options{Links: links, MaxURLBytes: 60})
	location := func(target string) string { return s.get(t, target).get("Location") }
	equal(t, "flag", location("/forward?y=2"), "https://example.com/f?x=1&y=2#frag")
	equal(t, "flag, slash", location("/forward/?y=%2B+;z"), "https://example.com/f?x=1&y=%2B+;z#frag")
	equal(t, "flag, no query", location("/forward"), "https://example.com/f?x=1#frag")
	equal(t, "flag, empty query", location("/forward?"), "https://example.com/f?x=1#frag")
	equal(t, "flag, absolute form", location("http://s.test/forward?y"), "https://example.com/f?x=1&y#frag")
	equal(t, "too long", location("/forward?"+strings.Repeat("y", 60)), "https://example.com/f?x=1#frag")
	equal(t, "no flag", location("/live?y=2"), "https://example.com/a?b=c#d")
	equal(t, "raw UTF-8", location("/forward?\xc3\xa9"), "https://example.com/f?x=1&%C3%A9#frag")
	equal(t, "HEAD", s.ask(t, "HEAD", "/forward?y=2").get("Location"), "https://example.com/f?x=1&y=2#frag")
	for _, control := range []string{"\r", "\t", "\x00", "\x7f"} {
		equal(t, fmt.Sprintf("%q", control), s.get(t, "/forward?a="+control+"b").status, 400)
	}
	s = start(t, Options{Links: links, ForwardQuery: true})
	equal(t, "option", location("/live?y=2"), "https://example.com/a?b=c&y=2#d")
	equal(t, "fallbacks get none", s.get(t, "/nothing?y=2").get("Location"), "")
	// A long one does not stay with the connection.
	long := strings.Repeat("y", 1500)
	equal(t, "long", location("/live?"+long), "https://example.com/a?b=c&"+long+"#d")
}

func FuzzForward(f *testing.F) {
	f.Add("https://h.test/?a#b", "x=y")
	f.Add("https://h.test/", "\r\n#\xff")
	f.Fuzz(func(t *testing.T, target, query string) {
		got, ok := forward(nil, target, []byte(query), 300)
		if !ok {
			if len(got) != 0 {
				t.Fatalf("%q left", got)
			}
			return
		}
		base, fragment, _ := strings.Cut(target, "#")
		rest, isPrefix := strings.CutPrefix(string(got), base)
		if !isPrefix || len(got) > 300 || !strings.HasSuffix(rest, fragment) {
			t.Fatalf("%q + %q = %q", target, query, got)
		}
		if _, stored, _ := strings.Cut(base, "?"); stored != "" && !strings.HasSuffix(stored, "&") && rest[0] != '&' {
			t.Fatalf("%q runs into %q: %q", query, target, got)
		}
		rest = strings.TrimSuffix(rest, fragment)
		for i, c := range []byte(strings.TrimSuffix(rest, "#")) {
			if c <= ' ' || c >= 0x7f || c == '#' {
				t.Fatalf("byte %d of %q in %q", i, rest, got)
			}
		}
	})
}

// A forwarding connection goes on to other links.
func TestForwardScratch(t *testing.T) {
	c := &conn{}
	short := &link.Target{URL: "https://h.test/"}
	equal(t, "1", string(c.forward(short.URL, []byte(strings.Repeat("a", 9000)), 65536)), "https://h.test/?"+strings.Repeat("a", 9000))
	equal(t, "2", string(c.forward(short.URL, []byte("b"), 65536)), "https://h.test/?b")
	if cap(c.scratch) > keepScratch {
		t.Errorf("%d bytes kept", cap(c.scratch))
	}
	equal(t, "3", string(c.forward(short.URL, nil, 65536)), "https://h.test/")
}
