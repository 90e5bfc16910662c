package codec

import (
	"math"
	"testing"
)

func TestAlphabets(t *testing.T) {
	f := func(name string, n int, digits string) {
		t.Helper()
		a, ok := AlphabetByName(name)
		if !ok {
			t.Fatalf("no alphabet %q", name)
		}
		if a.Name() != name || a.Len() != n || a.String() != digits {
			t.Errorf("%s: %s, %d digits %s", name, a.Name(), a.Len(), a)
		}
	}
	f("base62", 62, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	f("safe", 55, "23456789abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")
	for _, name := range []string{"", "Base62", "base64", "safe "} {
		if _, ok := AlphabetByName(name); ok {
			t.Errorf("alphabet %q exists", name)
		}
	}
}

func TestDigits(t *testing.T) {
	f := func(a *Alphabet, x uint64, width int, want string) {
		t.Helper()
		got := a.AppendDigits([]byte("-"), x, width)
		if string(got) != "-"+want {
			t.Errorf("%s %d at width %d: %s, want -%s", a.Name(), x, width, got, want)
		}
		if back, ok := a.ParseDigits([]byte(want)); !ok || back != x {
			t.Errorf("%s %s: %d %v, want %d", a.Name(), want, back, ok, x)
		}
	}
	f(base62, 0, 4, "0000")
	f(base62, 1, 4, "0001")
	f(base62, 61, 4, "000Z")
	f(base62, 62, 4, "0010")
	f(base62, 10*62+36, 2, "aA")
	f(base62, 62*62*62*62-1, 4, "ZZZZ")
	f(base62, math.MaxUint64, 11, "lYGhA16ahyf")
	f(safe, 0, 4, "2222")
	f(safe, 54, 4, "222Z")
	f(safe, 55, 4, "2232")
	if got := string(base62.AppendDigits(nil, 62*62+5, 2)); got != "05" {
		t.Errorf("too wide: %s, want the lowest digits 05", got)
	}
}

func TestParseDigitsRefuses(t *testing.T) {
	f := func(a *Alphabet, code string) {
		t.Helper()
		if x, ok := a.ParseDigits([]byte(code)); ok {
			t.Errorf("%s %q parsed as %d", a.Name(), code, x)
		}
	}
	f(base62, "")
	f(base62, "abc-")
	f(base62, "ab c")
	f(base62, "abc\x00")
	f(base62, "abc\xff")
	f(base62, "é")
	f(base62, "lYGhA16ahyg") // 2^64
	f(base62, "ZZZZZZZZZZZ")
	f(base62, "10000000000000000000000")
	for _, c := range "01IOilo" {
		f(safe, "abc"+string(c))
	}
}

func FuzzParseDigits(f *testing.F) {
	f.Add([]byte("aB3xYz9"))
	f.Add([]byte("lYGhA16ahyf"))
	f.Fuzz(func(t *testing.T, code []byte) {
		for _, a := range []*Alphabet{base62, safe} {
			x, ok := a.ParseDigits(code)
			if !ok {
				continue
			}
			if got := a.AppendDigits(nil, x, len(code)); string(got) != string(code) {
				t.Errorf("%s %q -> %d -> %q", a.Name(), code, x, got)
			}
		}
	})
}
