package tests

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLatencies: INFO latencystats and LATENCY HISTOGRAM tell of each command that was called how long it took.
func TestLatencies(t *testing.T) {
	n := start(t)
	const calls = 300
	for i := range calls {
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i))
	}
	n.Must("CLIENT", "ID")
	n.Must("CLIENT", "GETNAME")
	n.Do("GET") // refused: it took no time

	line := regexp.MustCompile(`^latency_percentiles_usec_([a-z|]+):p50=([0-9.]+),p99=([0-9.]+),p99\.9=([0-9.]+)\r\n$`)
	told := map[string][]float64{}
	for l := range strings.Lines(n.Must("INFO", "latencystats").text) {
		if l == "# Latencystats\r\n" {
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil {
			t.Fatalf("line %q", l)
		}
		for _, text := range m[2:] {
			p, err := strconv.ParseFloat(text, 64)
			if err != nil {
				t.Fatal(err)
			}
			told[m[1]] = append(told[m[1]], p)
		}
	}
	for _, name := range []string{"shorten", "client|id", "client|getname"} {
		if p := told[name]; len(p) != 3 || p[0] <= 0 || p[1] < p[0] || p[2] < p[1] {
			t.Errorf("%s: %v", name, p)
		}
	}
	if told["get"] != nil || told["client"] != nil || told["resolve"] != nil {
		t.Errorf("what was not called: %v", told)
	}

	for _, proto := range []string{"2", "3"} {
		c := n.Dial()
		c.Do("HELLO", proto)
		r := c.Do("LATENCY", "HISTOGRAM", "SHORTEN", "nosuch", "resolve", "client")
		if names := []string{r.list[0].text, r.list[2].text, r.list[4].text}; len(r.list) != 6 || fmt.Sprint(names) != "[shorten client|id client|getname]" {
			t.Fatalf("RESP%s: %s", proto, r)
		}
		shorten := r.list[1]
		if got := shorten.field("calls").text; got != fmt.Sprint(calls) {
			t.Errorf("%s calls", got)
		}
		steps := shorten.field("histogram_usec").list
		usec, below := int64(0), int64(0)
		for i := 0; i < len(steps); i += 2 {
			end, n := intOf(t, steps[i]), intOf(t, steps[i+1])
			if end <= usec || end&(end-1) != 0 || n <= below {
				t.Errorf("step %d: %d", end, n)
			}
			usec, below = end, n
		}
		if below != calls {
			t.Errorf("%d of %d calls are in the histogram: %s", below, calls, shorten)
		}
		if r := c.Do("LATENCY", "HISTOGRAM", "client|id"); len(r.list) != 2 {
			t.Errorf("one subcommand: %s", r)
		}
	}
	if all := n.Must("LATENCY", "HISTOGRAM"); all.field("shorten").field("calls").text != fmt.Sprint(calls) {
		t.Errorf("all: %s", all)
	}
	n.Must("CONFIG", "RESETSTAT")
	if text := n.Must("INFO", "latencystats").text; strings.Contains(text, "shorten") {
		t.Errorf("after RESETSTAT: %s", text)
	}
}

func intOf(t *testing.T, r reply) int64 {
	t.Helper()
	n, err := strconv.ParseInt(r.text, 10, 64)
	if err != nil || r.kind != ':' {
		t.Fatalf("no integer: %s", r)
	}
	return n
}
