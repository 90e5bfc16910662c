package server

import (
	"fmt"
	"slices"
	"testing"
)

// running is a tracker that looks as if it were on.
func running() *tracker {
	tr := &tracker{}
	tr.options.Store(&trackingOptions{})
	return tr
}

func TestTrackedKeyKeepsEachTrackerOnce(t *testing.T) {
	var k trackedKey
	var all []*tracker
	for range 3 * manyTrackers {
		all = append(all, running())
	}
	for range 3 {
		for _, tr := range all {
			k.add(tr)
		}
	}
	list := k.list()
	if len(list) != len(all) {
		t.Fatalf("%d trackers, want %d", len(list), len(all))
	}
	for _, tr := range all {
		if !slices.Contains(list, tr) {
			t.Fatal("one is missing")
		}
	}
}

// TestTrackedKeyForgetsTheGone: clients that come, read one key and go do not pile up.
func TestTrackedKeyForgetsTheGone(t *testing.T) {
	var k trackedKey
	stays := running()
	k.add(stays)
	for range 10_000 {
		tr := running()
		k.add(tr)
		tr.options.Store(nil)
	}
	list := k.list()
	if len(list) > 8*manyTrackers || !slices.Contains(list, stays) {
		t.Errorf("%d trackers are left", len(list))
	}
}

func TestTrackingShardIsBounded(t *testing.T) {
	var s trackingShard
	const limit = 10
	tr := running()
	evictions := 0
	for i := range 1000 {
		key := fmt.Sprint(i)
		evicted, by := s.enter(key, tr, limit)
		if by != nil {
			evictions++
			if evicted == key || s.keys[evicted] != nil || by[0] != tr {
				t.Fatalf("evicted %q for %q, by %v", evicted, key, by)
			}
		}
		s.expiresAt(key, int64(1000+i))
	}
	if len(s.keys) != limit || evictions != 1000-limit {
		t.Errorf("%d keys, %d evictions", len(s.keys), evictions)
	}
	if n := len(s.due.take(1 << 40)); n != limit {
		t.Errorf("%d deadlines", n)
	}
}

// TestEarliestExpiryCounts: of two readers that saw different expiries, one may be late to say so.
func TestEarliestExpiryCounts(t *testing.T) {
	var s trackingShard
	s.enter("a", running(), 1)
	s.expiresAt("a", 5000)
	s.expiresAt("a", 9000)
	s.expiresAt("a", 3000)
	s.expiresAt("gone", 3000)
	if got := s.due.take(3000); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%q", got)
	}
	if got := s.due.take(1 << 40); got != nil {
		t.Errorf("%q", got)
	}
}
