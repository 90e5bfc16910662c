package web

import (
	"bytes"
	"errors"
	"math"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

// handle answers one request.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	defer s.rescue(ctx)
	if ctx.IsGet() || ctx.IsHead() {
		s.route(ctx, ctx.Conn().(*conn))
	} else {
		s.refuseMethod(ctx)
	}
	if ctx.IsHead() {
		// fasthttp leaves the length of an empty body out, which GET has.
		ctx.Response.Header.SetContentLength(len(ctx.Response.Body()))
	}
	if s.stopping.Load() { // now: it may have begun while the request was served
		ctx.SetConnectionClose()
	}
}

// route picks what the path names. Own routes are compared exactly; in any other case they are codes that no link
// can have.
func (s *Server) route(ctx *fasthttp.RequestCtx, c *conn) {
	raw, query := splitTarget(ctx.Request.Header.RequestURI())
	path, ok := decode(&c.decoded, raw)
	switch {
	case !ok:
		s.follow(ctx, c, nil, nil)
	case len(path) == 0:
		s.home(ctx)
	case string(path) == "healthz":
		s.health(ctx)
	case string(path) == "robots.txt":
		content(ctx, 200, "text/plain; charset=utf-8", vOneDay, vNothing, robots)
	case string(path) == "favicon.ico":
		ctx.SetStatusCode(204)
		ctx.Response.Header.SetCanonical(hCacheControl, vOneDay)
	case neverThere(path):
		s.page(ctx, 404)
	case bytes.HasPrefix(path, pathQR):
		s.qr(ctx, c, path[len(pathQR):])
	case bytes.HasPrefix(path, pathOwn):
		s.page(ctx, 404)
	case path[len(path)-1] == '+':
		s.showPreview(ctx, c, path[:len(path)-1])
	default:
		s.follow(ctx, c, path, query)
	}
}

var (
	pathOwn = []byte("-/")
	pathQR  = []byte("-/qr/")
	vOneDay = []byte("public, max-age=86400")

	// robots lets crawlers follow links, so that they index where links lead and not the bare codes, and keeps
	// them from what is made for people: previews and QR codes.
	robots = []byte("User-agent: *\nDisallow: /-/\nDisallow: /*+$\nAllow: /\n")
)

// neverThere reports whether browsers and crawlers ask for the path by themselves. No link can have it, and asking
// for it is no sign of guessing.
func neverThere(path []byte) bool {
	return string(path) == "sitemap.xml" || string(path) == ".well-known" ||
		bytes.HasPrefix(path, []byte(".well-known/")) || bytes.HasPrefix(path, []byte("apple-touch-icon"))
}

func (s *Server) home(ctx *fasthttp.RequestCtx) {
	if s.opts.HomeURL == "" {
		s.page(ctx, 200)
		return
	}
	s.redirect(ctx, bytesOf(s.opts.HomeURL), vNoStore)
}

// health is for load balancers; it is never logged and never limited.
func (s *Server) health(ctx *fasthttp.RequestCtx) {
	status, text := 200, []byte("ok\n")
	if s.opts.Health != nil && s.opts.Health() != nil {
		status, text = 503, []byte("unavailable\n")
	}
	content(ctx, status, "text/plain; charset=utf-8", vNoStore, vNothing, text)
}

func (s *Server) refuseMethod(ctx *fasthttp.RequestCtx) {
	s.counters.badRequests.Add(1)
	s.page(ctx, 405)
	ctx.Response.Header.SetCanonical(hAllow, vMethods)
}

// tooMuch is the announced length of a body that nobody will read.
const tooMuch = math.MaxInt32

// refuseBody sees the headers of a request before its body is read. Nothing here has use for a body: fasthttp is
// made to refuse it at once, whatever framed it and whatever length was said.
func refuseBody(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if n := h.ContentLength(); n > 0 || n == -1 {
		h.Del(fasthttp.HeaderExpect)
		h.SetContentLength(tooMuch)
	}
	return fasthttp.RequestConfig{}
}

// handleError answers a request that could not be read. The connection ends with the answer.
func (s *Server) handleError(ctx *fasthttp.RequestCtx, err error) {
	c := ctx.Conn().(*conn)
	var timeout net.Error
	var small *fasthttp.ErrSmallBuffer
	switch {
	case errors.Is(err, fasthttp.ErrBodyTooLarge) && !ctx.IsGet() && !ctx.IsHead():
		s.refuseMethod(ctx)
	case errors.As(err, &small) && c.line >= s.opts.MaxHeaderBytes:
		s.bad(ctx, 414, &s.counters.tooLarge)
	case errors.As(err, &small):
		s.bad(ctx, 431, &s.counters.tooLarge)
	case errors.As(err, &timeout) && timeout.Timeout():
		s.bad(ctx, 408, &s.counters.readTimeouts)
	default:
		s.bad(ctx, 400, &s.counters.badRequests)
	}
	if ctx.IsHead() {
		ctx.Response.SkipBody = true
	}
	c.linger = c.started
}

// bad answers a request that is not good HTTP.
func (s *Server) bad(ctx *fasthttp.RequestCtx, status int, count *atomic.Uint64) {
	count.Add(1)
	s.page(ctx, status)
}

// rescue turns a panic into an answer.
func (s *Server) rescue(ctx *fasthttp.RequestCtx) {
	if p := recover(); p != nil {
		s.panicked(p)
		ctx.Response.Reset()
		s.page(ctx, 500)
		ctx.SetConnectionClose()
	}
}

func (s *Server) panicked(p any) {
	s.counters.panics.Add(1)
	if s.mayLog() {
		s.opts.Logger.Error("web: panic", "panic", p, "stack", string(debug.Stack()))
	}
}

// fault answers a request that the store had no answer for. What went wrong is for the log alone.
func (s *Server) fault(ctx *fasthttp.RequestCtx, err error) {
	s.counters.faults.Add(1)
	if s.mayLog() {
		s.opts.Logger.Error("web: look up", "err", err)
	}
	s.page(ctx, 503)
	ctx.Response.Header.SetCanonical(hRetryAfter, []byte("1"))
}

// mayLog is true once a second, so that trouble with every request does not become trouble with the log.
func (s *Server) mayLog() bool {
	now := int64(s.now()) + int64(time.Second)
	last := s.lastLog.Load()
	return now-last >= int64(time.Second) && s.lastLog.CompareAndSwap(last, now)
}

// now is the time since the server was made. It does not follow a wall clock that is set.
func (s *Server) now() time.Duration { return s.opts.Now().Sub(s.started) }
