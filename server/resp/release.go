package resp

import (
	"slices"
	"sync"
	"syscall"
)

// A releaser sends replies that waited for a sync, those of all connections
// from one goroutine: a sync wakes one goroutine and not one for each reply.
// It waits for syncs but never for a peer: what a socket does not take at once
// is left to a writer of the connection's own.
type releaser struct {
	mu      sync.Mutex
	coming  []waiter // since the goroutine looked last
	running bool

	// Of the goroutine: what it tries to write, and how much of that went.
	bytes   []byte
	written int
}

// A waiter is a queue that was taken from its connection, whose out.writing is
// set. What the connection queues meanwhile, for later syncs, is not in it.
type waiter struct {
	conn *Conn
	list []segment
}

func (w waiter) ticket() uint64 { return w.list[0].ticket }

// add lets the releaser send a queue.
func (r *releaser) add(w waiter) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.coming = append(r.coming, w)
	if !r.running {
		r.running = true
		go r.run()
	}
}

// run ends when nobody waits. It waits for a sync when nobody's is done.
func (r *releaser) run() {
	attempt := r.attempt
	for list := r.take(nil); len(list) > 0; list = r.take(list) {
		left := list[:0]
		for _, w := range list {
			if w.conn.srv.settled(w.ticket()) {
				r.release(w, attempt)
			} else {
				left = append(left, w)
			}
		}
		if len(left) == len(list) {
			left = await(left)
		}
		clear(list[len(left):])
		list = left
	}
}

// take adds those who came to those who are left. Nobody is the end.
func (r *releaser) take(left []waiter) []waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	left = append(left, r.coming...)
	clear(r.coming)
	r.coming = r.coming[:0]
	r.running = len(left) > 0
	return left
}

// await waits for the sync that is done first, and drops its waiter when it
// fails.
func await(list []waiter) []waiter {
	first := 0
	for i, w := range list {
		if w.ticket() < list[first].ticket() {
			first = i
		}
	}
	w := list[first]
	err := w.conn.srv.settle(w.ticket())
	if err == nil {
		return list
	}
	w.conn.Kill()
	w.conn.putBack(w.list, 0)
	w.conn.takeQueue(nil, err)
	return slices.Delete(list, first, first+1)
}

// release sends the one segment that waits on most connections. What is more,
// or does not go at once, is for a writer of the connection's own, and so is an
// error, which it will meet again.
func (r *releaser) release(w waiter, attempt func(fd uintptr) bool) {
	c, reply := w.conn, w.list[0].buf
	r.bytes, r.written = reply[:min(len(reply), writeChunk)], 0
	if len(w.list) == 1 {
		_ = c.socket.Write(attempt)
		c.bytesOut.Add(int64(r.written))
	}
	r.bytes = nil
	if len(w.list) == 1 && r.written == len(reply) {
		c.sentReply(w.list)
		return
	}
	c.putBack(w.list, r.written)
	go c.writeQueue()
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
