package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"curt/server"
)

// onDemand lets clicks go into the store only when a command asks for them.
func onDemand(o *server.Options) { o.Clicks.Interval = -1 }

// Each reset of a transaction forgets all that was counted until then, and what it counts is told in full.
func TestResetsInATransaction(t *testing.T) {
	n := start(t, onDemand)
	for i := range 8 {
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i), "AS", fmt.Sprintf("x%d", i))
		for range i + 1 {
			n.Must("VISIT", fmt.Sprintf("x%d", i), "UA", somebody)
		}
	}
	n.Want("OK", "MULTI")
	for i := range 4 {
		n.Want("QUEUED", "CLICKS", fmt.Sprintf("x%d", i), "RESET")
	}
	for i := range 4 {
		n.Want("QUEUED", "CLICKS", fmt.Sprintf("x%d", 4+i))
	}
	r := n.Must("EXEC")
	for i := range 4 {
		if got, _ := visits(t, r.list[4+i]); got != int64(5+i) {
			t.Errorf("x%d has %d visits behind a reset of another, want %d", 4+i, got, 5+i)
		}
		if got, _ := visits(t, n.Must("CLICKS", fmt.Sprintf("x%d", i))); got != 0 {
			t.Errorf("x%d has %d visits after its reset", i, got)
		}
	}
}

// What was ever counted stays in the running totals, also when all links go.
func TestTotalsOutliveFlushAll(t *testing.T) {
	n := start(t, onDemand, func(o *server.Options) { o.AllowFlush = true })
	n.Must("SHORTEN", "https://example.com/", "AS", "x")
	n.Must("VISIT", "x", "UA", somebody)
	n.Want("(integer) 1", "XLEN", "clicks")
	if total := n.Info("curt_visits_total"); total != 1 {
		t.Fatalf("%d visits", total)
	}
	n.Must("FLUSHALL")
	if total, buckets := n.Info("curt_visits_total"), n.Info("curt_visits_in_buckets"); total != 1 || buckets != 1 {
		t.Errorf("after FLUSHALL: %d visits, %d in buckets", total, buckets)
	}
}

// A change made while no stream is kept does not take the targets from entries that are there.
func TestTargetsOutliveAPause(t *testing.T) {
	n := start(t, onDemand)
	n.Must("SHORTEN", "https://example.com/1", "AS", "x")
	n.Must("VISIT", "x")
	n.Want("(integer) 1", "XLEN", "clicks")
	n.options.Clicks.NoStream = true
	n.Restart()
	n.Must("RETARGET", "x", "https://example.com/2")
	targets := func() (list []string) {
		for _, e := range n.Must("XRANGE", "clicks", "-", "+").list {
			list = append(list, field(e, "code")+" "+field(e, "target"))
		}
		return list
	}
	if got := targets(); !slices.Equal(got, []string{"x https://example.com/1"}) {
		t.Errorf("%q", got)
	}
	n.Must("DEL", "x")
	n.options.Clicks.NoStream = false
	n.Restart()
	if got := targets(); !slices.Equal(got, []string{"x https://example.com/1"}) {
		t.Errorf("%q", got)
	}
}

// An entry keeps its target as long as it stays itself, also when a clock that was ahead goes back.
func TestTargetsAfterAClockWasAhead(t *testing.T) {
	n := start(t, onDemand, func(o *server.Options) { o.Clicks.StreamRetention = 48 * time.Hour })
	upkeep := func() {
		if err := n.server.Links().Counter().Upkeep(); err != nil {
			t.Fatal(err)
		}
	}
	n.Must("SHORTEN", "https://example.com/1", "AS", "x")
	n.Must("VISIT", "x")
	n.Want("(integer) 1", "XLEN", "clicks")
	n.Advance(3 * 24 * time.Hour)
	n.Must("VISIT", "x")
	n.Want("(integer) 2", "XLEN", "clicks")
	n.Advance(-3 * 24 * time.Hour)
	n.Must("RETARGET", "x", "https://example.com/2")
	n.Advance(5 * 24 * time.Hour)
	upkeep()
	for _, e := range n.Must("XRANGE", "clicks", "-", "+").list {
		if got := field(e, "target"); got != "https://example.com/1" {
			t.Errorf("%s leads to %q", e.list[0].text, got)
		}
	}
}

// field is a field of an entry.
func field(e reply, name string) string {
	f := e.list[1].list
	for i := 0; i+1 < len(f); i += 2 {
		if f[i].text == name {
			return f[i+1].text
		}
	}
	return ""
}

// clicked is one visit as the model has it.
type clicked struct {
	link   int // in clickModel.links
	target string
	id     string // in the stream; empty: not seen yet
}

// clickedLink is a link as the model has it. Its numbers count from the last reset.
type clickedLink struct {
	code, target string
	visits, bots int64
	alive        bool
}

// clickModel does to a map what it does to a server.
type clickModel struct {
	*node
	random  *rand.Rand
	links   []clickedLink
	stream  []clicked
	dropped int // entries of the stream that went with their day
	total   int64
	made    int
	unknown time.Time // of the first visit whose id is not known yet
}

// Random visits, edits, restarts and days: counts and streams are those of a model.
func TestClickModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	n := start(t, onDemand, func(o *server.Options) {
		o.Clicks.StreamRetention, o.Clicks.HourRetention = 48*time.Hour, 24*time.Hour
	})
	m := &clickModel{node: n, random: rand.New(rand.NewPCG(seed, 2))}
	for range 6 {
		m.make()
	}
	for range scale(150, 1000, 20000) {
		m.step()
		if t.Failed() {
			return
		}
	}
}

func (m *clickModel) make() {
	code := fmt.Sprintf("m%d", m.made%9) // names come again
	m.made++
	for i := range m.links {
		if m.links[i].alive && m.links[i].code == code {
			return
		}
	}
	l := clickedLink{code: code, target: fmt.Sprintf("https://example.com/%d", m.made), alive: true}
	m.Must("SHORTEN", l.target, "AS", l.code)
	m.links = append(m.links, l)
}

func (m *clickModel) any() int {
	for {
		if at := m.random.IntN(len(m.links)); m.links[at].alive {
			return at
		}
	}
}

func (m *clickModel) step() {
	at := m.any()
	l := &m.links[at]
	switch m.random.IntN(20) {
	case 0, 1, 2, 3, 4, 5, 6:
		for range 1 + m.random.IntN(50) {
			m.visit(m.any())
		}
	case 7:
		m.Want("(integer) "+strconv.Itoa(len(m.stream)-m.dropped), "XLEN", "clicks")
	case 8, 9:
		m.checkLink(at)
	case 10, 11:
		m.checkStream(at)
	case 12:
		l.target += "x"
		m.Must("RETARGET", l.code, l.target)
	case 13:
		m.Must("CLICKS", l.code, "RESET")
		l.visits, l.bots = 0, 0
	case 14:
		m.Must("DEL", l.code)
		l.alive = false
		for range 3 {
			m.make()
		}
	case 15:
		if len(m.stream) > 0 && m.clock.Now().Sub(m.unknown) > 20*time.Hour {
			m.know()
		}
		m.Advance(time.Duration(m.random.Int64N(int64(20*time.Hour))) - 4*time.Hour)
	case 16:
		m.drop()
	case 17:
		m.Restart()
		m.drop() // a start does
	case 18:
		m.Must("XLEN", "clicks")
		m.Must("CLICKS", l.code) // what it told of is durable
		m.Crash(m.random.IntN(101), m.random.Uint64())
		m.drop()
	case 19:
		m.checkAll()
	}
}

func (m *clickModel) visit(at int) {
	l := &m.links[at]
	ua := somebody
	if m.random.IntN(5) == 0 {
		ua = "Twitterbot/1.0"
		l.bots++
	} else {
		l.visits++
		m.total++
	}
	m.Must("VISIT", l.code, "UA", ua)
	if len(m.stream) == 0 || m.stream[len(m.stream)-1].id != "" {
		m.unknown = m.clock.Now()
	}
	m.stream = append(m.stream, clicked{link: at, target: l.target})
}

func (m *clickModel) checkLink(at int) {
	l := &m.links[at]
	people, bots := visits(m.tb, m.Must("CLICKS", l.code))
	if people != l.visits || bots != l.bots {
		m.tb.Errorf("%s has %d visits and %d bots, want %d and %d", l.code, people, bots, l.visits, l.bots)
	}
	for _, words := range [][]string{{"BY", "HOUR"}, {"BY", "DAY"}, {"TOP", "BROWSER"}} {
		var sum int64
		for _, row := range m.Must(append([]string{"CLICKS", l.code}, words...)...).list {
			v, err := strconv.ParseInt(row.list[1].text, 10, 64)
			if err != nil {
				m.tb.Fatal(err)
			}
			sum += v
		}
		if sum != l.visits && words[1] != "HOUR" || sum > l.visits {
			m.tb.Errorf("%s %v adds up to %d of %d", l.code, words, sum, l.visits)
		}
	}
	if total, buckets := m.Info("curt_visits_total"), m.Info("curt_visits_in_buckets"); total != m.total || buckets != m.total {
		m.tb.Errorf("%d visits, %d in buckets, want %d", total, buckets, m.total)
	}
}

// know learns the ids of the entries that are new.
func (m *clickModel) know() {
	from := m.dropped
	for from < len(m.stream) && m.stream[from].id != "" {
		from++
	}
	low := "-"
	if from > m.dropped {
		low = "(" + m.stream[from-1].id
	}
	for from < len(m.stream) {
		list := m.Must("XRANGE", "clicks", low, "+").list
		if len(list) == 0 || from+len(list) > len(m.stream) {
			m.tb.Fatalf("%d entries behind %s of %d, want %d", len(list), low, from, len(m.stream)-from)
		}
		for _, e := range list {
			m.stream[from].id = e.list[0].text
			low = "(" + m.stream[from].id
			from++
		}
	}
}

// drop drops the days whose time is over.
func (m *clickModel) drop() {
	if err := m.server.Links().Counter().Upkeep(); err != nil {
		m.tb.Fatal(err)
	}
	limit := m.clock.Now().Add(-48*time.Hour).UnixMilli() / (24 * time.Hour).Milliseconds() * (24 * time.Hour).Milliseconds()
	for m.dropped < len(m.stream) && m.stream[m.dropped].id != "" && less(m.stream[m.dropped].id, fmt.Sprintf("%d-0", limit)) {
		m.dropped++
	}
}

func (m *clickModel) checkStream(at int) {
	m.know()
	key := "clicks:" + m.links[at].code
	var want []clicked
	for _, c := range m.stream[m.dropped:] {
		if c.link == at {
			want = append(want, c)
		}
	}
	m.Want("(integer) "+strconv.Itoa(len(want)), "XLEN", key)
	m.compare(key, m.Must("XRANGE", key, "-", "+").list, want)
	for range 3 {
		low, high := m.edge(), m.edge()
		if less(high, low) {
			low, high = high, low
		}
		var within []clicked
		for _, c := range want {
			if !less(c.id, low) && !less(high, c.id) {
				within = append(within, c)
			}
		}
		count := 1 + m.random.IntN(100)
		some := within[:min(count, len(within))]
		m.compare(key+" "+low+" "+high, m.Must("XRANGE", key, low, high, "COUNT", strconv.Itoa(count)).list, some)
		slices.Reverse(within)
		some = within[:min(count, len(within))]
		m.compare(key+" reversed "+high+" "+low, m.Must("XREVRANGE", key, high, low, "COUNT", strconv.Itoa(count)).list, some)
	}
}

// edge is an id of the stream or beside one.
func (m *clickModel) edge() string {
	if m.dropped == len(m.stream) {
		return "5-0"
	}
	id := m.stream[m.dropped+m.random.IntN(len(m.stream)-m.dropped)].id
	if m.random.IntN(3) == 0 {
		left, _, _ := strings.Cut(id, "-")
		ms, err := strconv.ParseInt(left, 10, 64)
		if err != nil {
			m.tb.Fatal(err)
		}
		return fmt.Sprintf("%d-%d", ms+int64(m.random.IntN(100)-50)*60000, m.random.IntN(3))
	}
	return id
}

func (m *clickModel) compare(what string, got []reply, want []clicked) {
	m.tb.Helper()
	if len(got) != len(want) {
		m.tb.Errorf("%s: %d entries, want %d", what, len(got), len(want))
		return
	}
	for i, e := range got {
		c := &want[i]
		if id, code, target := e.list[0].text, field(e, "code"), field(e, "target"); id != c.id || code != m.links[c.link].code || target != c.target {
			m.tb.Errorf("%s: entry %d is %s of %s to %s, want %s of %s to %s", what, i, id, code, target, c.id, m.links[c.link].code, c.target)
			return
		}
	}
}

func (m *clickModel) checkAll() {
	m.know()
	last := m.stream[max(m.dropped, len(m.stream)-5000):]
	if len(last) > 0 {
		m.compare("clicks", m.Must("XRANGE", "clicks", last[0].id, "+").list, last)
	}
	for at := range m.links {
		if m.links[at].alive {
			m.checkLink(at)
		}
	}
}

// Readers of single links' streams miss nothing and see nothing twice, and counts never go back, while others visit, ask and change links.
func TestReadersOfLinks(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Clicks.Interval = 3 * time.Millisecond })
	const links, writers = 5, 4
	each := scale(300, 1500, 20000)
	code := func(i int) string { return fmt.Sprintf("r%d", i%links) }
	for i := range links {
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i), "AS", code(i))
	}
	var visiting, others sync.WaitGroup
	for w := range writers {
		c := n.Dial()
		visiting.Go(func() {
			for i := range each {
				if r := c.Do("VISIT", code(i+w), "UA", somebody); r.isError() {
					t.Errorf("VISIT: %s", r)
				}
				if i%300 == 0 {
					n.Advance(7 * time.Hour) // into the next day, now and then
				}
			}
		})
	}
	want := int64(writers * each / links)
	ended := make(chan struct{})
	for i := range links {
		c := n.Dial()
		others.Go(func() {
			last, seen := "0", int64(0)
			for end := time.Now().Add(patience); seen < want && time.Now().Before(end); {
				r := c.Do("XREAD", "COUNT", "50", "BLOCK", "50", "STREAMS", "clicks:"+code(i), last)
				if len(r.list) == 0 {
					continue
				}
				for _, e := range r.list[0].list[1].list {
					if id := e.list[0].text; less(last, id) {
						last = id
						seen++
					} else {
						t.Errorf("%s: %s came after %s", code(i), id, last)
					}
				}
			}
			if seen != want {
				t.Errorf("%s: %d entries were read, want %d", code(i), seen, want)
			}
		})
	}
	for i := range 2 {
		c := n.Dial()
		others.Go(func() {
			for had := int64(0); ; {
				select {
				case <-ended:
					return
				default:
				}
				c.Do("MULTI")
				c.Do("CLICKS", code(i))
				c.Do("XLEN", "clicks:"+code(i))
				if i == 1 {
					c.Do("RETARGET", code(i), fmt.Sprintf("https://example.com/%d", had))
				}
				r := c.Do("EXEC")
				got, _ := visits(t, r.list[0])
				if long, err := strconv.ParseInt(r.list[1].text, 10, 64); err != nil || got < had || long < got {
					t.Errorf("%s: %d visits after %d, %d entries, %v", code(i), got, had, long, err)
				}
				had = got
			}
		})
	}
	visiting.Wait()
	eventually(t, "all is in the streams", func() bool {
		sum := int64(0)
		for i := range links {
			r := n.Must("XLEN", "clicks:"+code(i))
			v, err := strconv.ParseInt(r.text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
		return sum == int64(writers*each)
	})
	close(ended)
	others.Wait()
	for i := range links {
		if got, _ := visits(t, n.Must("CLICKS", code(i))); got != want {
			t.Errorf("%s has %d visits, want %d", code(i), got, want)
		}
	}
	if total, buckets := n.Info("curt_visits_total"), n.Info("curt_visits_in_buckets"); total != int64(writers*each) || buckets != total {
		t.Errorf("%d visits, %d in buckets", total, buckets)
	}
}

// Counts that kill -9 caught in the journal are in an export, a check and the counts of the next start.
func TestKillBeforeTheMerge(t *testing.T) {
	data := t.TempDir()
	p := run(t, nil, "--dir", data)
	c := dial(t, p.respAddr)
	code := c.Do("SHORTEN", "https://example.com/").text
	for range 70 {
		c.Do("VISIT", code, "UA", somebody)
	}
	if n := len(c.Do("XRANGE", "clicks", "-", "+").list); n != 70 { // durable, and not merged
		t.Fatalf("%d entries", n)
	}
	p.kill()
	for _, words := range [][]string{{"export", "--dir", data}, {"check", "--dir", data}} {
		q, out := launch(t, nil, words...)
		if exit := q.exit(); exit != 0 {
			t.Errorf("%s: exit code %d: %s%s", words[0], exit, out, q.stderr)
		}
		if words[0] == "export" && !strings.Contains(fmt.Sprint(out), `"visits":70`) {
			t.Errorf("export: %s", out)
		}
	}
	q := run(t, nil, "--dir", data)
	c = dial(t, q.respAddr)
	if got, _ := visits(t, c.Do("CLICKS", code)); got != 70 {
		t.Errorf("%d visits", got)
	}
	if n := len(c.Do("XREVRANGE", "clicks:"+code, "+", "-").list); n != 70 {
		t.Errorf("%d entries of the link", n)
	}
	q.stop(syscall.SIGTERM)
}
