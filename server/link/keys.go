package link

import (
	"math/rand/v2"

	"curt/storage"
)

// ExpireIf says when Expire may act, as EXPIRE's NX, XX, GT and LT do. The bits may be joined: all must hold.
type ExpireIf uint8

const (
	ExpireAlways ExpireIf = 0
	ExpireNX     ExpireIf = 1 << (iota - 1) // only without expiry
	ExpireXX                                // only with one
	ExpireGT                                // only later (no expiry counts as infinite)
	ExpireLT                                // only earlier
)

// Expire ends a live link at a time (unix ms UTC); 0 takes the expiry away. It reports false when the link is absent, when
// the condition does not hold, or when there was no expiry to take away. A time that has passed ends it now.
func (s *Service) Expire(code string, at int64, when ExpireIf) (changed bool, err error) {
	err = s.edit(code, nil, func(c *change, old *storage.Link) error {
		changed = false
		if s.stateNow(old) != Live || !when.allows(old.Expires, at) || at == 0 && old.Expires == 0 {
			return nil
		}
		changed = true
		l := *old
		l.Expires = at
		if err := c.unplain(&l); err != nil {
			return err
		}
		return c.save(old, &l)
	})
	if err == ErrNotFound { //nolint:errorlint // edit returns the sentinel itself
		return false, nil
	}
	return changed && err == nil, err
}

func (w ExpireIf) allows(had, at int64) bool {
	return (w&ExpireNX == 0 || had == 0) &&
		(w&ExpireXX == 0 || had != 0) &&
		(w&ExpireGT == 0 || had != 0 && at > had) &&
		(w&ExpireLT == 0 || had == 0 || at < had)
}

// Scan calls fn for live links by their current code, in the order of their ids, and returns the cursor to go on from, 0
// at the end. It looks at about count links. A link that is there throughout is seen at least once.
func (s *Service) Scan(cursor uint64, count int, fn func(code string, l *storage.Link)) (next uint64, err error) {
	seen := 0
	err = s.each(cursor, false, func(l *storage.Link) bool {
		if seen == count {
			next = l.ID
			return false
		}
		seen++
		if code := s.codeOf(l); code != "" && s.stateNow(l) == Live {
			fn(code, l)
		}
		return true
	})
	return next, err
}

const (
	randomTries = 10
	randomWalk  = 1_000 // links looked at from each random id
)

// Random returns the code of a live link, "" when there is none or hardly any among thousands of ended ones: it looks at a bounded
// number, upwards from a few random ids and then from the first. Links behind a gap in the ids are chosen more often.
func (s *Service) Random() (code string, err error) {
	var last uint64
	if err := s.each(0, true, func(l *storage.Link) bool { last = l.ID; return false }); err != nil || last == 0 {
		return "", err
	}
	for range randomTries {
		if code, err = s.firstLive(1 + rand.Uint64N(last)); code != "" || err != nil {
			return code, err
		}
	}
	return s.firstLive(0)
}

// firstLive returns the code of the first live link from an id on, "" when none of the next randomWalk links is.
func (s *Service) firstLive(from uint64) (code string, err error) {
	seen := 0
	err = s.each(from, false, func(l *storage.Link) bool {
		if s.stateNow(l) == Live {
			code = s.codeOf(l)
		}
		seen++
		return code == "" && seen < randomWalk
	})
	return code, err
}

// Info is a link's record with what it means now.
type Info struct {
	storage.Link
	Code  string
	State State
}

// Info returns a link in whatever state, ErrNotFound when there is none.
func (s *Service) Info(code string) (*Info, error) {
	l, err := s.find(s.reader(), code)
	if err != nil {
		return nil, err
	}
	if l == nil {
		return nil, ErrNotFound
	}
	return s.info(l), nil
}

// FlushAll removes every link, name and ban. Ids, epochs and keys stay, so that no code comes twice, and the totals of all that was ever counted.
func (s *Service) FlushAll() error {
	if !s.Alone() {
		if err := s.clicks.Merge(0); err != nil { // most of what is merged below, while nobody has to wait
			return err
		}
	}
	return s.alone(func(c *change) error {
		if err := s.clicks.MergeGuarded(0); err != nil { // so that the running totals have it
			return err
		}
		c.reset = true
		c.tx.DeleteAllLinks()
		c.all = true
		none := map[string]storage.Ban{}
		c.after = append(c.after, s.cache.InvalidateAll, s.clicks.Clear)
		if s.batch == nil {
			c.after = append(c.after, func() { s.hosts.replace(none) })
			return nil
		}
		had := s.hosts.replace(none) // the rest of the Exec must see it
		c.revert = append(c.revert, func() { s.hosts.replace(had) })
		return nil
	})
}

// entryOverhead is about what keys, numbers and indexes of a stored link take.
const entryOverhead = 64

// Size is about how many bytes the link takes in the store, uncompressed.
func (i *Info) Size() int {
	n := entryOverhead + len(i.Target) + 2*len(i.Name) + 2*len(i.Tenant) + len(i.Creator) + len(i.Title) + len(i.BanReason) + len(i.Fingerprint)
	for _, t := range i.Tags {
		n += 2*len(t) + len(i.Tenant)
	}
	return n
}
