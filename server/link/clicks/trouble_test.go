package clicks

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/storage"
)

// busy is a store during whose batches somebody visits, and is counted.
type busy struct {
	Store
	visit func()
}

func (s busy) Update(fn func(*storage.Tx) error) (uint64, error) {
	return s.Store.Update(func(tx *storage.Tx) error {
		err := fn(tx)
		s.visit()
		return err
	})
}

// Whatever the store refuses in between, whoever reads meanwhile: every visit is counted once, and stands once in the stream.
func TestRefusedNowAndThen(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	const links = 40
	var added [links + 1]int64
	var b *bench
	meddle := rand.New(rand.NewPCG(seed, 3))
	var one sync.Mutex // upkeep and flushes may meet, and upkeep may begin before b is there and go on when all is counted
	ready := false     // guarded by one
	set := func(to bool) {
		one.Lock()
		defer one.Unlock()
		ready = to
	}
	during := func() {
		one.Lock()
		defer one.Unlock()
		if !ready {
			return
		}
		id := 1 + meddle.Uint64N(links)
		added[id]++
		b.Add(b.visit(id))
		b.collect()
	}
	b = open(t, vfs.NewCrashableMem(), func(o *Options) { o.Store = busy{o.Store, during} })
	set(true)
	visit := func(r *rand.Rand, n int) (mine [links + 1]int64) {
		for range n {
			id := 1 + r.Uint64N(links)
			v := b.visit(id)
			v.UserAgent = fmt.Appendf(nil, "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/%d.0", 100+r.IntN(30))
			v.Referer = fmt.Appendf(nil, "https://news%d.example/", r.IntN(5))
			b.Add(v)
			mine[id]++
		}
		return mine
	}
	for range 15 {
		b.left.Store(r.Int64N(12) - 1)
		var wait sync.WaitGroup
		var mine [3][links + 1]int64
		for i := range mine {
			own := rand.New(rand.NewPCG(r.Uint64(), 2))
			wait.Go(func() {
				mine[i] = visit(own, 1+own.IntN(400))
			})
		}
		for range 1 + r.IntN(8) {
			var err error
			switch id := 1 + r.Uint64N(links); r.IntN(5) {
			case 0:
				err = b.Merge(id)
			case 1:
				err = b.Index(id)
			case 2:
				err = b.Flush()
			case 3:
				err = b.Sync()
			case 4:
				err = b.Merge(0)
			}
			if err != nil && b.left.Load() != 0 {
				t.Fatal(err)
			}
		}
		wait.Wait()
		for i := range mine {
			for id, n := range mine[i] {
				added[id] += n
			}
		}
		b.clock.Add(r.Int64N(hour))
	}
	b.left.Store(-1)
	if r.IntN(2) == 0 {
		b.flush()
	} else {
		for range storage.JournalParts {
			if err := b.Sync(); err != nil {
				t.Fatal(err)
			}
		}
	}
	set(false)
	b.flush() // what came during the last ones
	for id := uint64(1); id <= links; id++ {
		b.want(id, added[id], 0)
		if n := int64(len(b.entries(id))); n != added[id] {
			t.Errorf("link %d has %d entries, want %d", id, n, added[id])
		}
	}
	b.everyEntry(links)
	b.consistent()
	if n := b.Pending(); n != 0 {
		t.Errorf("%d are pending", n)
	}
}

// What a version of a deleted link led to goes in time, also where nobody ever clicks.
func TestVersionsGoWithoutClicks(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	day := storage.DayOf(start)
	_, err := b.store.Update(func(tx *storage.Tx) error {
		tx.PutVersion(1, 0, storage.Version{Code: "gone", Target: "https://example.com/", Day: day})
		tx.PutVersion(2, 0, storage.Version{Code: "late", Target: "https://example.com/", Day: day + 50})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Add(100 * 24 * hour)
	if err := b.Upkeep(); err != nil {
		t.Fatal(err)
	}
	for id, stays := range map[uint64]bool{1: false, 2: true} {
		if _, ok, err := b.store.Version(id, 0); err != nil || ok != stays {
			t.Errorf("the version of link %d: %v, %v, want %v", id, ok, err, stays)
		}
	}
}
