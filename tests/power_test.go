package tests

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/server"
	"curt/storage"
)

// TestNoReplyBeforeTheSync holds up the disk's syncs: whoever is told of a change that is not on the disk yet must wait, also the
// one who only finds what another made. Then the power fails, and nobody was told of what is gone.
func TestNoReplyBeforeTheSync(t *testing.T) {
	for _, second := range [][]string{
		{"SHORTEN", "https://example.com/a"},               // finds the other's link
		{"SHORTEN", "https://example.com/a", "AS", "name"}, // the same words
		{"SHORTEN", "https://example.com/a", "DEDUP", "LOOSE"},
		{"MSHORTEN", "1", "https://example.com/a"},
		{"BAN", "old"},                           // is banned already
		{"DEL", "gone"},                          // is not there any more
		{"UNBAN", "open"},                        // was never banned
		{"SET", "other", "https://example.org/"}, // a change of its own
	} {
		t.Run(second[0]+" "+second[len(second)-1], func(t *testing.T) {
			n := start(t)
			for _, name := range []string{"old", "gone", "open", "other"} {
				n.Must("SHORTEN", "https://"+name+".example.com/", "AS", name)
			}
			release := n.disk.hold()
			defer release()
			a, b := n.Dial(), n.Dial()
			first := [][]string{{"SHORTEN", "https://example.com/a"}, {"SHORTEN", "https://example.com/a", "AS", "name"}, {"BAN", "old"}, {"DEL", "gone"}}
			for _, words := range first {
				a.Send(words...)
			}
			eventually(t, "what A did is visible", func() bool { return n.Do("GET", "gone").isNull() })
			b.Send(second...)
			n.nothingArrives(a)
			n.nothingArrives(b)
			lost := n.powerCut(0, 1)
			release()
			for range first {
				if r := a.Receive(); r.isError() {
					t.Errorf("A is told %s", r)
				}
			}
			if r := b.Receive(); r.isError() {
				t.Errorf("B is told %s", r)
			}
			n.down()
			n.memory = lost
			n.up()
			n.Want("(nil)", "RESOLVE", "name") // nobody had been told of it
			n.Want(`"https://gone.example.com/"`, "RESOLVE", "gone")
		})
	}
}

// nothingArrives checks that no byte was sent on a connection though its server had every chance to: other connections were
// served meanwhile.
func (n *node) nothingArrives(c *client) {
	n.tb.Helper()
	other := n.Dial()
	for range 20 {
		other.Do("PING")
	}
	if err := c.conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		n.tb.Fatal(err)
	}
	if b, err := c.in.Peek(1); err == nil {
		n.tb.Errorf("a reply that begins with %q came before the sync", b)
	}
}

// TestReadersDoNotWait: what only reads is answered while the disk is busy.
func TestReadersDoNotWait(t *testing.T) {
	n := start(t)
	n.Must("SHORTEN", "https://example.com/a", "AS", "a")
	release := n.disk.hold()
	defer release()
	w := n.Dial()
	w.Send("RETARGET", "a", "https://example.com/b")
	eventually(t, "the change is visible", func() bool { return n.Do("GET", "a").text == "https://example.com/b" })
	if a := n.Get("/a"); a.location != "https://example.com/b" {
		t.Errorf("HTTP answers %q", a.location)
	}
	n.Want("PONG", "PING")
	release()
	if r := w.Receive(); r.String() != "OK" {
		t.Error(r)
	}
	survived(t, "the disk is slow: syncs of the log are held up", "replies to writes wait for it; reads and redirects do not")
}

// ledger is what clients were told, and what they asked for without being told yet.
type ledger struct {
	changes atomic.Int64 // that were acknowledged
	reads   atomic.Int64 // that were answered

	mu     sync.Mutex // guards the fields below
	links  map[string]string
	doubts map[string]bool // codes whose last change was sent and not acknowledged
	codes  map[string]string
}

func newLedger() *ledger {
	return &ledger{links: map[string]string{}, doubts: map[string]bool{}, codes: map[string]string{}}
}

// issued notes that a code was given for a URL. It reports a code that was given before for another.
func (l *ledger) issued(tb testing.TB, code, url string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other, ok := l.codes[code]; ok && other != url {
		tb.Errorf("code %s was issued for %s and again for %s", code, other, url)
	}
	l.codes[code] = url
	l.links[code] = url
	l.changes.Add(1)
}

// clone is a copy. mu is held.
func (l *ledger) clone() *ledger {
	return &ledger{links: maps.Clone(l.links), doubts: maps.Clone(l.doubts), codes: maps.Clone(l.codes)}
}

func (l *ledger) doubt(code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.doubts[code] = true
}

// settle notes where an acknowledged change leads a code; "" for nowhere.
func (l *ledger) settle(code, target string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.doubts, code)
	l.links[code] = target
	l.changes.Add(1)
}

// check compares the store with what was acknowledged. What is in doubt may be either way, and is settled as found.
func (l *ledger) check(tb testing.TB, c *client) {
	tb.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for codes := range slices.Chunk(slices.Sorted(maps.Keys(l.links)), 1000) {
		r := c.Do(append([]string{"MGET"}, codes...)...)
		if r.isError() {
			tb.Fatalf("MGET of %d codes: %s", len(codes), r)
		}
		for i, code := range codes {
			found := r.list[i].text
			if l.doubts[code] {
				l.links[code] = found
			} else if found != l.links[code] {
				tb.Errorf("%s led to %q when that was acknowledged, now to %q", code, l.links[code], found)
			}
		}
	}
	clear(l.doubts)
}

// load changes links through one connection until it ends, and notes in the ledger what was acknowledged.
func (l *ledger) load(tb testing.TB, c *client, rng *rand.Rand, label string, reads int) {
	var mine []string
	for i := 0; ; i++ {
		if reads > 0 && len(mine) > 0 && !l.readBack(tb, c, rng, mine, reads) {
			return
		}
		url := fmt.Sprintf("https://example.com/%s/%d", label, i)
		if len(mine) == 0 || rng.IntN(3) > 0 {
			words := []string{"SHORTEN", url}
			if rng.IntN(4) == 0 {
				words = append(words, "AS", fmt.Sprintf("%s-%d", label, i))
			}
			r, ok := acknowledged(tb, c, words...)
			if !ok {
				return
			}
			l.issued(tb, r.text, url)
			mine = append(mine, r.text)
			continue
		}
		k := rng.IntN(len(mine))
		code := mine[k]
		l.doubt(code)
		words, target := []string{"RETARGET", code, url}, url
		if rng.IntN(2) == 0 {
			words, target = []string{"DEL", code}, ""
			mine[k] = mine[len(mine)-1]
			mine = mine[:len(mine)-1]
		}
		if _, ok := acknowledged(tb, c, words...); !ok {
			return
		}
		l.settle(code, target)
	}
}

// acknowledged sends a command that must work. It reports false when the connection has ended before the reply, or the test has failed.
func acknowledged(tb testing.TB, c *client, words ...string) (r reply, ok bool) {
	r, err := c.try(words...)
	if err == nil && r.isError() {
		tb.Errorf("%q: %s", words, r.text)
	}
	return r, err == nil && !r.isError()
}

// readBack asks for links that nobody else changes in a pipeline of n mixed commands, and compares what it is told with the ledger.
func (l *ledger) readBack(tb testing.TB, c *client, rng *rand.Rand, mine []string, n int) (ok bool) {
	var batch []byte
	want := make([]string, n)
	for i := range want {
		code := mine[rng.IntN(len(mine))]
		l.mu.Lock()
		target := quote(l.links[code])
		l.mu.Unlock()
		switch rng.IntN(6) {
		case 0:
			batch, want[i] = appendCommand(batch, "RESOLVE", code), target
		case 1:
			batch, want[i] = appendCommand(batch, "GET", code), target
		case 2:
			batch, want[i] = appendCommand(batch, "EXISTS", code), "(integer) 1"
		case 3:
			batch, want[i] = appendCommand(batch, "TTL", code), "(integer) -1"
		case 4:
			batch, want[i] = appendCommand(batch, "STRLEN", code), fmt.Sprintf("(integer) %d", len(target)-2)
		case 5:
			batch, want[i] = appendCommand(batch, "TYPE", code), "string"
		}
	}
	if _, err := c.conn.Write(batch); err != nil {
		return false
	}
	for i := range want {
		r, err := c.receive()
		if err != nil {
			return false
		}
		if got := r.String(); got != want[i] {
			tb.Errorf("a read answers %s, want %s", got, want[i])
			return false
		}
	}
	l.reads.Add(int64(n))
	return true
}

// TestPowerCuts cuts the power at random moments under load, with none, some or all of the unsynced blocks surviving. With sync always
// nothing acknowledged is lost, and no code is issued twice over all lives of the store.
func TestPowerCuts(t *testing.T) {
	seed := newSeed(t)
	rng := newRand(seed)
	n := start(t, func(o *server.Options) { o.CacheBytes = 8 << 20 })
	l := newLedger()
	for life := range scale(8, 25, 1000) {
		loads := n.underLoad(l, rng, fmt.Sprintf("life%d", life), 8)
		time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond) // where the power fails is for the seed and the scheduler to say
		lost := n.powerCutUnderLoad(l, []int{0, 30, 70, 100}[rng.IntN(4)], rng.Uint64())
		n.down()
		loads.Wait()
		n.memory = lost.disk
		n.up()
		lost.ledger.check(t, n.Dial())
		l = lost.ledger
		if life%50 == 49 {
			t.Logf("%d lives, %d codes issued", life+1, len(l.codes))
		}
		if t.Failed() {
			t.Fatalf("in life %d of seed %d", life, seed)
		}
	}
	survived(t, fmt.Sprintf("the power fails %d times under load, none to all of the unsynced blocks survive", scale(8, 25, 1000)), "connections that end")
}

// underLoad changes links from many connections at once until the server goes down.
func (n *node) underLoad(l *ledger, rng *rand.Rand, label string, clients int) *sync.WaitGroup {
	n.tb.Helper()
	var wg sync.WaitGroup
	for i := range clients {
		c, r := n.Dial(), newRand(rng.Uint64())
		wg.Go(func() { l.load(n.tb, c, r, fmt.Sprintf("%s-%d", label, i), 0) })
	}
	return &wg
}

// TestWeakerModesKeepACleanStop: whatever the mode, a clean stop loses nothing, and a power cut leaves a store that opens and
// issues no code twice.
func TestWeakerModesKeepACleanStop(t *testing.T) {
	for _, mode := range []storage.SyncMode{storage.SyncEverySec, storage.SyncNo} {
		t.Run(string(mode), func(t *testing.T) {
			n := start(t, func(o *server.Options) { o.Sync = mode })
			codes := map[string]bool{}
			var last string
			for life := range scale(4, 10, 200) {
				for i := range 50 {
					url := fmt.Sprintf("https://example.com/%d/%d", life, i)
					last = n.Must("SHORTEN", url).text
					if codes[last] {
						t.Fatalf("code %s was issued twice", last)
					}
					codes[last] = true
				}
				if life%2 == 0 {
					n.Restart()
					n.Want(quote(fmt.Sprintf("https://example.com/%d/49", life)), "RESOLVE", last)
				} else {
					n.Crash(life*7%100, uint64(life))
				}
			}
		})
	}
}

// aftermath is the disk as a power cut leaves it, with what had been acknowledged by then.
type aftermath struct {
	disk   *vfs.MemFS
	ledger *ledger
}

// powerCutUnderLoad notes what is acknowledged, and cuts the power after that: what is acknowledged later may be lost, since
// nobody outside the burning building has heard of it.
func (n *node) powerCutUnderLoad(l *ledger, keepPercent int, seed uint64) aftermath {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.clone()
	return aftermath{n.powerCut(keepPercent, seed), known}
}
