package link

import (
	"curt/storage"
)

// ExpireIf says when Expire may replace what is there, as EXPIRE's NX, XX, GT and LT do.
type ExpireIf uint8

const (
	ExpireAlways ExpireIf = iota
	ExpireNX              // only without expiry
	ExpireXX              // only with one
	ExpireGT              // only later (no expiry counts as infinite)
	ExpireLT              // only earlier
)

// Expire ends a live link at a time (unix ms UTC); 0 takes the expiry away. It reports false when the link is absent, when
// the condition does not hold, or when there was no expiry to take away. A time that has passed ends it now.
func (s *Service) Expire(code string, at int64, when ExpireIf) (changed bool, err error) {
	err = s.edit(code, nil, func(c *change, old *storage.Link) error {
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
	switch w {
	case ExpireNX:
		return had == 0
	case ExpireXX:
		return had != 0
	case ExpireGT:
		return had != 0 && at > had
	case ExpireLT:
		return had == 0 || at < had
	}
	return true
}

// Scan calls fn for live links by their current code, in the order of their ids, and returns the cursor to go on from, 0
// at the end. It looks at about count links. A link that is there throughout is seen at least once.
func (s *Service) Scan(cursor uint64, count int, fn func(code string, l *storage.Link)) (next uint64, err error) {
	seen := 0
	err = s.store.EachLink(cursor, false, func(l *storage.Link) bool {
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
	return &Info{Link: *l, Code: s.codeOf(l), State: s.stateNow(l)}, nil
}

// FlushAll removes every link, name and ban. Ids, epochs and keys stay, so that no code comes twice.
func (s *Service) FlushAll() error {
	return s.alone(func(c *change) error {
		c.tx.DeleteAllLinks()
		c.after = append(c.after, func() { s.cache.InvalidateAll(); s.hosts.clear() })
		return nil
	})
}
