package link

import (
	"cmp"
	"context"
	"slices"

	"curt/storage"
)

// assign takes an id and gives p the text of its code. It reports true when p turns out to ask for a link that is there. An id whose code
// nobody may get is left unused.
func (s *Service) assign(ctx context.Context, p *plan) (done bool, err error) {
	if p.req.HasAlias || p.kind != CodeSequence {
		if done, err := s.assignName(ctx, p); done || err != nil {
			return done, err
		}
		if p.id == 0 {
			p.id, err = s.takeID(ctx)
		}
		return false, err
	}
	p.id, p.text, err = s.nextCode(ctx)
	return false, err
}

// nextCode takes the next id whose code may be given to somebody.
func (s *Service) nextCode(ctx context.Context) (id uint64, code string, err error) {
	for range maxAttempts {
		if id, err = s.takeID(ctx); err != nil {
			return 0, "", err
		}
		code = s.codes.code(id)
		if !s.codes.shadowed(id) && !IsOwnRoute(code) && !s.words.in(code) {
			return id, code, nil
		}
	}
	return 0, "", ErrExhausted
}

// assignName makes the text of a code that is a name, and looks whose it is now: an unlocked look, so that asking again for what is
// there costs no id.
func (s *Service) assignName(ctx context.Context, p *plan) (done bool, err error) {
	if !p.req.HasAlias {
		if p.name, err = s.makeName(ctx, p); err != nil {
			return false, err
		}
		p.text = p.name
	}
	p.taken = nil
	l, err := s.find(s.reader(), p.name)
	if err != nil || l == nil || l.Name != p.name {
		return false, err
	}
	if s.sameRequest(l, p) {
		p.out.Code = p.name
		return true, nil
	}
	if s.mayRetake(l, p) {
		p.taken = l
	}
	return false, nil
}

// makeName makes the next text to try for a random or hash code.
func (s *Service) makeName(ctx context.Context, p *plan) (string, error) {
	alphabet := s.codes.alphabet()
	length := cmp.Or(p.req.Length, madeLength)
	for ; p.tries < maxAttempts; p.tries++ {
		var name string
		switch p.kind {
		case CodeRandom:
			name = randomCode(alphabet, length)
		case CodeHash:
			name = hashCode(alphabet, length, p.tenant, p.target, p.tries)
		case CodeSnowflake:
			id, err := s.takeSnowflake(ctx)
			if err != nil {
				return "", err
			}
			name = snowflakeCode(id)
		}
		if !IsOwnRoute(name) && !s.words.in(name) {
			return name, nil
		}
	}
	return "", ErrExhausted
}

// sameRequest reports that a link is what p asks for: for an alias the same words of the same tenant, for a hash code or a row of an
// import the same target.
func (s *Service) sameRequest(l *storage.Link, p *plan) bool {
	if p.in != nil {
		return l.Tenant == p.tenant && l.Target == p.target
	}
	if l.Tenant != p.tenant || s.stateNow(l) != Live {
		return false
	}
	if p.req.HasAlias {
		return len(l.Fingerprint) > 0 && slices.Equal(l.Fingerprint, p.print)
	}
	return p.kind == CodeHash && l.Target == p.target
}

// mayRetake reports that p may have the name of an ended link: its own tenant's alias, or the hash code of the same target.
func (s *Service) mayRetake(l *storage.Link, p *plan) bool {
	return l.Tenant == p.tenant && s.ended(l) && (p.req.HasAlias || p.kind == CodeHash && l.Target == p.target)
}

// ended reports that a link is over but still kept.
func (s *Service) ended(l *storage.Link) bool {
	state := s.stateNow(l)
	return state == Expired || state == UsedUp
}

// stripesFor names everything that making p's link reads or writes.
func (s *Service) stripesFor(set *stripeSet, p *plan) {
	set.key(p.keys.strict)
	if p.plain && p.dedup == DedupLoose {
		set.key(p.keys.loose)
	}
	if p.again() {
		set.key(importKey(p.tenant, p.print))
	}
	set.text(p.text)
	set.id(p.id)
	if p.taken != nil {
		s.stripesOf(set, p.taken)
	}
}
