package link

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"curt/codec/weburl"
	"curt/storage"
)

// hostBans holds all banned hosts in memory. A cached link remembers its verdict with the generation it was
// made in, so that a ban holds for the next request and costs a resolve one comparison.
type hostBans struct {
	generation atomic.Uint64
	mu         sync.RWMutex
	hosts      map[string]storage.Ban // guarded by mu
	never      map[string]bool        // hosts that no ban covers
}

func loadHostBans(store *storage.Store, never []string) (*hostBans, error) {
	h := &hostBans{hosts: map[string]storage.Ban{}, never: map[string]bool{}}
	h.generation.Store(1)
	for _, host := range never {
		host, err := weburl.ParseHost(host)
		if err != nil {
			return nil, fmt.Errorf("never-ban: %w", err)
		}
		h.never[host] = true
	}
	err := store.EachBannedHost("", func(host string, b storage.Ban) bool {
		h.hosts[host] = b
		return true
	})
	return h, err
}

// bans reports whether the link's host, or a domain above it, is banned.
func (h *hostBans) bans(t *Target) bool {
	verdict := t.verdict.Load()
	generation := h.generation.Load()
	if verdict>>1 != generation {
		verdict = generation << 1
		if h.covers(t.host) {
			verdict |= 1
		}
		t.verdict.Store(verdict)
	}
	return verdict&1 != 0
}

// covers walks the host's labels upwards. A host that is never to be banned beats every ban of it or above it.
func (h *hostBans) covers(host string) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if len(h.hosts) == 0 {
		return false
	}
	banned := false
	for suffix := range weburl.Suffixes(host) {
		if h.never[suffix] {
			return false
		}
		if _, ok := h.hosts[suffix]; ok {
			banned = true
		}
	}
	return banned
}

// spares reports that a host is never to be banned, itself or as part of one that is not.
func (h *hostBans) spares(host string) bool {
	for suffix := range weburl.Suffixes(host) {
		if h.never[suffix] {
			return true
		}
	}
	return false
}

// set changes the map first and the generation after it: a reader that sees the new generation sees the map.
func (h *hostBans) set(host string, b *storage.Ban) {
	h.mu.Lock()
	if b != nil {
		h.hosts[host] = *b
	} else {
		delete(h.hosts, host)
	}
	h.mu.Unlock()
	h.generation.Add(1)
}

// replace puts hosts in the place of all bans, and returns those.
func (h *hostBans) replace(hosts map[string]storage.Ban) (before map[string]storage.Ban) {
	h.mu.Lock()
	before, h.hosts = h.hosts, hosts
	h.mu.Unlock()
	h.generation.Add(1)
	return before
}

// stateNow says what a record means at this moment, host bans included.
func (s *Service) stateNow(l *storage.Link) State {
	state := stateOf(l.Flags, l.Expires, s.millis(), s.hosts.covers(weburl.Host(l.Target)))
	if state == Live && l.MaxVisits != 0 && s.usedUp(s.newTarget(l)) {
		state = UsedUp
	}
	return state
}

// refuseBanned returns ErrBanned for a target that is banned, by itself or by its host. It comes before any duplicate: a link that
// is there already must not lead around a ban.
func (e *engine) refuseBanned(r *storage.Reader, strict dedupKey, target string) error {
	if e.hosts.covers(weburl.Host(target)) {
		return ErrBanned
	}
	if !e.bans.maybe(strict[:]) {
		return nil
	}
	_, banned, err := r.BannedTarget(strict)
	if err != nil {
		return err
	}
	if banned {
		return ErrBanned
	}
	return nil
}

// banTarget bans what a link leads to, for its tenant.
func (e *engine) banTarget(tx *storage.Tx, b storage.Ban) {
	key := makeKey(b.Tenant, b.Target)
	e.add(&e.bans, string(key[:]))
	tx.PutBannedTarget(key, b)
}

// Ban closes a link and its target: the very next look-up says Banned, and no new link of the tenant can lead there.
// Banning again changes the reason, if one is given, and nothing else; but what an operator banned again the tenant can't lift any more.
func (s *Service) Ban(code, reason string) error {
	if err := checkText("REASON", reason, MaxTitle); err != nil {
		return err
	}
	return s.edit(code, nil, func(c *change, old *storage.Link) error {
		if s.tenant != "" && old.Flags&(storage.Banned|storage.OwnBan) == storage.Banned {
			return nil // an operator's, with the operator's reason
		}
		l := *old
		if reason != "" {
			l.BanReason = reason
		}
		if l.Flags&storage.Banned == 0 {
			l.Flags |= storage.Banned
			l.BannedAt = c.now
			if s.tenant != "" {
				l.Flags |= storage.OwnBan
			}
			c.event("banned", &l)
		} else if s.tenant == "" {
			l.Flags &^= storage.OwnBan
		}
		if l.Flags == old.Flags && l.BanReason == old.BanReason {
			return nil
		}
		if l.Target != "" {
			had, banned, err := c.tx.BannedTarget(makeKey(l.Tenant, l.Target))
			if err != nil {
				return err
			}
			own := l.Flags&storage.OwnBan != 0 && (!banned || had.Own)
			c.banTarget(c.tx, storage.Ban{Reason: l.BanReason, Since: l.BannedAt, Tenant: l.Tenant, Target: l.Target, Own: own})
		}
		return c.save(old, &l)
	})
}

// Unban opens a link and its target again, and frees the name of a banned link that was deleted. It is no error
// when the link was not banned. ErrOperatorsBan when the service is confined to a tenant, and the ban was not the tenant's.
func (s *Service) Unban(code string) error {
	err := s.edit(code, nil, func(c *change, old *storage.Link) error {
		target := makeKey(old.Tenant, old.Target)
		had, banned, err := c.tx.BannedTarget(target)
		switch {
		case err != nil:
			return err
		case s.tenant != "" && (banned && !had.Own || old.Flags&(storage.Banned|storage.OwnBan) == storage.Banned):
			return ErrOperatorsBan
		case banned:
			c.tx.DeleteBannedTarget(target)
		}
		if old.Flags&storage.Banned == 0 {
			return nil
		}
		l := *old
		l.Flags &^= storage.Banned | storage.OwnBan
		l.BannedAt, l.BanReason = 0, ""
		c.event("unbanned", &l)
		return c.save(old, &l)
	})
	if err != ErrNotFound { //nolint:errorlint // edit returns the sentinel itself
		return err
	}
	return s.liftTombstone(code)
}

// UnbanTarget lifts the ban of a target of a tenant that no banned link may lead to any more: the links were deleted, or retargeted.
// The target is given as it is listed, or as anything that stands for it.
func (s *Service) UnbanTarget(target, tenant string) error {
	tenant, err := s.own(tenant)
	if err != nil {
		return err
	}
	keys := []dedupKey{makeKey(tenant, target)}
	if serialised, err := s.opts.Policy.Check(target); err == nil && serialised != target {
		keys = append(keys, makeKey(tenant, serialised))
	}
	var set stripeSet
	for _, key := range keys {
		set.key(key)
	}
	return s.apply(&set, func(c *change) error {
		for _, key := range keys {
			had, banned, err := c.tx.BannedTarget(key)
			switch {
			case err != nil:
				return err
			case banned && s.tenant != "" && !had.Own:
				return ErrOperatorsBan
			case banned:
				c.tx.DeleteBannedTarget(key)
				return nil
			}
		}
		return ErrNotFound
	})
}

// BannedTargets lists banned targets in the order of their keys, at most count, from a key on. more says that they go on at next.
func (s *Service) BannedTargets(from [16]byte, count int) (list []storage.Ban, next [16]byte, more bool, err error) {
	looked := 0
	err = s.reader().EachBannedTarget(from, func(key dedupKey, b storage.Ban) bool {
		if len(list) == count || looked == count+listLooks {
			next, more = key, true
			return false
		}
		looked++
		if s.sees(b.Tenant) {
			list = append(list, b)
		}
		return true
	})
	return list, next, more, err
}

func (s *Service) liftTombstone(name string) error {
	if !ValidName(name) || s.tenant != "" {
		return ErrNotFound // a tombstone is nobody's
	}
	var set stripeSet
	set.text(name)
	return s.apply(&set, func(c *change) error {
		id, ok, err := c.tx.Name(name)
		if err != nil {
			return err
		}
		if !ok || id != storage.Tombstone {
			return ErrNotFound
		}
		c.tx.DeleteName(name)
		c.texts = append(c.texts, name)
		return nil
	})
}

// BanHost bans a host and all below it, for existing and for new links, at once. It reports false when it was banned already.
func (s *Service) BanHost(host, reason string) (bool, error) {
	if err := checkText("REASON", reason, MaxTitle); err != nil {
		return false, err
	}
	return s.setHostBan(host, func(now int64) *storage.Ban { return &storage.Ban{Reason: reason, Since: now} })
}

// UnbanHost lifts a ban of exactly this host. It reports false when there was none.
func (s *Service) UnbanHost(host string) (bool, error) {
	return s.setHostBan(host, func(int64) *storage.Ban { return nil })
}

func (s *Service) setHostBan(host string, ban func(now int64) *storage.Ban) (changed bool, err error) {
	host, err = weburl.ParseHost(strings.TrimSpace(host))
	if err != nil {
		return false, err
	}
	var set *storage.Ban
	if ban(0) != nil && s.hosts.spares(host) {
		return false, &ArgError{"the host is on the list of those never to be banned"}
	}
	err = s.alone(func(c *change) error {
		had, banned, err := c.tx.BannedHost(host)
		if err != nil {
			return err
		}
		if set = ban(c.now); (set != nil) == banned {
			return nil
		}
		changed = true
		if set == nil {
			c.tx.DeleteBannedHost(host)
		} else {
			c.tx.PutBannedHost(host, *set)
		}
		c.all = true
		c.hostEvent(host, set != nil)
		if s.batch == nil {
			c.after = append(c.after, func() { s.hosts.set(host, set) })
			return nil
		}
		s.hosts.set(host, set) // the rest of the Exec must see it
		before := &had
		if !banned {
			before = nil
		}
		c.revert = append(c.revert, func() { s.hosts.set(host, before) })
		return nil
	})
	return changed, err
}

func (c *change) hostEvent(host string, banned bool) {
	kind := "unbanned"
	if banned {
		kind = "banned"
	}
	c.events = append(c.events, Event{Kind: kind, Host: host, Time: c.now})
}
