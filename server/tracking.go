package server

import (
	"slices"
	"sync"
	"sync/atomic"

	"curt/server/link"
	"curt/server/resp"
)

// maxTrackedKey is the longest key that is tracked: none that is longer can ever lead anywhere, or change.
const maxTrackedKey = 256

// maxPrefixes is how many prefixes a client that broadcasts may have: each is compared with each.
const maxPrefixes = 1000

// trackingOptions are what CLIENT TRACKING ON was given. They do not change once set.
type trackingOptions struct {
	bcast, optin, optout, noloop bool
	redirect                     int64    // the client that gets the messages, 0: the tracking one
	prefixes                     []string // with bcast; sorted
}

// tracker is the tracking of one session. The table of tracked keys may lead to it long after the session has ended.
type tracker struct {
	session atomic.Pointer[session]         // nil: tracking is off, or the session has ended
	options atomic.Pointer[trackingOptions] // nil: tracking is off
	broken  atomic.Bool                     // the client that messages are redirected to is gone
}

// tracking knows which client may have cached which key, and tells it when the key changes (server-assisted client-side caching:
// https://redis.io/docs/latest/develop/reference/client-side-caching). It is safe for concurrent use.
//
// No stale value stays: a key is entered before it is read, and looked up here after its change is visible, so a client that
// read the old value is found; and a message to a client whose commands run waits for their replies, so it comes after
// the value that it takes back. Messages do not wait for the change's sync: what they tell is only to ask again.
type tracking struct {
	find   func(id int64) *session // a session by its client's id, nil when it is gone
	max    int                     // keys
	shards [shardCount]trackingShard

	mu       sync.RWMutex
	all      map[*tracker]struct{}            // that are on; guarded by mu
	prefixes map[string]map[*tracker]struct{} // of broadcasting ones; guarded by mu
	on       atomic.Int64                     // len(all): 0 makes a change cost nothing
}

// newTracking makes a table of at most keys keys: for one more, some other is invalidated.
func newTracking(keys int, find func(id int64) *session) *tracking {
	return &tracking{find: find, max: keys, all: map[*tracker]struct{}{}, prefixes: map[string]map[*tracker]struct{}{}}
}

// start turns tracking on, or gives it other options. Prefixes add to those that it has.
func (t *tracking) start(sess *session, o trackingOptions) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tr := &sess.tracker
	if had := tr.options.Load(); had != nil {
		o.prefixes = append(o.prefixes, had.prefixes...)
	}
	slices.Sort(o.prefixes)
	o.prefixes = slices.Compact(o.prefixes)
	for _, p := range o.prefixes {
		if t.prefixes[p] == nil {
			t.prefixes[p] = map[*tracker]struct{}{}
		}
		t.prefixes[p][tr] = struct{}{}
	}
	tr.broken.Store(false)
	tr.session.Store(sess)
	tr.options.Store(&o)
	t.all[tr] = struct{}{}
	t.on.Store(int64(len(t.all)))
}

// stop turns tracking off. The keys stay in the table until they change.
func (t *tracking) stop(tr *tracker) {
	o := tr.options.Swap(nil)
	if o == nil {
		return
	}
	tr.session.Store(nil)
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range o.prefixes {
		delete(t.prefixes[p], tr)
		if len(t.prefixes[p]) == 0 {
			delete(t.prefixes, p)
		}
	}
	delete(t.all, tr)
	t.on.Store(int64(len(t.all)))
}

// track remembers the keys that a command is about to read, for a client that caches them. CLICKS is not to be cached: a link's counts change
// with each click, and its key does not.
func (s *Server) track(c *call) {
	o := c.session.tracker.options.Load()
	if o == nil || o.bcast || c.cmd.flags&flagReadonly == 0 || c.cmd.group == "click" || o.optin && !c.session.caching || o.optout && c.session.caching {
		return
	}
	for _, i := range c.cmd.keys.positions(len(c.args)) {
		if key := c.args[i]; len(key) <= maxTrackedKey {
			s.tracking.remember(string(key), &c.session.tracker, c.links)
		}
	}
}

// remember enters a key, and then when it will expire.
func (t *tracking) remember(key string, tr *tracker, links *link.Service) {
	shard := &t.shards[shardOf(key)]
	if evicted, by := shard.enter(key, tr, max(t.max/shardCount, 1)); by != nil {
		t.tell(by, nil, []string{evicted})
	}
	target, state, err := links.Lookup([]byte(key))
	if err == nil && state == link.Live && target.Expires != 0 {
		shard.expiresAt(key, target.Expires)
	}
}

// changed tells whoever may have cached what changed. It is called when the change is visible, before its locks are released.
func (t *tracking) changed(ch *link.Changes) {
	if t.on.Load() == 0 {
		return
	}
	if ch.All {
		t.flush()
		return
	}
	by, _ := ch.By.(*session)
	t.invalidate(by, ch.Texts...)
	t.broadcast(by, ch.Texts)
}

// clicked tells whoever may have cached a click stream that it has grown, and may know of the tenant's clicks. Broadcasts would be one for each
// click, so there are none.
func (t *tracking) clicked(code, tenant string) {
	if t.on.Load() == 0 {
		return
	}
	may := func(tr *tracker) bool {
		sess := tr.session.Load()
		return sess == nil || audience{tenant: tenant}.has(sess)
	}
	for _, key := range []string{"clicks", "clicks:" + code} {
		if trackers := t.shards[shardOf(key)].forgetOf(key, may); len(trackers) > 0 {
			t.tell(trackers, nil, []string{key})
		}
	}
}

// invalidate tells those who read keys that they changed; by is who changed them, nil: nobody who tracks.
func (t *tracking) invalidate(by *session, keys ...string) {
	for _, key := range keys {
		if trackers := t.shards[shardOf(key)].forget(key); len(trackers) > 0 {
			t.tell(trackers, by, []string{key})
		}
	}
}

// broadcast tells those who want to hear of every key with a prefix.
func (t *tracking) broadcast(by *session, keys []string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if len(t.prefixes) == 0 {
		return
	}
	changed := map[string][]string{}
	var order []string
	seen := make(map[string]bool, len(keys))
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		for n := range len(key) + 1 {
			prefix := key[:n]
			if t.prefixes[prefix] == nil {
				continue
			}
			if changed[prefix] == nil {
				order = append(order, prefix)
			}
			changed[prefix] = append(changed[prefix], key)
		}
	}
	for _, prefix := range order {
		f := invalidation(changed[prefix])
		for tr := range t.prefixes[prefix] {
			t.send(tr, by, f)
		}
	}
}

// flush tells everybody to forget everything.
func (t *tracking) flush() {
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		shard.keys, shard.due = nil, deadlines{}
		shard.mu.Unlock()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	f := invalidation(nil)
	for tr := range t.all {
		t.send(tr, nil, f)
	}
}

// expire tells of the tracked keys whose time is over.
func (t *tracking) expire(now int64) {
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		due := shard.due.take(now)
		trackers := make([][]*tracker, len(due))
		for n, key := range due {
			trackers[n] = shard.take(key)
		}
		shard.mu.Unlock()
		for n, key := range due {
			t.tell(trackers[n], nil, []string{key})
		}
	}
}

// tell sends one invalidation to trackers of the default mode.
func (t *tracking) tell(trackers []*tracker, by *session, keys []string) {
	f := invalidation(keys)
	for _, tr := range trackers {
		if o := tr.options.Load(); o != nil && !o.bcast {
			t.send(tr, by, f)
		}
	}
}

// invalidationChannel is where RESP2 clients, which have no push messages, hear of invalidations.
const invalidationChannel = "__redis__:invalidate"

// invalidation is the message that keys changed; no keys: all did.
func invalidation(keys []string) *frame {
	return &frame{write: func(w *resp.Writer) {
		if w.Proto() == 3 {
			w.Push(2)
			w.BulkString("invalidate")
		} else {
			w.Push(3)
			w.BulkString("message")
			w.BulkString(invalidationChannel)
		}
		if keys == nil {
			w.Null()
			return
		}
		w.Array(len(keys))
		for _, key := range keys {
			w.BulkString(key)
		}
	}}
}

// send pushes an invalidation to the tracker's client, or to the one it redirects to.
func (t *tracking) send(tr *tracker, by *session, f *frame) {
	o, sess := tr.options.Load(), tr.session.Load()
	if o == nil || sess == nil || o.noloop && sess == by {
		return
	}
	to := sess
	if o.redirect != 0 {
		if to = t.find(o.redirect); to == nil {
			t.redirectBroken(tr, sess, o.redirect)
			return
		}
	}
	to.pushInvalidation(f, o.redirect != 0)
}

func (t *tracking) redirectBroken(tr *tracker, sess *session, id int64) {
	tr.broken.Store(true)
	sess.pushInvalidation(&frame{write: func(w *resp.Writer) {
		w.Push(2)
		w.BulkString("tracking-redir-broken")
		w.Int(id)
	}}, false)
}

// trackingCounts are what INFO shows.
type trackingCounts struct{ clients, keys, items, prefixes int }

func (t *tracking) counts() (n trackingCounts) {
	for i := range t.shards {
		shard := &t.shards[i]
		shard.mu.Lock()
		n.keys += len(shard.keys)
		for _, k := range shard.keys {
			n.items += len(k.few) + len(k.many)
		}
		shard.mu.Unlock()
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	n.clients, n.prefixes = len(t.all), len(t.prefixes)
	return n
}
