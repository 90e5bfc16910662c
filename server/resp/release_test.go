package resp

import (
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// queued is how many bytes of replies wait on all connections.
func queued(s *Server) (bytes int) {
	s.Each(func(c *Conn) bool { bytes += c.Info().OutBytes; return true })
	return bytes
}

// TestReleaseWaitsForNoPeer lets replies of two connections wait for the same syncs. One of them never reads, until its socket
// takes no more: the other has its replies all the same, and the first finds all of its own, in order, when it reads at last.
func TestReleaseWaitsForNoPeer(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	lazy := dial(t, addr)
	lazyConn := onlyConn(t, s)
	quick := dial(t, addr)
	const size = 60_000
	reply := "+OK\r\n" + "$60000\r\n" + repeat("\x00", size) + "\r\n"
	rounds := 0
	for lazyConn.Info().OutBytes == 0 {
		if rounds++; rounds > 1000 {
			t.Fatalf("a socket took %d bytes that nobody reads", lazyConn.Info().BytesOut)
		}
		lazy.send(command("SET", "a") + command("BIG", sprintf("%d", size)))
		eventually(t, "the first reply waits", func() bool { return lazyConn.Info().OutBytes == len(reply) })
		quick.send(command("SET", "b"))
		eventually(t, "the second command has run", func() bool { return h.ticket.Load() == uint64(2*rounds) })
		d.sync(uint64(2 * rounds))
		quick.want("+OK\r\n")
	}
	lazy.want(repeat(reply, rounds))
	eventually(t, "nothing waits", func() bool { return lazyConn.Info().OutBytes == 0 })
	if n := bytesSent(lazyConn); n != int64(rounds*len(reply)) {
		t.Errorf("%d bytes left, %d are owed", n, rounds*len(reply))
	}
}

// TestReleaseIsOneWait: however many replies wait for a sync, one goroutine does.
func TestReleaseIsOneWait(t *testing.T) {
	d := newFakeDurability()
	h := &testHandler{}
	s, addr := start(t, h, Config{Durability: d})
	var clients []*client
	for range 50 {
		c := dial(t, addr)
		c.send(command("SET", "a"))
		clients = append(clients, c)
	}
	eventually(t, "all replies wait", func() bool { return queued(s) == 50*len("+OK\r\n") })
	eventually(t, "the gate waits", func() bool { return d.numWaiting() > 0 })
	d.sync(50)
	for _, c := range clients {
		c.want("+OK\r\n")
	}
	if n := d.numWaits(); n != 1 {
		t.Errorf("%d waits for one sync", n)
	}
}

// TestReleaseAsSyncsAreDone: nobody waits for a sync that is not his own, neither behind a connection that goes on writing nor with a
// read that comes after a write.
func TestReleaseAsSyncsAreDone(t *testing.T) {
	d := newFakeDurability()
	s, addr := start(t, &testHandler{}, Config{Durability: d})
	a, b, c := dial(t, addr), dial(t, addr), dial(t, addr)
	t.Cleanup(func() { d.sync(1 << 40) })
	sent := 0
	send := func(c *client, reply string, words ...string) {
		t.Helper()
		c.send(command(words...))
		sent += len(reply)
		eventually(t, "the reply waits", func() bool { return queued(s) == sent })
	}
	send(a, "+OK\r\n", "SET", "a") // 1
	eventually(t, "the gate waits", func() bool { return d.numWaiting() == 1 })
	send(b, "+OK\r\n", "SET", "b") // 2
	send(c, "+OK\r\n", "SET", "c") // 3
	send(b, "+OK\r\n", "SET", "b") // 4
	send(a, "+PONG\r\n", "PING")
	d.sync(1)
	a.want("+OK\r\n+PONG\r\n")
	d.sync(3)
	c.want("+OK\r\n")
	b.want("+OK\r\n")
	eventually(t, "only the last reply waits", func() bool { return queued(s) == len("+OK\r\n") })
	d.sync(4)
	b.want("+OK\r\n")
}

// TestEmptyPush: a frame without bytes is nothing, and takes nothing with it.
func TestEmptyPush(t *testing.T) {
	d := newFakeDurability()
	s, addr := start(t, &testHandler{}, Config{Durability: d})
	a := dial(t, addr)
	c := onlyConn(t, s)
	c.PushAfter(1, nil)
	c.PushAfter(1, []byte("+x\r\n"))
	d.sync(1)
	a.want("+x\r\n")
}

// TestGateAtRandom sends writes and reads of all sizes through small sockets to a server whose syncs take a moment, with pushes from
// outside in between, and reads at a pace of its own. Every reply comes once, whole and in order, none before its sync.
func TestGateAtRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, network := range []string{"tcp", "unix"} {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		d, h := newFakeDurability(), &testHandler{}
		s := startOn(t, ln, h, Config{Durability: d, MaxUnsent: 100_000, MaxUnsentWrites: 20, MaxPush: 1 << 30})
		var all []*client
		for range 6 {
			all = append(all, dial(t, ln.Addr().String()))
		}
		eventually(t, "all are connected", func() bool { return s.Count() == len(all) })
		for _, c := range s.snapshot() {
			c.raw.(interface{ SetWriteBuffer(int) error }).SetWriteBuffer(4096)
		}
		stop := make(chan struct{})
		var others, clients sync.WaitGroup
		others.Go(func() { // the disk, and somebody who publishes
			for {
				select {
				case <-stop:
					d.sync(1 << 40)
					return
				case <-time.After(300 * time.Microsecond):
				}
				d.sync(h.ticket.Load())
				s.Each(func(c *Conn) bool {
					c.PushAfter(h.ticket.Load()*uint64(c.ID%2), []byte("!"))
					return true
				})
			}
		})
		for i, c := range all {
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			var sent, want strings.Builder
			for n := range 300 {
				text := sprintf("%d:", n) + repeat("x", []int{3, 3, 3, 50, 50, 50, 5000, 80_000}[random.IntN(8)])
				sent.WriteString(command("ECHO", text))
				want.WriteString(sprintf("$%d\r\n%s\r\n", len(text), text))
				if random.IntN(2) == 0 {
					sent.WriteString(command("SET", "a"))
					want.WriteString("+OK\r\n")
				}
			}
			clients.Go(func() { c.Conn.Write([]byte(sent.String())) })
			clients.Go(func() {
				var got strings.Builder
				buf := make([]byte, 30_000)
				for got.Len() < want.Len() {
					n, err := c.Conn.Read(buf)
					got.WriteString(strings.ReplaceAll(string(buf[:n]), "!", ""))
					if err != nil {
						t.Errorf("%s: %v after %d bytes of %d", network, err, got.Len(), want.Len())
						return
					}
					if random.IntN(20) == 0 {
						time.Sleep(time.Millisecond)
					}
				}
				if got.String() != want.String() {
					t.Errorf("%s: other bytes came", network)
				}
			})
		}
		clients.Wait()
		for _, c := range all { // of what is published still
			go io.Copy(io.Discard, c.Conn)
		}
		close(stop)
		others.Wait()
		for _, c := range s.snapshot() {
			eventually(t, "the books are even", func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.killed || c.out.replyBytes == 0 && c.out.writes == 0 && c.out.taken == 0 && !c.out.writing
			})
		}
	}
}
