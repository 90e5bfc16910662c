package storage

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// syncer makes changes durable for everybody who waits, with one sync of the log at a time.
//
// A ticket is the number of the sync that must finish first. Sync number n covers all that was visible when it
// started, so a ticket is "one more than have started", read after the change was applied or seen. Ticket 0 is
// always durable. When nothing was begun since the last sync started, no ticket needs another sync.
type syncer struct {
	sync func() error

	begun   atomic.Uint64 // batches whose apply has begun
	applied atomic.Uint64 // batches whose apply has ended
	covered atomic.Uint64 // applied, as the last finished sync found it when it started

	started  atomic.Uint64 // syncs
	finished atomic.Uint64

	mu      sync.Mutex // guards the fields below
	running *round     // the sync that started last
	next    *round     // the one that comes then
	closed  bool

	kick chan struct{} // holds one element when somebody waits for next
	stop chan struct{}
	idle chan struct{} // closed when run has returned
}

// round is one sync; done is closed when it has finished.
type round struct {
	done chan struct{}
	err  error
}

func newRound() *round { return &round{done: make(chan struct{})} }

// newSyncer starts the one goroutine; close ends it.
func newSyncer(sync func() error) *syncer {
	s := &syncer{
		sync:    sync,
		running: newRound(),
		next:    newRound(),
		kick:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		idle:    make(chan struct{}),
	}
	go s.run()
	return s
}

// clean says that all that is visible is durable.
func (s *syncer) clean() bool { return s.begun.Load() == s.covered.Load() }

func (s *syncer) ticket() uint64 {
	if s.clean() {
		return 0
	}
	return s.started.Load() + 1
}

func (s *syncer) synced(ticket uint64) bool {
	return ticket <= s.finished.Load() || s.clean()
}

func (s *syncer) wait(ticket uint64) error {
	if s.synced(ticket) {
		return nil
	}
	s.mu.Lock()
	r := s.running
	if ticket > s.started.Load() {
		if s.closed {
			s.mu.Unlock()
			return ErrClosed
		}
		r = s.next
		select {
		case s.kick <- struct{}{}:
		default:
		}
	}
	s.mu.Unlock()
	<-r.done
	return r.err
}

func (s *syncer) run() {
	defer close(s.idle)
	for {
		select {
		case <-s.kick:
			runtime.Gosched() // who is ready to run goes first: what they apply shares this sync, which waits for nobody
			s.round()
		case <-s.stop:
			return
		}
	}
}

// round syncs once. What was applied before it starts is covered by it.
func (s *syncer) round() {
	s.mu.Lock()
	r := s.next
	s.running, s.next = r, newRound()
	number := s.started.Add(1)
	s.mu.Unlock()

	if !s.clean() {
		applied := s.applied.Load()
		if r.err = s.sync(); r.err == nil {
			s.covered.Store(applied)
		}
	}
	if r.err == nil {
		s.finished.Store(number)
	}
	close(r.done)
}

// close serves who waits now with a last sync and ends the goroutine. Later waiters get ErrClosed.
func (s *syncer) close() error {
	close(s.stop)
	<-s.idle
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.round()
	return s.running.err
}

// Force returns when everything visible now is on the disk, whatever the sync mode: for what a power cut must never take back,
// such as a counter.
func (s *Store) Force() error {
	if err := s.WaitSynced(s.Ticket()); err != nil {
		return err
	}
	if s.lazy {
		s.files.syncAll()
	}
	return nil
}
