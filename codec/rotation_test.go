package codec

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// fill issues the first n ids of each epoch, skips burned ones, looks each code up,
// and returns the codes with their ids, the burned per epoch and the highest id.
func fill(t *testing.T, table *Table, n uint64) (codes map[string]uint64, burned []uint64, reserved uint64) {
	t.Helper()
	codes = map[string]uint64{}
	for _, e := range table.Epochs() {
		skipped := uint64(0)
		for id := e.First; id < e.First+n; id++ {
			if table.Burned(id) {
				skipped++
				continue
			}
			code := string(table.AppendCode(nil, id))
			if other, taken := codes[code]; taken {
				t.Fatalf("ids %d and %d both have the code %s", other, id, code)
			}
			codes[code] = id
		}
		burned = append(burned, skipped)
		reserved = e.First + n - 1
	}
	for code, id := range codes {
		if got, ok := table.Lookup([]byte(code), reserved); !ok || got != id {
			t.Fatalf("code %s of id %d leads to %d %v", code, id, got, ok)
		}
	}
	return codes, burned, reserved
}

// TestRotationExhaustive issues 600,000 ids under three keys among the 9,150,625
// codes of the smallest domain, then looks every one of its codes up.
func TestRotationExhaustive(t *testing.T) {
	n, stride := uint64(200_000), uint64(1)
	if testing.Short() || raceEnabled { // the race detector makes it ten times slower
		n, stride = 20_000, 50
	}
	table := newTable(t, testEpoch(0, 1, "k1", 4, "safe"), testEpoch(1, 1+n, "k2", 4, "safe"), testEpoch(2, 1+2*n, "k3", 4, "safe"))
	codes, burned, reserved := fill(t, table, n)
	checkBurned(t, table, burned, n)

	hits := 0
	buf := make([]byte, 0, MaxLength)
	for x := uint64(0); x < 9_150_625; x += stride {
		code := safe.AppendDigits(buf, x, 4)
		got, ok := table.Lookup(code, reserved)
		want, issued := codes[string(code)]
		if ok != issued || ok && got != want {
			t.Fatalf("%s: %d %v, issued %d %v", code, got, ok, want, issued)
		}
		if ok {
			hits++
		}
	}
	if stride == 1 && hits != len(codes) {
		t.Errorf("%d codes lead somewhere, %d were issued", hits, len(codes))
	}
}

// checkBurned compares the burned ids of each epoch with what older ids of its
// length predict: each of n codes meets an older epoch's n ids among its N.
func checkBurned(t *testing.T, table *Table, burned []uint64, n uint64) {
	t.Helper()
	epochs := table.Epochs()
	for i, e := range epochs {
		want := 0.0
		for _, old := range epochs[:i] {
			if old.Length == e.Length {
				overlap := 1.0
				if old.Alphabet == "safe" && e.Alphabet == "base62" {
					overlap = math.Pow(55.0/62, float64(e.Length))
				}
				want += overlap * float64(n) * float64(n) / float64(Capacity(old))
			}
		}
		if d := math.Abs(float64(burned[i]) - want); d > 5*math.Sqrt(want)+1 {
			t.Errorf("epoch %d burned %d ids, predicted %.1f", i, burned[i], want)
		}
	}
}

// TestThereAndBack changes one setting and returns to the old one: no code twice,
// every old code resolves, few ids burned.
func TestThereAndBack(t *testing.T) {
	f := func(name string, n uint64, epochs ...Epoch) {
		t.Run(name, func(t *testing.T) {
			for i := range epochs {
				epochs[i].First = 1 + uint64(i)*n
			}
			table := newTable(t, epochs...)
			_, burned, _ := fill(t, table, n)
			checkBurned(t, table, burned, n)
		})
	}
	f("keys", 10_000, testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1, "k2", 7, "base62"), testEpoch(2, 1, "k1", 7, "base62"))
	f("lengths", 10_000, testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1, "k1", 8, "base62"), testEpoch(2, 1, "k1", 7, "base62"))
	f("alphabets", 10_000, testEpoch(0, 1, "k1", 7, "base62"), testEpoch(1, 1, "k1", 7, "safe"), testEpoch(2, 1, "k1", 7, "base62"))
	// The smallest domains: here ids are really burned, across alphabets too.
	f("dense alphabets", 20_000, testEpoch(0, 1, "k1", 4, "base62"), testEpoch(1, 1, "k1", 4, "safe"), testEpoch(2, 1, "k1", 4, "base62"))
	f("dense alphabets from safe", 20_000, testEpoch(0, 1, "k1", 4, "safe"), testEpoch(1, 1, "k1", 4, "base62"), testEpoch(2, 1, "k2", 4, "safe"))
}

// TestTables checks the rules on any table: gaps between epochs, epochs wider than
// their codes, any order of shapes. Issued ids come back, alone and at once.
func TestTables(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epochs := []Epoch{}
		first := uint64(1)
		for i := range rapid.IntRange(1, 8).Draw(t, "epochs") {
			epochs = append(epochs, testEpoch(i, first,
				rapid.SampledFrom([]string{"k1", "k2", "k3"}).Draw(t, "key"),
				rapid.SampledFrom([]int{4, 4, 5, 10}).Draw(t, "length"),
				rapid.SampledFrom([]string{"base62", "safe"}).Draw(t, "alphabet")))
			first += rapid.SampledFrom([]uint64{1, 2, 1000, 5_000_000, 1_000_000_000, 1 << 60}).Draw(t, "ids")
		}
		table, err := NewTable(epochs, testKeys("k1", "k2", "k3"))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			e := rapid.SampledFrom(epochs).Draw(t, "epoch")
			checkID(t, table, e.First+rapid.Uint64Range(0, 20_000_000).Draw(t, "offset"))
		}
	})
}

func checkID(t *rapid.T, table *Table, id uint64) {
	code := table.AppendCode(nil, id)
	got, ok := table.Lookup(code, math.MaxUint64)
	if table.Burned(id) {
		if ok && got >= id {
			t.Fatalf("burned id %d: its code %s leads to %d, not to an older id", id, code, got)
		}
		return
	}
	if !ok || got != id {
		t.Fatalf("id %d: code %s leads to %d %v", id, code, got, ok)
	}
	if _, ok := table.Lookup(code, id-1); ok {
		t.Fatalf("id %d resolves above the reserved maximum", id)
	}
}

// TestNoVisibleOrder looks at consecutive ids as an outsider does: each character
// evenly spread at each place, neighbours no more alike than strangers.
func TestNoVisibleOrder(t *testing.T) {
	const n = 62_000
	table := newTable(t, testEpoch(0, 1, "k1", 7, "base62"))
	var counts [7][256]int
	same := 0
	last := make([]byte, 7)
	for id := uint64(1); id <= n; id++ {
		code := table.AppendCode(nil, id)
		for i, c := range code {
			counts[i][c]++
			if c == last[i] {
				same++
			}
		}
		last = code
	}
	for i := range counts {
		chi2 := 0.0
		for _, c := range []byte(base62.String()) {
			d := float64(counts[i][c]) - n/62
			chi2 += d * d / (n / 62)
		}
		if chi2 > 120 { // 61 degrees of freedom: 100 is passed once in 1,000, 120 once in 100,000
			t.Errorf("place %d: chi-square %.0f", i, chi2)
		}
	}
	if want := 7 * n / 62.0; math.Abs(float64(same)-want) > 5*math.Sqrt(want) {
		t.Errorf("neighbours share %d characters, strangers %.0f", same, want)
	}
}

func ExampleTable() {
	key := Key{1}
	epoch := Epoch{First: 1, KeyID: "k1", Length: 7, Alphabet: "base62", Check: CheckValue(key)}
	table, err := NewTable([]Epoch{epoch}, map[string]Key{"k1": key})
	if err != nil {
		fmt.Println(err)
		return
	}
	code := table.AppendCode(nil, 42)
	id, ok := table.Lookup(code, 1000)
	fmt.Println(len(code), id, ok)
	_, ok = table.Lookup(code, 41) // 42 is not reserved yet
	fmt.Println(ok)
	// Output:
	// 7 42 true
	// false
}
