package resp

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime/debug"
	"time"
)

// bell is what redcon reads when there are commands to run. Its 16 bytes
// divide redcon's 4 KiB buffer, which therefore never has to grow.
const bell = "*1\r\n$6\r\nbatch.\r\n"

const (
	smallBuffer = 4 << 10  // what a connection at rest keeps
	largeBuffer = 32 << 10 // what one that streams reads into
	flushAt     = 64 << 10 // replies that leave before their batch ends
)

// newBuffer returns a read buffer; the large ones come from the pool.
func (s *Server) newBuffer(size int) []byte {
	if size != largeBuffer {
		return make([]byte, size)
	}
	if b, ok := s.buffers.Get().(*[largeBuffer]byte); ok {
		return b[:]
	}
	return make([]byte, largeBuffer)
}

// freeBuffer takes back what newBuffer made.
func (s *Server) freeBuffer(b []byte) {
	if len(b) == largeBuffer {
		s.buffers.Put((*[largeBuffer]byte)(b))
	}
}

// ring waits until a command is whole and then rings the bell. It is redcon's
// Read.
func (c *Conn) ring(p []byte) (n int, err error) {
	defer func() {
		if c.recovered(recover()) {
			n, err = 0, net.ErrClosed
		}
	}()
	if !c.opened.Load() {
		if err := c.open(); err != nil {
			return 0, err
		}
	}
	for !c.ending() {
		if c.args, err = c.in.next(); c.args != nil || err != nil {
			if err != nil {
				c.protocolError(err)
			}
			c.beginBatch()
			return copy(p, bell), nil
		}
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	return 0, io.EOF
}

// open shakes hands and introduces the connection to the handler.
func (c *Conn) open() (err error) {
	if c.tls != nil {
		if err := c.tls.Handshake(); err != nil {
			c.srv.count.handshakeErrors.Add(1)
			return err
		}
	}
	defer func() {
		if c.recovered(recover()) {
			c.flush(true)
			err = net.ErrClosed
		}
	}()
	c.srv.handler.Opened(c)
	c.opened.Store(true)
	return c.flush(true)
}

func (c *Conn) beginBatch() {
	c.reading.Store(false)
	c.mu.Lock()
	c.out.busy = true
	c.mu.Unlock()
}

// runBatch runs every command that is whole; redcon calls it for each bell.
func (c *Conn) runBatch() {
	defer func() { c.recovered(recover()) }()
	var err error
	c.waited = true
	for args := c.args; args != nil; args, err = c.in.next() {
		if isHTTP(args[0]) {
			c.srv.noteHTTP(c)
			c.Kill()
			return
		}
		c.mark = c.W.Len()
		c.srv.handler.Command(c, args)
		if c.closing.Load() {
			return
		}
		if c.waited = c.W.Len() >= flushAt; c.waited && c.flush(false) != nil {
			return
		}
	}
	if err != nil {
		c.protocolError(err)
	}
}

func (c *Conn) protocolError(err error) {
	if _, ok := err.(limitError); ok {
		c.srv.count.overLimits.Add(1)
	} else {
		c.srv.count.protocolErrors.Add(1)
	}
	c.W.Error(err.Error())
	c.closing.Store(true)
}

// recovered turns the panic v of a handler into an error reply and the end of
// the connection.
func (c *Conn) recovered(v any) bool {
	if v == nil {
		return false
	}
	c.srv.count.panics.Add(1)
	c.srv.log.Error("handler panicked", "conn", c.ID, "panic", v, "stack", string(debug.Stack()))
	if c.unwatch != nil {
		c.unwatch()
	}
	c.W.Truncate(c.mark)
	c.W.Error("ERR internal error")
	c.closing.Store(true)
	return true
}

// noteHTTP counts, and logs once a minute at most.
func (s *Server) noteHTTP(c *Conn) {
	s.count.crossProtocol.Add(1)
	now, last := s.clock.Load(), s.toldHTTP.Load()
	if (last == 0 || now-last >= int64(time.Minute)) && s.toldHTTP.CompareAndSwap(last, now) {
		s.log.Warn("closed a connection that spoke HTTP; it may be an attack through a browser", "conn", c.ID)
	}
}

// isHTTP reports that a command is the beginning of an HTTP request, which a
// browser can be made to send (Redis: "cross protocol scripting").
func isHTTP(word []byte) bool {
	switch len(word) {
	case 4:
		return equalFold(word, "post")
	case 5:
		return equalFold(word, "host:")
	}
	return false
}

func equalFold(word []byte, lower string) bool {
	for i := range word {
		if c := word[i]; c != lower[i] && (c < 'A' || c > 'Z' || c|0x20 != lower[i]) {
			return false
		}
	}
	return true
}

// fill reads once, and waits for that.
func (c *Conn) fill() error {
	begun := c.in.r == 0 // nothing was consumed since the last fill
	c.makeRoom()
	c.unread.Store(int32(c.in.w))
	switch {
	case c.in.w == 0:
		c.cmdStart.Store(0)
	case !begun || c.cmdStart.Load() == 0:
		c.cmdStart.Store(c.srv.clock.Load())
	}
	for {
		if c.readErr != nil {
			return c.readErr
		}
		c.reading.Store(true)
		if c.ending() {
			return io.EOF
		}
		if c.readMore() > 0 {
			return nil
		}
		if c.readErr == nil && c.shrink.Swap(false) && c.in.w == 0 {
			c.rest()
		}
	}
}

// readMore appends to the buffer what one Read brings; a wake-up is nothing.
func (c *Conn) readMore() int {
	room := c.in.buf[c.in.w:]
	n, err := c.nc.Read(room)
	c.in.w += n
	c.stream = n == len(room)
	c.bytesIn.Add(int64(n))
	c.unread.Store(int32(c.in.w - c.in.r))
	c.lastActive.Store(c.srv.clock.Load())
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.nc.SetReadDeadline(time.Time{})
	default:
		c.readErr = err
	}
	return n
}

// makeRoom moves what is left of the last batch to the front, and takes a
// buffer of the size that the stream asks for.
func (c *Conn) makeRoom() {
	p := &c.in
	left := p.w - p.r
	switch {
	case p.buf == nil, left == len(p.buf),
		len(p.buf) < largeBuffer && c.stream,
		len(p.buf) > largeBuffer && left < largeBuffer/2:
		c.replace(c.sizeFor(left))
	case p.r > 0:
		p.move(p.buf)
	}
}

// sizeFor returns the buffer size that continues left unread bytes.
func (c *Conn) sizeFor(left int) int {
	switch {
	case left == 0 && !c.stream:
		return smallBuffer
	case left < largeBuffer:
		return largeBuffer
	default:
		return 2 * left
	}
}

// replace changes the read buffer. No slice of the old one may be in use.
func (c *Conn) replace(size int) {
	old := c.in.buf
	c.in.move(c.srv.newBuffer(size))
	c.srv.freeBuffer(old)
	clear(c.in.args[:cap(c.in.args)])
	if cap(c.in.marks) > 256 && c.in.left == 0 { // no command is half read
		c.in.marks, c.in.args = nil, nil
	}
	if size > smallBuffer {
		c.roomy.Store(true)
	}
}

// rest gives back what a connection at rest does not need.
func (c *Conn) rest() {
	c.stream = false
	c.replace(smallBuffer)
	if cap(c.W.b) > smallBuffer {
		c.W.b = nil
	}
	c.roomy.Store(false)
}
