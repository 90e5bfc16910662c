package storage

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestFewSyncs: a pipeline of changes costs one sync, and what is durable already costs none.
func TestFewSyncs(t *testing.T) {
	fs := &hookFS{FS: vfs.NewMem()}
	s := open(t, fs, SyncAlways)
	before := fs.logSyncs.Load()
	var last uint64
	for id := range uint64(1000) {
		last = update(t, s, putLink(id+1))
	}
	if s.Synced(last) {
		t.Error("synced before anybody waited")
	}
	wait(t, s, last)
	if got, real := s.Stats().Fsyncs, fs.logSyncs.Load()-before; got > 10 || real > 10 || got < 1 {
		t.Errorf("%d syncs counted, %d done for 1000 changes and one wait", got, real)
	}
	before = fs.logSyncs.Load()
	for range 100 {
		if ticket := s.Ticket(); !s.Synced(ticket) {
			t.Fatal("nothing was changed, yet the ticket is not synced")
		}
		empty := update(t, s, func(*Tx) error { return nil })
		wait(t, s, empty)
		wait(t, s, last)
	}
	if n := fs.logSyncs.Load() - before; n != 0 {
		t.Errorf("%d syncs with nothing to sync", n)
	}
}

// TestWaitersShareSyncs holds the first sync back until 50 writers have applied: one more serves them all.
func TestWaitersShareSyncs(t *testing.T) {
	const writers = 50
	var hold atomic.Bool
	applied := make(chan struct{})
	fs := &hookFS{FS: vfs.NewMem()}
	fs.onSync = func(name string) {
		if strings.HasSuffix(name, ".log") && hold.Load() {
			<-applied
		}
	}
	s := open(t, fs, SyncAlways)
	before := fs.logSyncs.Load()
	hold.Store(true)

	first := update(t, s, putLink(1))
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.WaitSynced(first) })
	var left atomic.Int64
	left.Store(writers)
	for i := range uint64(writers) {
		wg.Go(func() {
			ticket, err := s.Update(putLink(i + 2))
			if left.Add(-1) == 0 {
				close(applied)
			}
			if err == nil {
				err = s.WaitSynced(ticket)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := fs.logSyncs.Load() - before; n > 3 {
		t.Errorf("%d syncs for %d writers", n, writers)
	}
}

// TestAcknowledgedSurvives: under load, what WaitSynced has confirmed is there after a power cut, whether the
// waiter wrote it or only saw it.
func TestAcknowledgedSurvives(t *testing.T) {
	const writers, perWriter, cuts = 8, 60, 25
	mem := vfs.NewCrashableMem()
	s := open(t, mem, SyncAlways)
	rnd := rand.New(rand.NewPCG(seed(t), 0))

	acked := struct {
		sync.Mutex
		ids []uint64
	}{}
	var next atomic.Uint64
	ack := func(id, ticket uint64) {
		if err := s.WaitSynced(ticket); err != nil {
			t.Error(err)
		}
		acked.Lock()
		acked.ids = append(acked.ids, id)
		acked.Unlock()
	}
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range perWriter {
				id := next.Add(1)
				ticket, err := s.Update(putLink(id))
				if err != nil {
					t.Error(err)
				}
				ack(id, ticket)
			}
		})
	}
	wg.Go(func() { // sees links of others, possibly before their sync
		for range writers * perWriter {
			id := next.Load()
			if _, ok, err := s.Link(id); err != nil {
				t.Error(err)
			} else if ok {
				ack(id, s.Ticket())
			}
		}
	})
	for range cuts {
		acked.Lock()
		ids := append([]uint64(nil), acked.ids...)
		acked.Unlock()
		after := openOnce(t, powerCut(mem, rnd.IntN(2)*30, rnd.Uint64()), SyncAlways)
		for _, id := range ids {
			mustHave(t, after, id)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

// TestUnsyncedIsLost shows that the power cuts of these tests do cut.
func TestUnsyncedIsLost(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem, SyncAlways)
	wait(t, s, update(t, s, putLink(1)))
	update(t, s, putLink(2))
	after := open(t, powerCut(mem, 0, 0), SyncAlways)
	mustHave(t, after, 1)
	if _, ok, err := after.Link(2); ok || err != nil {
		t.Errorf("link 2 was never synced: found %v, %v", ok, err)
	}
	if after.Links() != 1 {
		t.Errorf("%d links after the crash", after.Links())
	}
}

func TestReservationIsDurable(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem, SyncAlways)
	for block := uint64(1000); block <= 5000; block += 1000 {
		ticket := update(t, s, func(tx *Tx) error {
			tx.SetCounter("x", block)
			return nil
		})
		wait(t, s, ticket)
		after := openOnce(t, powerCut(mem, 0, 0), SyncAlways)
		if v, err := after.Counter("x"); err != nil || v != block {
			t.Errorf("counter %d after the crash, want %d, %v", v, block, err)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWaitAfterClose(t *testing.T) {
	s := openOnce(t, vfs.NewMem(), SyncAlways)
	early := update(t, s, putLink(1))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.WaitSynced(early); err != nil {
		t.Errorf("Close synced it: %v", err)
	}
	if _, err := s.Update(putLink(2)); !errors.Is(err, ErrClosed) {
		t.Errorf("Update after Close: %v", err)
	}
}

// openOnce is open for a store that the test closes itself.
func openOnce(t testing.TB, fs vfs.FS, mode SyncMode) *Store {
	t.Helper()
	s, err := Open(Options{Dir: "data", FS: fs, CacheBytes: minCacheBytes, Sync: mode})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestChangeDuringSync: a change that begins or ends while a sync runs needs another one.
func TestChangeDuringSync(t *testing.T) {
	var during func()
	syncs := 0
	s := newSyncer(func() error {
		syncs++
		during()
		return nil
	})
	defer func() {
		during = func() {}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}()
	f := func(what string, change func()) {
		t.Helper()
		s.begun.Add(1)
		s.applied.Add(1)
		var second uint64
		during = func() {
			change()
			second = s.ticket()
			during = func() {}
		}
		before := syncs
		if err := s.wait(s.ticket()); err != nil || syncs != before+1 {
			t.Errorf("%s: %d syncs for the first change, %v", what, syncs-before, err)
		}
		if s.synced(second) {
			t.Errorf("%s: the second change counts as synced", what)
		}
		if err := s.wait(second); err != nil || syncs != before+2 {
			t.Errorf("%s: %d syncs for both changes, %v", what, syncs-before, err)
		}
	}
	f("begins and ends", func() { s.begun.Add(1); s.applied.Add(1) })
	f("begins, is visible", func() { s.begun.Add(1) })
	f("is still being applied", func() {})
	s.applied.Add(1)
	f("has ended", func() { s.begun.Add(1); s.applied.Add(1) })
}

// TestSyncErrorReachesWaiters: a failed sync is nobody's success, and does not become one later.
func TestSyncErrorReachesWaiters(t *testing.T) {
	s := newSyncer(func() error { return errors.New("disk gone") })
	s.begun.Add(1)
	s.applied.Add(1)
	ticket := s.ticket()
	for range 2 {
		if err := s.wait(ticket); err == nil || s.synced(ticket) {
			t.Errorf("%v, synced %v", err, s.synced(ticket))
		}
	}
	if err := s.close(); err == nil {
		t.Error("close reports nothing")
	}
}

// TestLogsGrowAhead: the log's length changes twice in 1,000 synced changes, and what is behind its last record is no record, also
// when the power is cut again after the start that found it. On a disk without that room the log does without.
func TestLogsGrowAhead(t *testing.T) {
	for name, most := range map[string]int{"room": 3, "no room": 1000} {
		t.Run(name, func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			s := open(t, &hookFS{FS: mem, noWriteAt: name == "no room"}, SyncAlways)
			lengths := map[int64]bool{}
			for id := uint64(1); id <= 1000; id++ {
				wait(t, s, update(t, s, putLink(id)))
				lengths[logBytes(t, mem)] = true
			}
			if n := len(lengths); n > most || n <= most/2 {
				t.Errorf("the logs had %d lengths, want at most %d and more than half of it", n, most)
			}
			for next := uint64(1001); next <= 1003; next++ {
				mem = powerCut(mem, 0, 0)
				s := open(t, mem, SyncAlways)
				for id := uint64(1); id < next; id++ {
					mustHave(t, s, id)
				}
				wait(t, s, update(t, s, putLink(next)))
			}
		})
	}
}

func logBytes(t *testing.T, fs vfs.FS) (size int64) {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") {
			stat, err := fs.Stat(fs.PathJoin("data", name))
			if err != nil {
				t.Fatal(err)
			}
			size += stat.Size()
		}
	}
	return size
}
