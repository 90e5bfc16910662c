package storage

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func benchTarget(id uint64) string {
	return fmt.Sprintf("https://www.example.com/articles/2026/11/%x?ref=%d", id*0x9e3779b97f4a7c15, id%97)
}

func BenchmarkEncode(b *testing.B) {
	l := plainLink()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendLink(buf[:0], &l)
	}
}

func BenchmarkDecode(b *testing.B) {
	l := plainLink()
	rec := appendLink(nil, &l)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decodeLink(1, rec); err != nil {
			b.Fatal(err)
		}
	}
}

func benchStore(b *testing.B, links uint64) *Store {
	s, err := Open(Options{Dir: b.TempDir(), CacheBytes: 64 << 20})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	for id := uint64(1); id <= links; {
		update(b, s, func(tx *Tx) error {
			for range 64 {
				if err := shorten(tx, id); err != nil {
					return err
				}
				id++
			}
			return nil
		})
	}
	if err := s.db.Compact(b.Context(), []byte("a"), []byte("z"), true); err != nil {
		b.Fatal(err)
	}
	return s
}

// shorten writes what SHORTEN writes: the record, the dedup hint, the count.
func shorten(tx *Tx, id uint64) error {
	tx.PutDedup(benchKey(id), id)
	return tx.PutLink(nil, &Link{ID: id, Flags: Generated | Plain, Created: 1_800_000_000_000 + int64(id), Target: benchTarget(id)})
}

func benchKey(id uint64) (key [16]byte) {
	binary.BigEndian.PutUint64(key[:], id*0x9e3779b97f4a7c15)
	binary.BigEndian.PutUint64(key[8:], id*0xbf58476d1ce4e5b9)
	return key
}

func BenchmarkUpdate(b *testing.B) {
	s := benchStore(b, 0)
	id := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		id++
		if _, err := s.Update(func(tx *Tx) error { return shorten(tx, id) }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkUpdateSynced has 50 writers that each wait for the disk.
func BenchmarkUpdateSynced(b *testing.B) {
	s := benchStore(b, 0)
	ids := make(chan uint64, 1024)
	go func() {
		defer close(ids)
		for id := range uint64(b.N) {
			ids <- id + 1
		}
	}()
	b.SetParallelism(25)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := <-ids
			ticket, err := s.Update(func(tx *Tx) error { return shorten(tx, id) })
			if err == nil {
				err = s.WaitSynced(ticket)
			}
			if err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/float64(s.Stats().Fsyncs), "updates/sync")
}

const benchLinks = 200_000

func BenchmarkLink(b *testing.B) {
	s := benchStore(b, benchLinks)
	id := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		id = (id + 7919) % benchLinks
		if _, ok, err := s.Link(id + 1); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
	b.ReportMetric(float64(s.db.Metrics().Table.Local.LiveSize)/benchLinks, "table-bytes/link")
}

func BenchmarkDedupHit(b *testing.B) {
	s := benchStore(b, benchLinks)
	id := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		id = (id + 7919) % benchLinks
		if _, ok, err := s.Dedup(benchKey(id + 1)); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkDedupMiss(b *testing.B) {
	s := benchStore(b, benchLinks)
	id := uint64(benchLinks)
	b.ReportAllocs()
	for b.Loop() {
		id++
		if _, ok, err := s.Dedup(benchKey(id)); err != nil || ok {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkNameMiss(b *testing.B) {
	s := benchStore(b, benchLinks)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok, err := s.Name("wp-login.php"); err != nil || ok {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkPipeline applies 1,000 changes and waits once.
func BenchmarkPipeline(b *testing.B) {
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	id := uint64(0)
	for b.Loop() {
		var last uint64
		for range 1000 {
			id++
			last, err = s.Update(func(tx *Tx) error { return shorten(tx, id) })
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := s.WaitSynced(last); err != nil {
			b.Fatal(err)
		}
	}
}
