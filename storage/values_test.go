package storage

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// TestKeysGolden pins the keyspace.
func TestKeysGolden(t *testing.T) {
	hash := [16]byte([]byte("0123456789abcdef"))
	l := fullLink()
	expiring := Link{ID: 8, Expires: 2}
	keys := map[string][]byte{
		"link":          linkKey(nil, 0x0102030405060708),
		"name":          nameKey(nil, "go"),
		"dedup":         hashKey(nil, kindDedup, hash),
		"banned-target": hashKey(nil, kindBannedTarget, hash),
		"banned-host":   hostKey(nil, "go.dev"),
		"version":       metaKeyOf(nil, metaVersion, ""),
		"links":         metaKeyOf(nil, metaLinks, ""),
		"setting":       metaKeyOf(nil, metaSetting, "x"),
		"key":           metaKeyOf(nil, metaKey, "x"),
		"epoch":         metaKeyOf(nil, metaEpoch, "\x00"),
		"counter":       metaKeyOf(nil, metaCounter, "x"),
		"indexes":       bytes.Join(l.indexKeys(), []byte("|")),
		"expires":       bytes.Join(expiring.indexKeys(), nil),
		"ban":           appendBan(nil, Ban{Since: 5, Reason: "r", Tenant: "t", Target: "https://go.dev/"}),
		"journal":       journalKey(nil, 3, 7),
		"visits":        appendVisits(nil, someVisits()),
		"places":        appendPlaces(nil, []Place{{1, StreamID{5000, 3}}, {1, StreamID{5001, 0}}, {300, StreamID{4999, 1}}}),
		"count":         appendCount(nil, count{Visits: -1, Bots: 2, Last: 1_800_000_000_000}),
	}
	golden(t, "testdata/keys.golden", keys)
}

func someVisits() []Visits {
	hour := 500_000 * hourMillis
	return []Visits{
		{Link: 1, Hour: hour, Number: 2, Last: hour, Values: [dimensions]string{Referrer: "news.example", Browser: "Firefox", OS: "Linux", Device: "desktop"}},
		{Link: 1, Hour: hour, Number: 300, Bots: true},
		{Link: 1 << 40, Hour: hour + hourMillis, Number: 1, Last: hour + 2*hourMillis - 1, Values: [dimensions]string{Referrer: "direct", Country: "NZ", Browser: "Firefox"}},
	}
}

func FuzzVisits(f *testing.F) {
	f.Add(appendVisits(nil, someVisits()))
	f.Add(appendVisits(nil, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeVisits(b)
		if err != nil {
			return
		}
		again, err := decodeVisits(appendVisits(nil, list))
		if err != nil || !slices.Equal(again, list) {
			t.Fatalf("%x decodes to %+v, which comes back as %+v, %v", b, list, again, err)
		}
	})
}

func FuzzPlaces(f *testing.F) {
	f.Add(appendPlaces(nil, []Place{{1, StreamID{5000, 3}}, {300, StreamID{4999, 1}}}), uint64(5000))
	f.Fuzz(func(t *testing.T, b []byte, ms uint64) {
		list, err := decodeJournalPlaces(b)
		if err == nil {
			again, err := decodeJournalPlaces(appendPlaces(nil, list))
			if err != nil || !slices.Equal(again, list) {
				t.Fatalf("%x decodes to %+v, which comes back as %+v, %v", b, list, again, err)
			}
		}
		if ids, err := decodePlaces(StreamID{Ms: ms}, b); err == nil && len(ids) > 1+len(b)/2 {
			t.Fatalf("%x decodes to %v", b, ids)
		}
	})
}

func FuzzBan(f *testing.F) {
	f.Add(appendBan(nil, Ban{Since: 5, Reason: "r", Tenant: "t", Target: "https://go.dev/"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		ban, err := decodeBan(b)
		if err == nil && !bytes.Equal(appendBan(nil, ban), b) {
			t.Fatalf("%x decodes to %+v", b, ban)
		}
	})
}

func FuzzCount(f *testing.F) {
	f.Add(appendCount(nil, count{1, 2, 3}), appendCount(nil, count{math.MaxInt64, -1, 0}))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, errA := decodeCount(a)
		y, errB := decodeCount(b)
		m, err := merger().Merge(nil, a)
		if (err != nil) != (errA != nil) {
			t.Fatalf("first operand %x: %v, %v", a, err, errA)
		}
		if err != nil {
			return
		}
		if err := m.MergeOlder(b); (err != nil) != (errB != nil) {
			t.Fatalf("second operand %x: %v, %v", b, err, errB)
		}
		if errB != nil {
			return
		}
		sum, _, err := m.Finish(true)
		if got, derr := decodeCount(sum); err != nil || derr != nil || got != x.plus(y) {
			t.Fatalf("%+v + %+v = %+v, %v, %v", x, y, got, err, derr)
		}
	})
}

// TestMergeIsAssociative adds the same operands up in random groups, as compactions do.
func TestMergeIsAssociative(t *testing.T) {
	rnd := rand.New(rand.NewPCG(seed(t), 0))
	for range 200 {
		var want count
		var ops [][]byte
		for range 2 + rnd.IntN(8) {
			c := count{rnd.Int64N(100) - 50, rnd.Int64N(100) - 50, rnd.Int64N(100)}
			want = want.plus(c)
			ops = append(ops, appendCount(nil, c))
		}
		for len(ops) > 1 {
			i := rnd.IntN(len(ops) - 1)
			ops[i] = mergeTwo(t, ops[i], ops[i+1], rnd.IntN(2) == 0)
			ops = slices.Delete(ops, i+1, i+2)
		}
		if got, err := decodeCount(ops[0]); err != nil || got != want {
			t.Fatalf("sum %+v, want %+v, %v", got, want, err)
		}
	}
}

func mergeTwo(t *testing.T, older, newer []byte, upwards bool) []byte {
	first, second := newer, older
	if upwards {
		first, second = older, newer
	}
	m, err := merger().Merge(nil, first)
	if err != nil {
		t.Fatal(err)
	}
	if upwards {
		err = m.MergeNewer(second)
	} else {
		err = m.MergeOlder(second)
	}
	if err != nil {
		t.Fatal(err)
	}
	sum, _, err := m.Finish(false)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestBadOperand: a malformed count in the store is an error of the read, not of the process.
func TestBadOperand(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncAlways)
	key := []byte("c-broken")
	for range 2 {
		if err := s.db.Merge(key, []byte{0x80}, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	if ok, err := s.find(key, func([]byte) error { return nil }); err == nil {
		t.Fatalf("found %v without error", ok)
	}
	mustWork(t, s)
}

// mustWork stores and reads a link.
func mustWork(t *testing.T, s *Store) {
	t.Helper()
	const id = 1 << 40
	wait(t, s, update(t, s, putLink(id)))
	mustHave(t, s, id)
}

// TestBucketsAreOfOneMoment: hours that become days while a series is read are in it once.
func TestBucketsAreOfOneMoment(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncNo)
	const id, days = 7, 5
	update(t, s, func(tx *Tx) error {
		for h := range int64(24 * days) {
			tx.AddHour(id, h*hourMillis, Count{Visits: 1})
		}
		return nil
	})
	rollUp := func(days int64) {
		update(t, s, func(tx *Tx) error { _, err := tx.RollUp(id, days*dayMillis); return err })
	}
	rollUp(2)
	read := func(from, to int64, meanwhile func()) (visits int64, rows int) {
		err := s.EachBucket(id, from, to, func(b Bucket) bool {
			if rows == 0 {
				meanwhile()
			}
			rows++
			visits += b.Visits
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return visits, rows
	}
	if visits, rows := read(0, days*dayMillis, func() { rollUp(days) }); visits != 24*days || rows != 2+24*(days-2) {
		t.Errorf("%d visits in %d rows while hours became days", visits, rows)
	}
	if visits, rows := read(0, days*dayMillis, func() {}); visits != 24*days || rows != days {
		t.Errorf("%d visits in %d rows afterwards", visits, rows)
	}
	if visits, rows := read(dayMillis+1, 3*dayMillis-1, func() {}); visits != 2*24 || rows != 2 {
		t.Errorf("%d visits in %d rows of the middle", visits, rows)
	}
}
