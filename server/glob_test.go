package server

import (
	"strings"
	"testing"
)

// TestGlob has the answers of redis-server 7 to KEYS with the same patterns.
func TestGlob(t *testing.T) {
	f := func(pattern, s string, want bool) {
		t.Helper()
		if got := globMatch(pattern, s); got != want {
			t.Errorf("globMatch(%q, %q) = %v", pattern, s, got)
		}
	}
	f("", "", true)
	f("", "a", false)
	f("*", "", true)
	f("**", "abc", true)
	f("a*c", "abbc", true)
	f("a*c", "abbd", false)
	f("*a*b*", "xxaxxbxx", true)
	f("h?llo", "hello", true)
	f("h?llo", "hllo", false)
	f("h[ae]llo", "hallo", true)
	f("h[ae]llo", "hillo", false)
	f("h[^e]llo", "hallo", true)
	f("h[^e]llo", "hello", false)
	f("h[a-c]llo", "hbllo", true)
	f("h[c-a]llo", "hbllo", true)
	f("h[a-c]llo", "hdllo", false)
	f(`a\*c`, "a*c", true)
	f(`a\*c`, "abc", false)
	f(`a\`, `a\`, true)
	f(`[\]]`, "]", true)
	f("a[bc", "ab", true)
	f("a[bc", "ad", false)
	f("a[", "ab", false)
	f("abc", "ABC", false)
	f(strings.Repeat("*a", 50)+"b", strings.Repeat("a", 10_000), false) // must end soon
}
