package storage

import (
	"cmp"
	"fmt"
)

// Check reads the whole store and compares every index with every link, and back. It calls problem for each thing that
// does not fit, until that returns false. An error means that something could not be read. It sees one moment of the store if nobody
// writes meanwhile.
func (s *Store) Check(problem func(text string) bool) error {
	c := &checker{Reader: &s.Reader, problem: problem, tenants: map[string]int64{}}
	for _, step := range []func() error{c.links, c.counters, c.names, c.indexes, c.hints, c.bans, c.clicks} {
		if err := step(); err != nil {
			return fmt.Errorf("check: %w", err)
		}
		if c.stopped {
			return nil
		}
	}
	for _, err := range s.unmerged {
		c.say("the journal of clicks: %v", err)
	}
	if n := s.Links(); n != c.count {
		c.say("the store counts %d links and has %d", n, c.count)
	}
	if n := s.Expiring(); n != c.expiring {
		c.say("the store counts %d links with an expiry and has %d", n, c.expiring)
	}
	return nil
}

type checker struct {
	*Reader
	problem  func(string) bool
	stopped  bool
	count    int64            // links
	expiring int64            // those with an expiry
	tenants  map[string]int64 // links by tenant
}

func (c *checker) say(format string, args ...any) {
	if !c.stopped {
		c.stopped = !c.problem(fmt.Sprintf(format, args...))
	}
}

// links looks from each link at its name and index entries.
func (c *checker) links() error {
	return c.scan([]byte{kindLink}, nil, false, func(rest, v []byte) (bool, error) {
		c.count++
		if len(rest) != 8 {
			c.say("link with a malformed key %x", rest)
			return !c.stopped, nil
		}
		l, err := decodeLink(lastID(rest), v)
		if err != nil {
			c.say("%v", err)
			return !c.stopped, nil
		}
		c.expiring += expiring(&l)
		if l.Tenant != "" {
			c.tenants[l.Tenant]++
		}
		if l.Name != "" {
			if id, ok, err := c.Name(l.Name); err != nil {
				return false, err
			} else if !ok || id != l.ID {
				c.say("link %d has the name %s, which does not lead to it", l.ID, l.Name)
			}
		}
		for _, key := range l.indexKeys() {
			if ok, err := c.find(key, func([]byte) error { return nil }); err != nil {
				return false, err
			} else if !ok {
				c.say("link %d is missing in index %q", l.ID, key[:len(key)-8])
			}
		}
		return !c.stopped, nil
	})
}

// counters compares the number of each tenant's links with those that links counted.
func (c *checker) counters() error {
	err := c.scan([]byte{kindTenantLinks}, nil, false, func(rest, v []byte) (bool, error) {
		if len(rest) == 0 || int(rest[0]) != len(rest)-1 {
			c.say("counter of a tenant with a malformed key %x", rest)
			return !c.stopped, nil
		}
		tenant := string(rest[1:])
		if n, err := decodeCount(v); err != nil {
			c.say("counter of tenant %q: %v", tenant, err)
		} else if n.Visits != c.tenants[tenant] {
			c.say("tenant %q is counted %d links and has %d", tenant, n.Visits, c.tenants[tenant])
		}
		delete(c.tenants, tenant)
		return !c.stopped, nil
	})
	for tenant, n := range c.tenants {
		c.say("tenant %q has %d links and no count of them", tenant, n)
	}
	return err
}

// names looks from each name at its link.
func (c *checker) names() error {
	return c.scan([]byte{kindName}, nil, false, func(rest, v []byte) (bool, error) {
		id, err := decodeUint(v)
		if err != nil {
			c.say("name %q: %v", rest, err)
			return !c.stopped, nil
		}
		if id == Tombstone {
			return true, nil
		}
		l, ok, err := c.link(id)
		if err != nil {
			return false, err
		}
		if !ok || l.Name != string(rest) {
			c.say("name %q leads to link %d, which does not have it", rest, id)
		}
		return !c.stopped, nil
	})
}

// link is Link for a record that may be damaged, which the walk over all links has told of.
func (c *checker) link(id uint64) (l Link, ok bool, err error) {
	ok, err = c.find(linkKey(nil, id), func(v []byte) error {
		l, _ = decodeLink(id, v)
		return nil
	})
	return l, ok && l.ID != 0, err
}

// indexes looks from each index entry at its link.
func (c *checker) indexes() error {
	for _, kind := range []byte{kindExpires, kindEnded, kindBannedLink, kindTenant, kindTag} {
		err := c.scan([]byte{kind}, nil, false, func(rest, _ []byte) (bool, error) {
			key := append([]byte{kind}, rest...)
			if len(rest) < 8 {
				c.say("malformed index entry %q", key)
				return !c.stopped, nil
			}
			id := lastID(rest)
			l, ok, err := c.link(id)
			if err != nil {
				return false, err
			}
			if !ok {
				c.say("index %q has link %d, which does not exist", key[:len(key)-8], id)
			} else if !containsKey(l.indexKeys(), key) {
				c.say("index %q has link %d, whose record does not say so", key[:len(key)-8], id)
			}
			return !c.stopped, nil
		})
		if err != nil || c.stopped {
			return err
		}
	}
	return nil
}

// hints looks from each dedup hint at its link.
func (c *checker) hints() error {
	return c.EachDedup(func(key [16]byte, id uint64) bool {
		if _, ok, err := c.link(id); err != nil {
			c.say("dedup hint %x: %v", key, err)
		} else if !ok {
			c.say("dedup hint %x leads to link %d, which does not exist", key, id)
		}
		return !c.stopped
	})
}

// bans reads every ban.
func (c *checker) bans() error {
	for _, kind := range []byte{kindBannedTarget, kindBannedHost} {
		err := c.scan([]byte{kind}, nil, false, func(rest, v []byte) (bool, error) {
			b, err := decodeBan(v)
			switch {
			case err != nil:
				c.say("ban %q: %v", rest, err)
			case kind == kindBannedTarget && len(rest) != 16:
				c.say("ban with a malformed key %x", rest)
			case kind == kindBannedTarget && b.Target == "":
				c.say("ban %x has no target", rest)
			}
			return !c.stopped, nil
		})
		if err != nil || c.stopped {
			return err
		}
	}
	return nil
}

// clicks adds up what was counted of each link, and of all. Of a link that was deleted a crash may leave an hour without its totals, or with them:
// nobody sees them, and rolling up removes them.
func (c *checker) clicks() error {
	var failed error
	err := c.CheckClicks(func(id uint64, totals, buckets Count) bool {
		_, ok, err := c.link(id)
		if err != nil || !ok {
			failed = err
			return err == nil
		}
		c.say("link %d has %d visits and %d bots, and %d and %d in its hours and days", id, totals.Visits, totals.Bots, buckets.Visits, buckets.Bots)
		return !c.stopped
	})
	if err = cmp.Or(err, failed); err != nil || c.stopped {
		return err
	}
	totals, buckets, err := c.ClickSums()
	if err == nil && (totals.Visits != buckets.Visits || totals.Bots != buckets.Bots) {
		c.say("the store counts %d visits and %d bots, and %d and %d in hours and days", totals.Visits, totals.Bots, buckets.Visits, buckets.Bots)
	}
	return err
}
