package link

import (
	"context"
	"sync"
)

// Need is what an Exec may use up at most. It is taken before, so that no lock is held while waiting for a block, a tick or an fsync.
type Need struct {
	Links      int // new ones
	Snowflakes int // codes of that kind among them
}

// Exec runs fn alone, atomic and isolated: its service reads its own writes, nobody who changes or who asks through Exec and
// Still sees any of them before all, and when fn returns an error or panics none is made.
func (s *Service) Exec(ctx context.Context, need Need, fn func(*Service) error) error {
	if err := s.admit(ctx, false); err != nil {
		return err
	}
	flakes, err := s.takeSnowflakes(ctx, need.Snowflakes)
	if err != nil {
		return err
	}
	taken, err := s.takeIDs(ctx, need.Links)
	if err != nil {
		return err
	}
	c := &change{engine: s.engine, by: s.by, ids: taken, snowflakes: flakes}
	defer func() { s.spare.put(c.ids) }()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.alones.Add(1)
	c.now = s.millis()
	c.tx = s.store.Begin()
	committed := false
	defer func() {
		if !committed {
			c.tx.Discard()
			c.undo()
		}
	}()
	view := *s
	view.batch = c
	if err := fn(&view); err != nil {
		return err
	}
	if _, err := c.tx.Commit(); err != nil {
		return err
	}
	committed = true
	c.publish()
	return nil
}

// Still runs fn while nothing changes: what it reads belongs together. A change inside fn is refused.
func (s *Service) Still(fn func(*Service) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	view := *s
	view.still = true
	return fn(&view)
}

// undo takes back what an Exec did outside its batch, the last first.
func (c *change) undo() {
	for i := len(c.revert) - 1; i >= 0; i-- {
		c.revert[i]()
	}
}

// execReserve is how many ids an Exec takes beyond those it may need: a code that nobody may get costs one more.
const execReserve = 8

// takeIDs returns ids for at most n new links, first those that an Exec before left.
func (s *Service) takeIDs(ctx context.Context, n int) ([]uint64, error) {
	if n == 0 {
		return nil, nil
	}
	ids := s.spare.take(n + execReserve)
	for len(ids) < n+execReserve {
		id, err := s.codes.next(ctx)
		if err != nil {
			s.spare.put(ids)
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// takeID returns a new id, inside an Exec one of those taken before it.
func (s *Service) takeID(ctx context.Context) (uint64, error) {
	if s.batch == nil {
		return s.codes.next(ctx)
	}
	return first(&s.batch.ids)
}

// first takes the first id of a list. When none is left, an Exec makes more than it said.
func first(list *[]uint64) (uint64, error) {
	if len(*list) == 0 {
		return 0, ErrOverloaded
	}
	id := (*list)[0]
	*list = (*list)[1:]
	return id, nil
}

// takeSnowflakes returns ids for at most n snowflake codes.
func (s *Service) takeSnowflakes(ctx context.Context, n int) (list []uint64, err error) {
	if n == 0 {
		return nil, nil
	}
	list = make([]uint64, n+execReserve)
	for i := range list {
		if list[i], err = s.ids.snowflakeID(ctx); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// takeSnowflake returns an id for a snowflake code, inside an Exec one of those taken before it.
func (s *Service) takeSnowflake(ctx context.Context) (uint64, error) {
	if s.batch == nil {
		return s.ids.snowflakeID(ctx)
	}
	return first(&s.batch.snowflakes)
}

// maxSpare bounds what spareIDs keep: more are left unused.
const maxSpare = 100_000

// spareIDs are ids that an Exec took and did not use. The zero value is empty; it is safe for concurrent use.
type spareIDs struct {
	mu   sync.Mutex
	list []uint64 // guarded by mu
}

func (s *spareIDs) put(ids []uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, ids[:min(len(ids), maxSpare-len(s.list))]...)
}

func (s *spareIDs) take(n int) []uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := len(s.list) - min(n, len(s.list))
	ids := append(make([]uint64, 0, n), s.list[from:]...)
	s.list = s.list[:from]
	return ids
}
