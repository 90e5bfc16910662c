package server

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/server/link"
)

// serveTable starts a server with one more command and returns a connection to it.
func serveTable(t *testing.T, extra *command) (*Server, *bufio.ReadWriter) {
	t.Helper()
	s, err := Open(Options{Dir: "data", FS: vfs.NewCrashableMem(), CacheBytes: 16 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	s.table.byName[extra.name] = extra
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn.Close()
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return s, bufio.NewReadWriter(bufio.NewReader(conn), bufio.NewWriter(conn))
}

func say(t *testing.T, c *bufio.ReadWriter, text, want string) {
	t.Helper()
	c.WriteString(text)
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	if n, err := io.ReadFull(c, got); err != nil || string(got) != want {
		t.Fatalf("%q is answered %q (%v), want %q", text, got[:n], err, want)
	}
}

// TestKeysAreTrackedBeforeTheyAreRead: a link that changes while a command reads it is invalidated, after the old value.
func TestKeysAreTrackedBeforeTheyAreRead(t *testing.T) {
	_, c := serveTable(t, &command{name: "slowget", arity: 2, flags: flagReadonly, keys: oneKey, run: func(c *call) error {
		target, _, err := c.links.Lookup(c.args[1])
		if err != nil {
			return err
		}
		if err := c.Server.links.Retarget(string(c.args[1]), "https://two.example/"); err != nil { // somebody else
			return err
		}
		c.w.BulkString(target.URL)
		return nil
	}})
	say(t, c, "SET a https://one.example/\r\nCLIENT TRACKING ON\r\n", "+OK\r\n+OK\r\n")
	c.WriteString("HELLO 3\r\nECHO end\r\n")
	c.Flush()
	for line := ""; line != "end\r\n"; {
		line, _ = c.ReadString('\n')
	}
	say(t, c, "SLOWGET a\r\nPING\r\n", "$20\r\nhttps://one.example/\r\n+PONG\r\n>2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\na\r\n")
}

// TestUnsubscribedHearNothingMore: a message that comes while a RESP2 client unsubscribes reaches it before the acknowledgement, after
// which it would be taken for a reply.
func TestUnsubscribedHearNothingMore(t *testing.T) {
	s, c := serveTable(t, &command{name: "pause", arity: 1, flags: flagPubSub, run: func(c *call) error {
		c.Server.pubsub.publish("ch", everybody, 0, []byte("late"))
		c.w.SimpleString("PAUSED")
		return nil
	}})
	say(t, c, "SUBSCRIBE ch\r\n", "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
	const late = "*3\r\n$7\r\nmessage\r\n$2\r\nch\r\n$4\r\nlate\r\n"
	say(t, c, "PAUSE\r\nUNSUBSCRIBE\r\nPING\r\n", "+PAUSED\r\n"+late+"*3\r\n$11\r\nunsubscribe\r\n$2\r\nch\r\n:0\r\n+PONG\r\n")
	say(t, c, "SUBSCRIBE ch\r\n", "*3\r\n$9\r\nsubscribe\r\n$2\r\nch\r\n:1\r\n")
	say(t, c, "PAUSE\r\nRESET\r\nPING\r\n", "+PAUSED\r\n"+late+"+RESET\r\n+PONG\r\n")
	if n := s.pubsub.publish("ch", everybody, 0, nil); n != 0 {
		t.Errorf("%d still listen", n)
	}
}

// TestWatchIsEnteredBeforeTheRead: nothing that happens between WATCH's own two steps is missed.
func TestWatchIsEnteredBeforeTheRead(t *testing.T) {
	s, _ := serveTable(t, &command{name: "unused", arity: 1})
	if _, err := s.links.Shorten(context.Background(), &link.Request{URL: "https://one.example/", HasAlias: true, Alias: "a"}); err != nil {
		t.Fatal(err)
	}
	var w watcher
	s.watches.enter(&w, "a") // WATCH's first step
	if err := s.links.Retarget("a", "https://two.example/"); err != nil {
		t.Fatal(err)
	}
	if !w.dirty.Load() {
		t.Error("the change was missed")
	}
}
