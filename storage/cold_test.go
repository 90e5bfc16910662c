package storage

import (
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A read of a link that no cache holds takes one data block, and at most one index block: blooms and ranges say which table has it. Tables are
// open already; the first read of each table also takes its filter and what says where the rest is.
func TestColdReadOfALink(t *testing.T) {
	const links = 400_000
	fs := vfs.NewMem()
	open := func() *Store {
		s, err := Open(Options{Dir: "data", FS: fs, CacheBytes: minCacheBytes})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for id := uint64(1); id <= links; {
		update(t, s, func(tx *Tx) error {
			for range 64 {
				if err := shorten(tx, id); err != nil {
					return err
				}
				id++
			}
			return nil
		})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	read := func(id uint64) int64 {
		before := s.Stats().CacheMisses
		if _, ok, err := s.Link(id); !ok || err != nil {
			t.Fatal(ok, err)
		}
		return s.Stats().CacheMisses - before
	}
	for id := uint64(1); id <= links; id += 1000 {
		read(id)
	}
	random := rand.New(rand.NewPCG(1, 2))
	const reads = 5000
	var worst, sum int64
	for range reads {
		n := read(1 + random.Uint64N(links))
		worst, sum = max(worst, n), sum+n
	}
	if t.Logf("%.2f blocks a read, %d at most", float64(sum)/reads, worst); worst > 2 || sum < reads/4 {
		t.Error("more than a data and an index block, or the reads were not cold")
	}
}
