package storage

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestExpiring: the number of links with an expiry follows every change, and a restart.
func TestExpiring(t *testing.T) {
	fs := vfs.NewCrashableMem()
	s, err := Open(Options{Dir: "data", FS: fs, CacheBytes: minCacheBytes})
	if err != nil {
		t.Fatal(err)
	}
	with := func(id uint64, expires int64) *Link {
		return &Link{ID: id, Target: "https://example.com/", Created: 1, Expires: expires}
	}
	put := func(old, l *Link) { update(t, s, func(tx *Tx) error { return tx.PutLink(old, l) }) }
	want := func(n int64) {
		t.Helper()
		if got := s.Expiring(); got != n {
			t.Fatalf("%d links with an expiry, want %d", got, n)
		}
	}
	put(nil, with(1, 0))
	want(0)
	put(nil, with(2, 5))
	put(with(1, 0), with(1, 7))
	want(2)
	put(with(1, 7), with(1, 8))
	want(2)
	put(with(1, 8), with(1, 0))
	want(1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, fs, SyncAlways)
	want(1)
	update(t, s, func(tx *Tx) error { return tx.DeleteLink(with(2, 5)) })
	want(0)
	put(nil, with(3, 5))
	update(t, s, func(tx *Tx) error { tx.DeleteAllLinks(); return nil })
	want(0)
	if s.Links() != 0 {
		t.Fatalf("%d links", s.Links())
	}
}
