package web

import (
	"net/netip"
	"runtime"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"curt/server/link"
	"curt/storage"
)

// Visit is one GET about to be redirected. Its bytes are the request's: they are valid only during the call.
type Visit struct {
	Code      []byte
	Target    *link.Target // must not be changed
	Client    netip.Addr   // through trusted proxies; invalid when the connection is no Internet socket
	UserAgent []byte
	Referer   []byte
	Purpose   []byte // Sec-Purpose, else Purpose; starts with "prefetch" when nobody is looking yet
	Time      time.Time
}

// follow answers /{code}. A nil code stands for a path that can't be one.
func (s *Server) follow(ctx *fasthttp.RequestCtx, c *conn, code, query []byte) {
	now := s.opts.Now()
	client, network := s.client(ctx, c)
	t, state, ok := s.lookup(ctx, code, network, now)
	if state != link.Live {
		runtime.Gosched() // whoever follows a link goes first: to send an answer costs more than to find it
	}
	if !ok {
		return
	}
	if state == link.Live && s.opts.Visit != nil && ctx.IsGet() {
		var err error
		if state, err = s.count(ctx, c, code, t, client, now); err != nil {
			s.fault(ctx, err)
			return
		}
	}
	if state != link.Live {
		s.refuse(ctx, c, state, network, now)
		return
	}
	location := bytesOf(t.URL)
	if len(query) > 0 && (s.opts.ForwardQuery || t.Flags&storage.Forward != 0) {
		location = c.forward(t.URL, query, s.opts.MaxURLBytes)
	}
	s.redirect(ctx, location, s.cacheFor(t, now))
	c.shard.redirect(s.opts.Now().Sub(now))
}

// lookup says what a code leads to. When ok is false the request is answered: its network has missed too
// often, or the store is in trouble.
func (s *Server) lookup(ctx *fasthttp.RequestCtx, code []byte, n network, now time.Time) (t *link.Target, state link.State, ok bool) {
	if wait := s.misses.wait(n, now.Sub(s.started)); wait > 0 {
		s.counters.missesLimited.Add(1)
		s.page(ctx, 429)
		seconds := (wait + time.Second - 1) / time.Second
		ctx.Response.Header.SetCanonical(hRetryAfter, strconv.AppendInt(nil, int64(seconds), 10))
		return nil, link.Absent, false
	}
	if len(code) == 0 {
		return nil, link.Absent, true
	}
	t, state, err := s.opts.Links.Lookup(code)
	if err != nil {
		s.fault(ctx, err)
		return nil, link.Absent, false
	}
	return t, state, true
}

// client returns the address a request came from, and the network that its misses count against.
func (s *Server) client(ctx *fasthttp.RequestCtx, c *conn) (netip.Addr, network) {
	if !c.proxy {
		return c.peer, c.network
	}
	a := s.proxies.client(c.peer, ctx.Request.Header.PeekAll("X-Forwarded-For"))
	return a, networkOf(a)
}

// count tells the hook of a visit.
func (s *Server) count(ctx *fasthttp.RequestCtx, c *conn, code []byte, t *link.Target, client netip.Addr, now time.Time) (link.State, error) {
	h := &ctx.Request.Header
	purpose := h.Peek("Sec-Purpose")
	if len(purpose) == 0 {
		purpose = h.Peek("Purpose")
	}
	c.visit = Visit{Code: code, Target: t, Client: client, UserAgent: h.UserAgent(), Referer: h.Referer(), Purpose: purpose, Time: now}
	state, err := s.opts.Visit(&c.visit)
	c.visit = Visit{} // keeps no link alive while the connection waits
	return state, err
}

// refuse answers for a code that leads nowhere now. A miss costs its network a token.
func (s *Server) refuse(ctx *fasthttp.RequestCtx, c *conn, state link.State, n network, now time.Time) {
	status := 404
	switch state {
	case link.Expired, link.UsedUp:
		s.counters.gone.Add(1)
		status = s.opts.GoneStatus
	case link.Banned:
		s.counters.banned.Add(1)
		if s.opts.GoneStatus != 404 {
			status = 451
		}
	default:
		s.misses.take(n, now.Sub(s.started))
		c.shard.miss(s.opts.Now().Sub(now))
	}
	if status == 404 && s.opts.NotFoundURL != "" {
		s.redirect(ctx, bytesOf(s.opts.NotFoundURL), vNoStore)
	} else {
		s.page(ctx, status)
	}
}

// redirect sends location as it is.
func (s *Server) redirect(ctx *fasthttp.RequestCtx, location, cache []byte) {
	ctx.SetStatusCode(s.opts.RedirectStatus)
	h := &ctx.Response.Header
	h.SetCanonical(hLocation, location) // copies; a CR or LF, which no stored target has, would become a space
	h.SetCanonical(hCacheControl, cache)
}

// cacheFor is the Cache-Control of a link's redirect: never beyond its end, and not at all when its visits are numbered.
func (s *Server) cacheFor(t *link.Target, now time.Time) []byte {
	age := s.opts.RedirectMaxAge
	switch {
	case age == 0 || t.MaxVisits == 0 && t.Expires == 0:
		return s.cache
	case t.MaxVisits != 0:
		return cacheControl(0)
	}
	left := t.Expires - now.UnixMilli() // of some ends more than a Duration holds
	if left >= age.Milliseconds() {
		return s.cache
	}
	return cacheControl(time.Duration(left) * time.Millisecond)
}

// forward makes the Location with the visitor's query, or the plain one. The result is valid until the next call.
func (c *conn) forward(target string, query []byte, limit int) []byte {
	if cap(c.scratch) > keepScratch {
		c.scratch = nil
	}
	var ok bool
	if c.scratch, ok = forward(c.scratch[:0], target, query, limit); !ok {
		return bytesOf(target)
	}
	return c.scratch
}
