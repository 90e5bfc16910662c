package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// putDay stores a day of clicks as the counter does, and what they name.
func putDay(t testing.TB, s *Store, day uint32, entries int) {
	t.Helper()
	for done := 0; done < entries; {
		update(t, s, func(tx *Tx) error {
			for range min(1000, entries-done) {
				id := uint64(1 + done%7)
				at := StreamID{Ms: uint64(day)*uint64(dayMillis) + uint64(done), Seq: uint64(done % 3)}
				tx.PutEntry(&Entry{ID: at, Link: id, Revision: 5, Referrer: 1, Agent: 2})
				tx.CountEntries(day, 0, 1)
				tx.AddPlaces([]Place{{id, at}})
				done++
			}
			return nil
		})
	}
	update(t, s, func(tx *Tx) error {
		tx.PutWord(day, 1, "news.example")
		tx.PutWord(day, 2, "Firefox\tLinux\tdesktop")
		for id := range uint64(7) {
			tx.PutVersion(1+id, 5, Version{Day: day, Code: fmt.Sprint("code", id), Target: "https://example.com/"})
		}
		return nil
	})
}

func entriesOf(t testing.TB, s *Store, id uint64) (n int) {
	t.Helper()
	err := s.EachEntry(id, MinStreamID, MaxStreamID, false, func(Entry) bool { n++; return true })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A day is dropped by one small row, whatever it holds; its space comes back, and the other days stay.
func TestDroppedDaysFreeTheirSpace(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncNo)
	const first, entries = 20_000, 10_000
	for day := range uint32(3) {
		putDay(t, s, first+day, entries)
	}
	flush := func() {
		if err := s.db.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	space := func(day uint32) uint64 {
		n, err := s.db.EstimateDiskUsage(dayKey(nil, day, 0), dayKey(nil, day+1, 0))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	flush()
	if err := s.db.Compact(t.Context(), []byte("a"), []byte("z"), false); err != nil {
		t.Fatal(err)
	}
	before := [3]uint64{space(first), space(first + 1), space(first + 2)}
	for day, n := range before {
		if n < entries {
			t.Fatalf("day %d takes %d bytes", day, n)
		}
	}
	size := 0
	update(t, s, func(tx *Tx) error {
		tx.DropDays(first + 2)
		size = tx.Size()
		return nil
	})
	if size > 64 {
		t.Errorf("a batch of %d bytes", size)
	}
	if day, ok, err := s.FirstStreamDay(); day != first+2 || !ok || err != nil {
		t.Errorf("the first day is %d, %v, %v", day, ok, err)
	}
	if n, err := s.StreamLen(0); n != entries || err != nil || entriesOf(t, s, 0) != entries {
		t.Errorf("%d entries are left, %v", n, err)
	}
	if words, err := s.Words(first); len(words) > 0 || err != nil {
		t.Errorf("words of a dropped day: %v, %v", words, err)
	}
	flush() // the store does it by itself some seconds later
	for end := time.Now().Add(time.Minute); space(first)+space(first+1) > before[0]/10; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d and %d bytes are still taken, of %v", space(first), space(first+1), before)
		}
	}
	// what is left lies in blocks that also hold the day that stays
	if n := space(first + 2); n < before[2]/2 {
		t.Errorf("the day that stays takes %d bytes, took %d", n, before[2])
	}
	if n := entriesOf(t, s, 3); n < entries/8 {
		t.Errorf("a link has %d entries left", n)
	}
}

// SweepVersions goes through all versions in bounded steps and removes what only dropped days named.
func TestSweepVersions(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncNo)
	const links = 2500
	update(t, s, func(tx *Tx) error {
		for id := range uint64(links) {
			for revision := range uint64(3) {
				tx.PutVersion(1+id, revision, Version{Day: uint32(10 + revision), Target: "https://example.com/"})
			}
		}
		return nil
	})
	steps := 0
	for from := uint64(0); ; {
		steps++
		update(t, s, func(tx *Tx) (err error) {
			from, err = tx.SweepVersions(from, 12)
			return err
		})
		if from == 0 {
			break
		}
	}
	if steps < 7 || steps > 9 {
		t.Errorf("%d steps", steps)
	}
	for id := range uint64(links) {
		for revision := range uint64(3) {
			if _, ok, err := s.Version(1+id, revision); ok != (revision == 2) || err != nil {
				t.Fatalf("revision %d of link %d: %v, %v", revision, 1+id, ok, err)
			}
		}
	}
}

// A link's entries come from rows of many, whatever the bounds, in both directions.
func TestEntriesOfALink(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncNo)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 4))
	var want []StreamID
	at := StreamID{Ms: 20_000*uint64(dayMillis) - 2000}
	for range 12 {
		update(t, s, func(tx *Tx) error {
			var list []Place
			for range random.IntN(200) {
				if at.Seq++; random.IntN(3) > 0 {
					at = StreamID{Ms: at.Ms + random.Uint64N(5)*random.Uint64N(5), Seq: random.Uint64N(3)}
					if len(want) > 0 && !want[len(want)-1].Less(at) {
						at = want[len(want)-1].Next()
					}
				}
				link := 7 + random.Uint64N(2)
				tx.PutEntry(&Entry{ID: at, Link: link})
				list = append(list, Place{link, at})
				if link == 7 {
					want = append(want, at)
				} else {
					at = at.Next()
				}
			}
			slices.SortFunc(list, ComparePlaces)
			tx.AddPlaces(list)
			return nil
		})
	}
	if n, err := s.StreamLen(7); n != int64(len(want)) || err != nil {
		t.Errorf("length %d, %v, want %d", n, err, len(want))
	}
	for range 300 {
		low, high, reverse := MinStreamID, MaxStreamID, random.IntN(2) == 0
		if random.IntN(4) > 0 {
			low = want[random.IntN(len(want))]
		}
		if random.IntN(4) > 0 {
			high = want[random.IntN(len(want))]
		}
		if random.IntN(2) == 0 {
			low = low.Next()
		}
		if random.IntN(2) == 0 && high != MinStreamID {
			high = high.Prev()
		}
		most := 1 + random.IntN(100)
		var got, some []StreamID
		err := s.EachEntry(7, low, high, reverse, func(e Entry) bool {
			got = append(got, e.ID)
			return len(got) < most
		})
		for _, id := range want {
			if !id.Less(low) && !high.Less(id) {
				some = append(some, id)
			}
		}
		if reverse {
			slices.Reverse(some)
		}
		some = some[:min(most, len(some))]
		if err != nil || !slices.Equal(got, some) {
			t.Fatalf("from %v to %v, reverse %v, %d at most: %v, %v, want %v", low, high, reverse, most, got, err, some)
		}
	}
}
