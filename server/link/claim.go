package link

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"curt/storage"
)

// run is what the links of one batch must know of each other, since a batch does not read its own writes.
type run struct {
	plain map[dedupKey]*plan // nil in a run of one link, which nobody asks about
	names map[string]*plan   // likewise
}

func newRun(links int) *run {
	if links == 1 {
		return &run{}
	}
	return &run{plain: map[dedupKey]*plan{}, names: map[string]*plan{}}
}

func (r *run) addPlain(key dedupKey, p *plan) {
	if r.plain != nil {
		r.plain[key] = p
	}
}

func (r *run) addName(p *plan) {
	if r.names != nil {
		r.names[p.name] = p
	}
}

// same is the plan of this run whose link p may share.
func (r *run) same(p *plan) *plan {
	if p.again() {
		return r.plain[importKey(p.tenant, p.print)]
	}
	same := r.plain[p.keys.strict]
	if same == nil && p.dedup == DedupLoose {
		same = r.plain[p.keys.loose]
	}
	if same == nil || same.out.Err != nil {
		return nil
	}
	return same
}

// make decides under the locks, and writes p's link. errAgain asks for another code.
func (s *Service) make(c *change, run *run, p *plan) (string, error) {
	if p.plain && p.dedup != DedupOff || p.again() {
		if same := run.same(p); same != nil {
			p.there = true
			return same.out.Code, nil
		}
	}
	if !s.looked(p) {
		l, err := s.look(&c.tx.Reader, p)
		if err != nil {
			return "", err
		}
		if l != nil {
			p.there = true
			return s.codeOf(l), nil
		}
	}
	same, err := s.claim(c, run, p)
	if same || err != nil {
		p.there = same
		return p.name, err
	}
	return p.text, s.write(c, run, p)
}

// sameHash reports that two plans of a run ask for the hash code of one target.
func (p *plan) sameHash(other *plan) bool {
	return p.in == nil && !p.req.HasAlias && p.kind == CodeHash && other.kind == CodeHash && other.tenant == p.tenant && other.target == p.target
}

// claim checks that p's code is free. It reports true when the link is the same request's, made before.
func (s *Service) claim(c *change, run *run, p *plan) (same bool, err error) {
	if p.name == "" {
		taken, err := c.nameTaken(p.text)
		if taken && err == nil {
			err = errAgain
		}
		return false, err
	}
	if other := run.names[p.name]; other != nil {
		if p.sameHash(other) {
			return true, nil
		}
		return false, errAgain
	}
	owner, err := s.owner(&c.tx.Reader, p.name)
	if owner == nil && err == nil {
		return false, nil
	}
	if err != nil && !errors.Is(err, ErrReserved) {
		return false, err
	}
	switch {
	case owner != nil && owner.Name == p.name && s.sameRequest(owner, p):
		return true, nil
	case owner != nil && owner.Name == p.name && s.mayRetake(owner, p):
		if p.taken == nil || p.taken.ID != owner.ID {
			return false, errAgain
		}
		return false, s.release(c, owner)
	case !p.req.HasAlias:
		return false, errAgain // another text is as good
	}
	return false, cmp.Or(err, ErrExists)
}

// owner returns the link that has a name, nil when the name is free, ErrReserved when nobody may have it: it is a
// route of the server, a tombstone, or a text that a generated code has, had or will have.
func (s *Service) owner(r *storage.Reader, name string) (*storage.Link, error) {
	if IsOwnRoute(name) {
		return nil, ErrReserved
	}
	if s.names.maybe(bytesOf(name)) {
		id, ok, err := r.Name(name)
		if err != nil {
			return nil, err
		}
		if ok && id == storage.Tombstone {
			return nil, ErrReserved
		}
		if ok {
			l, ok, err := r.Link(id)
			if err == nil && !ok {
				err = fmt.Errorf("name without link: %w", errCorrupt)
			}
			return &l, err
		}
	}
	id, ok := s.codes.lookup(bytesOf(name))
	if !ok {
		return nil, nil
	}
	l, ok, err := r.Link(id)
	if err != nil {
		return nil, err
	}
	if !ok || l.Flags&storage.Generated == 0 || s.stateNow(&l) != Live {
		return nil, ErrReserved
	}
	return &l, nil
}

// release takes the name from an ended link, and the link away when it has no other code.
func (s *Service) release(c *change, old *storage.Link) error {
	if old.Flags&storage.Generated == 0 {
		c.touch(old)
		return c.drop(old)
	}
	l := *old
	l.Name = ""
	return c.save(old, &l)
}

// write stores the new link with its name and dedup entries.
func (s *Service) write(c *change, run *run, p *plan) error {
	l := &storage.Link{
		ID: p.id, Target: p.target, Name: p.name, Tenant: p.tenant, Creator: p.req.Creator, Title: p.req.Title,
		Tags: sortedSet(p.req.Tags), Created: c.now, Expires: p.req.Expires, MaxVisits: p.req.MaxVisits, Fingerprint: p.print,
		Source: p.source(),
	}
	if p.name == "" {
		l.Flags |= storage.Generated
	} else {
		s.addName(p.name) // before the commit: "no" must never be wrong
		c.tx.PutName(p.name, p.id)
		run.addName(p)
	}
	if p.req.Forward {
		l.Flags |= storage.Forward
	}
	if p.plain {
		l.Flags |= storage.Plain
		if p.dedup != DedupOff {
			c.hintAt(p.keys.strict, p.id)
			run.addPlain(p.keys.strict, p)
		}
		if p.dedup == DedupLoose {
			c.hintAt(p.keys.loose, p.id)
			run.addPlain(p.keys.loose, p)
		}
	}
	if p.in != nil {
		p.dress(c, l)
	}
	if p.again() {
		run.addPlain(importKey(l.Tenant, p.print), p)
	}
	c.texts = append(c.texts, p.text)
	c.eventAt("created", p.text, l)
	return c.tx.PutLink(nil, l)
}

func (p *plan) source() storage.Source {
	if p.req.HasAlias {
		return storage.SourceAlias
	}
	return [...]storage.Source{storage.SourceSequence, storage.SourceRandom, storage.SourceHash, storage.SourceSnowflake}[p.kind]
}

func sortedSet(list []string) []string {
	set := slices.Clone(list)
	slices.Sort(set)
	return slices.Compact(set)
}
