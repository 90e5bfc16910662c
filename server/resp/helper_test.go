package resp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen; none waits for what
// must not.
const patience = 20 * time.Second

// A testHandler is a small server: its commands exercise what a handler can do
// to a connection. The rest is noted and answered with +OK.
type testHandler struct {
	strangers bool // connections begin unauthenticated
	opened    func(c *Conn)
	ticket    atomic.Uint64
	blocked   chan *Conn // told by BLOCK, when it waits
	release   chan struct{}

	mu     sync.Mutex
	ran    []string
	open   int
	closed int
}

func (h *testHandler) Opened(c *Conn) {
	c.SetAuthenticated(!h.strangers)
	h.mu.Lock()
	h.open++
	h.mu.Unlock()
	if h.opened != nil {
		h.opened(c)
	}
}

func (h *testHandler) Closed(c *Conn) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed++
}

func (h *testHandler) closings() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func (h *testHandler) commands() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.ran...)
}

func (h *testHandler) note(args [][]byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.ran) < 1000 {
		h.ran = append(h.ran, string(bytes.Join(args, []byte{' '})))
	}
}

func (h *testHandler) Command(c *Conn, args [][]byte) {
	switch strings.ToLower(string(args[0])) {
	case "ping":
		c.W.SimpleString("PONG")
		return
	case "echo":
		c.W.Bulk(args[1])
		return
	}
	h.note(args)
	n := 0
	if len(args) > 1 {
		n, _ = strconv.Atoi(string(args[1]))
	}
	switch strings.ToLower(string(args[0])) {
	case "quit":
		c.CloseAfterReply()
	case "auth":
		c.SetAuthenticated(true)
	case "set": // a write
		c.Owe(h.ticket.Add(1))
	case "big": // big N: N bytes
		c.W.Bulk(make([]byte, n))
		return
	case "panic":
		c.W.Array(2)
		panic("on purpose")
	case "blockpanic":
		c.Watch()
		panic("on purpose")
	case "kill":
		c.Kill()
	case "push": // push TEXT: to itself
		c.Push([]byte("+" + string(args[1]) + "\r\n"))
	case "release":
		c.Release()
	case "block":
		gone, stop := c.Watch()
		h.blocked <- c
		select {
		case <-gone:
			stop()
			c.W.SimpleString("GONE")
			return
		case <-h.release:
		}
		stop()
	}
	c.W.SimpleString("OK")
}

// start serves h on a loopback port until the test ends.
func start(t testing.TB, h Handler, cfg Config) (*Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, ln, h, cfg), ln.Addr().String()
}

func startOn(t testing.TB, ln net.Listener, h Handler, cfg Config) *Server {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := NewServer(h, cfg)
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if n := s.count.foreign.Load(); n != 0 {
			t.Errorf("redcon wrote %d times by itself", n)
		}
	})
	return s
}

// A client is one end of a raw connection; its methods fail the test.
type client struct {
	testing.TB
	net.Conn
	r *bufio.Reader
}

func dial(t testing.TB, addr string) *client {
	t.Helper()
	network := "tcp"
	if filepath.IsAbs(addr) {
		network = "unix"
	}
	nc, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, nc)
}

func newClient(t testing.TB, nc net.Conn) *client {
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(patience))
	return &client{t, nc, bufio.NewReader(nc)}
}

func (c *client) send(s string) {
	c.Helper()
	if _, err := io.WriteString(c.Conn, s); err != nil {
		c.Fatalf("send: %v", err)
	}
}

// want reads exactly s.
func (c *client) want(s string) {
	c.Helper()
	got := make([]byte, len(s))
	n, err := io.ReadFull(c.r, got)
	if string(got[:n]) != s {
		c.Fatalf("got %.200q, %v; want %.200q", got[:n], err, s)
	}
}

// wantClosed reads the end of the stream.
func (c *client) wantClosed() {
	c.Helper()
	if rest, err := io.ReadAll(c.r); err != nil || len(rest) > 0 {
		c.Fatalf("got %.200q, %v; want the end", rest, err)
	}
}

// wantGone reads until the connection ends in any way.
func (c *client) wantGone() {
	c.Helper()
	_, err := io.Copy(io.Discard, c.r)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() {
		c.Fatal("the connection is still open")
	}
}

// command encodes words as a RESP array.
func command(words ...string) string {
	var w Writer
	w.Array(len(words))
	for _, s := range words {
		w.BulkString(s)
	}
	return string(w.b)
}

// eventually waits until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// A fakeDurability syncs when the test says so.
type fakeDurability struct {
	mu      sync.Mutex
	cond    sync.Cond
	synced  uint64
	err     error
	waits   int
	waiting int
}

func newFakeDurability() *fakeDurability {
	d := &fakeDurability{}
	d.cond.L = &d.mu
	return d
}

func (d *fakeDurability) Synced(ticket uint64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return ticket <= d.synced
}

func (d *fakeDurability) WaitSynced(ticket uint64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.waits++
	d.waiting++
	for ticket > d.synced && d.err == nil {
		d.cond.Wait()
	}
	d.waiting--
	return d.err
}

func (d *fakeDurability) sync(ticket uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.synced = max(d.synced, ticket)
	d.cond.Broadcast()
}

func (d *fakeDurability) fail(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.err = err
	d.cond.Broadcast()
}

func (d *fakeDurability) numWaits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waits
}

func (d *fakeDurability) numWaiting() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting
}

// A fakeClock stands until it is moved.
type fakeClock struct{ atomic.Int64 }

func newFakeClock() *fakeClock {
	c := &fakeClock{}
	c.Store(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	return c
}

func (c *fakeClock) now() time.Time          { return time.Unix(0, c.Load()) }
func (c *fakeClock) advance(d time.Duration) { c.Add(int64(d)) }

func repeat(s string, n int) string { return strings.Repeat(s, n) }

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
