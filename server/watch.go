package server

import (
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"curt/server/link"
)

// shardCount is into how many parts the tables of watched and tracked keys are cut, each with its lock.
const shardCount = 64

func shardOf(key string) uint64 { return xxhash.Sum64String(key) % shardCount }

// maxWatched is how many keys a session may watch.
const maxWatched = 100_000

// watcher is what one session watches. Only the session's handler uses it, dirty and count aside.
type watcher struct {
	dirty atomic.Bool           // a watched link changed; safe from any goroutine
	count atomic.Int32          // of keys; safe from any goroutine
	keys  map[string]link.State // with what each led to when the watch began
}

// watches finds the watchers of a key. The zero value is empty; it is safe for concurrent use.
type watches struct {
	keys   atomic.Int64 // watched, by all sessions: 0 makes a change cost nothing
	shards [shardCount]struct {
		mu sync.Mutex
		by map[string]map[*watcher]struct{} // guarded by mu
	}
}

// add watches a key: first it is entered, then read, so that no change goes unseen between the two.
func (t *watches) add(w *watcher, key string, links *link.Service) error {
	if _, ok := w.keys[key]; ok || !link.ValidName(key) {
		return nil // what can't be a code can't change either
	}
	if len(w.keys) == maxWatched {
		return replyError("ERR a connection may watch at most 100000 codes")
	}
	t.enter(w, key)
	state, err := watchedState(links, key)
	if w.keys == nil {
		w.keys = map[string]link.State{}
	}
	w.keys[key] = state
	w.count.Store(int32(len(w.keys)))
	return err
}

// watchedState is what a key leads to. A link that has ended is absent: that its record is removed later is no change.
func watchedState(links *link.Service, key string) (link.State, error) {
	_, state, err := links.Lookup([]byte(key))
	if state == link.Expired || state == link.UsedUp {
		state = link.Absent
	}
	return state, err
}

func (t *watches) enter(w *watcher, key string) {
	t.keys.Add(1)
	shard := &t.shards[shardOf(key)]
	shard.mu.Lock()
	defer shard.mu.Unlock()
	if shard.by == nil {
		shard.by = map[string]map[*watcher]struct{}{}
	}
	if shard.by[key] == nil {
		shard.by[key] = map[*watcher]struct{}{}
	}
	shard.by[key][w] = struct{}{}
}

// changed reports whether a watched link is not what it was: it was changed, or time ended it. It is asked while nobody
// changes anything.
func (w *watcher) changed(links *link.Service) (bool, error) {
	for key, was := range w.keys {
		if w.dirty.Load() {
			break
		}
		state, err := watchedState(links, key)
		if err != nil {
			return false, err
		}
		if state != was {
			return true, nil
		}
	}
	return w.dirty.Load(), nil
}

// forget ends a watch.
func (t *watches) forget(w *watcher) {
	for key := range w.keys {
		shard := &t.shards[shardOf(key)]
		shard.mu.Lock()
		delete(shard.by[key], w)
		if len(shard.by[key]) == 0 {
			delete(shard.by, key)
		}
		shard.mu.Unlock()
		t.keys.Add(-1)
	}
	w.keys = nil
	w.count.Store(0)
	w.dirty.Store(false)
}

// changed marks the watchers of what changed. It is called when the change is visible, before its locks are released.
func (t *watches) changed(ch *link.Changes) {
	if t.keys.Load() == 0 || ch.Aged {
		return // what the clock ends, changed finds out
	}
	if ch.All { // which of the watched links it concerns is not worth finding out
		for i := range t.shards {
			shard := &t.shards[i]
			shard.mu.Lock()
			for _, by := range shard.by {
				markAll(by)
			}
			shard.mu.Unlock()
		}
		return
	}
	for _, key := range ch.Texts {
		shard := &t.shards[shardOf(key)]
		shard.mu.Lock()
		markAll(shard.by[key])
		shard.mu.Unlock()
	}
}

func markAll(by map[*watcher]struct{}) {
	for w := range by {
		w.dirty.Store(true)
	}
}
