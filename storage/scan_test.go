package storage

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// pages collects a scan in pages of three, each starting behind the last entry of the one before.
func pages(t *testing.T, reverse bool, scan func(from uint64, fn func(uint64) bool) error) []uint64 {
	t.Helper()
	var all []uint64
	from := uint64(0)
	for {
		var page []uint64
		err := scan(from, func(id uint64) bool {
			page = append(page, id)
			return len(page) < 3
		})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
		if len(page) < 3 {
			return all
		}
		from = page[2] + 1
		if reverse {
			from = page[2] - 1
		}
		if from == 0 {
			return all
		}
	}
}

func TestPaging(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncAlways)
	var all, ofA, tagged, banned []uint64
	for i := uint64(1); i <= 40; i++ {
		l := Link{ID: i * i, Created: 1}
		all = append(all, l.ID)
		if i%2 == 0 {
			l.Tenant = "a"
			ofA = append(ofA, l.ID)
		}
		if i%3 == 0 {
			l.Tags = []string{"x"}
			tagged = append(tagged, l.ID)
		}
		if i%5 == 0 {
			l.BannedAt = 1
			banned = append(banned, l.ID)
		}
		update(t, s, func(tx *Tx) error { return tx.PutLink(nil, &l) })
	}
	for _, reverse := range []bool{false, true} {
		f := func(what string, want []uint64, scan func(from uint64, fn func(uint64) bool) error) {
			t.Helper()
			want = slices.Clone(want)
			if reverse {
				slices.Reverse(want)
			}
			if got := pages(t, reverse, scan); !slices.Equal(got, want) {
				t.Errorf("%s, reverse %v: %v, want %v", what, reverse, got, want)
			}
		}
		f("links", all, func(from uint64, fn func(uint64) bool) error {
			return s.EachLink(from, reverse, func(l *Link) bool { return fn(l.ID) })
		})
		f("tenant", ofA, func(from uint64, fn func(uint64) bool) error { return s.EachTenantLink("a", from, reverse, fn) })
		f("no tenant", nil, func(from uint64, fn func(uint64) bool) error { return s.EachTenantLink("", from, reverse, fn) })
		f("tag", tagged, func(from uint64, fn func(uint64) bool) error { return s.EachTagLink("", "x", from, reverse, fn) })
		f("banned", banned, func(from uint64, fn func(uint64) bool) error { return s.EachBannedLink(from, reverse, fn) })
	}
}

func TestNamesPage(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncAlways)
	update(t, s, func(tx *Tx) error {
		for i := range 10 {
			tx.PutName(fmt.Sprint("n", i), uint64(i))
		}
		return nil
	})
	var got []string
	err := s.EachName("n4", func(text string, id uint64) bool {
		got = append(got, fmt.Sprint(text, " ", id))
		return len(got) < 3
	})
	if err != nil || fmt.Sprint(got) != "[n4 4 n5 5 n6 6]" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestDueIsBounded(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncAlways)
	for id := uint64(1); id <= 9; id++ {
		l := Link{ID: id, Expires: int64(100 - 10*id)}
		update(t, s, func(tx *Tx) error { return tx.PutLink(nil, &l) })
	}
	var got []string
	err := s.EachExpired(30, func(at int64, id uint64) bool {
		got = append(got, fmt.Sprint(at, ":", id))
		return true
	})
	if err != nil || fmt.Sprint(got) != "[10:9 20:8 30:7]" {
		t.Errorf("%v, %v", got, err)
	}
}

// TestMissesUseFilters: names that do not exist cost no block of the last level.
func TestMissesUseFilters(t *testing.T) {
	s := open(t, vfs.NewMem(), SyncAlways)
	const n = 20000
	update(t, s, func(tx *Tx) error {
		for i := range uint64(n) {
			tx.PutName(fmt.Sprintf("name-%d", i*2), i+1)
		}
		return nil
	})
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Compact(t.Context(), []byte("a"), []byte("z"), false); err != nil {
		t.Fatal(err)
	}
	m := s.db.Metrics()
	if m.Levels[6].TablesCount == 0 {
		t.Fatalf("nothing on the last level:\n%s", m)
	}
	before, reads := s.db.Metrics().Filter, s.Stats().StoreReads
	for i := range 1000 {
		if _, ok, err := s.Name(fmt.Sprintf("name-%d", i*2+1)); ok || err != nil {
			t.Fatalf("found %v, %v", ok, err)
		}
	}
	after := s.db.Metrics().Filter
	if hits := after.Hits - before.Hits; hits < 950 {
		t.Errorf("the filters caught %d of 1000 misses", hits)
	}
	if n := s.Stats().StoreReads - reads; n != 1000 {
		t.Errorf("%d store reads counted", n)
	}
}
