package link

import (
	"crypto/sha256"

	"curt/codec/weburl"
	"curt/storage"
)

// Dedup says when a plain request gets the code of a link that is already there.
type Dedup uint8

const (
	DedupDefault Dedup = iota // as Options say
	DedupStrict               // the same target, byte for byte
	DedupLoose                // the same after weburl.LooseKey
	DedupOff                  // never
)

// dedupKey is the first half of SHA-256(tenant, 0, key text). The key of a target itself is also
// the one under which its ban stands.
type dedupKey = [16]byte

type dedupKeys struct{ strict, loose dedupKey }

func makeKey(tenant, text string) (k dedupKey) {
	b := make([]byte, 0, 256)
	b = append(append(append(b, tenant...), 0), text...)
	sum := sha256.Sum256(b)
	copy(k[:], sum[:])
	return k
}

func keysOf(tenant, target string) dedupKeys {
	return dedupKeys{makeKey(tenant, target), makeKey(tenant, weburl.LooseKey(target))}
}

// duplicate returns the live plain link that a plain request for target may share, nil when there is none. The entries
// are hints: what counts is the record.
func (s *Service) duplicate(r *storage.Reader, p *plan) (*storage.Link, error) {
	if p.again() {
		return s.findAgain(r, p)
	}
	if !p.plain || p.dedup == DedupOff {
		return nil, nil
	}
	if p.dedup == DedupLoose {
		l, err := s.hint(r, p, p.keys.loose, func(target string) bool {
			return weburl.LooseKey(target) == weburl.LooseKey(p.target)
		})
		if l != nil || err != nil {
			return l, err
		}
	}
	return s.hint(r, p, p.keys.strict, func(target string) bool { return target == p.target })
}

func (s *Service) hint(r *storage.Reader, p *plan, key dedupKey, same func(target string) bool) (*storage.Link, error) {
	l, err := s.hinted(r, key)
	if err != nil || l == nil {
		return nil, err
	}
	plain := l.Flags&storage.Plain != 0 && l.Tenant == p.tenant
	if !plain || !same(l.Target) || s.stateNow(l) != Live {
		return nil, nil
	}
	return l, nil
}

// hinted returns the link that a dedup key leads to, nil when there is none. It may have changed since.
func (e *engine) hinted(r *storage.Reader, key dedupKey) (*storage.Link, error) {
	if !e.hints.maybe(key[:]) {
		return nil, nil
	}
	id, ok, err := r.Dedup(key)
	if err != nil || !ok {
		return nil, err
	}
	l, ok, err := r.Link(id)
	if err != nil || !ok {
		return nil, err
	}
	return &l, nil
}

// hintAt makes a dedup key lead to a link.
func (c *change) hintAt(key dedupKey, id uint64) {
	c.add(&c.hints, string(key[:]))
	c.tx.PutDedup(key, id)
}

// unplain takes a link out of what plain requests may share; every edit that makes it somebody's own does so.
func (c *change) unplain(l *storage.Link) error {
	var hints []dedupKey
	if key, ok := importKeyOf(l); ok {
		hints = append(hints, key)
	}
	l.Fingerprint = nil
	if l.Flags&storage.Plain != 0 {
		keys := keysOf(l.Tenant, l.Target)
		hints = append(hints, keys.strict, keys.loose)
	}
	l.Flags &^= storage.Plain
	for _, key := range hints {
		id, ok, err := c.tx.Dedup(key)
		if err != nil {
			return err
		}
		if ok && id == l.ID {
			c.tx.DeleteDedup(key)
		}
	}
	return nil
}
