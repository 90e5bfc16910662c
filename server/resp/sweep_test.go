package resp

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// timed is a server whose time the test moves.
func timed(t *testing.T, cfg Config) (*testHandler, *Server, string, *fakeClock) {
	t.Helper()
	clock, h := newFakeClock(), &testHandler{}
	cfg.Now, cfg.Sweep = clock.now, time.Millisecond
	s, addr := start(t, h, cfg)
	return h, s, addr, clock
}

// quiet waits until every connection waits for its next command.
func quiet(t *testing.T, s *Server) {
	t.Helper()
	eventually(t, "all connections are quiet", func() bool {
		quiet := true
		s.Each(func(c *Conn) bool {
			quiet = quiet && c.reading.Load() && c.writeStart.Load() == 0 && c.unread.Load() == 0
			return quiet
		})
		return quiet
	})
}

func TestIdleTimeout(t *testing.T) {
	_, s, addr, clock := timed(t, Config{IdleTimeout: time.Minute})
	idle, patient := dial(t, addr), dial(t, addr)
	for _, c := range []*client{idle, patient} {
		c.send(command("PING"))
		c.want("+PONG\r\n")
	}
	s.Find(2).SetPatient(true)
	quiet(t, s)
	clock.advance(59 * time.Second)
	eventually(t, "time has passed", func() bool { return s.elapsed(clock.now()) == s.clock.Load() })
	idle.send(command("PING"))
	idle.want("+PONG\r\n")
	quiet(t, s)
	clock.advance(61 * time.Second)
	idle.wantGone()
	patient.send(command("PING"))
	patient.want("+PONG\r\n")
	if n := s.Stats().IdleTimeouts; n != 1 {
		t.Errorf("%d counted", n)
	}
	s.Limits().IdleTimeout.Store(0)
	c := dial(t, addr)
	eventually(t, "it is known", func() bool { return s.Find(3) != nil })
	quiet(t, s)
	clock.advance(time.Hour)
	c.send(command("PING"))
	c.want("+PONG\r\n")
}

func TestSlowWriter(t *testing.T) {
	_, s, addr, clock := timed(t, Config{CommandTimeout: time.Minute})
	slow, idle := dial(t, addr), dial(t, addr)
	idle.send(command("PING"))
	idle.want("+PONG\r\n")
	quiet(t, s)
	slow.send(command("PING") + "*2\r\n$4\r\nEC")
	slow.want("+PONG\r\n")
	conn := s.Find(1)
	eventually(t, "the command has begun", func() bool { return conn.cmdStart.Load() != 0 })
	clock.advance(40 * time.Second)
	slow.send("HO\r\n$1\r\n") // more bytes don't buy more time
	eventually(t, "they came", func() bool { return conn.Info().QueryBuffer == len("*2\r\n$4\r\nECHO\r\n$1\r\n") })
	clock.advance(40 * time.Second)
	slow.wantGone()
	idle.send(command("PING"))
	idle.want("+PONG\r\n")
	if n := s.Stats().ReadTimeouts; n != 1 {
		t.Errorf("%d counted", n)
	}
}

// TestNextCommandHasItsOwnTime begins a command in the read that ends another.
func TestNextCommandHasItsOwnTime(t *testing.T) {
	_, s, addr, clock := timed(t, Config{CommandTimeout: time.Minute})
	c := dial(t, addr)
	ping := command("PING")
	c.send(ping[:5])
	conn := onlyConn(t, s)
	for range 10 {
		eventually(t, "half a command waits", func() bool { return conn.cmdStart.Load() == s.elapsed(clock.now()) })
		clock.advance(40 * time.Second)
		eventually(t, "time has passed", func() bool { return s.clock.Load() == s.elapsed(clock.now()) })
		c.send(ping[5:] + ping[:5])
		c.want("+PONG\r\n")
	}
}

// TestSlowReader never reads: it is closed, and others are served meanwhile.
func TestSlowReader(t *testing.T) {
	h, s, addr, clock := timed(t, Config{WriteTimeout: 30 * time.Second})
	slow, other := dial(t, addr), dial(t, addr)
	go slow.Conn.Write([]byte(repeat(command("BIG", "1000000"), 100)))
	eventually(t, "both are known", func() bool { return s.Find(2) != nil })
	eventually(t, "replies are under way", func() bool { return s.Find(1).writeStart.Load() != 0 })
	for range 100 {
		other.send(command("PING"))
		other.want("+PONG\r\n")
	}
	conn := s.Find(2)
	eventually(t, "the other is quiet", func() bool { return conn.reading.Load() && conn.writeStart.Load() == 0 })
	eventually(t, "the slow one is closed", func() bool {
		clock.advance(31 * time.Second) // again while the kernel still takes bytes
		return h.closings() == 1
	})
	if n := s.Stats().WriteTimeouts; n != 1 {
		t.Errorf("%d counted", n)
	}
	other.send(command("PING"))
	other.want("+PONG\r\n")
}

// serverTLS returns a configuration with a certificate for nothing in particular.
func serverTLS(t *testing.T) *tls.Config {
	ts := httptest.NewTLSServer(http.NotFoundHandler())
	defer ts.Close()
	return &tls.Config{Certificates: ts.TLS.Certificates}
}

func startTLS(t *testing.T, h Handler, cfg Config) (*Server, string) {
	t.Helper()
	s, _ := start(t, h, cfg)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config := serverTLS(t)
	go s.ServeTLS(ln, func() *tls.Config { return config })
	return s, ln.Addr().String()
}

func dialTLS(t *testing.T, addr string) *client {
	t.Helper()
	nc, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	return newClient(t, nc)
}

func TestTLS(t *testing.T) {
	clock := newFakeClock()
	s, addr := startTLS(t, &testHandler{}, Config{Now: clock.now, Sweep: time.Millisecond})
	c := dialTLS(t, addr)
	for range 3 {
		long := repeat("x", 100_000)
		c.send(command("PING") + command("ECHO", long))
		c.want("+PONG\r\n$100000\r\n" + long + "\r\n")
		c.send("*1\r\n$4\r\nPI") // a wake-up inside a TLS stream loses nothing
		conn := onlyConn(t, s)
		eventually(t, "half a command waits", func() bool { return conn.Info().QueryBuffer == len("*1\r\n$4\r\nPI") })
		conn.wake()
		clock.advance(2 * restAfter)
		c.send("NG\r\n")
		c.want("+PONG\r\n")
	}
	c.send(command("QUIT"))
	c.want("+OK\r\n")
	c.wantClosed() // with a TLS goodbye
}

// TestHalfOpenHandshakes lets nobody wait, and ends.
func TestHalfOpenHandshakes(t *testing.T) {
	clock := newFakeClock()
	h := &testHandler{}
	s, addr := startTLS(t, h, Config{Now: clock.now, Sweep: time.Millisecond})
	var silent []*client
	for range 50 {
		silent = append(silent, dial(t, addr))
	}
	eventually(t, "all are accepted", func() bool { return s.Count() == 50 })
	c := dialTLS(t, addr)
	c.send(command("PING"))
	c.want("+PONG\r\n")
	clock.advance(11 * time.Second)
	for _, c := range silent {
		c.wantGone()
	}
	eventually(t, "only one is left", func() bool { return s.Count() == 1 })
	if n := s.Stats().HandshakeErrors; n < 50 {
		t.Errorf("%d counted", n)
	}
	if h.closings() != 0 {
		t.Error("Closed without Opened")
	}
	c.send(command("PING"))
	c.want("+PONG\r\n")
}

func TestRefusalOverTLS(t *testing.T) {
	_, addr := startTLS(t, &testHandler{}, Config{Admit: func(net.Addr, net.Addr) string { return "DENIED no" }})
	c := dialTLS(t, addr)
	c.want("-DENIED no\r\n")
	c.wantClosed()
}

// TestNoTLSConfiguration must not end in plain text.
func TestNoTLSConfiguration(t *testing.T) {
	s, _ := start(t, &testHandler{}, Config{})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.ServeTLS(ln, func() *tls.Config { return nil })
	c := dial(t, ln.Addr().String())
	c.Conn.Write([]byte(command("PING")))
	c.wantGone()
}

// TestGarbageInsteadOfTLS must not be answered in plain text.
func TestGarbageInsteadOfTLS(t *testing.T) {
	s, addr := startTLS(t, &testHandler{}, Config{})
	c := dial(t, addr)
	c.send(command("PING"))
	all, _ := io.ReadAll(c.r)
	if len(all) > 0 && all[0] != 0x15 { // a TLS alert
		t.Errorf("got %q", all)
	}
	eventually(t, "it was counted", func() bool { return s.Stats().HandshakeErrors == 1 })
}

// TestWriterRestsBehindSyncs: a buffer that grew for replies which joined others in the queue is given back, too.
func TestWriterRestsBehindSyncs(t *testing.T) {
	d, clock := newFakeDurability(), newFakeClock()
	s, addr := start(t, &testHandler{}, Config{Durability: d, Now: clock.now, Sweep: time.Millisecond})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	const size = 20_000
	reply := "+OK\r\n" + sprintf("$%d\r\n", size) + repeat("\x00", size) + "\r\n"
	for i := range 3 { // the first is with the releaser, the second waits, the third joins it
		c.send(command("SET", "a") + command("BIG", sprintf("%d", size)))
		eventually(t, "it waits", func() bool { return conn.Info().OutBytes == (i+1)*len(reply) })
	}
	d.sync(3)
	c.want(repeat(reply, 3))
	clock.advance(2 * restAfter)
	eventually(t, "the connection rests", func() bool { return !conn.roomy.Load() })
	c.send(command("PING"))
	c.want("+PONG\r\n")
	c.Close()
	eventually(t, "the connection has ended", func() bool { return len(s.snapshot()) == 0 })
	if n := cap(conn.W.b); n > smallBuffer {
		t.Errorf("a buffer of %d bytes was kept", n)
	}
}
