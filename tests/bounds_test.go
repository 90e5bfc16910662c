package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

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
