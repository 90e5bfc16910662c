package codec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"math"
	"reflect"
	"testing"
)

// testKey and testEpoch make fixed keys and rows, so that a failure repeats.
func testKey(id string) Key { return sha256.Sum256([]byte("key " + id)) }

func testKeys(ids ...string) map[string]Key {
	keys := map[string]Key{}
	for _, id := range ids {
		keys[id] = testKey(id)
	}
	return keys
}

func testEpoch(number int, first uint64, key string, length int, alphabet string) Epoch {
	e := Epoch{Number: uint8(number), First: first, KeyID: key, Length: length, Alphabet: alphabet, Check: CheckValue(testKey(key))}
	if number > 0 {
		sum := sha256.Sum256([]byte{byte(number)})
		e.Tweak = sum[:tweakLen]
	}
	return e
}

// TestEpochGolden pins the stored form: old stores must stay readable.
func TestEpochGolden(t *testing.T) {
	f := func(e Epoch, want string) {
		t.Helper()
		b, err := e.AppendBinary([]byte{0xee})
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(b); got != "ee"+want {
			t.Errorf("%+v\n is %s\nwant ee%s", e, got, want)
		}
		b, _ = hex.DecodeString(want)
		got, err := ParseEpoch(b)
		if err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%s parses as %+v, %v", want, got, err)
		}
	}
	f(Epoch{First: 1, KeyID: "k1", Length: 7, Alphabet: "base62", Check: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}},
		"01"+"00"+"0000000000000001"+"07"+"0102030405060708"+"026b31"+"06626173653632"+"00")
	f(Epoch{Number: 254, First: math.MaxUint64, KeyID: "2026.a_-", Length: 10, Alphabet: "safe",
		Tweak: []byte{9, 8, 7, 6, 5, 4, 3, 2}, Check: [8]byte{0xff, 0xfe}},
		"01"+"fe"+"ffffffffffffffff"+"0a"+"fffe000000000000"+"08323032362e615f2d"+"0473616665"+"080908070605040302")
}

// badEpochs are rows that nothing may accept.
func badEpochs() map[string]Epoch {
	change := func(number int, f func(*Epoch)) Epoch {
		e := testEpoch(number, 1+uint64(number), "k1", 7, "base62")
		f(&e)
		return e
	}
	return map[string]Epoch{
		"zero value":       {},
		"number 255":       change(255, func(*Epoch) {}),
		"first 0":          change(1, func(e *Epoch) { e.First = 0 }),
		"epoch 0 not at 1": change(0, func(e *Epoch) { e.First = 2 }),
		"no key id":        change(0, func(e *Epoch) { e.KeyID = "" }),
		"key id space":     change(0, func(e *Epoch) { e.KeyID = "a b" }),
		"key id long":      change(0, func(e *Epoch) { e.KeyID = "012345678901234567890123456789012" }),
		"length 3":         change(0, func(e *Epoch) { e.Length = 3 }),
		"length 11":        change(0, func(e *Epoch) { e.Length = 11 }),
		"length 263":       change(0, func(e *Epoch) { e.Length = 256 + 7 }),
		"alphabet":         change(0, func(e *Epoch) { e.Alphabet = "base64" }),
		"tweak on 0":       change(0, func(e *Epoch) { e.Tweak = make([]byte, 8) }),
		"no tweak on 1":    change(1, func(e *Epoch) { e.Tweak = nil }),
		"short tweak":      change(1, func(e *Epoch) { e.Tweak = make([]byte, 7) }),
		"long tweak":       change(1, func(e *Epoch) { e.Tweak = make([]byte, 9) }),
	}
}

func TestBadEpochs(t *testing.T) {
	for name, e := range badEpochs() {
		if b, err := e.AppendBinary([]byte("x")); err == nil || string(b) != "x" {
			t.Errorf("%s: stored as %x, %v", name, b, err)
		}
		if n := Capacity(e); n != 0 {
			t.Errorf("%s: capacity %d", name, n)
		}
		if _, err := NewTable([]Epoch{e}, testKeys("k1")); err == nil {
			t.Errorf("%s: a table took it", name)
		}
	}
}

func TestParseEpochRefuses(t *testing.T) {
	good, err := testEpoch(1, 500, "k1", 7, "safe").AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := ParseEpoch(good[:n]); err == nil {
			t.Errorf("the first %d of %d bytes parse", n, len(good))
		}
	}
	f := func(what string, b []byte) {
		t.Helper()
		if e, err := ParseEpoch(b); err == nil {
			t.Errorf("%s parses as %+v", what, e)
		}
	}
	f("a byte more", append(bytes.Clone(good), 0))
	change := func(i int, v byte) []byte {
		b := bytes.Clone(good)
		b[i] = v
		return b
	}
	f("version 0", change(0, 0))
	f("version 2", change(0, 2))
	f("number 0 with a tweak", change(1, 0))
	f("length 11", change(10, 11))
	f("key id length 255", change(epochFixed, 255))
	f("key id length 1", change(epochFixed, 1))
}

func FuzzParseEpoch(f *testing.F) {
	for i := range 3 {
		b, err := testEpoch(i, 1+uint64(i)*1000, "k1", 7, "safe").AppendBinary(nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := ParseEpoch(b)
		if err != nil {
			return
		}
		again, err := e.AppendBinary(nil)
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x parses as %+v, which is stored as %x, %v", b, e, again, err)
		}
	})
}

func TestCapacity(t *testing.T) {
	f := func(alphabet string, length int, want uint64) {
		t.Helper()
		if got := Capacity(testEpoch(0, 1, "k1", length, alphabet)); got != want {
			t.Errorf("%s of length %d: %d, want %d", alphabet, length, got, want)
		}
	}
	f("base62", 4, 14_776_336)
	f("base62", 7, 3_521_614_606_208)
	f("base62", 10, 839_299_365_868_340_224)
	f("safe", 4, 9_150_625)
	f("safe", 10, 253_295_162_119_140_625)
}
