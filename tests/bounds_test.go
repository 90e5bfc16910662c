package tests

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"curt/server"
)

// TestLongPatterns: no pattern makes a command that looks at many names long, nor a message. Each of these took minutes.
func TestLongPatterns(t *testing.T) {
	n := start(t, func(o *server.Options) { o.AllowKeys = true })
	var words []string
	for i := range 10_000 {
		words = append(words, fmt.Sprintf("https://example.com/%d", i))
	}
	n.Do(append([]string{"MSHORTEN", "10000"}, words...)...)
	n.Must("SET", "needle.", "https://example.com/")
	const long = 1 << 20
	f := func(pattern string, fits bool) {
		t.Helper()
		found := n.Do("SCAN", "0", "MATCH", pattern, "COUNT", "10000")
		next := n.Do("SCAN", found.list[0].text, "MATCH", pattern, "COUNT", "10000")
		got := append(found.list[1].texts(), next.list[1].texts()...)
		if slices.Contains(got, "needle.") != fits || len(got) > 1 {
			t.Errorf("SCAN MATCH %.10s...: %d codes", pattern, len(got))
		}
		n.Do("KEYS", pattern)
		n.Do("LINKS", "0", "MATCH", pattern, "COUNT", "10000")
		n.Do("CONFIG", "GET", pattern)
		n.Do("COMMAND", "LIST", "FILTERBY", "PATTERN", pattern)
		n.Do("PUBSUB", "CHANNELS", pattern)
	}
	f("*["+strings.Repeat("~", long-4)+".]", true)
	f("*["+strings.Repeat("!-,", (long-4)/3)+"]", false)
	f("*"+strings.Repeat("[~_]", (long-1)/4), false)
	f(strings.Repeat("*", long-1)+".", true)
}

// TestLongChannel: who publishes pays for each pattern and byte.
func TestLongChannel(t *testing.T) {
	n := start(t)
	c := n.Dial()
	c.Do("PSUBSCRIBE", "*["+strings.Repeat("~", 4000)+".]")
	c.Do("PSUBSCRIBE", "*[^"+strings.Repeat("~", 4000)+".]")
	n.Want("(integer) 1", "PUBLISH", strings.Repeat("a", 4095)+".", "m")
	n.Want("(integer) 1", "PUBLISH", strings.Repeat("a", 4096), "m")
	n.WantError("ERR a channel or pattern is at most 4096 bytes", "PUBLISH", strings.Repeat("a", 4097), "m")
	for _, want := range []string{"*[~", "*[^"} {
		if r := c.Receive(); r.list[1].text[:3] != want {
			t.Errorf("heard %.20s", r.list[1].text)
		}
	}
	c.Do("PUNSUBSCRIBE", "*["+strings.Repeat("~", 4000)+".]")
	n.Want("(integer) 0", "PUBLISH", strings.Repeat("a", 4095)+".", "m")
}

// TestBroadcastOfManyKeys: a transaction that changes many links under a client that hears of all. It held up everybody for minutes.
func TestBroadcastOfManyKeys(t *testing.T) {
	n := start(t)
	const links = 99_000
	hears := n.Dial()
	hears.Do("HELLO", "3")
	hears.Do("CLIENT", "TRACKING", "ON", "BCAST")
	commands := [][]string{{"MULTI"}}
	for i := range links {
		commands = append(commands, []string{"SET", fmt.Sprint("k", i), "https://example.com/"})
	}
	commands = append(commands, []string{"SET", "k0", "https://example.com/again"}, []string{"EXEC"})
	n.Dial().Pipeline(commands...)
	keys := hears.Receive().list[1].texts()
	if len(keys) != links || keys[0] != "k0" || keys[links-1] != fmt.Sprint("k", links-1) {
		t.Errorf("heard of %d keys", len(keys))
	}
}

func TestManyPrefixes(t *testing.T) {
	n := start(t)
	c := n.Dial()
	track := func(from, to int) reply {
		words := []string{"CLIENT", "TRACKING", "ON", "BCAST"}
		for i := from; i < to; i++ {
			words = append(words, "PREFIX", fmt.Sprintf("%05d", i))
		}
		return c.Do(words...)
	}
	const most, refused = 1000, "ERR a client may have at most 1000 prefixes"
	if r := track(0, most+1); r.text != refused {
		t.Errorf("too many: %s", r)
	}
	if r := track(0, most-1); r.text != "OK" {
		t.Errorf("as many as may be: %s", r)
	}
	if r := track(most, most+2); r.text != refused {
		t.Errorf("and two more: %s", r)
	}
	if r := track(most, most+1); r.text != "OK" {
		t.Errorf("and one more: %s", r)
	}
}

// TestRepliesAreBounded: who names one thing often does not get it as often.
func TestRepliesAreBounded(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://example.com/")
	for range 60 {
		n.Do("VISIT", "a")
	}
	const streams, most = 200, 10_000
	words := []string{"XREAD", "STREAMS"}
	for i := range 2 * streams {
		words = append(words, "clicks")
		if i >= streams {
			words[len(words)-1] = "0"
		}
	}
	total := 0
	for _, stream := range n.Do(words...).list {
		total += len(stream.list[1].list)
	}
	if total != most {
		t.Errorf("XREAD: %d entries, want %d", total, most)
	}
	if r := n.Do(append([]string{"COMMAND", "DOCS"}, slices.Repeat([]string{"client"}, 10_000)...)...); len(r.list) != 2 {
		t.Errorf("COMMAND DOCS: %d elements", len(r.list))
	}
	r := n.Do(append([]string{"COMMAND", "INFO"}, slices.Repeat([]string{"get"}, 10_000)...)...)
	if len(r.list) != 10_000 || r.list[9_999].String() != r.list[0].String() || r.list[0].list[0].text != "get" {
		t.Errorf("COMMAND INFO: %d elements", len(r.list))
	}
}

// TestTransactionWithLargeReplies: EXEC has all replies before it commits; when they are too large, nothing is done.
func TestTransactionWithLargeReplies(t *testing.T) {
	n := start(t)
	n.Must("SET", "long", "https://example.com/"+strings.Repeat("x", 2000))
	c := n.Dial()
	commands := [][]string{{"MULTI"}, {"SET", "made", "https://example.com/"}}
	for range 8 {
		commands = append(commands, append([]string{"MGET"}, slices.Repeat([]string{"long"}, 5000)...))
	}
	replies := c.Pipeline(append(commands, []string{"EXEC"})...)
	if r := replies[len(replies)-1]; r.text != "ERR the replies of the transaction are too large: at most 64 MiB" {
		t.Errorf("EXEC: %.100s", r)
	}
	n.Want("(nil)", "GET", "made")
	if replies := c.Pipeline(append(commands[:6], []string{"EXEC"})...); len(replies[6].list) != 5 {
		t.Errorf("EXEC: %.100s", replies[6])
	}
	n.Want(`"https://example.com/"`, "GET", "made")
}

// TestLongTransaction: nobody else changes anything meanwhile, so it ends, with nothing done.
func TestLongTransaction(t *testing.T) {
	var slow atomic.Bool // while it is, each reading of the clock takes 10 ms
	var readings atomic.Int64
	n := start(t, func(o *server.Options) {
		now := o.Now
		o.Now = func() time.Time {
			if !slow.Load() {
				return now()
			}
			return now().Add(time.Duration(readings.Add(1)) * 10 * time.Millisecond)
		}
	})
	transaction := func(reads int) reply {
		commands := [][]string{{"MULTI"}, {"SET", "made", "https://example.com/"}}
		commands = append(append(commands, slices.Repeat([][]string{{"LINKS", "0"}}, reads)...), []string{"EXEC"})
		slow.Store(true)
		replies := n.Dial().Pipeline(commands...)
		slow.Store(false)
		return replies[len(replies)-1]
	}
	if r := transaction(1000); !strings.HasPrefix(r.text, "ERR the transaction took longer than 5 seconds") {
		t.Errorf("EXEC: %.100s", r)
	}
	n.Want("(nil)", "GET", "made")
	if r := transaction(10); len(r.list) != 11 {
		t.Errorf("EXEC: %.100s", r)
	}
	n.Want(`"https://example.com/"`, "GET", "made")
}

// TestReplyOffWhileBlocked: what a client does not want to hear of a command that waited does not come, whatever was replied before it.
func TestReplyOffWhileBlocked(t *testing.T) {
	n := start(t)
	for _, mode := range []string{"SKIP", "OFF"} {
		c := n.Dial()
		c.SendRaw(string(slices.Concat(
			appendCommand(nil, "PING", "a rather long reply"), appendCommand(nil, "CLIENT", "REPLY", mode), appendCommand(nil, "XREAD", "BLOCK", "1", "STREAMS", "clicks", "$"),
			appendCommand(nil, "CLIENT", "REPLY", "ON"), appendCommand(nil, "ECHO", "end"))))
		for _, want := range []string{"a rather long reply", "OK", "end"} {
			if r := c.Receive(); r.text != want {
				t.Errorf("CLIENT REPLY %s: got %s, want %s", mode, r, want)
			}
		}
	}
}

// TestClientTextsAreBounded: whoever lists the clients gets the names of all, and each refusal is remembered with them.
func TestClientTextsAreBounded(t *testing.T) {
	n := start(t)
	longest := strings.Repeat("n", 1024)
	for what, words := range map[string][]string{
		"Client names": {"CLIENT", "SETNAME"},
		"lib-name":     {"CLIENT", "SETINFO", "LIB-NAME"},
		"lib-ver":      {"CLIENT", "SETINFO", "LIB-VER"},
	} {
		n.Want("OK", append(words, longest)...)
		n.WantError("ERR "+what+" cannot be longer than 1024 bytes.", append(words, longest+"n")...)
	}
	n.WantError("ERR Client names cannot be longer than 1024 bytes.", "HELLO", "2", "SETNAME", longest+"n")
	n.Want(`"`+longest+`"`, "CLIENT", "GETNAME")
}
