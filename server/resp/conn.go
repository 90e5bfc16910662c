package resp

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// A Conn is one client. The goroutine that runs its handler owns it; the
// methods that others may call say so.
type Conn struct {
	ID      int64     // unique in the server, from 1, growing
	Created time.Time // when it was accepted
	W       *Writer   // takes the replies, in order; owner only
	Session any       // the handler's own; set it in Opened

	srv *Server
	raw net.Conn  // the socket
	nc  net.Conn  // raw, or TLS over it
	tls *tls.Conn // nc, when it is TLS

	socket syscall.RawConn // of raw, for writes that do not wait; nil with TLS

	in      parser
	readErr error // sticky
	stream  bool  // the last read filled the buffer: use a larger one
	args    [][]byte
	writer  Writer
	mark    int    // length of W before the running command
	waited  bool   // between the command before and the running one
	unwatch func() // stops the last Watch; may be called again

	authed   atomic.Bool
	opened   atomic.Bool // Opened has returned
	closing  atomic.Bool // close once the replies are out
	patient  atomic.Bool // exempt from the idle timeout
	reading  atomic.Bool // waiting for bytes
	roomy    atomic.Bool // holds more than the small buffers
	shrink   atomic.Bool // asked to let them go
	finished sync.Once

	lastActive atomic.Int64 // when bytes came or a batch ended; coarse clock
	cmdStart   atomic.Int64 // when the first byte of an unfinished command came, or 0
	writeStart atomic.Int64 // when the running write to the socket began, or 0
	bytesIn    atomic.Int64
	bytesOut   atomic.Int64
	unread     atomic.Int32 // bytes in the read buffer

	debt uint64 // highest ticket owed by what is in W
	owed int    // commands that owe

	mu     sync.Mutex
	cond   sync.Cond // signals that the queue moved or the connection ended
	out    queue     // guarded by mu
	dead   chan struct{}
	killed bool // guarded by mu: dead is closed
	shut   bool // guarded by mu: takes no more pushes
}

// Info is what CLIENT LIST shows of a connection.
type Info struct {
	ID                  int64
	Remote, Local       net.Addr
	Created, LastActive time.Time // LastActive is as fine as Config.Sweep
	BytesIn, BytesOut   int64
	QueryBuffer         int // bytes read and not yet run
	OutList             int // replies and pushes in the queue
	OutBytes            int // their bytes
	Proto               int
	Authenticated       bool
	Killed              bool // its end is near: nothing goes in or out any more
}

// Info returns a snapshot. Safe from any goroutine.
func (c *Conn) Info() Info {
	c.mu.Lock()
	list, size, killed := c.out.length(), c.out.replyBytes+c.out.pushBytes, c.killed
	c.mu.Unlock()
	return Info{
		ID: c.ID, Remote: c.RemoteAddr(), Local: c.LocalAddr(),
		Created: c.Created, LastActive: c.srv.timeAt(c.lastActive.Load()),
		BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(),
		QueryBuffer: int(c.unread.Load()), OutList: list, OutBytes: size,
		Proto: c.W.Proto(), Authenticated: c.authed.Load(), Killed: killed,
	}
}

// RemoteAddr returns the peer's address. Safe from any goroutine.
func (c *Conn) RemoteAddr() net.Addr { return c.raw.RemoteAddr() }

// LocalAddr returns the address the peer connected to. Safe from any goroutine.
func (c *Conn) LocalAddr() net.Addr { return c.raw.LocalAddr() }

// SetAuthenticated lifts (or restores) the limits for strangers, from the next
// command on. A connection begins as a stranger: a server without a password
// calls it in Opened. Safe from any goroutine.
func (c *Conn) SetAuthenticated(v bool) { c.authed.Store(v) }

// Waited reports that the connection waited before the running command, for its bytes or for its peer to take replies: else the command
// began when the one before it ended. Owner only.
func (c *Conn) Waited() bool { return c.waited }

// SetPatient exempts the connection from the idle timeout, as Redis does for
// subscribers. Safe from any goroutine.
func (c *Conn) SetPatient(v bool) { c.patient.Store(v) }

// CloseAfterReply ends the connection once what was replied so far is out,
// through the gate: the rest of the pipeline is not run and nothing more is
// read. The running command may still write its own reply. Safe from any
// goroutine.
func (c *Conn) CloseAfterReply() {
	c.closing.Store(true)
	c.wake()
}

// Kill closes the socket at once and drops every reply. A handler that runs
// goes on until it returns; Handler.Closed follows. Safe from any goroutine;
// it does not block.
func (c *Conn) Kill() { c.kill(nil) }

// kill counts the reason, if any, unless the connection is dead already.
func (c *Conn) kill(why *counter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.killLocked(why)
}

func (c *Conn) killLocked(why *counter) {
	if c.killed {
		return
	}
	if why != nil {
		why.Add(1)
	}
	c.killed = true
	c.closing.Store(true) // the batch stops, too
	close(c.dead)
	c.raw.Close()
	c.cond.Broadcast()
}

// ending reports that no more may be read.
func (c *Conn) ending() bool {
	if c.closing.Load() || c.srv.draining.Load() {
		return true
	}
	select {
	case <-c.dead:
		return true
	default:
		return false
	}
}

// wake makes a Read that waits return. Flags it should see are set before.
func (c *Conn) wake() { c.nc.SetReadDeadline(time.Unix(1, 0)) }

// finish is the end of a connection, on its owner's goroutine: replies that
// are queued go out, the writer ends, the handler is told.
func (c *Conn) finish() {
	c.drain()
	if c.closing.Load() || c.srv.draining.Load() && c.fresh() {
		c.linger()
	}
	c.close()
	c.srv.forget(c)
	c.srv.freeBuffer(c.in.buf)
}

// fresh reports that the peer may still be taking a reply.
func (c *Conn) fresh() bool {
	return c.srv.clock.Load()-c.lastActive.Load() <= int64(c.srv.cfg.LingerTimeout)
}

// close closes the socket, with a TLS goodbye unless it was killed.
func (c *Conn) close() {
	c.mu.Lock()
	killed := c.killed
	c.mu.Unlock()
	if !killed && c.tls != nil && c.opened.Load() {
		c.tls.Close()
	}
	c.Kill()
}

// linger lets the peer take the last reply: closing a socket that holds unread
// bytes resets it, and the reply with it.
func (c *Conn) linger() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	lingerRead(c.raw, c.srv.cfg.LingerTimeout)
}

// lingerRead reads and drops until the peer closes, for at most d and 1 MiB.
func lingerRead(nc net.Conn, d time.Duration) {
	nc.SetReadDeadline(time.Now().Add(d))
	var buf [2048]byte
	for range 512 {
		if _, err := nc.Read(buf[:]); err != nil {
			return
		}
	}
}

// wire is the net.Conn that redcon sees of a Conn. Its Close is called once,
// by the goroutine that reads.
type wire struct{ *Conn }

func (w wire) Read(p []byte) (int, error)       { return w.ring(p) }
func (w wire) Write(p []byte) (int, error)      { return w.endBatch(p) }
func (w wire) Close() error                     { w.finished.Do(w.finish); return nil }
func (w wire) SetDeadline(time.Time) error      { return nil }
func (w wire) SetReadDeadline(time.Time) error  { return nil }
func (w wire) SetWriteDeadline(time.Time) error { return nil }
