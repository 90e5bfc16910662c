package clicks

import (
	"bytes"
	"time"

	"curt/storage"
)

// combo is what equal visits have in common.
type combo struct {
	id       uint64
	hour     int64 // unix ms of its start
	agent    *Agent
	referrer *string // host; nil: none
	country  [2]byte // zero: not known
	bot      bool
}

// row counts equal visits.
type row struct {
	combo
	n    int64
	last int64
}

// record is one click on its way to the stream.
type record struct {
	at           int64
	order        uint64
	id, revision uint64
	code, target string
	tenant       string
	agent        *Agent
	referrer     *string
	country      [2]byte
	bot          bool
}

// tally counts visits, equal ones together.
type tally struct {
	index map[combo]int32 // into rows
	rows  []row
}

func (t *tally) add(k combo, n, last int64) {
	i, ok := t.index[k]
	if !ok {
		i = int32(len(t.rows))
		t.index[k] = i
		t.rows = append(t.rows, row{combo: k})
	}
	r := &t.rows[i]
	r.n += n
	r.last = max(r.last, last)
}

// batch is what was counted between two flushes.
type batch struct {
	tally
	records []record
}

// newBatch makes a batch with room for about as many rows and records as another had, unless these were unusually many.
func newBatch(like *batch) *batch {
	const usual = 1 << 15
	rows := min(len(like.index), usual)
	return &batch{
		tally:   tally{index: make(map[combo]int32, rows), rows: make([]row, 0, rows)},
		records: make([]record, 0, min(len(like.records), usual)),
	}
}

func (b *batch) empty() bool { return len(b.rows)+len(b.records) == 0 }

const (
	hour       = int64(time.Hour / time.Millisecond)
	maxRows    = 1 << 20 // kinds of visits while the store takes nothing; beyond, referrer, agent and country are not told apart
	maxRecords = 1 << 20 // clicks that wait for the stream; beyond, they are dropped from it
)

// collect empties the buffers into the batch.
func (c *Counter) collect() {
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := !c.opts.NoStream || c.opts.Listening()
	for i := range c.buffers {
		b := &c.buffers[i]
		b.mu.Lock()
		b.events, c.spare.events = c.spare.events, b.events
		b.text, c.spare.text = c.spare.text, b.text
		b.mu.Unlock()
		c.count(c.spare.events, c.spare.text, wanted)
		clear(c.spare.events) // lets the links go
		c.spare.events, c.spare.text = c.spare.events[:0], c.spare.text[:0]
		if cap(c.spare.text) > bufferText {
			c.spare.text = nil
		}
	}
}

// count counts the visits of one buffer, and keeps each by itself when that is wanted. c.mu is held.
func (c *Counter) count(events []event, text []byte, wanted bool) {
	for i := range events {
		e := &events[i]
		ua, ref := text[:e.agent], text[e.agent:e.agent+e.ref]
		text = text[e.agent+e.ref:]
		agent := c.agents.find(ua)
		k := combo{id: e.id, hour: e.at / hour * hour, agent: agent, bot: agent.Bot || e.prefetch}
		if !k.bot && c.once.seen(e.id, e.client, e.at) {
			continue
		}
		k.country = c.country.find(e.client)
		k.referrer = c.words.host(ref)
		if wanted {
			c.record(e, &k)
		}
		if k.bot || len(c.now.rows) >= maxRows { // nobody asks where programs come from
			k.agent, k.referrer, k.country = nil, nil, [2]byte{}
		}
		last := e.at
		if k.bot {
			last = 0
		}
		c.now.add(k, 1, last)
		c.counted.Add(1)
	}
}

func (c *Counter) record(e *event, k *combo) {
	if len(c.now.records) >= maxRecords {
		c.dropped.Add(1)
		return
	}
	c.now.records = append(c.now.records, record{e.at, e.order, e.id, e.revision, e.code, e.target, e.tenant, k.agent, k.referrer, k.country, k.bot})
}

// take collects what is there and starts a new batch. Clicks that come while it goes from buffer to buffer wait for the next one: else
// one could overtake another that came before it.
func (c *Counter) take() *batch {
	last := c.came.Load()
	c.collect()
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.now
	if b.empty() {
		return b
	}
	c.now = newBatch(b)
	early := b.records[:0]
	for _, r := range b.records {
		if r.order > last {
			c.now.records = append(c.now.records, r)
		} else {
			early = append(early, r)
		}
	}
	b.records = early
	c.words.trim()
	c.agents.refill()
	return b
}

// visits is a row as the store takes it.
func (r *row) visits() storage.Visits {
	v := storage.Visits{Link: r.id, Hour: r.hour, Number: r.n, Bots: r.bot, Last: r.last}
	switch {
	case r.bot:
	case r.agent == nil:
		for _, d := range []storage.Dimension{storage.Referrer, storage.Browser, storage.OS, storage.Device} {
			v.Values[d] = storage.OtherValue
		}
	default:
		v.Values[storage.Referrer] = r.referrerName()
		v.Values[storage.Country] = countryName(r.country)
		v.Values[storage.Browser], v.Values[storage.OS], v.Values[storage.Device] = r.agent.Browser, r.agent.OS, r.agent.Device
	}
	return v
}

func (k *combo) referrerName() string {
	if k.referrer == nil {
		return "direct"
	}
	return *k.referrer
}

// interner keeps one copy of each referring host.
type interner struct{ hosts map[string]*string }

const maxHosts = 1 << 16

// host returns the host of a Referer, nil when there is none or it is no web address.
func (w *interner) host(referer []byte) *string {
	rest, ok := bytes.CutPrefix(referer, []byte("https://"))
	if !ok {
		if rest, ok = bytes.CutPrefix(referer, []byte("http://")); !ok {
			if rest, ok = bytes.CutPrefix(referer, []byte("android-app://")); !ok {
				return nil
			}
		}
	}
	if end := bytes.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	if at := bytes.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	if port := bytes.LastIndexByte(rest, ':'); port >= 0 && bytes.IndexByte(rest[port:], ']') < 0 {
		rest = rest[:port]
	}
	if h := w.hosts[string(rest)]; h != nil {
		return h
	}
	host, ok := cleanHost(rest)
	if !ok {
		return nil
	}
	if w.hosts == nil {
		w.hosts = map[string]*string{}
	}
	h := w.hosts[host]
	if h == nil {
		h = &host
		w.hosts[host] = h
	}
	return h
}

// cleanHost lower-cases a host without its www., and refuses what can't be one.
func cleanHost(b []byte) (string, bool) {
	b = bytes.TrimSuffix(bytes.ToLower(b), []byte("."))
	b = bytes.TrimPrefix(b, []byte("www."))
	if len(b) == 0 || len(b) > 253 {
		return "", false
	}
	for _, c := range b {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && bytes.IndexByte([]byte("-._[]:"), c) < 0 {
			return "", false
		}
	}
	return string(b), true
}

// trim forgets the hosts when there are many; rows that name them stay as they are.
func (w *interner) trim() {
	if len(w.hosts) > maxHosts {
		w.hosts = nil
	}
}
