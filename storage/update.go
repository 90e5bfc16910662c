package storage

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// Update runs fn and applies what it wrote as one batch, without sync; an error from fn applies nothing and is
// returned. The change is visible when Update returns and durable once WaitSynced(ticket) returned nil.
// Concurrent calls are allowed: callers hold their own locks. Reads inside fn see the committed state only.
func (s *Store) Update(fn func(*Tx) error) (ticket uint64, err error) {
	t := newTx(s, s.Reader, s.db.NewBatch())
	defer t.Discard()
	if err := fn(t); err != nil {
		return 0, err
	}
	return t.Commit()
}

// Begin starts a transaction whose reads see its own writes. End it with Commit or Discard.
func (s *Store) Begin() *Tx {
	b := s.db.NewIndexedBatch()
	return newTx(s, Reader{from: b, reads: s.reads}, b)
}

// Commit applies the transaction as one batch, without sync. The Tx is used up.
func (t *Tx) Commit() (ticket uint64, err error) {
	defer t.Discard()
	if t.err != nil {
		return 0, t.err
	}
	s := t.store
	if t.batch.Empty() {
		return s.Ticket(), nil
	}
	t.finish()
	if t.err != nil {
		return 0, t.err
	}
	if err := s.apply(t.batch); err != nil {
		return 0, err
	}
	if t.wiped {
		s.links.Store(t.links)
		s.expiring.Store(t.expiring)
	} else {
		s.links.Add(t.links)
		s.expiring.Add(t.expiring)
	}
	return s.Ticket(), nil
}

// finish adds what the store itself writes in a batch: the numbers of links, the version in the first one.
func (t *Tx) finish() {
	if t.links != 0 || t.expiring != 0 {
		t.key = metaKeyOf(t.key[:0], metaLinks, "")
		t.val = appendCount(t.val[:0], count{Visits: t.links, Bots: t.expiring})
		t.note(t.batch.Merge(t.key, t.val, nil))
	}
	if t.store.unwritten.CompareAndSwap(true, false) {
		t.setMeta(metaVersion, "", appendUint(nil, formatVersion))
	}
}

// apply makes a batch visible. A panic inside Pebble leaves it with locks held and the log in doubt, and must
// not be recovered from further up: it ends the process like any other error of the log.
func (s *Store) apply(b *pebble.Batch) (err error) {
	defer func() {
		p := recover()
		if cause, ok := p.(error); ok && errors.Is(cause, pebble.ErrClosed) {
			err = ErrClosed // a straggler after Close: nothing was touched
		} else if p != nil {
			s.watch.fatal(fmt.Errorf("apply batch: panic: %v", p))
		}
	}()
	s.sync.begun.Add(1) // before anybody can see it, or its readers would take it for durable
	defer s.sync.applied.Add(1)
	if err := s.db.Apply(b, pebble.NoSync); err != nil {
		return fmt.Errorf("apply batch: %w", err)
	}
	return nil
}

// barrier makes everything that was applied before it durable.
func (s *Store) barrier() error {
	defer func() {
		if p := recover(); p != nil {
			s.watch.fatal(fmt.Errorf("sync: panic: %v", p))
		}
	}()
	if err := s.db.LogData(nil, pebble.Sync); err != nil {
		s.watch.fatal(fmt.Errorf("sync: %w", err))
	}
	if !s.lazy {
		s.fsyncs.Add(1)
	}
	return nil
}

// Ticket returns the ticket that covers everything visible now: what a reply must wait for that shows a
// change another caller may not have synced yet.
func (s *Store) Ticket() uint64 { return s.sync.ticket() }

// Synced says whether WaitSynced(ticket) would return nil at once.
func (s *Store) Synced(ticket uint64) bool { return s.sync.synced(ticket) }

// WaitSynced returns nil when everything the ticket covers is durable, as the sync mode understands it. All
// who wait share one sync. It may be called during and after Close: ErrClosed then says "not durable".
func (s *Store) WaitSynced(ticket uint64) error { return s.sync.wait(ticket) }
