package tests

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"curt/server"
)

// pick makes a test's own random numbers, and prints the seed.
func pick(t *testing.T) func(n int) int {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	return random.IntN
}

// counterURL is a target that counts.
func counterURL(n int) string { return "https://counter.example/" + strconv.Itoa(n) }

func countOf(tb testing.TB, r reply) int {
	tb.Helper()
	n, err := strconv.Atoi(strings.TrimPrefix(r.text, "https://counter.example/"))
	if err != nil {
		tb.Fatalf("no counter: %s", r)
	}
	return n
}

// TestWatchLosesNoUpdate counts with WATCH, GET, MULTI, RETARGET, EXEC from many clients on few links, while others ban and
// unban them: the counters end where the successful EXECs say.
func TestWatchLosesNoUpdate(t *testing.T) {
	n := start(t)
	const links, clients, rounds, million = 3, 8, 150, 1_000_000 // no two links have the same target: a ban would be of both
	for i := range links {
		n.Must("SET", fmt.Sprint("c", i), counterURL(i*million))
	}
	seeds := pick(t)
	var made [links]atomic.Int64
	var failed atomic.Int64
	random := make([]*rand.Rand, clients)
	for i := range random {
		random[i] = rand.New(rand.NewPCG(uint64(seeds(1<<62)), uint64(i)))
	}
	n.together(clients, func(i int, c *client) {
		for range rounds {
			at := random[i].IntN(links)
			key := fmt.Sprint("c", at)
			if i == 0 { // the troublemaker
				c.Do("BAN", key)
				c.Do("UNBAN", key)
				continue
			}
			c.Do("WATCH", key, "unrelated")
			was := c.Do("GET", key)
			if was.isNull() { // banned
				c.Do("UNWATCH")
				continue
			}
			c.Do("MULTI")
			c.Do("GET", key)
			c.Do("RETARGET", key, counterURL(countOf(t, was)+1))
			switch r := c.Do("EXEC"); {
			case r.isNull():
				failed.Add(1)
			case len(r.list) != 2 || r.list[0].text != was.text || r.list[1].text != "OK":
				t.Errorf("EXEC: %s, after %s", r, was)
			default:
				made[at].Add(1)
			}
		}
	})
	total := int64(0)
	for i := range links {
		if got := countOf(t, n.Must("GET", fmt.Sprint("c", i))) - i*million; int64(got) != made[i].Load() {
			t.Errorf("link %d counts %d, %d EXECs succeeded", i, got, made[i].Load())
		}
		total += made[i].Load()
	}
	if total == 0 || failed.Load() == 0 {
		t.Errorf("%d EXECs succeeded, %d failed: nothing was tested", total, failed.Load())
	}
}

// TestExecIsIsolated moves two links together: whoever asks in a transaction sees them together.
func TestExecIsIsolated(t *testing.T) {
	n := start(t)
	n.Must("SET", "left", counterURL(0))
	n.Must("SET", "right", counterURL(0))
	const rounds = 200
	n.together(6, func(i int, c *client) {
		for k := range rounds {
			if i%2 == 0 {
				url := counterURL(i*rounds + k)
				c.Pipeline([]string{"MULTI"}, []string{"SET", "left", url}, []string{"PUBLISH", "x", "y"}, []string{"SET", "right", url}, []string{"EXEC"})
				continue
			}
			read := [][]string{{"MULTI"}, {"GET", "left"}, {"GET", "right"}, {"EXEC"}}
			if k%2 == 0 { // with a write it runs on a batch
				read = [][]string{{"MULTI"}, {"TITLE", "left", "t"}, {"GET", "left"}, {"GET", "right"}, {"EXEC"}}
			}
			replies := c.Pipeline(read...)
			r := replies[len(replies)-1]
			if pair := r.list[len(r.list)-2:]; pair[0].text != pair[1].text || pair[0].isError() {
				t.Errorf("seen apart: %s", r)
			}
		}
	})
}

// TestExecIsAtomic cuts the power while transactions run: of each, all is there afterwards or nothing.
func TestExecIsAtomic(t *testing.T) {
	n := start(t)
	for round := range 3 {
		var acknowledged [4]atomic.Int64
		var through atomic.Int64
		done := make(chan struct{})
		for i := range acknowledged {
			c := n.Dial()
			go func() {
				defer func() { done <- struct{}{} }()
				for k := 1; ; k++ {
					a, b := fmt.Sprintf("a%d-%d", round, i), fmt.Sprintf("b%d-%d", round, i)
					for _, words := range [][]string{{"MULTI"}, {"SET", a, counterURL(k)}, {"SET", b, counterURL(k)}, {"EXEC"}} {
						if r, err := c.try(words...); err != nil || r.isError() {
							return
						}
					}
					acknowledged[i].Store(int64(k))
					through.Add(1)
				}
			}()
		}
		eventually(t, "some transactions are through", func() bool { return through.Load() > 20 })
		var known [len(acknowledged)]int // what clients had been told before the cut
		for i := range known {
			known[i] = int(acknowledged[i].Load())
		}
		after := n.powerCut(50, uint64(round))
		n.down()
		for range acknowledged {
			<-done
		}
		n.memory = after
		n.up()
		for i, k := range known {
			a, b := n.Do("GET", fmt.Sprintf("a%d-%d", round, i)), n.Do("GET", fmt.Sprintf("b%d-%d", round, i))
			if a.text != b.text {
				t.Errorf("torn: %s and %s", a, b)
			}
			if k > 0 && countOf(t, a) < k {
				t.Errorf("%d was acknowledged, %s is there", k, a)
			}
		}
	}
}

// TestExecWaitsForTheSync: a transaction that changes something is one write, one that reads is none.
func TestExecWaitsForTheSync(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://one.example/")
	release := n.disk.hold()
	defer release()
	c := n.Dial()
	c.Do("MULTI")
	c.Do("GET", "a")
	c.Do("EXEC")
	c.Do("MULTI")
	c.Do("GET", "a")
	c.Do("RETARGET", "a", "https://two.example/")
	c.Send("EXEC")
	eventually(t, "the change is visible", func() bool { return n.Do("GET", "a").text == "https://two.example/" })
	n.nothingArrives(c)
	release()
	if r := c.Receive(); len(r.list) != 2 || r.list[0].text != "https://one.example/" || r.list[1].text != "OK" {
		t.Errorf("EXEC: %s", r)
	}
}

// TestWatchSeesEveryChange: whatever changes what a link leads to or how long makes a transaction that watches it fail; clicks and
// looks do not.
func TestWatchSeesEveryChange(t *testing.T) {
	n := start(t, func(o *server.Options) { o.AllowFlush = true })
	f := func(before, change string, dirty bool) {
		t.Helper()
		n.Must("FLUSHALL")
		for _, line := range []string{"UNBANHOST one.example", "SET a https://one.example/", before} {
			if words := strings.Fields(line); len(words) > 0 {
				n.Must(words...)
			}
		}
		c := n.Dial()
		c.Do("WATCH", "a", "b")
		switch words := strings.Fields(change); words[0] {
		case "advance":
			n.Advance(time.Second)
		case "browse":
			if got, err := fetch(browser(false), "GET", n.httpAddr, words[1]); err != nil || got.status/100 != 3 {
				t.Errorf("browse: %v, %v", got, err)
			}
		default:
			n.Must(words...)
		}
		c.Do("MULTI")
		if r := c.Do("EXEC"); r.isNull() != dirty {
			t.Errorf("after %q, %q makes EXEC answer %s", before, change, r)
		}
		c.conn.Close()
	}
	const limited = "SHORTEN https://limited.example/ AS b MAXVISITS 1"
	f("", "SET a https://two.example/", true)
	f("", "SET b https://two.example/", true)
	f("", "SHORTEN https://two.example/ AS b", true)
	f("", "RETARGET a https://two.example/", true)
	f("", "DEL a", true)
	f("", "UNLINK a", true)
	f("", "RENAME a c", true)
	f("", "RENAME a b", true)
	f("SET c https://two.example/", "RENAMENX c b", true)
	f("", "EXPIRE a 100", true)
	f("EXPIRE a 100", "PERSIST a", true)
	f("", "EXPIRE a -1", true)
	f("PEXPIRE a 1000", "advance", true)
	f("PEXPIRE a 1001", "advance", false)
	f("", "BAN a", true)
	f("BAN a", "UNBAN a", true)
	f("", "BANHOST one.example", true)
	f("BANHOST one.example", "UNBANHOST one.example", true)
	f(limited, "VISIT b", true)
	f(limited, "browse /b", true)
	f("", "TITLE a x", true)
	f("", "TAG a ADD x", true)
	f("SHORTEN https://limited.example/ AS b MAXVISITS 2", "VISIT b", false)
	f("EXPIRE a -1", "REVIVE a", true)
	f("", "FLUSHALL", true)

	f("", "VISIT a", false)
	f("", "browse /a", false)
	f("", "RESOLVE a", false)
	f("", "GET a", false)
	f("", "MGET a b", false)
	f("", "TOUCH a", false)
	f("", "LINKINFO a", false)
	f("", "CLICKS a", false)
	f("", "CLICKS a RESET", false)
	f("", "SHORTEN https://one.example/", false)
	f("", "SET c https://two.example/", false)
	f("", "DEL b", false)
	f("", "PERSIST a", false)
}

// TestHostBansAreWatched: any change of any host's ban counts, since it may concern what is watched.
func TestHostBansAreWatched(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://www.bad.example/")
	c := n.Dial()
	c.Do("WATCH", "a")
	n.Must("BANHOST", "bad.example")
	n.Must("UNBANHOST", "bad.example")
	c.Do("MULTI")
	if r := c.Do("EXEC"); !r.isNull() {
		t.Errorf("EXEC: %s", r)
	}
}

// TestTransactionLimits: what MULTI queues is bounded, and too much spoils it.
func TestTransactionLimits(t *testing.T) {
	n := start(t)
	c := n.Dial()
	c.Do("MULTI")
	big := strings.Repeat("x", 1_000_000)
	var r reply
	for range 40 {
		if r = c.Do("PUBLISH", "x", big); r.isError() {
			break
		}
	}
	if r.word() != "ERR" {
		t.Errorf("40 MB were queued: %s", r)
	}
	if r := c.Do("EXEC"); r.word() != "EXECABORT" {
		t.Errorf("EXEC: %s", r)
	}
	n.Want("PONG", "PING")
}

// TestTransactionMakesManyLinks: ids for what may be made are taken before, and what is left is used by the next.
func TestTransactionMakesManyLinks(t *testing.T) {
	n := start(t)
	c := n.Dial()
	seen := map[string]bool{}
	for round := range 5 {
		commands := [][]string{{"MULTI"}}
		for i := range 100 {
			commands = append(commands, []string{"SHORTEN", fmt.Sprintf("https://example.com/%d/%d", round, i)})
			commands = append(commands, []string{"MSHORTEN", "3", fmt.Sprintf("https://example.com/m/%d/%d", round, i), "https://example.com/same", "nonsense"})
			commands = append(commands, []string{"SETNX", fmt.Sprintf("n%d-%d", round, i), "https://example.com/"})
		}
		commands = append(commands, []string{"RESERVE", "50"}, []string{"EXEC"})
		replies := c.Pipeline(commands...)
		r := replies[len(replies)-1]
		if len(r.list) != 301 {
			t.Fatalf("EXEC: %s", r)
		}
		for i := 0; i < 300; i += 3 {
			many := r.list[i+1].list
			for _, code := range []reply{r.list[i], many[0]} {
				if code.isError() || seen[code.text] {
					t.Errorf("code %s", code)
				}
				seen[code.text] = true
			}
			if !many[2].isError() || r.list[i+2].text != "1" {
				t.Errorf("%s, %s", r.list[i+1], r.list[i+2])
			}
		}
	}
	n.Want("(integer) 1751", "DBSIZE") // 5 * (100 + 100 + 100 + 50) and the same one
}

// TestIDsInATransactionHoldNobodyUp: EXEC takes ids of every kind before it locks, so that a disk that does not answer stops this one only.
func TestIDsInATransactionHoldNobodyUp(t *testing.T) {
	for _, words := range [][]string{
		{"NEXTID", "TAG", "new"},
		{"NEXTID", "SNOWFLAKE"},
		{"SHORTEN", "https://example.com/flake", "CODE", "SNOWFLAKE"},
	} {
		n := start(t)
		n.Must("SET", "a", "https://example.com/")
		waits, other := n.Dial(), n.Dial()
		other.Do("PING")
		release := n.disk.hold()
		before := n.disk.logSyncs.Load()
		waits.Send("MULTI")
		waits.Send(words...)
		waits.Send("SET", "b", "https://example.com/b")
		waits.Send("EXEC")
		eventually(t, "a wait for the disk", func() bool { return n.disk.logSyncs.Load() > before })
		for _, read := range [][]string{{"MULTI"}, {"GET", "a"}, {"GET", "b"}, {"EXEC"}} {
			if r := other.Do(read...); r.isError() {
				t.Errorf("%q: %s", read, r)
			}
		}
		release()
		waits.Receive()
		waits.Receive()
		waits.Receive()
		if r := waits.Receive(); len(r.list) != 2 || r.list[0].isError() || r.list[1].isError() {
			t.Errorf("%q: %s", words, r)
		}
	}
}
