package resp

import "testing"

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
	eventually(t, "all replies wait", func() bool {
		bytes := 0
		s.Each(func(c *Conn) bool { bytes += c.Info().OutBytes; return true })
		return bytes == 50*len("+OK\r\n")
	})
	eventually(t, "the gate waits", func() bool { return d.numWaiting() > 0 })
	d.sync(50)
	for _, c := range clients {
		c.want("+OK\r\n")
	}
	if n := d.numWaits(); n != 1 {
		t.Errorf("%d waits for one sync", n)
	}
}
