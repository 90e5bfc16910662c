package link

import (
	"context"
	"errors"
	"time"

	"curt/storage"
)

// change is one batch in the making, with what must follow once it is applied.
type change struct {
	*engine
	tx     *storage.Tx
	by     any
	now    int64
	texts  []string // whose meaning changed
	all    bool     // every text's did
	aged   bool     // no text's did, but by the clock
	events []Event
	after  []func()
	revert []func() // undoes what an Exec did outside its batch, should it fail
	reset  bool     // clicks were reset in this Exec: what comes meanwhile stays out of the store
	ids    []uint64 // taken before an Exec, since nobody may wait inside
	// of snowflake codes, likewise
	snowflakes []uint64
	refilled   map[uint64]bool // links whose visits may be spent anew
}

// save writes a changed record and notes its old and new texts.
func (c *change) save(old, l *storage.Link) error {
	c.touch(old)
	if old.Name != l.Name {
		c.touch(l)
	}
	return c.tx.PutLink(old, l)
}

// touch notes every text of a link as changed.
func (c *change) touch(l *storage.Link) { c.texts = append(c.texts, c.textsOf(l)...) }

func (c *change) event(kind string, l *storage.Link) { c.eventAt(kind, c.codeOf(l), l) }

// eventAt is event of a link whose code the caller knows.
func (c *change) eventAt(kind, code string, l *storage.Link) {
	c.events = append(c.events, Event{Kind: kind, Code: code, Target: l.Target, Tenant: l.Tenant, Time: c.now})
}

// publish drops what the cache knew and tells those who watch.
func (c *change) publish() {
	for _, fn := range c.after {
		fn()
	}
	for _, t := range c.texts {
		c.cache.Invalidate(t)
	}
	if c.opts.OnChange != nil && (c.all || len(c.texts)+len(c.events) > 0) {
		c.opts.OnChange(Changes{By: c.by, Texts: c.texts, All: c.all, Aged: c.aged, Events: c.events})
	}
}

// textsOf lists the texts at which a link answers.
func (e *engine) textsOf(l *storage.Link) []string {
	texts := make([]string, 0, 2)
	if l.Name != "" {
		texts = append(texts, l.Name)
	}
	if l.Flags&storage.Generated != 0 {
		texts = append(texts, e.codes.code(l.ID))
	}
	return texts
}

// codeOf is the text by which a link is called: its name, else its generated code.
func (e *engine) codeOf(l *storage.Link) string {
	if l.Name != "" {
		return l.Name
	}
	if l.Flags&storage.Generated != 0 {
		return e.codes.code(l.ID)
	}
	return ""
}

// errAgain says that what was seen before the locks no longer holds.
var errAgain = errors.New("changed meanwhile")

// errStill says that a command which changes something ran where only reads may.
var errStill = errors.New("a change inside Still")

// apply runs fn under the stripes of set and commits its writes as one batch. fn reads and decides before it writes
// anything: when it returns an error nothing is changed. Inside an Exec the writes join its batch.
func (s *Service) apply(set *stripeSet, fn func(*change) error) error {
	if s.still {
		return errStill
	}
	if s.batch != nil {
		return fn(s.batch)
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	s.stripes.lock(set)
	defer s.stripes.unlock(set)
	return s.commit(fn)
}

// alone runs fn while no other change runs, and commits its writes as one batch.
func (s *Service) alone(fn func(*change) error) error {
	if s.still {
		return errStill
	}
	if s.tenant != "" {
		return ErrTenant
	}
	if s.batch != nil {
		return fn(s.batch)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.alones.Add(1)
	return s.commit(fn)
}

// commit runs fn, whose caller holds what keeps others from changing the same, and commits its writes as one batch.
func (s *Service) commit(fn func(*change) error) error {
	c := &change{engine: s.engine, by: s.by, now: s.millis()}
	_, err := s.store.Update(func(tx *storage.Tx) error { c.tx = tx; return fn(c) })
	if err != nil {
		return err
	}
	c.publish()
	return nil
}

// edit changes the link that code names: it takes the stripes of the link's id, texts and dedup keys, and
// those that more adds for the change at hand, and calls fn with the record as it then stands. fn leaves it as it
// is and saves a changed copy.
func (s *Service) edit(code string, more func(*stripeSet, *storage.Link), fn func(c *change, l *storage.Link) error) error {
	for {
		l, err := s.find(s.reader(), code)
		if err != nil {
			return err
		}
		if l == nil {
			return ErrNotFound
		}
		var set stripeSet
		s.stripesOf(&set, l)
		set.text(code)
		if more != nil {
			more(&set, l)
		}
		err = s.apply(&set, func(c *change) error {
			now, err := s.find(&c.tx.Reader, code)
			if err != nil {
				return err
			}
			if now == nil {
				return ErrNotFound
			}
			if now.ID != l.ID || now.Target != l.Target || now.Name != l.Name {
				return errAgain
			}
			return fn(c, now)
		})
		if !errors.Is(err, errAgain) {
			return err
		}
	}
}

func (e *engine) stripesOf(set *stripeSet, l *storage.Link) {
	set.id(l.ID)
	for _, t := range e.textsOf(l) {
		set.text(t)
	}
	keys := keysOf(l.Tenant, l.Target)
	set.key(keys.strict)
	set.key(keys.loose)
	if key, ok := importKeyOf(l); ok {
		set.key(key)
	}
}

const (
	stallWait = time.Second
	stallPoll = 10 * time.Millisecond
)

// admit holds a change back while the store stalls, a second at most, and refuses one that grows the
// store when the disk is nearly full. Nobody waits inside an Exec, which was admitted as a whole.
func (s *Service) admit(ctx context.Context, grows bool) error {
	if grows && s.store.DiskLow() {
		return ErrDiskLow
	}
	if s.batch != nil {
		return nil
	}
	for waited := time.Duration(0); s.store.Stalled(); waited += stallPoll {
		if waited >= stallWait {
			return ErrOverloaded
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(stallPoll):
		}
	}
	return nil
}
