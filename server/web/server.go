package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/time/rate"
)

// ErrClosed is returned by Serve when Shutdown was called before.
var ErrClosed = errors.New("the web server is shut down")

// Server answers HTTP/1.0 and HTTP/1.1. All methods are safe for concurrent use.
type Server struct {
	opts     Options
	http     fasthttp.Server
	started  time.Time
	cache    []byte // Cache-Control of a redirect
	fallback answers
	proxies  proxies
	misses   *missLimiter
	drawings *rate.Limiter
	counters counters
	lastLog  atomic.Int64 // when a fault was last logged, ns after started

	stopping  atomic.Bool // set under mu
	mu        sync.Mutex  // guards the fields below
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	accepted  uint64
	running   sync.WaitGroup // one for each connection
}

// New makes a server from valid options. It starts nothing.
func New(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	s := &Server{opts: o, started: o.Now(), cache: cacheControl(o.RedirectMaxAge), fallback: makeAnswers(),
		proxies: newProxies(o.TrustedProxies), misses: newMissLimiter(o.MissBurst, o.MissPerSecond),
		drawings:  rate.NewLimiter(rate.Limit(o.QRPerSecond), max(1, int(o.QRPerSecond*qrBurstSeconds))),
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}}
	s.http = fasthttp.Server{
		Handler:               s.handle,
		ErrorHandler:          s.handleError,
		HeaderReceived:        refuseBody,
		ConnState:             noteState,
		Logger:                silent{},
		Concurrency:           o.MaxConns + 1,
		ReadBufferSize:        o.MaxHeaderBytes,
		ReadTimeout:           o.ReadTimeout,
		WriteTimeout:          o.WriteTimeout,
		IdleTimeout:           o.IdleTimeout,
		LazyRequestTime:       true,
		MaxRequestBodySize:    1, // the least there is: refuseBody has announced more
		SecureErrorLogMessage: true,
		NoDefaultServerHeader: true,
		NoDefaultContentType:  true,
	}
	return s, nil
}

// Options are those that the server was made with, the defaults filled in.
func (s *Server) Options() Options { return s.opts }

// Serve answers the connections of ln until Shutdown, then returns nil. It closes ln. It may be called for
// several listeners.
func (s *Server) Serve(ln net.Listener) error {
	defer ln.Close()
	if !s.listen(ln) {
		return ErrClosed
	}
	defer s.unlisten(ln)
	for pause := time.Duration(0); ; {
		socket, err := ln.Accept()
		switch {
		case err == nil:
			pause = 0
			s.take(socket)
		case s.stopping.Load():
			return nil
		case passing(err):
			pause = min(max(2*pause, 5*time.Millisecond), time.Second)
			time.Sleep(pause)
		default:
			return fmt.Errorf("accept: %w", err)
		}
	}
}

// passing reports whether an accept failed for a reason that goes away: too many files, a client that left.
func passing(err error) bool {
	for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ECONNABORTED, syscall.ENOBUFS, syscall.ENOMEM} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

func (s *Server) listen(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	s.listeners[ln] = struct{}{}
	return true
}

func (s *Server) unlisten(ln net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, ln)
}

// take starts to serve a new connection, or turns it away.
func (s *Server) take(nc net.Conn) {
	socket := &lazyConn{Conn: nc}
	c := &conn{Conn: socket, socket: socket, server: s}
	if ap, err := netip.ParseAddrPort(socket.RemoteAddr().String()); err == nil {
		c.setPeer(ap.Addr().Unmap().WithZone(""))
	}
	if s.opts.TLS != nil {
		c.tls = tls.Server(socket, s.opts.TLS)
		c.Conn = c.tls
	}
	s.mu.Lock()
	full, stopping := len(s.conns) >= s.opts.MaxConns, s.stopping.Load()
	if !full && !stopping {
		s.conns[c] = struct{}{}
		s.accepted++
		c.shard = s.counters.shard(s.accepted)
		s.running.Go(func() { s.serve(c) })
	}
	s.mu.Unlock()
	if full {
		s.turnAway(c)
	}
	if full || stopping {
		socket.Close()
	}
}

// turnAway tells a client that there are too many. A new socket has room for the answer, so that nobody waits;
// before a handshake there is no way to say it.
func (s *Server) turnAway(c *conn) {
	s.counters.connsRefused.Add(1)
	if c.tls == nil {
		_ = c.socket.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = c.socket.Write(s.fallback.full)
	}
}

// serve answers one connection to its end.
func (s *Server) serve(c *conn) {
	defer s.forget(c)
	if c.tls != nil {
		_ = c.SetDeadline(time.Now().Add(s.opts.HandshakeTimeout))
		if s.stopping.Load() { // from here on Shutdown ends the wait
			return
		}
		if err := c.tls.Handshake(); err != nil {
			s.counters.handshakesFailed.Add(1)
			return
		}
		_ = c.SetDeadline(time.Time{})
	}
	_ = s.http.ServeConn(c) // what a client did wrong was answered and counted
}

// forget closes a connection, also one whose serving went wrong in a way nobody foresaw.
func (s *Server) forget(c *conn) {
	if p := recover(); p != nil {
		s.panicked(p)
	}
	c.Conn.Close()
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// Shutdown stops to listen, lets requests that have begun end, and closes each connection after its answer. It
// returns nil when all are closed. When ctx ends before, it closes the rest at once and returns ctx's error.
// Either way nothing of the server runs when it has returned.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.stopping.Store(true)
	for ln := range s.listeners {
		ln.Close()
	}
	for c := range s.conns {
		c.wake()
	}
	s.mu.Unlock()
	cut := context.AfterFunc(ctx, s.cut)
	s.running.Wait()
	if cut() {
		return nil
	}
	return ctx.Err()
}

// cut closes every connection.
func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.socket.Close()
	}
}

// silent drops what fasthttp has to say: it may hold what a client sent.
type silent struct{}

func (silent) Printf(string, ...any) {}
