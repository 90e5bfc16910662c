package resp

import (
	"bytes"
	"sync"
	"testing"
)

func TestPushToIdle(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	if !conn.Push([]byte("+one\r\n")) || !conn.Push([]byte("+two\r\n")) {
		t.Error("refused")
	}
	c.want("+one\r\n+two\r\n")
}

// TestPushBehindBatch pushes while a batch runs: every reply comes first.
func TestPushBehindBatch(t *testing.T) {
	_, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	c.send(command("PING") + command("PUSH", "one") + command("BIG", "100000") + command("PUSH", "two") + command("PING"))
	c.want("+PONG\r\n+OK\r\n$100000\r\n" + repeat("\x00", 100_000) + "\r\n+OK\r\n+PONG\r\n+one\r\n+two\r\n")
	c.send(command("PING"))
	c.want("+PONG\r\n")
}

// TestPushNeverSplitsReplies pushes from many goroutines into a busy
// connection and takes the stream apart again.
func TestPushNeverSplitsReplies(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	const pushers, each, pings = 4, 500, 2000
	var wg sync.WaitGroup
	for i := range pushers {
		wg.Go(func() {
			for n := range each {
				conn.Push([]byte(sprintf("+p%d %d\r\n", i, n)))
			}
		})
	}
	go func() {
		for range pings / 100 {
			c.Conn.Write([]byte(repeat(command("PING"), 100)))
		}
	}()
	var next [pushers]int
	for range pushers*each + pings {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(line, []byte("+PONG\r\n")) {
			continue
		}
		i := int(line[2] - '0')
		if i < 0 || i >= pushers || string(line) != sprintf("+p%d %d\r\n", i, next[i]) {
			t.Fatalf("got %q, the next are %v", line, next)
		}
		next[i]++
	}
	wg.Wait()
}

func TestPushAfterTicket(t *testing.T) {
	d := newFakeDurability()
	s, addr := start(t, &testHandler{}, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	conn.Push([]byte("+free\r\n"))
	c.want("+free\r\n")
	eventually(t, "it is counted", func() bool { return bytesSent(conn) == int64(len("+free\r\n")) })
	conn.PushAfter(7, []byte("+owing\r\n"))
	conn.Push([]byte("+behind\r\n"))
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	if n := bytesSent(conn); n != int64(len("+free\r\n")) {
		t.Errorf("%d bytes left", n)
	}
	d.sync(7)
	c.want("+owing\r\n+behind\r\n")
}

// TestPushOverflow pushes to a peer that reads nothing.
func TestPushOverflow(t *testing.T) {
	h := &testHandler{}
	s, addr := start(t, h, Config{MaxPush: 1 << 20})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	frame := []byte(repeat("x", 100_000))
	n := 0
	for conn.Push(frame) {
		n++
		if n > 1000 {
			t.Fatal("no end")
		}
	}
	c.wantGone()
	eventually(t, "the handler is told", func() bool { return h.closings() == 1 })
	if s.Stats().PushOverflows != 1 {
		t.Error("not counted")
	}
	if conn.Push(frame) {
		t.Error("took a push after the end")
	}
}

// TestPushWhileThePeerIsSlow still reads commands: pushes don't fill the
// window of replies.
func TestPushWhileThePeerIsSlow(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	frame := []byte(repeat("x", 100_000))
	const n = 100
	for range n {
		conn.Push(frame)
	}
	c.send(command("PING"))
	eventually(t, "the PING has run", func() bool {
		conn.mu.Lock()
		defer conn.mu.Unlock()
		return conn.out.replyBytes == len("+PONG\r\n")
	})
	c.want(repeat(string(frame), n) + "+PONG\r\n")
}

// TestRelease lets pushes out in the middle of a batch: behind the replies
// before it and before those after it.
func TestRelease(t *testing.T) {
	_, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	c.send(command("PING") + command("RELEASE") + command("PUSH", "one") + command("PING") + command("RELEASE") + command("PUSH", "two") + command("PING"))
	c.want("+PONG\r\n+OK\r\n+OK\r\n+PONG\r\n+one\r\n+OK\r\n+OK\r\n+PONG\r\n+two\r\n")
}

// TestReleaseKeepsTheGate holds back what owes a sync, and what follows it.
func TestReleaseKeepsTheGate(t *testing.T) {
	d := newFakeDurability()
	s, addr := start(t, &testHandler{}, Config{Durability: d})
	c := dial(t, addr)
	conn := onlyConn(t, s)
	c.send(command("SET") + command("PUSH", "one") + command("RELEASE") + command("PING"))
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	if n := bytesSent(conn); n != 0 {
		t.Errorf("%d bytes left", n)
	}
	d.sync(1)
	c.want("+OK\r\n+OK\r\n+one\r\n+OK\r\n+PONG\r\n")
}
