package codec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
)

func TestCheckValue(t *testing.T) {
	// HMAC-SHA256(32 zero bytes, "curt/kcv/1"), by another implementation.
	if got := hex.EncodeToString(sliceOf(CheckValue(Key{}))); got != "d38a91f1543fbee8" {
		t.Errorf("check value of the zero key: %s", got)
	}
	one := Key{31: 1}
	if CheckValue(one) == CheckValue(Key{}) {
		t.Error("two keys, one check value")
	}
}

func sliceOf(b [8]byte) []byte { return b[:] }

func TestKeyNeverPrints(t *testing.T) {
	k := Key(bytes.Repeat([]byte{0xab}, 32))
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k)
	for _, s := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v %x %X %d %s %q", k, k, k, k, k, k, k, k),
		fmt.Sprintf("%v %x", Ring{Keys: map[string]Key{"a": k}}, &k), log.String()} {
		if regexp.MustCompile(`(?i)abab|171`).MatchString(s) || !strings.Contains(s, "[key]") {
			t.Errorf("prints as %s", s)
		}
	}
}

func TestNewKey(t *testing.T) {
	if a, b := NewKey(), NewKey(); a == b || a == (Key{}) {
		t.Error("keys are not random")
	}
	if a, b := NewTweak(), NewTweak(); len(a) != 8 || bytes.Equal(a, b) {
		t.Error("tweaks are not 8 random bytes")
	}
}

const (
	hexA = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	hexB = "FFEEDDCCBBAA99887766554433221100ffeeddccbbaa99887766554433221100"
)

func TestParseKeyring(t *testing.T) {
	ring, err := ParseKeyring(strings.NewReader(
		"# keys\n\n  2025 " + hexA + "\r\n\t# more\n2026.x_-\t " + hexB + "  \n\n# end"))
	if err != nil {
		t.Fatal(err)
	}
	if len(ring.Keys) != 2 || ring.Active != "2026.x_-" {
		t.Fatalf("%d keys, active %q", len(ring.Keys), ring.Active)
	}
	a, b := ring.Keys["2025"], ring.Keys["2026.x_-"]
	if hex.EncodeToString(a[:]) != hexA || !strings.EqualFold(hex.EncodeToString(b[:]), hexB) {
		t.Error("the keys differ from the file's")
	}
}

func TestParseKeyringRefuses(t *testing.T) {
	f := func(file, want string) {
		t.Helper()
		ring, err := ParseKeyring(strings.NewReader(file))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if ring.Keys != nil || ring.Active != "" {
			t.Errorf("an error and a ring")
		}
		if err != nil {
			checkSilent(t, file, err)
		}
	}
	f("", "no key")
	f("# only\n\n", "no key")
	f("a "+hexA+"\nb\n", "line 2: want `id hex64`, found 1 words")
	f("a "+hexA+" # mine\n", "line 1: want `id hex64`, found 4 words")
	f(hexA+" a\n", "line 1: the id must be")
	f("a/b "+hexA, "line 1: the id must be")
	f(strings.Repeat("a", 33)+" "+hexA, "line 1: the id must be")
	f("\n\na "+hexA[1:], "line 3: the key must have 64 hexadecimal digits, found 63 bytes")
	f("a "+hexA+"0", "found 65 bytes")
	f("a "+hexA+hexA, "found 128 bytes")
	f("a x"+hexA[1:], "line 1: the key must have 64 hexadecimal digits, found another character")
	f("a "+hexA+"\na "+hexB, "line 2: the id is that of line 1")
	f("a "+hexA+"\n#\nb "+strings.ToUpper(hexA), "line 3: the key is that of line 1")
	f("a "+hexA+"\n"+strings.Repeat("x", 1<<17), "after line 1")
	f("\ufeffa "+hexA, "line 1: the id must be")

	broken := errors.New("broken disk")
	if _, err := ParseKeyring(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("read error: %v", err)
	}
}

// errorShape is every text a key file's error can have: no word of the file in it.
var errorShape = regexp.MustCompile("^key file(: it has no key| after line \\d+: .*" +
	"| line \\d+: (want `id hex64`, found \\d+ words|the id must be 1\\.\\.32 of A-Z a-z 0-9 \\. _ -" +
	"|the key must have 64 hexadecimal digits, found (\\d+ bytes|another character)|the (id|key) is that of line \\d+))$")

func checkSilent(t *testing.T, file string, err error) {
	t.Helper()
	if !errorShape.MatchString(err.Error()) {
		t.Errorf("file %q: unexpected error %q", file, err)
	}
}

func FuzzParseKeyring(f *testing.F) {
	f.Add("# keys\na " + hexA + "\nb " + hexB + "\n")
	f.Add("a " + hexA + "\na " + hexA + "\n")
	f.Add(hexA + " a")
	f.Fuzz(func(t *testing.T, file string) {
		ring, err := ParseKeyring(strings.NewReader(file))
		if err != nil {
			checkSilent(t, file, err)
			return
		}
		// What was read, written plainly, reads the same.
		var plain strings.Builder
		for id, k := range ring.Keys {
			if id != ring.Active {
				fmt.Fprintf(&plain, "%s %s\n", id, hex.EncodeToString(k[:]))
			}
		}
		k := ring.Keys[ring.Active]
		fmt.Fprintf(&plain, "%s %s\n", ring.Active, hex.EncodeToString(k[:]))
		again, err := ParseKeyring(strings.NewReader(plain.String()))
		if err != nil {
			t.Fatal(err)
		}
		if again.Active != ring.Active || !maps.Equal(again.Keys, ring.Keys) {
			t.Fatalf("%q reads otherwise when written plainly", file)
		}
	})
}
