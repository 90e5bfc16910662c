package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"curt/server"
	"curt/storage"
)

// cacher is a client that keeps what it reads until it is told to forget it.
type cacher struct {
	*client
	kept   map[string]reply
	heard  int
	redone int // reads that were answered from what is kept
}

func newCacher(n *node, tracking ...string) *cacher {
	c := &cacher{client: n.Dial(), kept: map[string]reply{}}
	c.Do("HELLO", "3")
	c.Do(append([]string{"CLIENT", "TRACKING", "ON"}, tracking...)...)
	return c
}

// next returns the next reply, and does meanwhile what the pushes before it say.
func (c *cacher) next() reply {
	c.tb.Helper()
	for {
		r := c.Receive()
		if r.kind != '>' {
			return r
		}
		c.forget(r)
	}
}

func (c *cacher) forget(push reply) {
	c.tb.Helper()
	if len(push.list) != 2 || push.list[0].text != "invalidate" {
		c.tb.Fatalf("push %s", push)
	}
	c.heard++
	if push.list[1].isNull() {
		clear(c.kept)
	}
	for _, key := range push.list[1].texts() {
		delete(c.kept, key)
	}
}

// read gets keys in one pipeline, those that are kept aside. before, if any, goes before each.
func (c *cacher) read(keys []string, before ...string) {
	c.tb.Helper()
	var out []byte
	var asked []string
	for _, key := range keys {
		if _, ok := c.kept[key]; ok {
			c.redone++
			continue
		}
		if len(before) > 0 {
			out = appendCommand(out, before...)
		}
		out = appendCommand(out, "GET", key)
		asked = append(asked, key)
	}
	c.SendRaw(string(out))
	for _, key := range asked {
		if len(before) > 0 {
			c.next()
		}
		r := c.next()
		c.kept[key] = r
	}
}

// settle returns when all that was pushed before is done.
func (c *cacher) settle() {
	c.tb.Helper()
	c.Send("PING")
	if r := c.next(); r.text != "PONG" {
		c.tb.Fatalf("PING: %s", r)
	}
}

// TestNothingStaleIsKept changes links in every way under clients that cache in every way, and looks again and again, once the
// changes have been answered, whether what the clients keep is what is there.
func TestNothingStaleIsKept(t *testing.T) {
	n := start(t, func(o *server.Options) { o.AllowFlush = true; o.TrackedKeys, o.Sync = 64*2, storage.SyncNo })
	const writers = 3
	rounds := scale(30, 100, 20_000)
	keys := make([]string, 4)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	seeds := pick(t)
	cachers := []*cacher{newCacher(n), newCacher(n), newCacher(n, "OPTIN"), newCacher(n, "OPTOUT"), newCacher(n, "BCAST"), newCacher(n, "BCAST", "PREFIX", "k")}
	change := make([]*client, writers)
	for i := range change {
		change[i] = n.Dial()
	}
	var version atomic.Int64
	for range rounds {
		var writing, reading sync.WaitGroup
		var stop atomic.Bool
		for _, c := range cachers {
			random := rand.New(rand.NewPCG(uint64(seeds(1<<62)), 0))
			reading.Go(func() {
				for !stop.Load() {
					var some []string
					for range 1 + random.IntN(6) {
						some = append(some, keys[random.IntN(len(keys))])
					}
					slices.Sort(some)
					some = slices.Compact(some)
					if c == cachers[2] {
						c.read(some, "CLIENT", "CACHING", "YES")
					} else {
						c.read(some)
					}
				}
			})
		}
		for _, c := range change {
			random := rand.New(rand.NewPCG(uint64(seeds(1<<62)), 0))
			writing.Go(func() {
				for range 3 {
					changeSomehow(c, random, keys, fmt.Sprint("https://v", version.Add(1), ".example/"))
				}
			})
		}
		writing.Wait()
		stop.Store(true)
		reading.Wait()
		now := map[string]string{}
		for _, key := range keys {
			now[key] = n.Do("GET", key).String()
		}
		for i, c := range cachers {
			c.settle()
			for key, r := range c.kept {
				if r.String() != now[key] {
					t.Fatalf("client %d keeps %s = %s, it is %s", i, key, r, now[key])
				}
			}
		}
	}
	for i, c := range cachers {
		if c.heard == 0 || c.redone == 0 {
			t.Errorf("client %d heard %d, answered %d by itself: nothing was tested", i, c.heard, c.redone)
		}
	}
}

func changeSomehow(c *client, random *rand.Rand, keys []string, url string) {
	key, other := keys[random.IntN(len(keys))], keys[random.IntN(len(keys))]
	switch random.IntN(16) {
	case 0:
		c.Do("DEL", key, other)
	case 1, 2:
		c.Do("BAN", key)
	case 3, 4:
		c.Do("UNBAN", key)
	case 5:
		c.Do("RENAME", key, other)
	case 6:
		c.Do("PEXPIRE", key, "-1")
	case 7:
		c.Do("REVIVE", key)
	case 8:
		host := strings.TrimSuffix(strings.TrimPrefix(c.Do("GET", key).text, "https://"), "/")
		c.Do("BANHOST", host)
		if random.IntN(2) == 0 {
			c.Do("UNBANHOST", host)
		}
	case 9:
		c.Do("MULTI")
		c.Do("SET", key, url)
		c.Do("SET", other, url)
		c.Do("EXEC")
	case 10:
		if random.IntN(10) == 0 {
			c.Do("FLUSHALL")
		}
	case 11:
		c.Do("SETNX", key, url)
	case 12:
		c.Do("SHORTEN", url, "AS", key)
	default:
		c.Do("SET", key, url)
	}
}

// TestTrackedKeyExpires: the client hears of it though nobody asks for the link.
func TestTrackedKeyExpires(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://one.example/", "PX", "1500")
	n.Must("SET", "b", "https://one.example/", "PX", "900000")
	n.Must("SET", "c", "https://one.example/", "PX", "1500")
	c, all := newCacher(n), newCacher(n, "BCAST")
	c.read([]string{"a", "b", "c"})
	n.Must("PERSIST", "c")
	c.forget(c.Receive())
	all.forget(all.Receive())
	c.read([]string{"c"})
	n.Advance(1500 * time.Millisecond)
	c.forget(c.Receive())
	all.forget(all.Receive()) // by the sweeper
	c.settle()
	if _, kept := c.kept["a"]; kept || len(c.kept) != 2 {
		t.Errorf("kept: %v", c.kept)
	}
}

// TestBanHostFlushes: whatever is cached may lead to the host.
func TestBanHostFlushes(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://www.bad.example/")
	for _, c := range []*cacher{newCacher(n), newCacher(n, "BCAST", "PREFIX", "nothing"), newCacher(n, "OPTIN")} {
		for i, change := range []func(){
			func() { n.Must("BANHOST", "bad.example") },
			func() { n.Must("UNBANHOST", "bad.example") },
			func() {
				if err := n.server.Links().FlushAll(); err != nil {
					t.Error(err)
				}
			},
		} {
			c.read([]string{"a"})
			change()
			c.forget(c.Receive())
			if len(c.kept) != 0 {
				t.Errorf("change %d: kept %v", i, c.kept)
			}
		}
		c.conn.Close()
	}
}

// TestTrackingTableIsBounded: what no longer fits is invalidated, so that nobody keeps what the server has forgotten.
func TestTrackingTableIsBounded(t *testing.T) {
	n := start(t, func(o *server.Options) { o.TrackedKeys = 128 })
	c := newCacher(n)
	for i := range 2000 {
		c.read([]string{fmt.Sprint("key", i)})
	}
	c.settle()
	if len(c.kept) > 128 || int64(len(c.kept)) != n.Info("tracking_total_keys") {
		t.Errorf("%d keys are kept, %d tracked", len(c.kept), n.Info("tracking_total_keys"))
	}
	c.read([]string{strings.Repeat("x", 10_000)}) // can't be a link: not tracked
	if _, kept := c.kept[strings.Repeat("x", 10_000)]; !kept || n.Info("tracking_total_keys") > 128 {
		t.Error("a key that can't be one")
	}
}

// TestInvalidationFollowsItsReply: in a pipeline the value comes before what takes it back, also by the client itself.
func TestInvalidationFollowsItsReply(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://one.example/")
	c := n.Dial()
	c.Do("HELLO", "3")
	c.Do("CLIENT", "TRACKING", "ON")
	c.SendRaw(string(slices.Concat(appendCommand(nil, "GET", "a"), appendCommand(nil, "SET", "a", "https://two.example/"), appendCommand(nil, "PING"))))
	for _, want := range []string{`"https://one.example/"`, "OK", "PONG", "1) \"invalidate\"\n2) 1) \"a\""} {
		if r := c.Receive(); r.String() != want {
			t.Errorf("got %s, want %s", r, want)
		}
	}
}

func TestBrokenRedirect(t *testing.T) {
	n := start(t)
	listener := n.Dial()
	id := listener.Do("CLIENT", "ID").text
	listener.Do("SUBSCRIBE", "__redis__:invalidate")
	c := n.Dial()
	c.Do("HELLO", "3")
	c.Do("CLIENT", "TRACKING", "ON", "REDIRECT", id)
	c.Do("GET", "a")
	listener.conn.Close()
	eventually(t, "the listener is gone", func() bool { return n.Info("connected_clients") == 2 })
	n.Must("SET", "a", "https://one.example/")
	if r := c.Receive(); r.kind != '>' || r.list[0].text != "tracking-redir-broken" || r.list[1].text != id {
		t.Errorf("push %s", r)
	}
	if flags := c.Do("CLIENT", "TRACKINGINFO").field("flags").texts(); !slices.Contains(flags, "broken_redirect") {
		t.Errorf("flags %q", flags)
	}
	c.conn.Close()
	eventually(t, "nobody tracks", func() bool { return n.Info("tracking_clients") == 0 })
}

// TestClickStreamsAreTracked: a client that caches a stream hears that it has grown; a link it caches has not changed by a click.
func TestClickStreamsAreTracked(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://one.example/")
	c := newCacher(n)
	c.read([]string{"a"})
	c.Do("XLEN", "clicks:a")
	n.Must("VISIT", "a")
	if r := c.Receive(); r.kind != '>' || r.list[1].list[0].text != "clicks:a" {
		t.Errorf("push %s", r)
	}
	c.settle()
	if _, kept := c.kept["a"]; !kept {
		t.Error("the click took the link out")
	}
}

// TestTenantTracksItsOwnClicks: who is confined to a tenant hears that a stream has grown when the link is the tenant's, and of no other click.
func TestTenantTracksItsOwnClicks(t *testing.T) {
	n := start(t)
	n.Must("ACL", "SETUSER", "one", "on", ">p", "+@all", "~*", "tenant:one")
	for _, tenant := range []string{"one", "two"} {
		n.Must("SHORTEN", "https://example.com/"+tenant, "AS", "of-"+tenant, "TENANT", tenant)
	}
	c, operator := n.Dial(), n.Dial()
	c.Do("AUTH", "one", "p")
	for _, c := range []*client{c, operator} {
		c.Do("HELLO", "3")
		c.Do("CLIENT", "TRACKING", "ON")
		for _, key := range []string{"clicks", "clicks:of-one", "clicks:of-two"} {
			c.Do("XLEN", key)
		}
	}
	heard := func(who string, c *client, want ...string) {
		t.Helper()
		for _, key := range want {
			if r := c.Receive(); r.kind != '>' || r.list[1].list[0].text != key {
				t.Errorf("%s heard %s, want %s", who, r, key)
			}
		}
		if r := c.Do("PING"); r.text != "PONG" {
			t.Errorf("%s heard %s too", who, r)
		}
	}
	click := func(code string) {
		n.Must("VISIT", code)
		n.Must("XLEN", "clicks")
	}
	click("of-two")
	heard("the tenant", c)
	heard("the operator", operator, "clicks", "clicks:of-two")
	click("of-one")
	heard("the tenant", c, "clicks", "clicks:of-one")
	heard("the operator", operator, "clicks:of-one")
}
