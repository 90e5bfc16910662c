package codec

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func newTable(t testing.TB, epochs ...Epoch) *Table {
	t.Helper()
	table, err := NewTable(epochs, testKeys("k1", "k2", "k3"))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestFirstCodes pins codes as they are printed. The first values are those of three
// independent FF1 implementations for this key, see codec/ff1.
func TestFirstCodes(t *testing.T) {
	key := Key{0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6, 0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c,
		0xef, 0x43, 0x59, 0xd8, 0xd5, 0x80, 0xaa, 0x4f, 0x7f, 0x03, 0x6d, 0x6f, 0x04, 0xfc, 0x6a, 0x94}
	e := Epoch{First: 1, KeyID: "k", Length: 7, Alphabet: "base62", Check: CheckValue(key)}
	table, err := NewTable([]Epoch{e}, map[string]Key{"k": key})
	if err != nil {
		t.Fatal(err)
	}
	f := func(id uint64, want string) {
		t.Helper()
		if got := string(table.AppendCode(nil, id)); got != want {
			t.Errorf("code of %d: %s, want %s", id, got, want)
		}
		if got, ok := table.Lookup([]byte(want), id); !ok || got != id {
			t.Errorf("%s: %d %v, want %d", want, got, ok, id)
		}
	}
	f(1, "WaS0nej")
	f(2, "xlwitLW")
	f(12346, "H5VhAo2")
}

func TestNewTableOrder(t *testing.T) {
	e0, e1 := testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1001, "k2", 7, "base62")
	f := func(want string, epochs ...Epoch) {
		t.Helper()
		_, err := NewTable(epochs, testKeys("k1", "k2"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
		if keys := new(KeysError); errors.As(err, &keys) {
			t.Errorf("%v is about keys", err)
		}
	}
	f("there is none")
	f("it stands at place 0", e1)
	f("it stands at place 1", e0, testEpoch(2, 1001, "k2", 7, "base62"))
	f("it stands at place 1", e0, e0)
	f("not above 1", e0, testEpoch(1, 1, "k2", 7, "base62"))
	f("not above 1001", e0, e1, testEpoch(2, 1001, "k2", 7, "base62"))
	twin := testEpoch(2, 2001, "k2", 7, "base62")
	twin.Tweak = e1.Tweak
	f("has the tweak of epoch 1", e0, e1, twin)
}

func TestMissingAndWrongKeys(t *testing.T) {
	var epochs []Epoch
	for i, id := range []string{"d", "a", "c", "b", "a", "d"} {
		epochs = append(epochs, testEpoch(i, 1+uint64(i)*10, id, 7, "base62"))
	}
	f := func(keys map[string]Key, missing, wrong []string, text string) {
		t.Helper()
		_, err := NewTable(epochs, keys)
		var k *KeysError
		if !errors.As(err, &k) {
			t.Fatalf("error %v is no KeysError", err)
		}
		if !slices.Equal(k.Missing, missing) || !slices.Equal(k.Wrong, wrong) || k.Error() != text {
			t.Errorf("%v %v %q", k.Missing, k.Wrong, k)
		}
	}
	f(nil, []string{"a", "b", "c", "d"}, nil, "keys of the code epochs: missing a, b, c, d")
	f(testKeys("b", "c", "other"), []string{"a", "d"}, nil, "keys of the code epochs: missing a, d")
	swapped := map[string]Key{"a": testKey("d"), "d": testKey("a"), "b": testKey("b")}
	f(swapped, []string{"c"}, []string{"a", "d"}, "keys of the code epochs: missing c; wrong a, d (not the key it was)")
	if _, err := NewTable(epochs, testKeys("a", "b", "c", "d", "e")); err != nil {
		t.Error(err)
	}
}

func TestLookupShape(t *testing.T) {
	table := newTable(t, testEpoch(0, 1, "k1", 7, "safe"), testEpoch(1, 1000, "k2", 9, "base62"))
	none := func(code string) {
		t.Helper()
		if id, ok := table.Lookup([]byte(code), math.MaxUint64); ok {
			t.Errorf("%q is %d", code, id)
		}
	}
	code := string(table.AppendCode(nil, 5))
	none("")
	none(code[:6])
	none(code + "2")
	none(code[:6] + "0") // no digit of safe
	none(code[:6] + "-")
	none(code[:6] + "\xc3")
	none(strings.Repeat("a", 10))
	none(strings.Repeat("a", 11))
	none(strings.Repeat("a", 1<<20))
	if id, ok := table.Lookup([]byte(code), 5); !ok || id != 5 {
		t.Errorf("%s at its maximum: %d %v", code, id, ok)
	}
	if id, ok := table.Lookup([]byte(code), 4); ok {
		t.Errorf("%s above the maximum: %d", code, id)
	}
}

func TestIdsWithoutCode(t *testing.T) {
	table := newTable(t, testEpoch(0, 1, "k1", 4, "safe"), testEpoch(1, 1_000_000_000, "k1", 5, "safe"))
	none := func(id uint64) {
		t.Helper()
		if got := string(table.AppendCode([]byte("x"), id)); got != "x" {
			t.Errorf("id %d has the code %q", id, got[1:])
		}
		if !table.Burned(id) {
			t.Errorf("id %d is not burned", id)
		}
	}
	none(0)
	none(9_150_626)
	none(999_999_999)
	none(math.MaxUint64)
	for _, id := range []uint64{1, 9_150_625, 1_000_000_000} {
		if code := table.AppendCode(nil, id); len(code) == 0 || table.Burned(id) {
			t.Errorf("id %d: code %q, burned %v", id, code, table.Burned(id))
		}
	}
}

// The last ids of all: nothing may wrap around.
func TestLastIds(t *testing.T) {
	const first = math.MaxUint64 - 5
	table := newTable(t, testEpoch(0, 1, "k1", 5, "base62"), testEpoch(1, first, "k2", 4, "safe"))
	e := table.byLength[4][0]
	for position := range uint64(20_000) {
		code := e.alphabet.AppendDigits(nil, e.cipher.Encrypt(position), 4)
		id, ok := table.Lookup(code, math.MaxUint64)
		if want := position <= 5; ok != want || ok && id != first+position {
			t.Fatalf("position %d: id %d %v", position, id, ok)
		}
		if _, ok := table.Lookup(code, math.MaxUint64-1); ok != (position < 5) {
			t.Fatalf("position %d with one id less: %v", position, ok)
		}
	}
}

func TestTableIsImmutable(t *testing.T) {
	e0, e1 := testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1001, "k2", 8, "safe")
	epochs := []Epoch{e0, e1}
	table := newTable(t, epochs...)
	want := string(table.AppendCode(nil, 1500))
	epochs[1].Tweak[0] ^= 1
	table.Epochs()[1].Tweak[0] ^= 1
	table.Last().Tweak[0] ^= 1
	longer, err := table.With(testEpoch(2, 1400, "k3", 9, "base62"), testKeys("k1", "k2", "k3"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(longer.AppendCode(nil, 1500)); n != 9 {
		t.Errorf("the longer table gives a code of length %d, want 9", n)
	}
	if got := string(longer.AppendCode(nil, 1300)); got != string(table.AppendCode(nil, 1300)) {
		t.Error("the longer table changed an old code")
	}
	if got := string(table.AppendCode(nil, 1500)); got != want {
		t.Errorf("%s became %s", want, got)
	}
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops items at random under the race detector")
	}
	table := newTable(t, testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1000, "k2", 7, "safe"), testEpoch(2, 2000, "k3", 7, "base62"))
	hit, miss := table.AppendCode(nil, 2500), []byte("abcdefg")
	var buf [MaxLength]byte
	f := func(what string, call func()) {
		t.Helper()
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s: %v allocations", what, n)
		}
	}
	f("hit", func() { table.Lookup(hit, 3000) })
	f("miss", func() { table.Lookup(miss, 3000) })
	f("shape", func() { table.Lookup([]byte("wp-login.php"), 3000) })
	f("code", func() { table.AppendCode(buf[:0], 2500) })
	f("burned", func() { table.Burned(2500) })
}

func BenchmarkTable(b *testing.B) {
	one := newTable(b, testEpoch(0, 1, "k1", 7, "base62"))
	three := newTable(b, testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1000, "k2", 7, "base62"), testEpoch(2, 2000, "k3", 7, "base62"))
	for name, table := range map[string]*Table{"1epoch": one, "3epochs": three} {
		code := table.AppendCode(nil, 2500)
		var buf [MaxLength]byte
		run := func(what string, call func()) {
			b.Run(what+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					call()
				}
			})
		}
		run("AppendCode", func() { table.AppendCode(buf[:0], 2500) })
		run("LookupHit", func() { table.Lookup(code, 3000) })
		run("LookupMiss", func() { table.Lookup([]byte("abcdefg"), 3000) })
		run("LookupAlias", func() { table.Lookup([]byte("my-name"), 3000) })
		run("Burned", func() { table.Burned(2500) })
	}
}
