package link

import (
	"sync"

	"curt/storage"
)

const (
	// grantSize is how many visits the store hands out at a time: what a crash can waste.
	grantSize = 16
	// smallVisits is the largest MaxVisits whose visits are handed out one by one.
	smallVisits = 16

	grantShards  = 64
	maxGrantsPer = 4096 // grants of a shard that are kept in memory
)

// grants are the visits of links with MaxVisits that may be spent. The store counts what was handed out, synced, before any of it is spent; here
// is what is left of that. A grant that was handed out is never handed out again, except what a clean Close or trim gives back.
type grants [grantShards]grantShard

type grantShard struct {
	mu    sync.Mutex
	links map[uint64]*grant // guarded by mu
}

// grant is what is left to one link.
type grant struct {
	mu       sync.Mutex
	left     uint64
	granted  uint64        // in all, as the store has it
	gone     bool          // no longer in the table: another may be
	fetching chan struct{} // not nil: somebody asks the store for more; closed when they have ended
}

// grantOf returns the grant of a link with max visits, as the store has it when it is not known yet.
func (e *engine) grantOf(t *Target) (*grant, error) {
	shard := &e.grants[t.ID%grantShards]
	shard.mu.Lock()
	g := shard.links[t.ID]
	shard.mu.Unlock()
	if g != nil {
		return g, nil
	}
	granted, err := e.store.Granted(t.ID)
	if err != nil {
		return nil, err
	}
	if granted >= t.MaxVisits && t.Flags&storage.UsedUp == 0 {
		e.done.Go(func() { e.logged("used-up link", (&Service{engine: e}).endUsedUp(t)) }) // a crash came between
	}
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if g := shard.links[t.ID]; g != nil {
		return g, nil
	}
	if shard.links == nil {
		shard.links = map[uint64]*grant{}
	}
	if len(shard.links) >= maxGrantsPer {
		shard.trim()
	}
	g = &grant{granted: granted}
	shard.links[t.ID] = g
	return g, nil
}

// trim forgets grants with nothing left: the store knows as much of them.
func (s *grantShard) trim() {
	for id, g := range s.links {
		g.mu.Lock()
		if g.left == 0 && g.fetching == nil {
			g.gone = true
			delete(s.links, id)
		}
		g.mu.Unlock()
	}
}

// crowded returns a grant to give back when a shard holds too many.
func (s *grantShard) crowded() (id uint64, g *grant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.links) <= maxGrantsPer {
		return 0, nil
	}
	for id, g := range s.links {
		return id, g
	}
	return 0, nil
}

// usedUp reports that all visits of a link were spent, whether or not its record says so yet. Behind a refill in an Exec none is.
func (s *Service) usedUp(t *Target) bool {
	if s.batch != nil && s.batch.refilled[t.ID] {
		return false
	}
	g, err := s.grantOf(t)
	if err != nil {
		s.logged("read grant", err)
		return false // spend will ask again, and fail
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left == 0 && g.granted >= t.MaxVisits && g.fetching == nil
}

func (e *engine) logged(what string, err error) {
	if err != nil {
		e.log.Error(what, "err", err)
	}
}

// spend takes one visit of a link with MaxVisits. Live: it was there to take. No lock is held while the store syncs.
func (s *Service) spend(t *Target) (State, error) {
	for {
		g, err := s.grantOf(t)
		if err != nil {
			return Absent, err
		}
		g.mu.Lock()
		switch wait := g.fetching; {
		case g.gone:
			g.mu.Unlock()
		case g.left > 0:
			g.left--
			last := g.left == 0 && g.granted >= t.MaxVisits && wait == nil
			g.mu.Unlock()
			if last {
				s.logged("used-up link", s.endUsedUp(t)) // whoever asks next finds it spent all the same
			}
			return Live, nil
		case wait != nil:
			g.mu.Unlock()
			<-wait
		case g.granted >= t.MaxVisits:
			g.mu.Unlock()
			return UsedUp, nil
		default:
			g.fetching = make(chan struct{})
			g.mu.Unlock()
			if state, err := s.fetch(g, t); state != Live || err != nil {
				return state, err
			}
			s.giveBack(s.grants[t.ID%grantShards].crowded())
		}
	}
}

// fetch hands out more visits, durably, and adds them to g.
func (s *Service) fetch(g *grant, t *Target) (state State, err error) {
	var before, after uint64
	defer func() {
		g.mu.Lock()
		if state == Live && err == nil {
			g.left += after - before
			g.granted = after
		}
		close(g.fetching)
		g.fetching = nil
		g.mu.Unlock()
	}()
	var set stripeSet
	set.id(t.ID)
	err = s.apply(&set, func(c *change) error {
		l, ok, err := c.tx.Link(t.ID)
		if err != nil || !ok {
			return err
		}
		if state = stateOf(l.Flags, l.Expires, c.now, false); state != Live {
			return nil
		}
		if before, err = c.tx.Granted(t.ID); err != nil {
			return err
		}
		n := uint64(grantSize)
		if l.MaxVisits <= smallVisits {
			n = 1
		}
		after = max(before, min(before+n, l.MaxVisits))
		c.tx.SetGranted(t.ID, after)
		return nil
	})
	if err == nil && state == Live {
		err = s.store.WaitSynced(s.store.Ticket())
	}
	return state, err
}

// giveBack returns what is left of a grant to the store and forgets it.
func (s *Service) giveBack(id uint64, g *grant) {
	if g == nil {
		return
	}
	g.mu.Lock()
	if g.fetching != nil || g.gone {
		g.mu.Unlock()
		return
	}
	left := g.left
	g.left, g.fetching = 0, make(chan struct{})
	g.mu.Unlock()
	var set stripeSet
	set.id(id)
	err := s.apply(&set, func(c *change) error {
		granted, err := c.tx.Granted(id)
		if err == nil && granted >= left {
			c.tx.SetGranted(id, granted-left)
		}
		return err
	})
	s.logged("return visits", err)
	shard := &s.grants[id%grantShards]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.fetching)
	g.fetching = nil
	if err != nil {
		g.left = left
		return
	}
	g.gone = true
	delete(shard.links, id)
}

// endUsedUp writes into the link's record that its visits are spent, and tells of it, once.
func (s *Service) endUsedUp(t *Target) error {
	err := s.edit(t.Code, nil, func(c *change, old *storage.Link) error {
		if old.ID != t.ID || old.Flags&storage.UsedUp != 0 || old.Ended != 0 {
			return nil
		}
		l := *old
		l.Flags |= storage.UsedUp
		l.Ended = c.now
		if err := c.unplain(&l); err != nil {
			return err
		}
		c.event("used-up", &l)
		return c.save(old, &l)
	})
	if err == ErrNotFound { //nolint:errorlint // edit returns the sentinel itself
		return nil // deleted or renamed meanwhile: whoever asks next finds it spent
	}
	return err
}

// refill lets a link's visits be spent anew.
func (c *change) refill(id uint64) {
	c.tx.DeleteGranted(id)
	if c.refilled == nil {
		c.refilled = map[uint64]bool{}
	}
	c.refilled[id] = true
	c.after = append(c.after, func() {
		shard := &c.grants[id%grantShards]
		shard.mu.Lock()
		defer shard.mu.Unlock()
		if g := shard.links[id]; g != nil {
			g.mu.Lock()
			g.gone = true
			g.mu.Unlock()
			delete(shard.links, id)
		}
	})
}

// returnGrants gives back what is left of every grant. Nobody spends meanwhile or later.
func (e *engine) returnGrants() error {
	_, err := e.store.Update(func(tx *storage.Tx) error {
		for i := range e.grants {
			for id, g := range e.grants[i].links {
				if g.left > 0 {
					tx.SetGranted(id, g.granted-g.left)
					g.left, g.granted = 0, g.granted-g.left
				}
			}
		}
		return nil
	})
	return err
}
