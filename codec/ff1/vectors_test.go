package ff1

import (
	"encoding/hex"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	key256 = "2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94"
	digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// TestVectors runs NIST's samples and ACVP's known answers, both ways.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/ff1-vectors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimRight(line, "\n"), "\t")
		if len(f) != 7 {
			t.Fatalf("row has %d fields: %q", len(f), line)
		}
		rows++
		t.Run(f[0], func(t *testing.T) { knownAnswer(t, f[2], f[3], f[4], f[5], f[6]) })
	}
	if rows != 32 {
		t.Errorf("ran %d rows, want 32", rows)
	}
}

func knownAnswer(t *testing.T, alphabet, key, tweak, plain, want string) {
	c := newCipher(t, key, tweak, len(alphabet), len(plain))
	got := make([]uint16, len(plain))
	if err := c.EncryptNumerals(got, numerals(alphabet, plain)); err != nil {
		t.Fatal(err)
	}
	if s := text(alphabet, got); s != want {
		t.Errorf("encrypt %s = %s, want %s", plain, s, want)
	}
	if err := c.DecryptNumerals(got, numerals(alphabet, want)); err != nil {
		t.Fatal(err)
	}
	if s := text(alphabet, got); s != plain {
		t.Errorf("decrypt %s = %s, want %s", want, s, plain)
	}
	if c.Size() == 0 {
		return
	}
	// The number form is the same cipher.
	x, y := number(alphabet, plain), number(alphabet, want)
	if z := c.Encrypt(x); z != y {
		t.Errorf("encrypt %d = %d, want %d", x, z, y)
	}
	if z := c.Decrypt(y); z != x {
		t.Errorf("decrypt %d = %d, want %d", y, z, x)
	}
}

// No official vector has radix 62. These values are agreed by three independent
// implementations; id is the number, the text uses 0-9A-Za-z.
func TestRadix62(t *testing.T) {
	const redir = "72656469722d7631" // redir-v1
	f := func(tweak string, length int, id uint64, want string) {
		t.Helper()
		c := newCipher(t, key256, tweak, 62, length)
		if got, want := c.Encrypt(id), number(digits, want); got != want {
			t.Errorf("length %d: encrypt %d = %d, want %d", length, id, got, want)
		}
		if got := c.Decrypt(number(digits, want)); got != id {
			t.Errorf("length %d: decrypt %s = %d, want %d", length, want, got, id)
		}
	}
	f("", 6, 0, "D7VcKs")
	f("", 6, 1, "E4heO3")
	f("", 6, 2, "9WI1Kn")
	f("", 6, 12345, "AvH6OP")
	f("", 6, 4294967303, "r0eOaz")
	f("", 7, 0, "wAs0NEJ")
	f("", 7, 1, "XLWITlw")
	f("", 7, 12345, "h5vHaO2")
	f(redir, 6, 0, "hISolZ")
	f(redir, 7, 0, "9v9uena")
}

func newCipher(t testing.TB, key, tweak string, radix, length int) *Cipher {
	t.Helper()
	k, err := hex.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	tw, err := hex.DecodeString(tweak)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(k, tw, radix, length)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func numerals(alphabet, s string) []uint16 {
	out := make([]uint16, len(s))
	for i := range s {
		out[i] = uint16(strings.IndexByte(alphabet, s[i]))
	}
	return out
}

func text(alphabet string, ns []uint16) string {
	var b strings.Builder
	for _, n := range ns {
		b.WriteByte(alphabet[n])
	}
	return b.String()
}

func number(alphabet, s string) uint64 {
	x := uint64(0)
	for _, n := range numerals(alphabet, s) {
		x = x*uint64(len(alphabet)) + uint64(n)
	}
	return x
}

func TestNumeralsRefuse(t *testing.T) {
	c := newCipher(t, key256, "", 10, 6)
	f := func(dst, src []uint16) {
		t.Helper()
		before := slices.Clone(dst)
		if c.EncryptNumerals(dst, src) == nil || c.DecryptNumerals(dst, src) == nil {
			t.Errorf("%v into %d numerals was accepted", src, len(dst))
		}
		if !slices.Equal(before, dst) {
			t.Errorf("refused %v but wrote %v", src, dst)
		}
	}
	f(make([]uint16, 6), []uint16{1, 2, 3, 4, 5})
	f(make([]uint16, 5), []uint16{1, 2, 3, 4, 5, 6})
	f(make([]uint16, 6), []uint16{1, 2, 3, 4, 5, 10})
	f(nil, nil)
}
