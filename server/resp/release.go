package resp

import (
	"sync"
	"syscall"
)

// A releaser sends replies that waited for a sync, those of all connections
// from one goroutine: a sync wakes one goroutine and not one for each reply.
// It waits for syncs but never for a peer: what a socket does not take at once
// is left to a writer of the connection's own.
type releaser struct {
	mu      sync.Mutex
	waiting []*Conn // in the order in which they came; their out.writing is set
	running bool

	// Of the goroutine: what it tries to write, and how much of that went.
	bytes   []byte
	written int
}

// add lets the releaser send c's queue.
func (r *releaser) add(c *Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting = append(r.waiting, c)
	if !r.running {
		r.running = true
		go r.run()
	}
}

// run ends when nobody waits.
func (r *releaser) run() {
	attempt := r.attempt
	for list := r.take(nil); list != nil; list = r.take(list) {
		for _, c := range list {
			r.release(c, attempt)
		}
	}
}

// take returns who waits, and keeps the room of the list before; nil is the end.
func (r *releaser) take(before []*Conn) []*Conn {
	clear(before)
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.waiting
	r.waiting = before[:0]
	if len(list) == 0 {
		r.running = false
		return nil
	}
	return list
}

// release sends the one segment that waits on most connections. What is more,
// or can't be sent at once, is for a writer of c's own, and so is an error.
func (r *releaser) release(c *Conn, attempt func(fd uintptr) bool) {
	list := c.takeQueue(nil, nil)
	if err := c.srv.settle(list[0].ticket); err != nil {
		c.Kill()
		c.putBack(list, 0)
		c.takeQueue(nil, err)
		return
	}
	r.bytes, r.written = list[0].buf, 0
	if len(list) == 1 {
		_ = c.socket.Write(attempt) // the writer will meet the error again
		c.bytesOut.Add(int64(r.written))
	}
	switch {
	case r.written < len(r.bytes):
		c.putBack(list, r.written)
		go c.writeQueue()
	case c.sentQueue(list):
		r.add(c)
	}
}

// attempt writes to a socket what it takes at once. It is for RawConn.Write.
func (r *releaser) attempt(fd uintptr) bool {
	n, err := syscall.Write(int(fd), r.bytes)
	for err == syscall.EINTR {
		n, err = syscall.Write(int(fd), r.bytes)
	}
	r.written = max(n, 0)
	return true
}
