package tests

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"curt/server"
)

// clientLines are the lines of CLIENT LIST as maps, by id.
func clientLines(tb testing.TB, text string) map[string]map[string]string {
	tb.Helper()
	lines := map[string]map[string]string{}
	for line := range strings.Lines(text) {
		fields := map[string]string{}
		for _, f := range strings.Split(strings.TrimSuffix(line, "\n"), " ") {
			name, value, ok := strings.Cut(f, "=")
			if !ok || strings.Contains(value, "=") {
				tb.Fatalf("%q is not name=value: %s", f, line)
			}
			fields[name] = value
		}
		lines[fields["id"]] = fields
	}
	return lines
}

func (c *client) id() string { return c.Do("CLIENT", "ID").text }

func TestClientList(t *testing.T) {
	n := start(t)
	plain, sub, multi := n.Dial(), n.Dial(), n.Dial()
	plain.Do("CLIENT", "SETNAME", "a=b")
	plain.Do("CLIENT", "SETINFO", "LIB-NAME", "go-redis(,go1.26.8)")
	plain.Do("CLIENT", "SETINFO", "LIB-VER", "9.23.0")
	plain.Do("CLIENT", "NO-EVICT", "on")
	plain.Do("CLIENT", "NO-TOUCH", "on")
	plain.Do("CONFIG", "GET", "save")
	sub.Do("HELLO", "3")
	sub.Do("CLIENT", "TRACKING", "ON", "BCAST")
	subID := sub.id()
	sub.Do("SUBSCRIBE", "one")
	sub.Do("PSUBSCRIBE", "two*")
	multi.Do("WATCH", "home")
	n.Must("SET", "home", "https://example.com/")
	multiID := multi.id()
	multi.Do("MULTI")
	multi.Do("PING")
	plainID := clientLines(t, plain.Do("CLIENT", "INFO").text)
	if len(plainID) != 1 {
		t.Fatalf("CLIENT INFO: %v", plainID)
	}
	lines := clientLines(t, n.Must("CLIENT", "LIST").text)
	if len(lines) != 4 {
		t.Fatalf("%d lines: %v", len(lines), lines)
	}
	id := ""
	for i := range plainID {
		id = i
	}
	for _, want := range []struct{ id, fields string }{
		{id, "name=a_b db=0 flags=eT sub=0 psub=0 multi=-1 watch=0 cmd=client|info user=default redir=-1 resp=2 lib-name=go-redis(,go1.26.8) lib-ver=9.23.0 events=r"},
		{subID, "flags=PtB sub=1 psub=1 multi=-1 cmd=psubscribe redir=0 resp=3"},
		{multiID, "flags=xd multi=1 watch=1 cmd=multi"},
	} {
		for _, f := range strings.Fields(want.fields) {
			name, value, _ := strings.Cut(f, "=")
			if got := lines[want.id][name]; got != value {
				t.Errorf("client %s: %s is %q, want %q", want.id, name, got, value)
			}
		}
	}
	if got := lines[id]["addr"]; got != plain.conn.LocalAddr().String() {
		t.Errorf("addr %s", got)
	}
	if got := lines[id]["laddr"]; got != n.respAddr {
		t.Errorf("laddr %s", got)
	}
	for _, f := range []string{"age", "idle", "qbuf", "qbuf-free", "argv-mem", "multi-mem", "rbs", "rbp", "obl", "oll", "omem", "tot-mem", "fd", "ssub"} {
		if !regexp.MustCompile(`^-?[0-9]+$`).MatchString(lines[id][f]) {
			t.Errorf("%s=%q is no number", f, lines[id][f])
		}
	}
	if got := clientLines(t, n.Must("CLIENT", "LIST", "TYPE", "pubsub").text); len(got) != 1 || got[subID] == nil {
		t.Errorf("TYPE pubsub: %v", got)
	}
	if got := clientLines(t, n.Must("CLIENT", "LIST", "ID", subID, multiID).text); len(got) != 2 || got[id] != nil {
		t.Errorf("ID: %v", got)
	}
}

// gone reports that the server has hung up.
func (c *client) gone() bool {
	_, err := c.receive()
	return err != nil
}

func TestClientKill(t *testing.T) {
	n := start(t)
	n.Do("PING")
	open := func() (c *client, id string) { c = n.Dial(); return c, c.id() }
	for _, filter := range []func(c *client, id string) []string{
		func(_ *client, id string) []string { return []string{"ID", id} },
		func(c *client, _ string) []string { return []string{"ADDR", c.conn.LocalAddr().String()} },
		func(_ *client, id string) []string { return []string{"USER", "default", "ID", id} },
		func(_ *client, id string) []string { return []string{"LADDR", n.respAddr, "ID", id} },
		func(_ *client, id string) []string { return []string{"TYPE", "normal", "ID", id, "SKIPME", "yes"} },
	} {
		c, id := open()
		words := append([]string{"CLIENT", "KILL"}, filter(c, id)...)
		n.Want("(integer) 1", words...)
		if !c.gone() {
			t.Errorf("%v left it", words)
		}
		n.Want("(integer) 0", words...)
	}
	c, _ := open()
	n.Want("OK", "CLIENT", "KILL", c.conn.LocalAddr().String())
	if !c.gone() {
		t.Error("the form with one address left it")
	}
	old, _ := open()
	n.Advance(100e9)
	young, youngID := open()
	n.Want("(integer) 1", "CLIENT", "KILL", "MAXAGE", "100", "LADDR", n.respAddr)
	if !old.gone() {
		t.Error("MAXAGE left the old one")
	}
	if young.id() != youngID {
		t.Error("MAXAGE took the young one")
	}
	// Oneself: the reply comes, then the end.
	me, id := open()
	if r := me.Do("CLIENT", "KILL", "ID", id, "SKIPME", "no"); r.text != "1" || !me.gone() {
		t.Errorf("oneself: %s", r)
	}
	me, _ = open()
	if r := me.Do("CLIENT", "KILL", "SKIPME", "no", "TYPE", "normal"); r.kind != ':' || !me.gone() || !young.gone() || !n.cli.gone() {
		t.Errorf("all: %s", r)
	}
}

func TestSlowlogEntries(t *testing.T) {
	n := start(t, func(o *server.Options) { o.SlowlogLength = 3 })
	n.Want("OK", "CONFIG", "SET", "slowlog-log-slower-than", "0") // the clock of the tests stands
	c := n.Dial()
	c.Do("CLIENT", "SETNAME", "worker")
	c.Do("AUTH", "default", "secret")
	c.Do("HELLO", "2", "AUTH", "default", "secret")
	c.Do("SET", "shop", "https://example.com/?token=secret")
	c.Do("GET", strings.Repeat("x", 200))
	c.Do(append([]string{"MGET"}, slices.Repeat([]string{"a"}, 40)...)...)
	r := n.Must("SLOWLOG", "GET")
	if len(r.list) != 3 {
		t.Fatalf("%d entries", len(r.list))
	}
	if text := r.String(); strings.Contains(text, "secret") {
		t.Errorf("a secret is in %s", text)
	}
	var ids []string
	for _, e := range r.list {
		ids = append(ids, e.list[0].text)
		if len(e.list) != 6 || e.list[1].text != "1893456000" || e.list[4].text != c.conn.LocalAddr().String() || e.list[5].text != "worker" {
			t.Errorf("entry %s", e)
		}
	}
	words := func(i int) []string { return r.list[i].list[3].texts() }
	if w := words(0); len(w) != 32 || w[31] != "... (10 more arguments)" {
		t.Errorf("%q", w)
	}
	if w := words(1); w[1] != strings.Repeat("x", 128)+"... (72 more bytes)" {
		t.Errorf("%q", w)
	}
	if w := words(2); w[2] != "https://example.com/?(redacted)" {
		t.Errorf("%q", w)
	}
	if !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(b, a) }) {
		t.Errorf("ids %q are not newest first", ids)
	}
	if r := n.Must("SLOWLOG", "GET", "1"); len(r.list) != 1 {
		t.Errorf("GET 1: %s", r)
	}
	n.Must("CONFIG", "SET", "slowlog-max-len", "0")
	n.Want("(integer) 0", "SLOWLOG", "LEN")
}

// TestMaxClientsNow: CONFIG SET maxclients counts for the next connection.
func TestMaxClientsNow(t *testing.T) {
	n := start(t)
	n.Must("CONFIG", "SET", "maxclients", "1")
	c := n.Dial()
	if r := c.Receive(); r.text != "ERR max number of clients reached" {
		t.Errorf("%s", r)
	}
	n.Must("CONFIG", "SET", "maxclients", "2")
	if r := n.Dial().Do("PING"); r.text != "PONG" {
		t.Errorf("%s", r)
	}
}

// TestEverybodyLooks: whoever lists, counts and configures may do so while others come, work and go.
func TestEverybodyLooks(t *testing.T) {
	n := start(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	work := func(fn func(i int, c *client) error) {
		wg.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				c, err := tryDial(t, n.respAddr)
				if err == nil {
					err = fn(i, c)
					c.conn.Close()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for w := range 3 {
		work(func(i int, c *client) error {
			for _, line := range []string{"HELLO 3 SETNAME w", "CLIENT SETINFO LIB-NAME x", "CLIENT TRACKING ON", fmt.Sprintf("SET n%d-%d https://example.com/%d", w, i%7, i), "WATCH a", "MULTI", "GET a", "EXEC", "SUBSCRIBE z", "CLIENT NO-TOUCH ON", "NOSUCH"} {
				if _, err := c.try(strings.Fields(line)...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	for i := range 100 {
		for _, line := range []string{"CLIENT LIST", "INFO everything", "SLOWLOG GET", "CLIENT LIST TYPE pubsub", "MEMORY STATS", "MEMORY DOCTOR"} {
			n.Must(strings.Fields(line)...)
		}
		n.Must("CONFIG", "SET", "slowlog-log-slower-than", fmt.Sprint(i%2), "slowlog-max-len", fmt.Sprint(i%10))
		if i%10 == 0 {
			n.Must("CONFIG", "RESETSTAT")
		}
	}
	close(stop)
	wg.Wait()
}

// TestUnblock: CLIENT UNBLOCK ends a wait as if its time were over, or with an error.
func TestUnblock(t *testing.T) {
	n := start(t)
	c := n.Dial()
	id := c.id()
	n.Want("(integer) 0", "CLIENT", "UNBLOCK", id)
	for how, want := range map[string]string{"": "(nil)", "TIMEOUT": "(nil)", "ERROR": "(error) UNBLOCKED client unblocked via CLIENT UNBLOCK"} {
		c.Send("XREAD", "BLOCK", "0", "STREAMS", "clicks", "$")
		eventually(t, "it waits", func() bool { return n.Info("blocked_clients") == 1 })
		if f := clientLines(t, n.Must("CLIENT", "LIST", "ID", id).text)[id]; f["flags"] != "b" {
			t.Errorf("flags=%s", f["flags"])
		}
		words := []string{"CLIENT", "UNBLOCK", id}
		if how != "" {
			words = append(words, how)
		}
		n.Want("(integer) 1", words...)
		if r := c.Receive(); r.String() != want {
			t.Errorf("%s: %s", how, r)
		}
		n.Want("(integer) 0", words...)
	}
	if got := n.Info("blocked_clients"); got != 0 {
		t.Errorf("%d blocked", got)
	}
	c.Send("XREAD", "BLOCK", "0", "STREAMS", "clicks", "$")
	eventually(t, "it waits", func() bool { return n.Info("blocked_clients") == 1 })
	n.Want("(integer) 1", "CLIENT", "KILL", "ID", id)
	eventually(t, "it waits no more", func() bool { return n.Info("blocked_clients") == 0 })
}
