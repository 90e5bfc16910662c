package link

import (
	"cmp"
	"context"
	"errors"
	"time"

	"curt/storage"
)

const (
	sweepEvery       = time.Second
	sweepBatch       = 1000 // links of one step, so that a backlog does not crowd out the work
	defaultRetention = 30 * 24 * time.Hour
)

// maintainLives sweeps until ctx ends.
func (s *Service) maintainLives(ctx context.Context) {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
				s.log.Error("sweep", "err", err)
			}
		}
	}
}

// sweep announces links whose time is over, and removes those that ended longer ago than they are kept. What it costs follows
// the number of such links. That a link is over is decided at each read: the sweeper only says so, once.
func (s *Service) sweep(ctx context.Context) error {
	now := s.millis()
	due, err := collect(func(fn func(int64, uint64) bool) error { return s.store.EachExpired(now, fn) })
	if err != nil {
		return err
	}
	failed := s.eachID(ctx, due, s.announce)
	old, err := collect(func(fn func(int64, uint64) bool) error { return s.store.EachEnded(now-s.retention.Milliseconds(), fn) })
	if err != nil {
		return err
	}
	return cmp.Or(failed, s.eachID(ctx, old, s.purge))
}

// eachID runs fn on links, each by itself: one that can't be read does not hold up the others. It returns the first error.
func (s *Service) eachID(ctx context.Context, ids []uint64, fn func(*change, *storage.Link) error) (failed error) {
	for _, id := range ids {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failed = cmp.Or(failed, s.byID(id, fn))
	}
	return failed
}

// collect takes the ids of one step.
func collect(each func(func(at int64, id uint64) bool) error) (ids []uint64, err error) {
	err = each(func(_ int64, id uint64) bool {
		ids = append(ids, id)
		return len(ids) < sweepBatch
	})
	return ids, err
}

// byID runs fn on a link under its stripes. A link that is gone, or that moved meanwhile, is left for the next step.
func (s *Service) byID(id uint64, fn func(*change, *storage.Link) error) error {
	l, ok, err := s.store.Link(id)
	if err != nil || !ok {
		return err
	}
	var set stripeSet
	s.stripesOf(&set, &l)
	err = s.apply(&set, func(c *change) error {
		now, ok, err := c.tx.Link(id)
		if err != nil || !ok {
			return err
		}
		if now.Target != l.Target || now.Name != l.Name {
			return errAgain
		}
		return fn(c, &now)
	})
	if errors.Is(err, errAgain) {
		return nil
	}
	return err
}

// announce marks a link as expired: from then on it stays so, whatever the clock says.
func (s *Service) announce(c *change, old *storage.Link) error {
	if old.Ended != 0 || old.Expires == 0 || old.Expires > c.now {
		return nil
	}
	l := *old
	l.Flags |= storage.Expired
	l.Ended = c.now
	s.expired.Add(1)
	c.aged = true
	c.event("expired", &l)
	return c.save(old, &l)
}

// purge removes a link that has been over for long enough.
func (s *Service) purge(c *change, old *storage.Link) error {
	if old.Ended == 0 || old.Ended > c.now-s.retention.Milliseconds() {
		return nil
	}
	c.aged = true
	return c.remove(old)
}

// Revive brings an ended link back with what it counted, until a time (unix ms UTC, 0: for good); its visits are counted
// against MaxVisits from the start again. ErrNotFound when there is none or it has not ended, ErrBanned when nothing new may lead to its target.
func (s *Service) Revive(code string, expires int64) error {
	if s.store.DiskLow() {
		return ErrDiskLow
	}
	target := func(set *stripeSet, l *storage.Link) { set.key(makeKey(l.Tenant, l.Target)) }
	return s.edit(code, target, func(c *change, old *storage.Link) error {
		if state := s.stateNow(old); state == Banned {
			return ErrBanned
		} else if state != Expired && state != UsedUp {
			return &ArgError{"the link has not ended"}
		}
		if err := c.refuseBanned(&c.tx.Reader, makeKey(old.Tenant, old.Target), old.Target); err != nil {
			return err
		}
		l := *old
		l.Flags &^= storage.Expired | storage.UsedUp
		l.Ended, l.Expires = 0, expires
		if l.MaxVisits != 0 {
			c.refill(l.ID)
		}
		if err := c.unplain(&l); err != nil {
			return err
		}
		c.event("revived", &l)
		return c.save(old, &l)
	})
}

// Expirations counts the links that were announced as expired since Open.
func (s *Service) Expirations() int64 { return s.expired.Load() }
