// Package snowflake makes 64-bit ids of a time, a worker and a sequence, in the manner of Twitter's Snowflake: they increase, and
// several machines make them without asking each other.
//
// A Source never issues an id twice, also when the clock steps back or the machine starts with an older one: it keeps a mark in the store
// that is always ahead of the ids it gives out, and after a start it gives out none at or below it.
package snowflake

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

var (
	// ErrClock is returned while the clock stands further behind the last id than a short step.
	ErrClock = errors.New("the clock stands behind the ids given out")
	// ErrOverflow is returned when the time since the epoch does not fit its bits, or lies before it.
	ErrOverflow = errors.New("the time does not fit the ids' bits")
	// ErrTimeout is returned when no id could be had within Options.Wait.
	ErrTimeout = errors.New("no id in time")
)

// Layout says how an id's 63 bits are used: time in milliseconds since Epoch, worker, sequence, from the most significant down.
type Layout struct {
	Epoch        time.Time // zero: 2024-01-01 UTC
	WorkerBits   int       // 0 to 20; with SequenceBits zero too: 10
	SequenceBits int       // 1 to 20; zero: 12
}

// idBits are the bits of an id: the sign stays 0.
const idBits = 63

func (l Layout) withDefaults() Layout {
	if l.Epoch.IsZero() {
		l.Epoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	if l.SequenceBits == 0 {
		if l.SequenceBits = 12; l.WorkerBits == 0 {
			l.WorkerBits = 10
		}
	}
	return l
}

func (l Layout) maxTime() int64 { return 1<<(idBits-l.WorkerBits-l.SequenceBits) - 1 }

func (l Layout) compose(t, worker, sequence int64) uint64 {
	return uint64(t)<<(l.WorkerBits+l.SequenceBits) | uint64(worker)<<l.SequenceBits | uint64(sequence)
}

// Parse takes an id apart.
func (l Layout) Parse(id uint64) (at time.Time, worker, sequence int64) {
	l = l.withDefaults()
	ms := int64(id >> (l.WorkerBits + l.SequenceBits))
	worker = int64(id >> l.SequenceBits & (1<<l.WorkerBits - 1))
	return l.Epoch.Add(time.Duration(ms) * time.Millisecond), worker, int64(id & (1<<l.SequenceBits - 1))
}

// Millis is the time of an id that is made then: milliseconds since the epoch.
func (l Layout) Millis(at time.Time) int64 { return at.Sub(l.withDefaults().Epoch).Milliseconds() }

// Options configure a Source.
type Options struct {
	Layout
	Worker int64                  // this machine's number, within WorkerBits
	Jitter int64                  // a new millisecond's sequence starts at random below it, so that ids tell no volume; 0: 100, negative: none
	Mark   int64                  // as it was saved last, 0: never
	Save   func(mark int64) error // makes a mark durable before it returns
	Now    func() time.Time       // nil: time.Now
	Wait   time.Duration          // the longest a caller waits; 0: 1 s
}

const (
	shortStep = 5    // ms that the clock may step back without an error
	ahead     = 1000 // ms that the mark is kept ahead
)

// Source gives out ids. It is safe for concurrent use, and holds no lock while it waits.
type Source struct {
	opts Options
	done sync.WaitGroup

	mu      sync.Mutex // guards the fields below
	last    int64      // ms of the last id
	next    int64      // sequence of the next id of that ms
	mark    int64      // no id above it before another is saved
	started bool       // an id was given out since the start
	saving  chan struct{}
	saveErr error
}

// New checks the options against each other and against the clock.
func New(o Options) (*Source, error) {
	o.Layout = o.Layout.withDefaults()
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Wait == 0 {
		o.Wait = time.Second
	}
	if o.WorkerBits < 0 || o.WorkerBits > 20 || o.SequenceBits < 1 || o.SequenceBits > 20 {
		return nil, fmt.Errorf("worker bits %d and sequence bits %d: each is at most 20, the sequence at least 1", o.WorkerBits, o.SequenceBits)
	}
	if max := int64(1)<<o.WorkerBits - 1; o.Worker < 0 || o.Worker > max {
		return nil, fmt.Errorf("worker %d is not within 0 to %d", o.Worker, max)
	}
	switch size := int64(1) << o.SequenceBits; {
	case o.Jitter == 0:
		o.Jitter = min(100, size/4)
	case o.Jitter < 0:
		o.Jitter = 0
	case o.Jitter > size/2:
		return nil, fmt.Errorf("jitter %d is more than half of the %d ids of a millisecond", o.Jitter, size)
	}
	s := &Source{opts: o, last: o.Mark, next: 1 << o.SequenceBits, mark: o.Mark}
	if t := s.now(); t < 0 || t > o.maxTime() {
		return nil, fmt.Errorf("the clock says %s, and ids can tell %s to %s: %w", o.Now().UTC().Format(time.DateTime), o.Epoch.UTC().Format(time.DateTime),
			o.Epoch.Add(time.Duration(o.maxTime())*time.Millisecond).UTC().Format(time.DateTime), ErrOverflow)
	}
	return s, nil
}

func (s *Source) now() int64 { return s.opts.Millis(s.opts.Now()) }

// Next returns an id larger than all before it.
func (s *Source) Next(ctx context.Context) (uint64, error) {
	timeout := time.NewTimer(s.opts.Wait)
	defer timeout.Stop()
	for {
		id, wait, err := s.take()
		if wait == nil {
			return id, err
		}
		select {
		case <-wait:
		case <-timeout.C:
			return 0, ErrTimeout
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// take returns an id, or what to wait for before asking again.
func (s *Source) take() (id uint64, wait <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.now()
	switch {
	case t < 0 || t > s.opts.maxTime():
		return 0, nil, ErrOverflow
	case t < s.last && s.last-t > s.patience():
		return 0, nil, ErrClock
	case t < s.last || t == s.last && s.next >= 1<<s.opts.SequenceBits:
		return 0, tick(), nil
	case t > s.mark:
		if err := s.saveErr; err != nil {
			s.saveErr = nil
			return 0, nil, err
		}
		return 0, s.save(t + ahead), nil
	}
	if t > s.last {
		s.last, s.next = t, 0
		if s.opts.Jitter > 0 {
			s.next = rand.Int64N(s.opts.Jitter)
		}
	}
	s.started = true
	id = s.opts.compose(t, s.opts.Worker, s.next)
	s.next++
	if s.mark-t < ahead/2 {
		s.save(t + ahead)
	}
	return id, nil, nil
}

// patience is how far the clock may be behind while callers wait for it: a short step, or right after a start the whole
// way to a mark that was ahead when the last run was killed.
func (s *Source) patience() int64 {
	if s.started {
		return shortStep
	}
	return ahead
}

// tick ends about when the next millisecond begins.
func tick() <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(time.Millisecond/2, func() { close(c) })
	return c
}

// save makes a higher mark durable in the background, one at a time, and returns a channel that closes when it has been tried.
func (s *Source) save(mark int64) <-chan struct{} {
	if s.saving != nil {
		return s.saving
	}
	saving := make(chan struct{})
	s.saving = saving
	s.done.Go(func() {
		err := s.opts.Save(mark)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.saveErr = err; err == nil {
			s.mark = mark
		}
		s.saving = nil
		close(saving)
	})
	return saving
}

// Close saves where the ids stand, so that the next start need not wait. It is called once, when nobody asks for ids any more.
func (s *Source) Close() error {
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		return nil
	}
	return s.opts.Save(s.last)
}
