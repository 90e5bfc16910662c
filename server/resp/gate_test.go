package resp

import (
	"errors"
	"testing"
)

// onlyConn waits for the server's one connection.
func onlyConn(t testing.TB, s *Server) (conn *Conn) {
	t.Helper()
	eventually(t, "one connection is open", func() bool {
		conn = nil
		s.Each(func(c *Conn) bool { conn = c; return false })
		return conn != nil
	})
	return conn
}

// bytesSent is what the server has handed to the socket of c.
func bytesSent(c *Conn) int64 { return c.Info().BytesOut }

func TestNoReplyBeforeSync(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)

	c.send(command("PING"))
	c.want("+PONG\r\n")
	eventually(t, "the reply is counted", func() bool { return bytesSent(conn) == int64(len("+PONG\r\n")) })
	c.send(command("SET", "a"))
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	// Reads go on; their replies queue behind.
	c.send(command("ECHO", "later") + command("PING"))
	eventually(t, "the reads have run", func() bool { return conn.Info().OutBytes == len("+OK\r\n$5\r\nlater\r\n+PONG\r\n") })
	if n := bytesSent(conn); n != int64(len("+PONG\r\n")) {
		t.Fatalf("%d bytes left before the sync", n)
	}
	d.sync(1)
	c.want("+OK\r\n$5\r\nlater\r\n+PONG\r\n")

	// A ticket that is synced already needs no writer.
	d.sync(2)
	waits := d.numWaits()
	c.send(command("SET", "a"))
	c.want("+OK\r\n")
	if d.numWaits() != waits {
		t.Error("waited for a synced ticket")
	}
}

func TestGateKeepsOrder(t *testing.T) {
	d := newFakeDurability()
	s, addr := start(t, &testHandler{}, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	var want string
	for i := range 50 {
		c.send(command("SET", "a") + command("ECHO", sprintf("%d", i)))
		echo := sprintf("%d", i)
		want += sprintf("+OK\r\n$%d\r\n%s\r\n", len(echo), echo)
		eventually(t, "the batch has run", func() bool { return conn.Info().OutBytes == len(want) })
	}
	for ticket := range uint64(50) {
		d.sync(ticket + 1)
	}
	c.want(want)
}

// TestPipelineOfWrites counts waits: each covers all that ran meanwhile.
func TestPipelineOfWrites(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	_, addr := start(t, h, Config{Durability: d})
	c := dial(t, addr)
	c.send(repeat(command("SET", "a"), 1000))
	for synced := uint64(0); synced < 1000; {
		eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
		synced = h.ticket.Load()
		d.sync(synced)
		if synced < 1000 {
			eventually(t, "more has run", func() bool { return h.ticket.Load() > synced })
		}
	}
	c.want(repeat("+OK\r\n", 1000))
	if n := d.numWaits(); n > 10 {
		t.Errorf("%d waits for 1,000 writes", n)
	}
}

func TestWindowOfWrites(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	go c.Conn.Write([]byte(repeat(command("SET", "a"), 20_000)))
	eventually(t, "the window is full", func() bool { return s.waitsForWindow(conn) })
	ran := h.ticket.Load()
	if ran < 4096 || ran > 4096+2*largeBuffer/uint64(len(command("SET", "a"))) {
		t.Errorf("%d writes ran in a window of 4,096", ran)
	}
	if conn.Info().BytesOut != 0 {
		t.Error("a reply left")
	}
	d.sync(1 << 40)
	c.want(repeat("+OK\r\n", 20_000))
}

func TestWindowOfBytes(t *testing.T) {
	d := newFakeDurability()
	s, addr := start(t, &testHandler{}, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	reply := "$100000\r\n" + repeat("\x00", 100_000) + "\r\n"
	go c.Conn.Write([]byte(command("SET", "a") + repeat(command("BIG", "100000"), 100)))
	eventually(t, "the window is full", func() bool { return s.waitsForWindow(conn) })
	if n := conn.Info().OutBytes; n < 1<<20 || n > 1<<20+2*len(reply) {
		t.Errorf("%d bytes queue in a window of 1 MiB", n)
	}
	d.sync(1)
	c.want("+OK\r\n" + repeat(reply, 100))
}

// waitsForWindow reports that the owner of c waits in flush.
func (s *Server) waitsForWindow(c *Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.replyBytes > s.cfg.MaxUnsent || c.out.writes >= s.cfg.MaxUnsentWrites
}

// TestNothingBypassesTheGate ends connections in every way while a reply waits.
func TestNothingBypassesTheGate(t *testing.T) {
	f := func(name, end, reply string, shut bool) {
		t.Helper()
		d := newFakeDurability()
		s, addr := start(t, &testHandler{}, Config{Durability: d})
		c := dial(t, addr)
		conn := onlyConn(t, s)
		c.send(command("SET", "a") + end)
		if shut {
			c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		}
		eventually(t, name+": the gate waits", func() bool { return d.numWaiting() == 1 && conn.Info().OutBytes == len("+OK\r\n"+reply) })
		if n := bytesSent(conn); n != 0 {
			t.Errorf("%s: %d bytes left before the sync", name, n)
		}
		d.sync(1)
		c.want("+OK\r\n" + reply)
		c.wantClosed()
	}
	f("QUIT", command("QUIT")+command("PING"), "+OK\r\n", false)
	f("protocol error", "*x\r\n", "-ERR Protocol error: invalid multibulk length\r\n", false)
	f("panic", command("PANIC"), "-ERR internal error\r\n", false)
	f("early flush", command("BIG", "100000")+command("QUIT"), "$100000\r\n"+repeat("\x00", 100_000)+"\r\n+OK\r\n", false)
	f("half close", command("PING"), "+PONG\r\n", true)
}

func TestSyncFails(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	c.send(command("SET", "a"))
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	c.send(command("PING"))
	d.fail(errors.New("disk gone"))
	c.wantGone()
	eventually(t, "the handler is told", func() bool { return h.closings() == 1 })
	if n := bytesSent(conn); n != 0 {
		t.Errorf("%d bytes left", n)
	}
	if n := s.Stats().GateErrors; n != 1 {
		t.Errorf("%d gate errors counted", n)
	}
}

func TestKillWhileTheGateWaits(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	c.send(command("SET", "a"))
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	conn.Kill()
	c.wantGone()
	d.sync(1) // only now may the writer end
	eventually(t, "the handler is told", func() bool { return h.closings() == 1 })
	if n := bytesSent(conn); n != 0 {
		t.Errorf("%d bytes left", n)
	}
}
