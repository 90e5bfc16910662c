package link

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

const stripeCount = 1024

// stripes serialise changes that touch the same text, id or dedup key. A change names all it needs
// first and takes them at once in ascending order, so that no two changes wait for each other in a ring.
type stripes [stripeCount]stripe

type stripe struct {
	sync.Mutex
	changes atomic.Uint64 // that have ended
}

// stripeSet collects the stripes of one change. The zero value is empty.
type stripeSet struct{ list []uint16 }

func (s *stripeSet) add(kind byte, b []byte) { s.list = append(s.list, stripeOf(kind, b)) }

func stripeOf(kind byte, b []byte) uint16 {
	return uint16((xxhash.Sum64(b) + uint64(kind)*0x9e3779b97f4a7c15) % stripeCount)
}

func (s *stripeSet) text(t string)  { s.add('t', []byte(t)) }
func (s *stripeSet) key(k dedupKey) { s.add('k', k[:]) }
func (s *stripeSet) id(id uint64) {
	s.add('i', []byte{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24), byte(id >> 32), byte(id >> 40), byte(id >> 48), byte(id >> 56)})
}

// lock takes every stripe of the set, once each, in ascending order.
func (s *stripes) lock(set *stripeSet) {
	slices.Sort(set.list)
	set.list = slices.Compact(set.list)
	for _, i := range set.list {
		s[i].Lock()
	}
}

func (s *stripes) unlock(set *stripeSet) {
	for _, i := range set.list {
		s[i].changes.Add(1)
		s[i].Unlock()
	}
}

// changesOf is a number that grows with every change that touches one of the keys. Taken before a look without locks, and found the
// same under them, it says that what was seen still holds.
func (e *engine) changesOf(keys *dedupKeys) uint64 {
	return e.alones.Load() + e.stripes[stripeOf('k', keys.strict[:])].changes.Load() + e.stripes[stripeOf('k', keys.loose[:])].changes.Load()
}
