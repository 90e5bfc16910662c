package resp

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tidwall/redcon"
)

// A Handler serves the clients of a Server. All calls for one connection come
// from one goroutine, in this order.
type Handler interface {
	// Opened is called once, when the connection is ready (after a TLS
	// handshake), before its first command is read.
	Opened(c *Conn)
	// Command runs one command: it appends exactly one reply to c.W. args has
	// at least one word, the command's name as sent, maybe empty. The words
	// may be changed in place, but belong to the connection's read buffer:
	// what is needed after the return must be copied. A panic is logged,
	// answered with an error, and ends the connection.
	Command(c *Conn, args [][]byte)
	// Closed is called once after Opened, when the connection has ended and
	// nothing is sent or read any more. c.Info still answers.
	Closed(c *Conn)
}

// ErrServerClosed is returned by Serve after Shutdown was called.
var ErrServerClosed = errors.New("resp: server closed")

// A Server serves any number of listeners with one Handler. Its methods are
// safe from any goroutine.
type Server struct {
	handler Handler
	cfg     Config
	limits  Limits
	log     *slog.Logger
	count   counters
	born    time.Time
	clock   atomic.Int64 // coarse time, moved by the sweeper; see elapsed
	lastID  atomic.Int64

	releaser releaser
	buffers  sync.Pool    // of *[largeBuffer]byte
	toldHTTP atomic.Int64 // when noteHTTP logged last

	draining atomic.Bool
	stop     chan struct{} // closed when Shutdown begins
	drained  chan struct{} // closed when the last connection has ended
	swept    chan struct{} // closed when the sweeper has ended
	refusals chan struct{} // a token for each refusal under way

	wg      sync.WaitGroup // connections and refusals; grows under mu while not draining
	serving sync.WaitGroup // calls of Serve; likewise

	mu        sync.Mutex // guards the fields below
	conns     map[int64]*Conn
	listeners []net.Listener
	sweeping  bool
}

// NewServer returns a server that listens nowhere yet.
func NewServer(h Handler, cfg Config) *Server {
	cfg.setDefaults()
	s := &Server{
		handler:  h,
		cfg:      cfg,
		log:      cfg.Log,
		conns:    map[int64]*Conn{},
		stop:     make(chan struct{}),
		drained:  make(chan struct{}),
		swept:    make(chan struct{}),
		refusals: make(chan struct{}, cfg.MaxRefusals),
	}
	s.limits.set(&cfg)
	s.born = cfg.Now()
	s.clock.Store(s.elapsed(s.born))
	return s
}

// Config returns what the server was made with, the defaults filled in. What Limits may change is there.
func (s *Server) Config() Config { return s.cfg }

// Limits returns the limits that may be changed while the server runs.
func (s *Server) Limits() *Limits { return &s.limits }

// Serve accepts connections from ln (TCP or unix) until Shutdown, and returns
// nil when the last connection of the server has ended. It closes ln.
func (s *Server) Serve(ln net.Listener) error { return s.serve(ln, nil) }

// ServeTLS is Serve for TLS. config is asked for every connection, so that
// certificates can be changed; it must not block.
func (s *Server) ServeTLS(ln net.Listener, config func() *tls.Config) error {
	return s.serve(ln, config)
}

func (s *Server) serve(ln net.Listener, config func() *tls.Config) error {
	if !s.register(ln) {
		ln.Close()
		return ErrServerClosed
	}
	defer s.serving.Done()
	run := func(rc redcon.Conn, _ redcon.Command) { rc.NetConn().(wire).runBatch() }
	return redcon.Serve(&listener{ln, s, config}, run, nil, nil)
}

// register takes ln and starts the sweeper with the first.
func (s *Server) register(ln net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	s.listeners = append(s.listeners, ln)
	s.serving.Add(1)
	if !s.sweeping {
		s.sweeping = true
		go s.sweep()
	}
	return true
}

// Shutdown stops accepting, closes the connections that are idle, lets those
// that run commands finish what they have read and send its replies, through
// the gate, and returns when every handler, writer and Serve has ended. When
// ctx ends first, it kills what is left, waits for the handlers that still
// run, and returns ctx's error. The later calls of several just wait.
func (s *Server) Shutdown(ctx context.Context) error {
	first := s.beginDrain()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.wg.Wait()
	}()
	var err error
	select {
	case <-ended:
	case <-ctx.Done():
		err = ctx.Err()
		for _, c := range s.snapshot() {
			c.Kill()
		}
		<-ended
	}
	if first {
		close(s.drained)
	}
	s.serving.Wait()
	if s.sweeping { // no longer changes
		<-s.swept
	}
	return err
}

// beginDrain makes every connection end as soon as it is idle.
func (s *Server) beginDrain() (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Swap(true) {
		return false
	}
	close(s.stop)
	for _, ln := range s.listeners {
		ln.Close()
	}
	for _, c := range s.conns {
		if c.opened.Load() {
			c.wake()
		} else {
			c.Kill()
		}
	}
	return true
}

// begin adds to wg, unless the server drains.
func (s *Server) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return false
	}
	s.wg.Add(1)
	return true
}

// admit makes a connection of raw and registers it; nil when the server drains.
func (s *Server) admit(raw net.Conn, config *tls.Config) *Conn {
	c := &Conn{ID: s.lastID.Add(1), Created: s.cfg.Now(), srv: s, raw: raw, nc: raw, dead: make(chan struct{})}
	if config != nil {
		c.tls = tls.Server(raw, config)
		c.nc = c.tls
	} else if socket, ok := raw.(syscall.Conn); ok {
		c.socket, _ = socket.SyscallConn() // an error is that of a closed socket
	}
	c.W = &c.writer
	c.W.SetProto(2)
	c.in.limits, c.in.authed = &s.limits, &c.authed
	c.cond.L = &c.mu
	c.lastActive.Store(s.elapsed(c.Created))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() {
		return nil
	}
	s.wg.Add(1)
	s.conns[c.ID] = c
	s.count.accepted.Add(1)
	return c
}

// forget is the last act of a connection.
func (s *Server) forget(c *Conn) {
	defer s.wg.Done()
	s.mu.Lock()
	delete(s.conns, c.ID)
	s.count.closedIn.Add(c.bytesIn.Load())
	s.count.closedOut.Add(c.bytesOut.Load())
	s.mu.Unlock()
	if c.opened.Load() {
		defer func() { c.recovered(recover()) }()
		s.handler.Closed(c)
	}
}

// Count returns the number of connections, those in a TLS handshake included.
func (s *Server) Count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Find returns the open connection with an ID, or nil.
func (s *Server) Find(id int64) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.conns[id]; c != nil && c.opened.Load() {
		return c
	}
	return nil
}

// Each calls f with every open connection, by ascending ID, until it returns
// false. f may call any method that is safe from any goroutine, and sees what
// Opened did to the connection. Connections may come and go meanwhile.
func (s *Server) Each(f func(*Conn) bool) {
	for _, c := range s.snapshot() {
		if c.opened.Load() && !f(c) {
			return
		}
	}
}

func (s *Server) snapshot() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*Conn, 0, len(s.conns))
	for _, c := range s.conns {
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b *Conn) int { return cmp.Compare(a.ID, b.ID) })
	return list
}
