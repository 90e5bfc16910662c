package resp

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

func TestMaxClients(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{MaxClients: 2})
	a, b := dial(t, addr), dial(t, addr)
	for _, c := range []*client{a, b} {
		c.send(command("PING"))
		c.want("+PONG\r\n")
	}
	for range 10 {
		c := dial(t, addr)
		c.Conn.Write([]byte(command("PING"))) // must not cost the client its answer
		c.want("-ERR max number of clients reached\r\n")
		c.wantClosed()
	}
	if n := s.Stats().RejectedClients; n != 10 {
		t.Errorf("%d rejections counted", n)
	}
	a.Close()
	eventually(t, "a place is free", func() bool { return s.Count() == 1 })
	s.Limits().MaxClients.Store(3)
	for range 2 {
		c := dial(t, addr)
		c.send(command("PING"))
		c.want("+PONG\r\n")
	}
}

func TestAdmission(t *testing.T) {
	var asked net.Addr
	s, addr := start(t, &testHandler{}, Config{Admit: func(remote, local net.Addr) string {
		asked = local
		return "DENIED not from there"
	}})
	c := dial(t, addr)
	c.want("-DENIED not from there\r\n")
	c.wantClosed()
	if asked.String() != addr {
		t.Errorf("asked about %v", asked)
	}
	if s.Stats().RejectedAdmission != 1 || s.Stats().Accepted != 0 {
		t.Error("not counted")
	}
}

// A brokenListener fails a few times before it accepts.
type brokenListener struct {
	net.Listener
	failures int
}

func (l *brokenListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAcceptErrors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := startOn(t, &brokenListener{ln, 3}, &testHandler{}, Config{})
	c := dial(t, ln.Addr().String())
	c.send(command("PING"))
	c.want("+PONG\r\n")
	if n := s.Stats().AcceptErrors; n != 3 {
		t.Errorf("%d errors counted", n)
	}
}

func TestPanic(t *testing.T) {
	h := &testHandler{}
	s, addr := start(t, h, Config{})
	other := dial(t, addr)
	c := dial(t, addr)
	c.send(command("PING") + command("PANIC") + command("PING"))
	c.want("+PONG\r\n-ERR internal error\r\n") // without the half reply
	c.wantClosed()
	eventually(t, "the handler is told", func() bool { return h.closings() == 1 })
	other.send(command("PING"))
	other.want("+PONG\r\n")
	if s.Stats().Panics != 1 {
		t.Error("not counted")
	}
}

// TestOpenedMayRefuse answers before anything was asked.
func TestOpenedMayRefuse(t *testing.T) {
	_, addr := start(t, &testHandler{opened: func(c *Conn) {
		c.W.Error("ERR not you")
		c.CloseAfterReply()
	}}, Config{})
	c := dial(t, addr)
	c.want("-ERR not you\r\n")
	c.wantClosed()
}

func TestPanicInOpened(t *testing.T) {
	h := &testHandler{opened: func(*Conn) { panic("on purpose") }}
	_, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.want("-ERR internal error\r\n")
	c.wantClosed()
	if h.closings() != 0 {
		t.Error("Closed without Opened")
	}
}

// TestPanicInParser breaks a connection's parser: only that connection ends.
func TestPanicInParser(t *testing.T) {
	first := true
	h := &testHandler{}
	h.opened = func(c *Conn) {
		if first {
			c.in.limits = nil
		}
		first = false
	}
	_, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(command("PING"))
	c.wantGone()
	eventually(t, "the handler is told", func() bool { return h.closings() == 1 })
	c = dial(t, addr)
	c.send(command("PING"))
	c.want("+PONG\r\n")
}

func TestKillStopsTheBatch(t *testing.T) {
	h := &testHandler{}
	_, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(command("NOTE", "1") + command("KILL") + command("NOTE", "2"))
	c.wantGone()
	eventually(t, "the handler is told", func() bool { return h.closings() == 1 })
	if got := h.commands(); len(got) != 2 {
		t.Errorf("ran %q", got)
	}
}

func TestQuitDropsThePipeline(t *testing.T) {
	h := &testHandler{}
	_, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(command("NOTE", "1") + command("QUIT") + command("NOTE", "2"))
	c.want("+OK\r\n+OK\r\n")
	c.wantClosed()
	if got := h.commands(); len(got) != 2 {
		t.Errorf("ran %q", got)
	}
}

func TestUnixSocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	startOn(t, ln, &testHandler{}, Config{})
	c := dial(t, path)
	c.send(command("PING") + "*x\r\n")
	c.want("+PONG\r\n-ERR Protocol error: invalid multibulk length\r\n")
	c.wantClosed()
}

func TestEachAndFind(t *testing.T) {
	s, addr := start(t, &testHandler{opened: func(c *Conn) { c.Session = c.ID * 10 }}, Config{})
	for range 3 {
		c := dial(t, addr)
		c.send(command("PING"))
		c.want("+PONG\r\n")
	}
	var ids []int64
	s.Each(func(c *Conn) bool {
		if c.Session != c.ID*10 {
			t.Errorf("session %v of %d", c.Session, c.ID)
		}
		ids = append(ids, c.ID)
		return len(ids) < 2
	})
	if len(ids) != 2 || ids[0] >= ids[1] || s.Count() != 3 {
		t.Errorf("%v of %d", ids, s.Count())
	}
	if c := s.Find(ids[1]); c == nil || c.ID != ids[1] || s.Find(99) != nil {
		t.Error("Find")
	}
	// A client may have its reply before the server has counted it.
	eventually(t, "all replies are counted", func() bool { return s.Stats().BytesOut == int64(3*len("+PONG\r\n")) })
	in := s.Find(ids[0]).Info()
	if in.BytesIn != int64(len(command("PING"))) || in.BytesOut != int64(len("+PONG\r\n")) || in.Proto != 2 || !in.Authenticated {
		t.Errorf("%+v", in)
	}
	if st := s.Stats(); st.Accepted != 3 || st.BytesIn != int64(3*len(command("PING"))) {
		t.Errorf("%+v", st)
	}
}

func TestShutdownLetsRepliesOut(t *testing.T) {
	d, h := newFakeDurability(), &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	idle := dial(t, addr)
	idle.send(command("PING"))
	idle.want("+PONG\r\n")
	half := dial(t, addr) // has sent half a command
	half.send("*2\r\n$4\r\nECHO\r\n")
	busy := dial(t, addr)
	busy.send(command("SET", "a") + command("BIG", "200000") + command("PING"))
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	idle.wantClosed()
	half.wantGone()
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("still listens")
	}
	select {
	case <-done:
		t.Fatal("did not wait for the reply")
	default:
	}
	d.sync(1)
	busy.want("+OK\r\n$200000\r\n" + repeat("\x00", 200_000) + "\r\n+PONG\r\n")
	busy.wantClosed()
	if err := <-done; err != nil || h.closings() != 3 || s.Count() != 0 {
		t.Errorf("%v, %d of 3 closed, %d left", err, h.closings(), s.Count())
	}
	ln, _ := net.Listen("tcp", "127.0.0.1:0")
	if err := s.Serve(ln); err != ErrServerClosed {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

func TestShutdownGivesUp(t *testing.T) {
	h := &testHandler{}
	s, addr := start(t, h, Config{})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	c.send(repeat(command("BIG", "1000000"), 100)) // and never read
	eventually(t, "the peer is too slow", func() bool { return conn.writeStart.Load() != 0 && bytesSent(conn) > 0 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if h.closings() != 1 {
		t.Error("did not wait for the handler")
	}
}

func TestShutdownWithoutServe(t *testing.T) {
	s := NewServer(&testHandler{}, Config{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if err := s.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestConnectionsComeAndGoDuringShutdown hunts races of accept and drain.
func TestConnectionsComeAndGoDuringShutdown(t *testing.T) {
	for range 20 {
		s, addr := start(t, &testHandler{}, Config{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for {
					nc, err := net.Dial("tcp", addr)
					if err != nil {
						return
					}
					io.WriteString(nc, command("PING")+"x")
					io.ReadFull(nc, make([]byte, 7))
					nc.Close()
				}
			})
		}
		eventually(t, "some were served", func() bool { return s.Stats().Accepted > 20 })
		s.Shutdown(context.Background())
		wg.Wait()
	}
}
