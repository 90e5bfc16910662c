package server

import (
	"slices"
	"sync"
)

// trackingShard is a part of the table of tracked keys: which key is with whom, and when it changes by itself.
type trackingShard struct {
	mu   sync.Mutex
	keys map[string]*trackedKey // guarded by mu
	due  deadlines              // of keys that expire; guarded by mu
}

// trackedKey is a key with those who may have cached it.
type trackedKey struct {
	expires int64      // unix ms, 0: not that we know
	few     []*tracker // until there are many
	many    map[*tracker]struct{}
	clean   int // how many there may be before those who are gone are dropped
}

// enter adds a tracker to a key. Above the limit of keys it takes some other key out and returns it with its trackers.
func (s *trackingShard) enter(key string, tr *tracker, limit int) (evicted string, by []*tracker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[key]
	if k == nil {
		if len(s.keys) >= limit {
			for evicted = range s.keys { // any: the order of a map is as good as random
				break
			}
			by = s.take(evicted)
		}
		if s.keys == nil {
			s.keys = map[string]*trackedKey{}
		}
		k = &trackedKey{}
		s.keys[key] = k
	}
	k.add(tr)
	return evicted, by
}

// expiresAt notes when a key will change by itself; the earliest time counts.
func (s *trackingShard) expiresAt(key string, ms int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.keys[key]
	if k == nil || k.expires != 0 && k.expires <= ms {
		return
	}
	if k.expires != 0 {
		s.due.remove(key, k.expires)
	}
	k.expires = ms
	s.due.add(key, ms)
}

// take removes a key and returns its trackers.
func (s *trackingShard) take(key string) []*tracker {
	k := s.keys[key]
	if k == nil {
		return nil
	}
	if k.expires != 0 {
		s.due.remove(key, k.expires)
	}
	delete(s.keys, key)
	return k.list()
}

// forget takes a key out, because it changed, and returns its trackers.
func (s *trackingShard) forget(key string) []*tracker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.take(key)
}

// forgetOf takes those trackers of a key out, and returns them, that fit; the others stay.
func (s *trackingShard) forgetOf(key string, fits func(*tracker) bool) (list []*tracker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var others trackedKey
	for _, tr := range s.take(key) {
		if fits(tr) {
			list = append(list, tr)
		} else {
			others.add(tr)
		}
	}
	if len(others.few)+len(others.many) > 0 {
		s.keys[key] = &others
	}
	return list
}

const manyTrackers = 8 // from here on a key's trackers are a map

func (k *trackedKey) add(tr *tracker) {
	switch {
	case k.many != nil:
		k.many[tr] = struct{}{}
	case slices.Contains(k.few, tr):
	case len(k.few) < manyTrackers:
		k.few = append(k.few, tr)
	default:
		k.many = map[*tracker]struct{}{tr: {}}
		for _, had := range k.few {
			k.many[had] = struct{}{}
		}
		k.few, k.clean = nil, 4*manyTrackers
	}
	if k.many != nil && len(k.many) > k.clean {
		for had := range k.many {
			if had.options.Load() == nil {
				delete(k.many, had)
			}
		}
		k.clean = 2*len(k.many) + manyTrackers
	}
}

func (k *trackedKey) list() []*tracker {
	list := k.few
	for tr := range k.many {
		list = append(list, tr)
	}
	return list
}
