package clicks

import (
	"bytes"
	"time"
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

const (
	hour       = int64(time.Hour / time.Millisecond)
	maxRows    = 1 << 20 // kinds of visits while the store takes nothing; beyond, referrer, agent and country are not told apart
	maxRecords = 1 << 20 // clicks that wait for the stream; beyond, they are dropped from it
)

// collect empties the buffers and counts what was in them.
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
		if k.bot || c.kinds >= maxRows { // nobody asks where programs come from
			k.agent, k.referrer, k.country = nil, nil, [2]byte{}
		}
		last := e.at
		if k.bot {
			last = 0
		}
		p := &c.parts[partOf(k.id)]
		c.kinds -= len(p.rows)
		p.add(k, 1, last)
		c.kinds += len(p.rows)
		c.counted.Add(1)
	}
}

func (c *Counter) record(e *event, k *combo) {
	if len(c.records) >= maxRecords {
		c.dropped.Add(1)
		return
	}
	c.records = append(c.records, record{e.at, e.order, e.id, e.revision, e.code, e.target, e.tenant, k.agent, k.referrer, k.country, k.bot})
}

// take collects what is there, and hands over the clicks that are to go into the stream. Those that come while it goes from buffer to buffer
// wait for the next time: else one could overtake another that came before it.
func (c *Counter) take() []record {
	last := c.came.Load()
	c.collect()
	c.mu.Lock()
	defer c.mu.Unlock()
	const usual = 1 << 15 // that room is made for in advance
	records := c.records
	early := records[:0]
	c.records = make([]record, 0, min(len(records), usual))
	for _, r := range records {
		if r.order > last {
			c.records = append(c.records, r)
		} else {
			early = append(early, r)
		}
	}
	c.words.trim()
	c.agents.refill()
	return early
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
