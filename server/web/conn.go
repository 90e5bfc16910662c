package web

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	lingerTime  = 500 * time.Millisecond // how long a refused client may go on sending
	lingerBytes = 256 << 10
	keepScratch = 4 << 10
)

// errBareLF is what a read returns where a line ends in LF without CR. RFC 9112 section 2.2 allows to refuse
// that, and a proxy that sees other lines than we do would let one client answer for another.
var errBareLF = errors.New("a line ends without CR")

// conn is one client's connection: the socket or the TLS session on it, and what serving it needs from
// request to request. One goroutine reads, serves and writes; only idle and the socket are touched by others.
type conn struct {
	net.Conn
	socket *lazyConn
	tls    *tls.Conn // nil: plain
	server *Server
	shard  *shard

	peer    netip.Addr // invalid: not an Internet socket
	network network    // what the peer's misses count against
	proxy   bool       // the peer is a trusted proxy

	busy    atomic.Bool // a request has begun and is not answered
	started bool        // the client has sent something
	linger  bool        // the client may still be sending what nobody will read
	last    byte        // last byte read
	line    int         // bytes read since the last line end
	broken  error       // what the next read returns

	visit   Visit
	decoded [maxPath]byte
	scratch []byte // the Location being made
}

func (c *conn) setPeer(a netip.Addr) {
	c.peer = a
	c.network = networkOf(a)
	c.proxy = c.server.proxies.trusts(a)
}

// Read passes bytes on up to the first line end that is not CR LF.
func (c *conn) Read(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	if !c.busy.Load() && c.server.stopping.Load() {
		return 0, io.EOF
	}
	n, err := c.Conn.Read(p)
	if n == 0 {
		if c.started && !c.busy.Load() && !c.server.stopping.Load() && errors.Is(err, os.ErrDeadlineExceeded) {
			c.server.counters.idleTimeouts.Add(1)
		}
		return 0, err
	}
	c.started = true
	if ok := c.scan(p[:n]); ok < n {
		c.broken = errBareLF
		if ok == 0 {
			return 0, errBareLF
		}
		return ok, nil
	}
	return n, err
}

// scan returns how many bytes of p stand before the first bare LF.
func (c *conn) scan(p []byte) int {
	for rest := 0; ; {
		i := bytes.IndexByte(p[rest:], '\n')
		if i < 0 {
			c.line += len(p) - rest
			c.last = p[len(p)-1]
			return len(p)
		}
		i += rest
		before := c.last
		if i > 0 {
			before = p[i-1]
		}
		if before != '\r' {
			return i
		}
		c.line, rest = 0, i+1
		if rest == len(p) {
			c.last = '\n'
			return len(p)
		}
	}
}

// Write sends bytes, except to a client that never asked anything: a browser that opened a connection in advance
// would take a 408 for the answer to its first request.
func (c *conn) Write(p []byte) (int, error) {
	if !c.started {
		return len(p), nil
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.server.counters.writeTimeouts.Add(1)
	}
	return n, err
}

// Close closes the connection. Where the client may still be sending, it first says that it is done and reads
// on for a moment: a close with bytes unread would reset the connection and take the answer with it.
func (c *conn) Close() error {
	if c.linger {
		for _, half := range []net.Conn{c.Conn, c.socket} {
			if w, ok := half.(interface{ CloseWrite() error }); ok {
				_ = w.CloseWrite()
			}
		}
		c.socket.interrupted.Store(false)
		_ = c.socket.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.CopyN(io.Discard, c.socket, lingerBytes)
	}
	return c.Conn.Close()
}

// wake ends the wait for a next request, so that Read sees that the server is stopping.
func (c *conn) wake() {
	if !c.busy.Load() {
		c.socket.interrupt()
	}
}

// noteState is told by fasthttp when a request begins and when it was answered.
func noteState(nc net.Conn, state fasthttp.ConnState) {
	if c, ok := nc.(*conn); ok {
		c.busy.Store(state == fasthttp.StateActive)
	}
}
