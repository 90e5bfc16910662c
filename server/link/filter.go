package link

import (
	"cmp"
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

const (
	filterBitsPerKey = 10
	filterProbes     = 7 // 0.8 % false maybes at 10 bits a key
	filterMinKeys    = 1 << 16
	filterMaxKeys    = 1 << 27 // 160 MiB; with more keys "maybe" is said more often
	wordsPerBlock    = 8       // one cache line
)

// bloom is a blocked Bloom filter over keys of one kind: names, dedup keys, banned targets (Putze, Sanders, Singler 2007: each
// key's bits share one cache line). "No" is no; on "maybe" the store is asked. Bits are set before a key is committed and
// never cleared. Safe for concurrent use.
type bloom struct {
	blocks [][wordsPerBlock]atomic.Uint64
	keys   atomic.Int64 // keys added
	limit  int64        // keys it is made for
}

func newBloom(keys int64) *bloom {
	limit := min(max(keys*2, filterMinKeys), filterMaxKeys)
	return &bloom{limit: limit, blocks: make([][wordsPerBlock]atomic.Uint64, limit*filterBitsPerKey/(wordsPerBlock*64)+1)}
}

// probe calls fn with the word and the bit of each probe until fn returns false. The high half of h picks the block, nine bits of a
// second mix of h each probe: probes at equal steps would all meet in one bit where the step is small.
func (f *bloom) probe(h uint64, fn func(w *atomic.Uint64, bit uint64) bool) bool {
	block := &f.blocks[(h>>32)*uint64(len(f.blocks))>>32]
	high, low := bits.Mul64(h, 0x9e3779b97f4a7c15)
	places := high ^ low
	for range filterProbes {
		if !fn(&block[places>>6&(wordsPerBlock-1)], 1<<(places&63)) {
			return false
		}
		places >>= 9
	}
	return true
}

func (f *bloom) add(key string) {
	f.keys.Add(1)
	f.probe(xxhash.Sum64String(key), func(w *atomic.Uint64, bit uint64) bool { w.Or(bit); return true })
}

func (f *bloom) maybe(key []byte) bool {
	return f.probe(xxhash.Sum64(key), func(w *atomic.Uint64, bit uint64) bool { return w.Load()&bit != 0 })
}

// full reports that the filter holds more keys than it was made for, so that a larger one is due.
func (f *bloom) full() bool { return f.keys.Load() > f.limit && f.limit < filterMaxKeys }

// filterPair is the filter in use and, while it is being rebuilt, the next one.
type filterPair struct{ now, next *bloom }

// filter answers for all keys of a kind, through rebuilds. Until the first filter is built every answer is "maybe".
type filter struct {
	pair atomic.Pointer[filterPair]
	room int64 // how many keys any but the first is made for, at least
}

func (f *filter) maybe(key []byte) bool {
	p := f.pair.Load()
	return p == nil || p.now == nil || p.now.maybe(key)
}

func (f *filter) add(key string) {
	p := f.pair.Load()
	if p == nil {
		return
	}
	if p.now != nil {
		p.now.add(key)
	}
	if p.next != nil {
		p.next.add(key)
	}
}

func (f *filter) full() bool {
	p := f.pair.Load()
	return p != nil && p.now != nil && p.next == nil && p.now.full()
}

// rebuild makes a filter from all stored keys, about keys many, and swaps it in; again, when they turn out to be too many for it. barrier must
// return only when every change that began before it was called has committed, so that a key is either seen by each or added to
// the next filter. The filter stays as it was when each fails or ctx ends.
func (f *filter) rebuild(ctx context.Context, keys int64, barrier func(), each func(fn func(key string) bool) error) error {
	old := f.pair.Load()
	if old == nil {
		old = &filterPair{}
	}
	if old.now != nil {
		keys = max(keys, old.now.keys.Load(), f.room/2)
	}
	next := newBloom(keys)
	f.pair.Store(&filterPair{now: old.now, next: next})
	barrier()
	err := each(func(key string) bool { next.add(key); return ctx.Err() == nil })
	if err = cmp.Or(err, ctx.Err()); err != nil {
		f.pair.Store(old)
		return err
	}
	f.pair.Store(&filterPair{now: next})
	if next.full() {
		return f.rebuild(ctx, 0, barrier, each)
	}
	return nil
}

// ready reports that the first filter is built.
func (f *filter) ready() bool { p := f.pair.Load(); return p != nil && p.now != nil }

// size is the memory of the filter, and of the next one while it is being built, in bytes.
func (f *filter) size() (n int64) {
	if p := f.pair.Load(); p != nil {
		for _, b := range []*bloom{p.now, p.next} {
			if b != nil {
				n += int64(len(b.blocks)) * wordsPerBlock * 8
			}
		}
	}
	return n
}
