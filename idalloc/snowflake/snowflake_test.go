package snowflake

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// bench is a clock and a store that a test controls.
type bench struct {
	ms   atomic.Int64 // since the epoch
	mark atomic.Int64
	fail atomic.Bool
}

func newBench() *bench {
	b := &bench{}
	b.ms.Store(1_000_000)
	return b
}

var errDisk = errors.New("disk")

func (b *bench) options() Options {
	return Options{
		Now:  func() time.Time { return epoch.Add(time.Duration(b.ms.Load()) * time.Millisecond) },
		Mark: b.mark.Load(),
		Wait: 20 * time.Millisecond,
		Save: func(m int64) error {
			if b.fail.Load() {
				return errDisk
			}
			b.mark.Store(m)
			return nil
		},
	}
}

func open(t *testing.T, o Options) *Source {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func next(t *testing.T, s *Source) uint64 {
	t.Helper()
	id, err := s.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func wantErr(t *testing.T, s *Source, want error) {
	t.Helper()
	if _, err := s.Next(context.Background()); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestIDsIncreaseAndParse(t *testing.T) {
	b := newBench()
	o := b.options()
	o.Worker = 7
	s := open(t, o)
	last := uint64(0)
	for i := range 1000 {
		if i%100 == 0 {
			b.ms.Add(1)
		}
		id := next(t, s)
		if id <= last {
			t.Fatalf("%d after %d", id, last)
		}
		at, worker, _ := s.opts.Parse(id)
		if !at.Equal(o.Now()) || worker != 7 {
			t.Fatalf("%d is of %v, worker %d", id, at, worker)
		}
		last = id
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A millisecond that is used up waits for the next one, and a new one starts at a random place.
func TestFullMillisecond(t *testing.T) {
	b := newBench()
	o := b.options()
	o.SequenceBits = 2
	o.Jitter = -1
	s := open(t, o)
	for range 4 {
		next(t, s)
	}
	wantErr(t, s, ErrTimeout)
	b.ms.Add(1)
	next(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	starts := map[int64]bool{}
	s = open(t, b.options())
	for range 50 {
		b.ms.Add(1)
		_, _, seq := s.opts.Parse(next(t, s))
		starts[seq] = true
	}
	for seq := range starts {
		if seq > 99 {
			t.Errorf("a millisecond starts at %d", seq)
		}
	}
	if len(starts) < 10 {
		t.Errorf("new milliseconds start at %v", starts)
	}
	s.done.Wait()
	o = b.options()
	o.Jitter = -1
	b.ms.Store(b.mark.Load())
	for s = open(t, o); ; b.ms.Add(1) {
		if id, err := s.Next(context.Background()); err == nil {
			if _, _, seq := s.opts.Parse(id); seq != 0 {
				t.Errorf("without jitter a millisecond starts at %d", seq)
			}
			break
		}
	}
	s.done.Wait()
}

// Who waits for the clock holds nobody up, and goes on when it comes.
func TestNoLockWhileWaiting(t *testing.T) {
	b := newBench()
	o := b.options()
	o.SequenceBits, o.Jitter, o.Wait = 1, -1, time.Minute
	s := open(t, o)
	next(t, s)
	next(t, s) // the millisecond is used up
	got := make(chan uint64)
	for range 2 {
		go func() {
			id, err := s.Next(context.Background())
			if err != nil {
				t.Error(err)
			}
			got <- id
		}()
	}
	for range 20 { // each takes the lock while the two wait
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	}
	b.ms.Add(-3) // a short step back is waited for as well
	select {
	case id := <-got:
		t.Errorf("%d came before its time", id)
	case <-time.After(5 * time.Millisecond):
	}
	b.ms.Add(4)
	if first, second := <-got, <-got; first == second {
		t.Errorf("%d came twice", first)
	}
	s.done.Wait()
}

func TestClockStepsBack(t *testing.T) {
	b := newBench()
	s := open(t, b.options())
	first := next(t, s)
	b.ms.Add(-shortStep)
	wantErr(t, s, ErrTimeout)
	b.ms.Add(-1)
	wantErr(t, s, ErrClock)
	b.ms.Add(shortStep + 2)
	if id := next(t, s); id <= first {
		t.Errorf("%d after %d", id, first)
	}
	s.done.Wait()
}

// After kill -9 the mark is ahead: nothing at or below it is given out, whatever the clock says.
func TestRestartWithAnOlderClock(t *testing.T) {
	b := newBench()
	s := open(t, b.options())
	first := next(t, s)
	s.done.Wait()
	s = open(t, b.options())
	wantErr(t, s, ErrTimeout) // the mark is up to a second ahead: that is waited for
	b.ms.Add(-3_600_000 / 10)
	wantErr(t, s, ErrClock)
	b.ms.Store(b.mark.Load() + 1)
	if id := next(t, s); id <= first {
		t.Errorf("%d after %d", id, first)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.ms.Add(1)
	next(t, open(t, b.options())) // a clean stop leaves nothing to wait for
}

func TestMarkThatCannotBeSaved(t *testing.T) {
	b := newBench()
	b.fail.Store(true)
	s := open(t, b.options())
	wantErr(t, s, errDisk)
	b.fail.Store(false)
	next(t, s)
	s.done.Wait()
}

func TestBadOptions(t *testing.T) {
	b := newBench()
	for name, change := range map[string]func(*Options){
		"worker too large": func(o *Options) { o.Worker = 1024 },
		"worker negative":  func(o *Options) { o.Worker = -1 },
		"bits":             func(o *Options) { o.SequenceBits = 21 },
		"jitter":           func(o *Options) { o.Jitter = 4000 },
		"before the epoch": func(o *Options) { o.Epoch = epoch.AddDate(100, 0, 0) },
		"bits used up":     func(o *Options) { o.Epoch = epoch.AddDate(-80, 0, 0) },
	} {
		o := b.options()
		change(&o)
		if _, err := New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestManyCallers(t *testing.T) {
	b := newBench()
	o := b.options()
	o.Now, o.Wait = nil, time.Minute
	s := open(t, o)
	var mu sync.Mutex
	var all []uint64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 2000 {
				id, err := s.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, id)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	s.done.Wait()
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 32_000 {
		t.Errorf("%d different ids", n)
	}
}
