package server

import (
	"errors"
	"math"
	"net/netip"
	"strings"

	"curt/server/link"
	"curt/server/link/clicks"
	"curt/server/web"
	"curt/storage"
)

func clickCommands() []*command {
	return []*command{{
		name: "visit", arity: -2, flags: flagWrite | flagFast | flagNoMulti, keys: oneKey, group: "click", since: "0.1.0", complexity: "O(1)", discloses: always,
		syntax:  "code [IP ip] [UA user-agent] [REFERER url]",
		summary: "Returns what a code leads to and counts a visit, as a redirect would",
		reply:   "bulk: the target; null when there is no such link. Programs, told by their user agent, are counted apart and spend no MAXVISITS. -GONE expired, -GONE used up, -BANNED",
		run:     visit,
	}, {
		name: "clicks", arity: -2, flags: flagReadonly, form: &command{name: "reset", flags: flagWrite, gathers: always}, keys: oneKey, group: "click", since: "0.1.0", complexity: "O(1), with BY O(N) with N the number of buckets",
		syntax:  "code [RESET | BY <HOUR | DAY | MONTH> [FROM unix-time-milliseconds] [TO unix-time-milliseconds] | TOP <REFERRER | COUNTRY | BROWSER | OS | DEVICE> [COUNT count] [FROM unix-time-milliseconds] [TO unix-time-milliseconds]]",
		summary: "Returns how often a link was visited: in all, by hour, day or month, or by what visitors have in common",
		reply: "array: visits, bots, time of the last visit or null. BY: array of arrays: start of the bucket, visits, bots; empty ones are left out. " +
			"TOP: array of arrays: value, visits, the largest first and `other` last; whole months. RESET: OK; MAXVISITS is not refilled; the ACL knows it as clicks|reset, of the category @write. " +
			"null when there is no such link. -ERR no such key (RESET)",
		run: clicksOf,
	}}
}

func visit(c *call) error {
	v := link.Visit{Time: c.now()}
	w := words{list: c.args[2:]}
	for option := range w.options() {
		w.once(option)
		switch option {
		case "ip":
			addr, err := netip.ParseAddr(string(w.value()))
			if err != nil && w.err == nil {
				w.err = replyError("ERR IP is not an address")
			}
			v.Client = addr
		case "ua":
			v.UserAgent = w.value()
		case "referer":
			v.Referer = w.value()
		default:
			w.fail(errSyntax)
		}
	}
	if w.err != nil {
		return w.err
	}
	t, state, err := c.links.Lookup(c.args[1])
	if err != nil {
		return err
	}
	c.stats.looked(state == link.Live)
	if state == link.Live {
		v.Target = t
		if state, err = c.links.Visit(&v); err != nil {
			return err
		}
	}
	return c.writeTarget(t, state)
}

// visited is the hook of the HTTP side: a GET is about to be redirected.
func (s *Server) visited(v *web.Visit) (link.State, error) {
	return s.links.Visit(&link.Visit{Target: v.Target, Client: v.Client, UserAgent: v.UserAgent, Referer: v.Referer, Purpose: v.Purpose, Time: v.Time})
}

var (
	periods = map[string]link.Period{"hour": link.Hour, "day": link.Day, "month": link.Month}
	// dimensionNames are the words of CLICKS TOP.
	dimensionNames = map[string]storage.Dimension{"referrer": storage.Referrer, "country": storage.Country, "browser": storage.Browser, "os": storage.OS, "device": storage.Device}
)

// clicksOf carries out CLICKS. Its reply waits for the sync: what was told of is still there after a crash.
func clicksOf(c *call) error {
	c.owes = true
	code := string(c.args[1])
	w := words{list: c.args[2:]}
	word, more := w.next()
	var err error
	switch {
	case !more:
		err = c.writeClicks(code)
	case equalFold(word, "reset") && len(w.list) == 0:
		return c.ok(c.links.ResetClicks(code))
	case equalFold(word, "by"):
		err = c.writeSeries(code, &w)
	case equalFold(word, "top"):
		err = c.writeTop(code, &w)
	default:
		return errSyntax
	}
	if errors.Is(err, link.ErrNotFound) {
		c.w.Null()
		return nil
	}
	return err
}

func (c *call) writeClicks(code string) error {
	n, err := c.links.Clicks(code)
	if err != nil {
		return err
	}
	c.w.Array(3)
	c.w.Int(n.Visits)
	c.w.Int(n.Bots)
	if n.Last == 0 {
		c.w.Null()
	} else {
		c.w.Int(n.Last)
	}
	return nil
}

// span reads [FROM t] [TO t], and [COUNT n] if there may be one.
func span(w *words, count *int64) (from, to int64) {
	to = math.MaxInt64
	for {
		word, ok := w.next()
		if !ok {
			return from, to
		}
		option := strings.ToLower(string(word))
		w.once(option)
		switch {
		case option == "from":
			from = w.integer(0, math.MaxInt64)
		case option == "to":
			to = w.integer(0, math.MaxInt64)
		case option == "count" && count != nil:
			*count = w.integer(1, math.MaxInt32)
		default:
			w.fail(errSyntax)
		}
	}
}

func (c *call) writeSeries(code string, w *words) error {
	by := choose(w, periods)
	from, to := span(w, nil)
	if w.err != nil {
		return w.err
	}
	series, err := c.links.ClickSeries(code, by, from, to)
	if err != nil {
		return err
	}
	c.w.Array(len(series))
	for _, b := range series {
		c.w.Array(3)
		c.w.Int(b.Start)
		c.w.Int(b.Visits)
		c.w.Int(b.Bots)
	}
	return nil
}

func (c *call) writeTop(code string, w *words) error {
	d := choose(w, dimensionNames)
	n := int64(storage.MaxTop)
	from, to := span(w, &n)
	if w.err != nil {
		return w.err
	}
	top, err := c.links.TopClicks(code, d, int(n), from, to)
	if err != nil {
		return err
	}
	c.w.Array(len(top))
	for _, v := range top {
		c.w.Array(2)
		c.w.BulkString(v.Value)
		c.w.Int(v.Visits)
	}
	return nil
}

// clickOptions are those that were given, with the channels click:<code> and the clients that cache streams behind them.
func (s *Server) clickOptions() link.ClickOptions {
	o := s.opts.Clicks
	listening := func() bool { return s.pubsub.count(channels)+s.pubsub.count(patterns) > 0 }
	o.Listening = func() bool { return listening() || s.tracking.on.Load() > 0 }
	o.OnClick = func(c *clicks.Click) {
		s.tracking.clicked(c.Code, c.Tenant)
		if !listening() {
			return
		}
		s.pubsub.publish("click:"+c.Code, audience{tenant: c.Tenant}, s.store.Ticket(), eventText(clickEvent{c.Code, c.Target, c.Referrer, c.Browser, c.OS, c.Device, c.Country, c.Bot, c.At}))
	}
	return o
}

// clickEvent is the message of the channel click:<code>: what an entry of the stream says.
type clickEvent struct {
	Code     string `json:"code"`
	Target   string `json:"target"`
	Referrer string `json:"referrer,omitempty"`
	Browser  string `json:"browser"`
	OS       string `json:"os"`
	Device   string `json:"device"`
	Country  string `json:"country,omitempty"`
	Bot      bool   `json:"bot"`
	Time     int64  `json:"time"` // unix ms UTC
}

// infoClicks are the figures of INFO curt about clicks. What went into totals and into buckets must be equal.
func (s *Server) infoClicks(b *strings.Builder) {
	counter := s.links.Counter()
	totals, buckets, err := counter.Sums()
	if err != nil {
		s.log.Error("read click sums", "err", err)
	}
	line(b, "curt_clicks_pending", counter.Pending())
	line(b, "curt_clicks_dropped", counter.Dropped())
	line(b, "curt_visits_total", totals.Visits)
	line(b, "curt_visits_in_buckets", buckets.Visits)
	line(b, "curt_bots_total", totals.Bots)
	line(b, "curt_bots_in_buckets", buckets.Bots)
}
