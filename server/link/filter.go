package link

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

const (
	filterBitsPerName = 10
	filterProbes      = 7 // 0.8 % false maybes at 10 bits a name
	filterMinNames    = 1 << 16
	wordsPerBlock     = 8 // one cache line
)

// nameFilter is a blocked Bloom filter over all names (Putze, Sanders, Singler 2007: each name's bits share
// one cache line). "No" is no; on "maybe" the store is asked. Bits are set before a name is committed and
// never cleared. Safe for concurrent use.
type nameFilter struct {
	blocks [][wordsPerBlock]atomic.Uint64
	names  atomic.Int64 // names added
	limit  int64        // names it is made for
}

func newNameFilter(names int64) *nameFilter {
	limit := max(names*2, filterMinNames)
	return &nameFilter{limit: limit, blocks: make([][wordsPerBlock]atomic.Uint64, limit*filterBitsPerName/(wordsPerBlock*64)+1)}
}

// probe calls fn with the word and the bit of each probe until fn returns false.
func (f *nameFilter) probe(h uint64, fn func(w *atomic.Uint64, bit uint64) bool) bool {
	block := &f.blocks[(h>>32)*uint64(len(f.blocks))>>32]
	low, step := uint32(h), uint32(h>>17)|1
	for range filterProbes {
		low += step
		if !fn(&block[low>>29], 1<<(low>>23&63)) {
			return false
		}
	}
	return true
}

func (f *nameFilter) add(name string) {
	f.names.Add(1)
	f.probe(xxhash.Sum64String(name), func(w *atomic.Uint64, bit uint64) bool { w.Or(bit); return true })
}

func (f *nameFilter) maybe(name []byte) bool {
	return f.probe(xxhash.Sum64(name), func(w *atomic.Uint64, bit uint64) bool { return w.Load()&bit != 0 })
}

// full reports that the filter holds more names than it was made for, so that a larger one is due.
func (f *nameFilter) full() bool { return f.names.Load() > f.limit }

// filterPair is the filter in use and, while it is being rebuilt, the next one.
type filterPair struct{ now, next *nameFilter }

// nameFilters answers for all names, through rebuilds. Until the first filter is built every answer is "maybe".
type nameFilters struct{ pair atomic.Pointer[filterPair] }

func (f *nameFilters) maybe(name []byte) bool {
	p := f.pair.Load()
	return p == nil || p.now == nil || p.now.maybe(name)
}

func (f *nameFilters) add(name string) {
	p := f.pair.Load()
	if p == nil {
		return
	}
	if p.now != nil {
		p.now.add(name)
	}
	if p.next != nil {
		p.next.add(name)
	}
}

func (f *nameFilters) full() bool {
	p := f.pair.Load()
	return p != nil && p.now != nil && p.next == nil && p.now.full()
}

// rebuild makes a filter from all stored names and swaps it in. barrier must return only when every change that
// began before it was called has committed, so that a name is either seen by each or added to the next filter.
func (f *nameFilters) rebuild(names int64, barrier func(), each func(fn func(name string) bool) error) error {
	old := f.pair.Load()
	if old == nil {
		old = &filterPair{}
	}
	next := newNameFilter(names)
	f.pair.Store(&filterPair{now: old.now, next: next})
	barrier()
	if err := each(func(name string) bool { next.add(name); return true }); err != nil {
		f.pair.Store(old)
		return err
	}
	f.pair.Store(&filterPair{now: next})
	return nil
}
