package idalloc

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a store: it reserves ids in order, may be slow, and may fail.
type counter struct {
	last    atomic.Uint64 // highest id reserved
	running atomic.Int32
	before  func(n uint64) error // runs first: sleeps, fails, looks

	mu    sync.Mutex // guards the field below
	asked []uint64   // n of each call
}

func (c *counter) reserve(n uint64) (Block, error) {
	if c.running.Add(1) != 1 {
		panic("two reservations at once")
	}
	defer c.running.Add(-1)
	c.mu.Lock()
	c.asked = append(c.asked, n)
	c.mu.Unlock()
	if c.before != nil {
		if err := c.before(n); err != nil {
			return Block{}, err
		}
	}
	last := c.last.Add(n)
	return Block{First: last - n + 1, Last: last}, nil
}

func (c *counter) calls() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.asked)
}

// newSegment waits long for the store, so that a busy machine fails no test; the
// tests of waiting run in a bubble with its own clock.
func newSegment(t testing.TB, c *counter, o Options) *Segment {
	o.Wait = time.Minute
	s := NewSegment(c.reserve, o)
	t.Cleanup(s.Close)
	return s
}

func next(t testing.TB, s *Segment) uint64 {
	t.Helper()
	id, err := s.Next(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestNextStartsAtOneAndCounts(t *testing.T) {
	c := &counter{}
	s := newSegment(t, c, Options{})
	for want := uint64(1); want <= 5000; want++ {
		if got := next(t, s); got != want {
			t.Fatalf("id %d, want %d", got, want)
		}
	}
	if n := c.calls(); n[0] != 1000 {
		t.Errorf("asked for %v ids, want 1000 first", n)
	}
}

// TestManyCallers has a store that is slow and fails now and then: callers see its
// errors, and no id is given twice.
func TestManyCallers(t *testing.T) {
	const callers, each = 100, 10_000
	broken := errors.New("broken disk")
	calls := 0
	c := &counter{before: func(uint64) error {
		time.Sleep(time.Millisecond)
		if calls++; calls%3 == 0 {
			return broken
		}
		return nil
	}}
	s := newSegment(t, c, Options{MaxStep: 8000})
	seen := make([]atomic.Bool, 2*callers*each)
	var failures atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			last := uint64(0)
			for got := 0; got < each; {
				id, err := s.Next(context.Background())
				if err != nil {
					if !errors.Is(err, broken) {
						t.Errorf("unexpected error: %v", err)
						return
					}
					failures.Add(1)
					continue
				}
				if id <= last || id > c.last.Load() || seen[id].Swap(true) {
					t.Errorf("id %d after %d of %d: taken before, out of order or not reserved", id, last, c.last.Load())
					return
				}
				last = id
				got++
			}
		})
	}
	wg.Wait()
	if failures.Load() == 0 {
		t.Error("no caller saw the store fail")
	}
	if waste := c.last.Load() - callers*each; waste > 2*8000 {
		t.Errorf("%d reserved ids unused, want two blocks at most", waste)
	}
}

// TestPrefetch: the next block is asked for when half of the first is used, in the
// background, once; nobody waits although the store needs an hour.
func TestPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		s := NewSegment(c.reserve, Options{})
		defer s.Close()
		next(t, s)
		c.before = func(uint64) error { time.Sleep(time.Hour); return nil }
		for range 498 {
			next(t, s)
		}
		synctest.Wait()
		if n := len(c.calls()); n != 1 {
			t.Fatalf("%d reservations after 499 ids", n)
		}
		for used := 500; used <= 1000; used++ {
			next(t, s)
			synctest.Wait()
			if n := len(c.calls()); n != 2 {
				t.Fatalf("%d reservations after %d ids", n, used)
			}
		}
		time.Sleep(time.Hour)
		if got := next(t, s); got != 1001 {
			t.Fatalf("id %d, want 1001", got)
		}
	})
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{before: func(uint64) error { time.Sleep(3 * time.Second); return nil }}
		s := NewSegment(c.reserve, Options{})
		defer s.Close()
		f := func(ctx context.Context, want error, after time.Duration) {
			t.Helper()
			start := time.Now()
			_, err := s.Next(ctx)
			if !errors.Is(err, want) || time.Since(start) != after {
				t.Errorf("%v after %v, want %v after %v", err, time.Since(start), want, after)
			}
		}
		f(context.Background(), ErrTimeout, time.Second)
		if runs, err := s.NextN(context.Background(), 5); !errors.Is(err, ErrTimeout) || runs != nil {
			t.Errorf("bulk: %v, %v", runs, err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		f(ctx, context.DeadlineExceeded, 100*time.Millisecond)
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		f(gone, context.Canceled, 0)
		// The one fetch goes on all the while, and its block is used.
		f(context.Background(), nil, 900*time.Millisecond)
		if n := c.calls(); len(n) != 1 {
			t.Errorf("reservations: %v", n)
		}
	})
}

// TestErrors: the error of a fetch goes to those who wait for it, the next call
// tries again, and a failure in the background bothers nobody.
func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken disk")
		fail := atomic.Bool{}
		fail.Store(true)
		c := &counter{before: func(uint64) error {
			time.Sleep(10 * time.Millisecond)
			if fail.Load() {
				return broken
			}
			return nil
		}}
		s := NewSegment(c.reserve, Options{})
		defer s.Close()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := s.Next(context.Background()); !errors.Is(err, broken) {
					t.Errorf("error %v", err)
				}
			})
		}
		wg.Wait()
		if n := len(c.calls()); n != 1 {
			t.Errorf("%d reservations for 20 waiting callers", n)
		}
		fail.Store(false)
		next(t, s)
		fail.Store(true)
		for range 999 {
			next(t, s)
			synctest.Wait()
			time.Sleep(time.Millisecond)
		}
		if n := len(c.calls()); n != 3 {
			t.Errorf("%d reservations: a failed one is repeated only for who needs it", n)
		}
		if _, err := s.Next(context.Background()); !errors.Is(err, broken) {
			t.Errorf("error %v", err)
		}
		fail.Store(false)
		if got := next(t, s); got != 1001 {
			t.Errorf("id %d, want 1001", got)
		}
	})
}

// TestStep drives the clock by hand.
func TestStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{}
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		s := NewSegment(c.reserve, Options{MinStep: 1000, MaxStep: 8000, Now: func() time.Time { return now }})
		defer s.Close()
		left := uint64(0) // in the block in use
		f := func(lasts time.Duration, wantStep uint64) {
			t.Helper()
			for ; left > 1; left-- {
				next(t, s)
				synctest.Wait()
			}
			now = now.Add(lasts)
			for range 2 { // the last of this block and the first of the next
				next(t, s)
				synctest.Wait()
			}
			left = s.cur.left
			if s.step != wantStep {
				t.Fatalf("block of %v: step %d, want %d; asked %v", lasts, s.step, wantStep, c.calls())
			}
		}
		next(t, s)
		left = s.cur.left
		f(59*time.Second, 2000)
		f(time.Minute, 2000)
		f(30*time.Minute, 2000)
		f(0, 4000)
		f(time.Second, 8000)
		f(time.Second, 8000)
		f(30*time.Minute+1, 4000)
		f(time.Hour, 2000)
		f(time.Hour, 1000)
		f(time.Hour, 1000)
		want := []uint64{1000, 1000, 2000, 2000, 2000, 4000, 8000, 8000, 4000, 2000, 1000}
		if got := c.calls(); !slices.Equal(got[:len(want)], want) {
			t.Errorf("asked %v, want %v", got, want)
		}
	})
}

func TestDefaults(t *testing.T) {
	f := func(o Options, lo, hi uint64, wait time.Duration) {
		t.Helper()
		o.setDefaults()
		if o.Now == nil || o.MinStep != lo || o.MaxStep != hi || o.Wait != wait {
			t.Errorf("%+v", o)
		}
	}
	f(Options{}, 1000, 1_000_000, time.Second)
	f(Options{MinStep: 2_000_000, Wait: time.Minute}, 2_000_000, 2_000_000, time.Minute)
	f(Options{MinStep: 1, MaxStep: 10}, 1, 10, time.Second)
}

func TestNextN(t *testing.T) {
	c := &counter{}
	s := newSegment(t, c, Options{MinStep: 10, MaxStep: 100})
	f := func(n int, want ...Block) {
		t.Helper()
		got, err := s.NextN(context.Background(), n)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d ids: %v, %v, want %v", n, got, err, want)
		}
	}
	f(0)
	f(-1)
	f(3, Block{1, 3})
	f(1000, Block{4, 1003}) // many blocks, one run
	f(1, Block{1004, 1004})
	s.Discard()
	first := c.last.Load() + 1 // or the block after a fetch that Discard met
	got, err := s.NextN(context.Background(), 5)
	if err != nil || len(got) != 1 || got[0].First < first || got[0].Len() != 5 {
		t.Errorf("after Discard: %v, %v, want 5 ids from %d or later", got, err, first)
	}
}

// TestShortBlocks: the store may give fewer ids than asked, and leave gaps.
func TestShortBlocks(t *testing.T) {
	last := uint64(0)
	s := NewSegment(func(uint64) (Block, error) {
		last += 10
		return Block{First: last - 2, Last: last}, nil
	}, Options{})
	defer s.Close()
	got, err := s.NextN(context.Background(), 7)
	want := []Block{{8, 10}, {18, 20}, {28, 28}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestNextNKeepsWhatItGot: an error in the middle does not lose the runs before.
func TestNextNKeepsWhatItGot(t *testing.T) {
	broken := errors.New("broken disk")
	c := &counter{}
	c.before = func(uint64) error {
		if c.last.Load() >= 100 {
			return broken
		}
		return nil
	}
	s := newSegment(t, c, Options{MinStep: 50, MaxStep: 50})
	got, err := s.NextN(context.Background(), 500)
	if !errors.Is(err, broken) || !slices.Equal(got, []Block{{1, 100}}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestBadBlocks: a store that goes back or returns nothing is an error, never an id.
func TestBadBlocks(t *testing.T) {
	f := func(blocks ...Block) {
		t.Helper()
		s := NewSegment(func(uint64) (Block, error) {
			b := blocks[0]
			if len(blocks) > 1 {
				blocks = blocks[1:]
			}
			return b, nil
		}, Options{})
		defer s.Close()
		got, err := s.NextN(context.Background(), 100)
		if err == nil || errors.Is(err, ErrTimeout) {
			t.Errorf("%v, %v", got, err)
		}
	}
	f(Block{})
	f(Block{0, 10})
	f(Block{5, 4})
	f(Block{1, 10}, Block{10, 20})
	f(Block{1, 10}, Block{1, 10})
	f(Block{11, 20}, Block{1, 10})
}

func TestLastIds(t *testing.T) {
	s := NewSegment(func(uint64) (Block, error) { return Block{math.MaxUint64 - 1, math.MaxUint64}, nil }, Options{})
	defer s.Close()
	got, err := s.NextN(context.Background(), 3)
	if err == nil || !slices.Equal(got, []Block{{math.MaxUint64 - 1, math.MaxUint64}}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestDiscardDuringFetch: a reservation begun before Discard is not used, nor is
// its error seen.
func TestDiscardDuringFetch(t *testing.T) {
	f := func(result error) {
		synctest.Test(t, func(t *testing.T) {
			c := &counter{}
			c.before = func(uint64) error {
				time.Sleep(100 * time.Millisecond)
				if len(c.calls()) == 1 {
					return result
				}
				return nil
			}
			s := NewSegment(c.reserve, Options{})
			defer s.Close()
			done := make(chan uint64)
			go func() { done <- next(t, s) }()
			synctest.Wait()
			s.Discard()
			want := uint64(1001)
			if result != nil {
				want = 1
			}
			if got := <-done; got != want || len(c.calls()) != 2 {
				t.Errorf("id %d after %d reservations, want %d after 2", got, len(c.calls()), want)
			}
		})
	}
	f(nil)
	f(errors.New("broken disk"))
}

// TestDiscardConcurrent: whoever asks after Discard gets an id above all that were
// reserved before it.
func TestDiscardConcurrent(t *testing.T) {
	c := &counter{}
	s := newSegment(t, c, Options{MinStep: 100, MaxStep: 1000})
	var floor atomic.Uint64
	var seen sync.Map
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				low := floor.Load()
				id, err := s.Next(context.Background())
				if err != nil {
					t.Error(err)
					return
				}
				if _, taken := seen.LoadOrStore(id, true); taken || id <= low {
					t.Errorf("id %d: taken before, or not above %d", id, low)
					return
				}
			}
		})
	}
	for range 100 {
		before := c.last.Load()
		s.Discard()
		floor.Store(before)
		next(t, s)
	}
	close(stop)
	wg.Wait()
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finished := false
		c := &counter{before: func(uint64) error {
			time.Sleep(time.Second / 2)
			finished = true
			return nil
		}}
		s := NewSegment(c.reserve, Options{})
		waiting := make(chan error)
		go func() {
			_, err := s.Next(context.Background())
			waiting <- err
		}()
		synctest.Wait()
		s.Close()
		if !finished {
			t.Error("Close did not wait for the fetch")
		}
		if err := <-waiting; !errors.Is(err, ErrClosed) {
			t.Errorf("who waited got %v", err)
		}
		s.Close()
		s.Discard()
		if _, err := s.Next(context.Background()); !errors.Is(err, ErrClosed) {
			t.Errorf("Next: %v", err)
		}
		if _, err := s.NextN(context.Background(), 2); !errors.Is(err, ErrClosed) {
			t.Errorf("NextN: %v", err)
		}
		if n := len(c.calls()); n != 1 {
			t.Errorf("%d reservations", n)
		}
	})
}

func TestCloseUnused(t *testing.T) {
	NewSegment((&counter{}).reserve, Options{}).Close()
}

// TestRestart: a new Segment on the same store begins after everything reserved.
func TestRestart(t *testing.T) {
	c := &counter{}
	seen := map[uint64]bool{}
	for range 5 {
		s := NewSegment(c.reserve, Options{})
		for range 700 {
			id := next(t, s)
			if seen[id] {
				t.Fatalf("id %d again", id)
			}
			seen[id] = true
		}
		s.Close() // waits for the fetch; a crash would not, and waste the same ids
	}
}

func BenchmarkNext(b *testing.B) {
	s := newSegment(b, &counter{}, Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Next(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNextParallel(b *testing.B) {
	s := newSegment(b, &counter{}, Options{})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Next(context.Background()); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
