package link

import (
	"context"
	"errors"

	"curt/storage"
)

// SetIf says when Set may act, as SET's NX and XX do.
type SetIf uint8

const (
	SetAlways SetIf = iota
	SetNX           // only where no live link is
	SetXX           // only where one is
)

// SetRequest asks that a code lead to a target.
type SetRequest struct {
	Code, URL  string
	If         SetIf
	Expires    int64 // unix ms UTC, 0: never
	KeepExpiry bool  // a live link keeps the expiry it has
	Tenant     string
	Creator    string
}

// SetResult is what Set found and did.
type SetResult struct {
	Done bool   // the condition held
	Had  bool   // a live link was there
	Old  string // its target
}

// Set sends a live link elsewhere, and gives it the expiry asked for; what it counted, its tags, title and visits
// stay. Where no live link is, it makes one with this name. A banned link is refused, and so is a name that nobody may have.
// It is one decision: of two SetNX for one code, one is Done.
func (s *Service) Set(ctx context.Context, r *SetRequest) (SetResult, error) {
	if !ValidName(r.Code) {
		return SetResult{}, ErrBadName
	}
	target, err := s.opts.Policy.Check(r.URL)
	if err != nil {
		return SetResult{}, err
	}
	tenant, err := s.own(r.Tenant)
	if err != nil {
		return SetResult{}, err
	}
	if err := s.admit(ctx, true); err != nil {
		return SetResult{}, err
	}
	p := &plan{
		req:    &Request{Alias: r.Code, HasAlias: true, Expires: r.Expires, Creator: r.Creator},
		tenant: tenant, target: target, keys: dedupKeys{strict: makeKey(tenant, target)}, name: r.Code, text: r.Code,
	}
	for {
		result, err := s.trySet(ctx, r, p)
		if !errors.Is(err, errAgain) {
			return result, err
		}
	}
}

// trySet looks what is there, takes the locks for changing that, and decides. errAgain: it has changed since.
func (s *Service) trySet(ctx context.Context, r *SetRequest, p *plan) (result SetResult, err error) {
	seen, err := s.find(s.reader(), r.Code)
	if err != nil {
		return SetResult{}, err
	}
	var set stripeSet
	s.stripesFor(&set, p)
	if seen != nil {
		s.stripesOf(&set, seen)
		set.key(makeKey(seen.Tenant, p.target))
	}
	if p.id == 0 && r.If != SetXX && (seen == nil || s.ended(seen)) {
		if err := s.opts.Limits.name(r.Code); err != nil {
			return SetResult{}, err
		}
		if err := s.rate.allow(r.Creator, 1, s.now()); err != nil {
			return SetResult{}, err
		}
		if p.id, err = s.takeID(ctx); err != nil {
			return SetResult{}, err
		}
		set.id(p.id)
	}
	p.taken = seen
	err = s.apply(&set, func(c *change) error {
		result = SetResult{}
		now, err := s.find(&c.tx.Reader, r.Code)
		if err != nil {
			return err
		}
		if !same(seen, now) {
			return errAgain
		}
		return s.decide(c, r, p, now, &result)
	})
	return result, err
}

// same reports that two readings of a code found one link with one target and name, or none.
func same(a, b *storage.Link) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.ID == b.ID && a.Target == b.Target && a.Name == b.Name
}

// decide carries out r for the link that its code names now, nil: none.
func (s *Service) decide(c *change, r *SetRequest, p *plan, l *storage.Link, result *SetResult) error {
	state := Absent
	if l != nil {
		state = s.stateNow(l)
	}
	switch {
	case state == Banned:
		return ErrBanned
	case state == Live:
		result.Had, result.Old = true, l.Target
		if r.If == SetNX {
			return nil
		}
		result.Done = true
		return s.overwrite(c, r, p.target, l)
	case r.If == SetXX:
		return nil
	case p.id == 0 && (l == nil || s.ended(l)):
		return errAgain // it ended meanwhile: come back with an id
	}
	result.Done = true
	if err := c.refuseBanned(&c.tx.Reader, p.keys.strict, p.target); err != nil {
		return err
	}
	run := newRun(1)
	if _, err := s.claim(c, run, p); err != nil {
		return err
	}
	return s.write(c, run, p)
}

func (s *Service) overwrite(c *change, r *SetRequest, target string, old *storage.Link) error {
	if err := c.refuseBanned(&c.tx.Reader, makeKey(old.Tenant, target), target); err != nil {
		return err
	}
	l := *old
	if !r.KeepExpiry {
		l.Expires = r.Expires
	}
	return c.retarget(old, &l, target)
}
