package resp

import (
	"errors"
	"net"
)

// writeChunk is how much one write to the socket takes; the write timeout
// counts for each.
const writeChunk = 64 << 10

// A segment is a piece of output that waits for its ticket.
type segment struct {
	buf    []byte
	ticket uint64
	writes int  // owing commands that it answers
	push   bool // buf is shared and must not change
}

// A queue is what waits to be sent on a connection.
type queue struct {
	list []segment // in order, the writer's own not included
	held []segment // pushes behind the running batch

	spare []byte // of a reply that was sent: W's next buffer; small, or nil

	busy    bool // a batch runs
	writing bool // somebody writes to the socket: the owner, a writer goroutine or the releaser

	replyBytes, pushBytes int // queued, held or being written
	writes                int // owing commands queued or being written
	taken                 int // segments the writer has
}

func (q *queue) length() int { return len(q.list) + len(q.held) + q.taken }

// add appends replies. It reports whether it keeps s.buf: when the last
// segment has room, it copies.
func (q *queue) add(s segment) (kept bool) {
	q.replyBytes += len(s.buf)
	q.writes += s.writes
	if n := len(q.list); n > 0 && !q.list[n-1].push && len(q.list[n-1].buf)+len(s.buf) <= writeChunk {
		last := &q.list[n-1]
		last.buf = append(last.buf, s.buf...)
		last.ticket = max(last.ticket, s.ticket)
		last.writes += s.writes
		return false
	}
	q.list = append(q.list, s)
	return true
}

// sent takes segments that were written, or dropped, off the books.
func (q *queue) sent(list []segment) {
	for _, s := range list {
		if s.push {
			q.pushBytes -= len(s.buf)
		} else {
			q.replyBytes -= len(s.buf)
			q.writes -= s.writes
		}
	}
	q.taken -= len(list)
}

// Owe makes all that is in W, and what follows until the next flush, wait for
// ticket before it leaves. Owner only.
func (c *Conn) Owe(ticket uint64) {
	c.debt = max(c.debt, ticket)
	c.owed++
}

// Push queues one out-of-band frame: whole messages in the connection's
// protocol. It is sent behind the replies of the batch that runs, if any. It
// never blocks. frame is not copied and must not change afterwards; many
// connections may share one. False means the connection is gone, or is closed
// now because more than MaxPush bytes wait. Safe from any goroutine.
func (c *Conn) Push(frame []byte) bool { return c.PushAfter(0, frame) }

// PushAfter is Push for a frame that must not leave before ticket is synced.
// What is queued later waits behind it.
func (c *Conn) PushAfter(ticket uint64, frame []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := &c.out
	if c.killed || c.shut {
		return false
	}
	if int64(q.pushBytes+len(frame)) > c.srv.limits.MaxPush.Load() {
		c.srv.log.Warn("closed a subscriber that reads too slowly", "conn", c.ID, "queued", q.pushBytes)
		c.killLocked(&c.srv.count.pushOverflows)
		return false
	}
	q.pushBytes += len(frame)
	s := segment{buf: frame, ticket: ticket, push: true}
	if q.busy {
		q.held = append(q.held, s)
		return true
	}
	q.list = append(q.list, s)
	c.startWriterLocked()
	return true
}

// endBatch is redcon's Write, which it calls after every bell with no bytes.
func (c *Conn) endBatch(p []byte) (int, error) {
	if len(p) > 0 {
		c.srv.count.foreign.Add(1)
		return 0, errForeign
	}
	c.lastActive.Store(c.srv.clock.Load())
	return 0, c.flush(true)
}

var errForeign = errors.New("resp: redcon wrote by itself")

// flush lets out what W holds: at once when it owes nothing and nothing waits
// before it, else through the queue. end also releases the pushes held back by
// the batch. It blocks while the window is full.
func (c *Conn) flush(end bool) error {
	reply := segment{buf: c.W.b, ticket: c.debt, writes: c.owed}
	c.debt, c.owed, c.mark = 0, 0, 0
	c.mu.Lock()
	q := &c.out
	q.busy = !end
	switch {
	case c.killed:
		c.W.b = nil
		c.mu.Unlock()
		return net.ErrClosed
	case end && len(q.held) > 0:
	case len(reply.buf) == 0:
		c.mu.Unlock()
		return nil
	case !q.writing && c.srv.settled(reply.ticket):
		q.writing = true
		c.mu.Unlock()
		return c.writeThrough(reply.buf)
	}
	defer c.mu.Unlock()
	c.enqueueLocked(reply, end)
	for waits := 0; !c.killed && (q.replyBytes > c.srv.cfg.MaxUnsent || q.writes >= c.srv.cfg.MaxUnsentWrites); waits++ {
		if waits == 0 {
			c.srv.count.fullWindows.Add(1)
		}
		c.cond.Wait()
	}
	return nil
}

// enqueueLocked queues reply, which is what W holds, and with release the held pushes behind it.
func (c *Conn) enqueueLocked(reply segment, release bool) {
	q := &c.out
	if len(reply.buf) > 0 {
		if c.W.b = c.W.b[:0]; q.add(reply) {
			c.W.b, q.spare = q.spare, nil
		} else if cap(reply.buf) > smallBuffer {
			c.roomy.Store(true)
		}
	}
	if release {
		q.list = append(q.list, q.held...)
		clear(q.held)
		q.held = q.held[:0]
	}
	c.startWriterLocked()
}

// Release lets the pushes go that the running batch holds back, behind the
// replies in W and before those that follow. It is for a command after which
// such pushes would be misread: the end of a subscription, a change of
// protocol. W may be empty afterwards. It never blocks. Owner only.
func (c *Conn) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.killed || len(c.out.held) == 0 {
		return
	}
	reply := segment{buf: c.W.b, ticket: c.debt, writes: c.owed}
	c.debt, c.owed, c.mark = 0, 0, 0
	c.enqueueLocked(reply, true)
}

// writeThrough sends W's bytes on the owner's goroutine, and leaves what
// others queued meanwhile to a writer.
func (c *Conn) writeThrough(b []byte) error {
	err := c.send(b)
	c.W.b = b[:0]
	if cap(b) > 2*flushAt {
		c.W.b = nil
	}
	if cap(b) > smallBuffer {
		c.roomy.Store(true)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.writing = false
	if err != nil {
		c.killLocked(nil)
		return err
	}
	if len(c.out.list) > 0 {
		c.startWriterLocked()
	}
	return nil
}

// startWriterLocked has the queue sent: by the releaser where replies wait for a
// sync, else by a writer goroutine. With TLS, whose records can't be written in
// part, it is always the latter.
func (c *Conn) startWriterLocked() {
	if c.out.writing {
		return
	}
	c.out.writing = true
	list := c.out.list
	if c.socket == nil || len(list) == 0 || list[0].push || c.srv.settled(list[0].ticket) {
		go c.writeQueue()
		return
	}
	c.out.list, c.out.taken = nil, len(list)
	c.srv.releaser.add(waiter{c, list})
}

// writeQueue is the writer goroutine: it sends the queue, each segment after
// its ticket, and ends when nothing is left. drain waits for it.
func (c *Conn) writeQueue() {
	var err error
	for list := c.takeQueue(nil, nil); list != nil; {
		err = c.writeList(list)
		clear(list)
		list = c.takeQueue(list[:0:min(cap(list), 64)], err)
	}
}

// takeQueue gives what waits to the one who sends it, and leaves spare for what
// comes. With nothing there, or when err drops it, nil: the sender has ended.
func (c *Conn) takeQueue(spare []segment, err error) []segment {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.out.list
	c.out.list = spare
	c.out.taken = len(list)
	if len(list) == 0 || err != nil {
		c.out.sent(list)
		c.out.writing = false
		c.cond.Broadcast()
		return nil
	}
	return list
}

// sentReply takes the one reply that was sent off the books, and has sent what
// came meanwhile.
func (c *Conn) sentReply(list []segment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.sent(list)
	c.out.writing = false
	if buf := list[0].buf; cap(buf) <= smallBuffer {
		c.out.spare = buf[:0]
	}
	clear(list)
	if len(c.out.list) > 0 {
		c.startWriterLocked()
	} else {
		c.out.list = list[:0]
	}
	c.cond.Broadcast()
}

// putBack returns to the queue a list that was taken, without the n bytes of it
// that were sent.
func (c *Conn) putBack(list []segment, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	q, first := &c.out, &list[0]
	if first.push {
		q.pushBytes -= n
	} else {
		q.replyBytes -= n
	}
	first.buf = first.buf[n:]
	q.list = append(list, q.list...)
	q.taken = 0
}

func (c *Conn) writeList(list []segment) error {
	for len(list) > 0 {
		n, err := 0, c.srv.settle(list[0].ticket)
		if err == nil {
			n, err = c.writeSome(list)
		}
		if err != nil {
			n = len(list)
			c.Kill()
		}
		c.mu.Lock()
		c.out.sent(list[:n])
		c.cond.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// writeSome sends the first segment, whose ticket is synced, and with it those
// behind that are ready and small.
func (c *Conn) writeSome(list []segment) (n int, err error) {
	if len(list) == 1 || len(list[0].buf) >= largeBuffer {
		return 1, c.send(list[0].buf)
	}
	buf := c.srv.newBuffer(largeBuffer)
	defer c.srv.freeBuffer(buf)
	size := copy(buf, list[0].buf)
	for n = 1; n < len(list) && size+len(list[n].buf) <= len(buf) && c.srv.settled(list[n].ticket); n++ {
		size += copy(buf[size:], list[n].buf)
	}
	return n, c.send(buf[:size])
}

// send writes to the socket; the sweeper ends it when the peer takes nothing.
func (c *Conn) send(b []byte) error {
	for len(b) > 0 {
		c.writeStart.Store(c.srv.clock.Load())
		n, err := c.nc.Write(b[:min(len(b), writeChunk)])
		c.bytesOut.Add(int64(n))
		if err != nil {
			return err
		}
		b = b[n:]
	}
	c.writeStart.Store(0)
	return nil
}

// drain waits until the queue is sent, or dropped, and its writer has ended.
func (c *Conn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	for c.out.writing {
		c.cond.Wait()
	}
}

// settled reports whether ticket is synced.
func (s *Server) settled(ticket uint64) bool {
	return ticket == 0 || s.cfg.Durability == nil || s.cfg.Durability.Synced(ticket)
}

// settle waits until ticket is synced.
func (s *Server) settle(ticket uint64) error {
	if s.settled(ticket) {
		return nil
	}
	if err := s.cfg.Durability.WaitSynced(ticket); err != nil {
		s.count.gateErrors.Add(1)
		s.log.Error("replies dropped: sync failed", "err", err)
		return err
	}
	return nil
}
