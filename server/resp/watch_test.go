package resp

import (
	"context"
	"testing"
)

func blocking() *testHandler {
	return &testHandler{blocked: make(chan *Conn, 1), release: make(chan struct{})}
}

func TestWatchReleased(t *testing.T) {
	h := blocking()
	_, addr := start(t, h, Config{})
	c := dial(t, addr)
	c.send(command("PING") + command("BLOCK", "arg") + command("ECHO", "same batch"))
	c.want("+PONG\r\n") // what was before leaves
	conn := <-h.blocked
	conn.Push([]byte("+pushed\r\n"))
	c.want("+pushed\r\n")
	c.send(command("ECHO", "read ahead") + repeat(command("PING"), 10_000))
	eventually(t, "bytes are read ahead", func() bool { return conn.Info().QueryBuffer >= watchLimit })
	h.release <- struct{}{}
	c.want("+OK\r\n$10\r\nsame batch\r\n$10\r\nread ahead\r\n" + repeat("+PONG\r\n", 10_000))
}

func TestWatchEnds(t *testing.T) {
	f := func(name string, end func(*Server, *Conn, *client)) {
		t.Helper()
		h := blocking()
		s, addr := start(t, h, Config{})
		c := dial(t, addr)
		c.send(command("BLOCK"))
		end(s, <-h.blocked, c)
		eventually(t, name+": the handler is told", func() bool { return h.closings() == 1 })
	}
	f("peer closes", func(_ *Server, _ *Conn, c *client) { c.Close() })
	f("killed", func(_ *Server, conn *Conn, c *client) { conn.Kill(); c.wantGone() })
	f("full, then killed", func(_ *Server, conn *Conn, c *client) {
		c.send(repeat(command("PING"), 10_000))
		eventually(t, "bytes are read ahead", func() bool { return conn.Info().QueryBuffer >= watchLimit })
		conn.Kill()
	})
	f("closed after its reply", func(_ *Server, conn *Conn, c *client) {
		conn.CloseAfterReply()
		c.want("+GONE\r\n")
		c.wantClosed()
	})
	f("shutdown", func(s *Server, _ *Conn, c *client) {
		s.Shutdown(context.Background())
		c.want("+GONE\r\n")
		c.wantClosed()
	})
}

func TestPanicWhileWatching(t *testing.T) {
	_, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	c.send(command("PING") + command("BLOCKPANIC") + command("PING"))
	c.want("+PONG\r\n-ERR internal error\r\n")
	c.wantClosed()
}

func TestWatchOwes(t *testing.T) {
	d, h := newFakeDurability(), blocking()
	s, addr := start(t, h, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	c.send(command("SET", "a") + command("BLOCK"))
	<-h.blocked
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	if bytesSent(conn) != 0 {
		t.Error("a reply left before its sync")
	}
	d.sync(1)
	c.want("+OK\r\n")
	h.release <- struct{}{}
	c.want("+OK\r\n")
}
