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
