package weburl

import "testing"

func TestLooseKey(t *testing.T) {
	f := func(target, want string) {
		t.Helper()
		if got := LooseKey(target); got != want {
			t.Errorf("LooseKey(%q) = %q, want %q", target, got, want)
		}
		if got := LooseKey(want); got != want {
			t.Errorf("LooseKey(%q) = %q, want it unchanged", want, got)
		}
	}
	f("https://x.example/", "https://x.example/")
	f("https://x.example.:8080/a/", "https://x.example:8080/a")
	f("http://[2606:4700::1]:8080/", "http://[2606:4700::1]:8080/")
	f("https://x.example//", "https://x.example//")
	f("https://x.example/a//", "https://x.example/a//")
	f("https://x.example/a/?#", "https://x.example/a")
	f("https://x.example/a/#b/", "https://x.example/a#b/")
	f("https://x.example/%7e%2d%2f%41%c3", "https://x.example/~-%2FA%C3")
	f("https://x.example/%%37E", "https://x.example/%%37E") // not %7E
	f("https://x.example/?b&a=2&a=1&=&&c", "https://x.example/?=&a=2&a=1&b&c")
	f("https://x.example/?%61=2&B=1", "https://x.example/?B=1&a=2")
	f("https://x.example/?utm_source=x&utm_=&gclid=1&mc_eid=2", "https://x.example/")
	f("https://x.example/?utm%5fsource=x&id=1", "https://x.example/?id=1")
	f("https://x.example/?xutm_source=x&utm=1", "https://x.example/?utm=1&xutm_source=x")
	f("https://x.example/?a=b=c&a=+%20", "https://x.example/?a=b=c&a=+%20")
	f("https://x.example/#?utm_source=x&b&a", "https://x.example/#?utm_source=x&b&a")
	f("https://x.example/a?u=http://y.example/b/", "https://x.example/a?u=http://y.example/b/")
}

func TestLooseKeyLeavesSignedQueries(t *testing.T) {
	for _, query := range []string{
		"utm_source=x&sig=1", "z=1&a=2&X-Amz-Signature=1", "utm_source=x&x-goog-algorithm=1", "b&a&Signature=%2f", "b&a&Expires=1",
		"b&a&url_sig=1", "b&a&page-hmac=1", "b&a&Policy=x", "b&a&%73ig=1",
	} {
		target := "https://x.example/p?" + query
		if got := LooseKey(target); got != target {
			t.Errorf("LooseKey(%q) = %q", target, got)
		}
	}
	for _, query := range []string{"b&a&design=1", "b&a&sigma=1", "b&a=sig", "b&a&expires_in=1"} {
		target := "https://x.example/p?" + query
		if LooseKey(target) == target {
			t.Errorf("LooseKey(%q) is unsorted", target)
		}
	}
}
