// Package idalloc is where ids come from. A Segment hands out ids from blocks that
// the store has durably reserved before: taking one is a few instructions under a
// mutex, and the store is asked once for thousands. While the second half of a
// block is used the next one is fetched, so nobody waits at a boundary. A crash
// wastes what was left of the reserved blocks and never issues an id again.
package idalloc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrTimeout is returned when no id could be had within Options.Wait.
	ErrTimeout = errors.New("idalloc: no ids in time")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("idalloc: segment is closed")
)

// Block is a run of ids, First to Last, both included. Ids start at 1.
type Block struct{ First, Last uint64 }

// Len returns the number of ids in b.
func (b Block) Len() uint64 { return b.Last - b.First + 1 }

// Reserve reserves n ids in the store, or fewer, and returns them. It must have
// written the reservation durably (synced) before it returns. Blocks must come in
// increasing order. It is called without a lock, and never while it still runs.
type Reserve func(n uint64) (Block, error)

// Options are settings of a Segment; the zero value works.
type Options struct {
	Now     func() time.Time // clock that paces the step; nil means time.Now
	MinStep uint64           // ids a block, at first and at least; 0 means 1,000
	MaxStep uint64           // ids a block at most; 0 means 1,000,000
	Wait    time.Duration    // the longest a caller waits for the store; 0 means 1 s
}

const (
	fastBlock = time.Minute      // a block used up sooner doubles the step
	slowBlock = 30 * time.Minute // a block that lasts longer halves it
)

func (o *Options) setDefaults() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.MinStep == 0 {
		o.MinStep = 1000
	}
	if o.MaxStep == 0 {
		o.MaxStep = 1_000_000
	}
	o.MaxStep = max(o.MinStep, o.MaxStep)
	if o.Wait == 0 {
		o.Wait = time.Second
	}
}

// Segment hands out ids. It is safe for concurrent use; no two calls get the same
// id, and each block is used from its first id up before the next one.
type Segment struct {
	reserve Reserve
	options Options
	fetches sync.WaitGroup

	mu      sync.Mutex // guards the fields below; never held while the store works
	closed  bool
	cur     rest      // the block in use
	since   time.Time // when it came into use
	spare   rest      // the block after it, if it is there already
	step    uint64    // ids to ask for next
	highest uint64    // last id of all blocks so far
	era     uint64    // counts Discards
	failed  bool      // the last fetch failed: the next waits until someone needs it
	fetch   *fetch    // in flight, or nil
}

// rest is what is left of a block.
type rest struct {
	next uint64 // the next id
	left uint64 // ids from it on
	half uint64 // so many left means half is used
}

// fetch is one call of Reserve.
type fetch struct {
	n    uint64
	era  uint64
	done chan struct{} // closed at the end
	err  error         // set before that
}

// NewSegment returns a Segment that asks reserve for its blocks, from the first
// call of Next on. Close it.
func NewSegment(reserve Reserve, o Options) *Segment {
	o.setDefaults()
	return &Segment{reserve: reserve, options: o, step: o.MinStep}
}

// Next returns an id. It waits for the store only when no reserved id is left, at
// most Options.Wait and as long as ctx allows: ErrTimeout, the cause of ctx, the
// error of Reserve, or ErrClosed. After an error the next call tries again.
func (s *Segment) Next(ctx context.Context) (uint64, error) {
	s.mu.Lock()
	b, ok := s.take(1)
	s.mu.Unlock()
	if ok {
		return b.First, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Wait, ErrTimeout)
	defer cancel()
	b, err := s.await(ctx, 1)
	return b.First, err
}

// NextN returns n ids in increasing order as few runs, for bulk loads. Waits and
// errors are those of Next for the call as a whole. With an error it returns the
// runs it had got, fewer than n ids: they are the caller's to use or to waste.
func (s *Segment) NextN(ctx context.Context, n int) ([]Block, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.options.Wait, ErrTimeout)
	defer cancel()
	var runs []Block
	for n > 0 {
		b, err := s.await(ctx, uint64(n))
		if err != nil {
			return runs, err
		}
		n -= int(b.Len())
		if i := len(runs) - 1; i >= 0 && runs[i].Last+1 == b.First {
			runs[i].Last = b.Last
		} else {
			runs = append(runs, b)
		}
	}
	return runs, nil
}

// await returns 1 to n ids, waiting for the store if it must.
func (s *Segment) await(ctx context.Context, n uint64) (Block, error) {
	for {
		s.mu.Lock()
		b, ok := s.take(n)
		if ok || s.closed {
			s.mu.Unlock()
			if !ok {
				return Block{}, ErrClosed
			}
			return b, nil
		}
		f := s.fetch
		if f == nil {
			f = s.start(max(s.step, min(n, s.options.MaxStep)))
		}
		s.mu.Unlock()
		select {
		case <-f.done:
			if f.err != nil {
				return Block{}, f.err
			}
		case <-ctx.Done():
			return Block{}, context.Cause(ctx)
		}
	}
}

// take returns 1 to n ids of the block in use, if there are any, and has the next
// block fetched when it is time. s.mu is held.
func (s *Segment) take(n uint64) (Block, bool) {
	if s.closed || s.cur.left == 0 && !s.advance() {
		return Block{}, false
	}
	n = min(n, s.cur.left)
	b := Block{First: s.cur.next, Last: s.cur.next + n - 1}
	s.cur.next += n
	s.cur.left -= n
	if s.cur.left <= s.cur.half && s.spare.left == 0 && s.fetch == nil && !s.failed {
		s.start(s.step)
	}
	return b, true
}

// advance puts the spare block into use and adapts the step to the time that the
// last one lasted. s.mu is held.
func (s *Segment) advance() bool {
	if s.spare.left == 0 {
		return false
	}
	now := s.options.Now()
	if !s.since.IsZero() {
		switch lasted := now.Sub(s.since); {
		case lasted < fastBlock:
			s.step = min(s.step*2, s.options.MaxStep)
		case lasted > slowBlock:
			s.step = max(s.step/2, s.options.MinStep)
		}
	}
	s.cur, s.spare, s.since = s.spare, rest{}, now
	return true
}

// start has n ids fetched in the background. s.mu is held and no fetch in flight.
func (s *Segment) start(n uint64) *fetch {
	f := &fetch{n: n, era: s.era, done: make(chan struct{})}
	s.fetch = f
	s.fetches.Go(func() { s.run(f) })
	return f
}

func (s *Segment) run(f *fetch) {
	b, err := s.reserve(f.n)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(f.done)
	s.fetch = nil
	if err == nil && (b.First <= s.highest || b.Last < b.First) {
		err = fmt.Errorf("idalloc: reserved ids %d..%d after %d", b.First, b.Last, s.highest)
	}
	s.failed = err != nil
	if err == nil {
		s.highest = b.Last
	}
	if f.era != s.era {
		return // discarded while it was fetched; who waits asks again
	}
	if err != nil {
		f.err = err
		return
	}
	s.spare = rest{next: b.First, left: b.Len(), half: b.Len() / 2}
}

// Discard drops all ids reserved and not yet handed out, also those of a block being
// fetched: the next id comes from a block whose Reserve call begins after Discard.
// For a key rotation or a restore, after which old blocks must not be used.
func (s *Segment) Discard() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cur, s.spare, s.since = rest{}, rest{}, time.Time{}
	s.era++
}

// Close makes every further call fail with ErrClosed and waits for a fetch in
// flight, which ends the waiting of callers too. It may be called more than once.
func (s *Segment) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.fetches.Wait()
}
