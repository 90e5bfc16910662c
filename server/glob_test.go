package server

import (
	"math/rand/v2"
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

// TestShortGlob: what is shorter fits the same.
func TestShortGlob(t *testing.T) {
	f := func(pattern string) {
		t.Helper()
		short := shortGlob(pattern)
		if len(short) > len(pattern)+32 {
			t.Errorf("shortGlob(%q) = %q", pattern, short)
		}
		for c := range 256 {
			for _, s := range []string{string([]byte{byte(c)}), string([]byte{byte(c), 'x'}), string([]byte{'x', byte(c)})} {
				if want := globMatch(pattern, s); globMatch(short, s) != want {
					t.Fatalf("%q: globMatch(%q, %q) = %v", pattern, short, s, !want)
				}
			}
		}
	}
	f("")
	f("**?***")
	f(`\\**`)
	f("[" + strings.Repeat("a", 1000))
	f("[^" + strings.Repeat("a", 1000))
	f("[^" + strings.Repeat("a", 1000) + "]x**")
	f("[" + strings.Repeat(`\]`, 1000) + `\\]`)
	f("[^" + strings.Repeat("\x00-\xff", 100) + "]")
	f("x[" + strings.Repeat("a", 100) + "]]")
	random := rand.New(rand.NewPCG(1, 2))
	const signs = `[]^-\*?ax` + "\x00\x7f\x80\xfe\xff"
	for range 3000 {
		b := make([]byte, random.IntN(300))
		for i := range b {
			if b[i] = signs[random.IntN(len(signs))]; random.IntN(2) == 0 {
				b[i] = byte(random.IntN(256))
			}
			if b[i] == ']' && random.IntN(20) > 0 { // long classes
				b[i] = 'b'
			}
		}
		f("[" + string(b))
	}
}
