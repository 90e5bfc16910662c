package link

import "testing"

// The table can be read without any key; it says which are at hand.
func TestEpochsTable(t *testing.T) {
	b := newBench(t, Options{Codes: CodeOptions{Ring: ring("k1", "k1")}})
	seen := map[string]string{}
	issueMany(b, 10, seen)
	b.restart(func(o *Options) { o.Codes.Ring = ring("k2", "k1", "k2") })
	issueMany(b, 10, seen)

	rows, asked, opens, err := Epochs(b.store, ring("k1", "k1"))
	if err != nil || len(rows) != 2 || !opens || asked != (CodeSettings{"k1", 7, "base62"}) {
		t.Fatalf("%+v, %+v, %v, %v", rows, asked, opens, err)
	}
	if rows[0].Key != KeyOK || rows[1].Key != KeyMissing || rows[0].Reserved != 1000 || rows[1].First != 1001 || rows[1].Reserved != 1000 {
		t.Errorf("%+v", rows)
	}
	wrong := ring("k2", "k1", "k2")
	wrong.Keys["k1"] = wrong.Keys["k2"]
	rows, _, opens, err = Epochs(b.store, wrong)
	if err != nil || opens || rows[0].Key != KeyWrong || rows[1].Key != KeyOK {
		t.Errorf("%+v, %v, %v", rows, opens, err)
	}
}
