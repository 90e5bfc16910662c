package link

import (
	"slices"

	"curt/storage"
)

// Retarget sends a link elsewhere. What it counted stays; a plain link stops being shared. A banned link or target
// is refused, and so is an ended link (Revive brings one back).
func (s *Service) Retarget(code, url string) error {
	target, err := s.opts.Policy.Check(url)
	if err != nil {
		return err
	}
	if s.store.DiskLow() {
		return ErrDiskLow
	}
	return s.edit(code,
		func(set *stripeSet, l *storage.Link) { set.key(makeKey(l.Tenant, target)) },
		func(c *change, old *storage.Link) error {
			if state := s.stateNow(old); state != Live && state != Reserved {
				return state.Err()
			}
			if err := c.refuseBanned(&c.tx.Reader, makeKey(old.Tenant, target), target); err != nil {
				return err
			}
			l := *old
			return c.retarget(old, &l, target)
		})
}

// retarget writes a new target into l, which may have other changes too, and saves it.
func (c *change) retarget(old, l *storage.Link, target string) error {
	if err := c.unplain(l); err != nil {
		return err
	}
	c.keepVersion(old)
	l.Target = target
	l.Flags &^= storage.Reserved
	l.Revision++
	c.event("retargeted", l)
	return c.save(old, l)
}

// Delete removes a link for good, live or banned. Its generated code is never issued again and cannot be taken; the name of a
// banned link cannot be taken either. It reports false when there is none.
func (s *Service) Delete(code string) (bool, error) {
	err := s.edit(code, nil, func(c *change, old *storage.Link) error {
		if state := s.stateNow(old); state == Expired || state == UsedUp {
			return ErrNotFound
		}
		return c.remove(old)
	})
	if err == ErrNotFound { //nolint:errorlint // edit returns the sentinel itself
		return false, nil
	}
	return err == nil, err
}

// remove deletes a record with its name and dedup entries.
func (c *change) remove(old *storage.Link) error {
	l := *old
	if err := c.unplain(&l); err != nil {
		return err
	}
	switch {
	case old.Name == "":
	case old.Flags&storage.Banned != 0:
		c.tx.PutName(old.Name, storage.Tombstone)
	default:
		c.tx.DeleteName(old.Name)
	}
	c.touch(old)
	c.event("deleted", old)
	return c.drop(old)
}

// drop deletes a record and what was counted of it. Its names are the caller's to remove.
func (c *change) drop(old *storage.Link) error {
	if old.MaxVisits != 0 {
		c.refill(old.ID)
	}
	if err := c.tx.DeleteClicks(old.ID); err != nil {
		return err
	}
	c.after = append(c.after, func() { c.clicks.Forget(old.ID) }) // what is not in the store yet
	c.keepVersion(old)
	return c.tx.DeleteLink(old)
}

// keepVersion remembers what a version that ends led to, for the clicks in the stream that name it: those that are there, and those of visits
// under way, which may come tomorrow. After a clock was ahead they come behind the last one.
func (c *change) keepVersion(l *storage.Link) {
	stream := c.clicks.StreamState()
	if c.opts.Clicks.NoStream && stream.Last == stream.Dropped {
		return // none is left of the time when a stream was kept
	}
	day := storage.DayOf(max(c.now, int64(stream.Last.Ms))) + 1
	c.tx.PutVersion(l.ID, l.Revision, storage.Version{Code: c.codeOf(l), Target: l.Target, Day: day})
}

// AddTags gives a link tags and returns how many it has now; RemoveTags takes some away.
func (s *Service) AddTags(code string, tags []string) (int, error) {
	if err := s.opts.Limits.tags(tags); err != nil {
		return 0, err
	}
	return s.setTags(code, func(had []string) []string { return append(had, tags...) })
}

// RemoveTags takes tags from a link and returns how many it has now.
func (s *Service) RemoveTags(code string, tags []string) (int, error) {
	return s.setTags(code, func(had []string) []string {
		return slices.DeleteFunc(had, func(t string) bool { return slices.Contains(tags, t) })
	})
}

func (s *Service) setTags(code string, fn func([]string) []string) (n int, err error) {
	err = s.edit(code, nil, func(c *change, old *storage.Link) error {
		l := *old
		l.Tags = fn(slices.Clone(old.Tags))
		slices.Sort(l.Tags)
		l.Tags = slices.Compact(l.Tags)
		n = len(l.Tags)
		if slices.Equal(l.Tags, old.Tags) {
			return nil
		}
		if n > len(old.Tags) {
			if err := s.opts.Limits.count(n); err != nil {
				return err
			}
		}
		if err := c.unplain(&l); err != nil {
			return err
		}
		return c.save(old, &l)
	})
	return n, err
}

// SetTitle names a link for people; an empty title takes it away.
func (s *Service) SetTitle(code, title string) error {
	if err := s.opts.Limits.title(title); err != nil {
		return err
	}
	return s.edit(code, nil, func(c *change, old *storage.Link) error {
		l := *old
		l.Title = title
		if err := c.unplain(&l); err != nil {
			return err
		}
		return c.save(old, &l)
	})
}
