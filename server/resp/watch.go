package resp

import (
	"sync"
)

// watchLimit bounds what Watch reads ahead.
const watchLimit = 64 << 10

// Watch is for a handler that is about to wait (XREAD BLOCK): gone is closed
// as soon as the peer hangs up, the connection is killed, or the server shuts
// down. What was replied so far leaves first, and pushes pass meanwhile, so
// call it before writing any of the reply. The handler must call stop when it
// has waited, before it writes (a second call does nothing). While it waits, up to 64 KiB of the client's
// next commands are read ahead; a peer that has sent more is watched no longer,
// until stop. Owner only.
func (c *Conn) Watch() (gone <-chan struct{}, stop func()) {
	c.flush(true)
	w := &watch{c: c, gone: make(chan struct{}), quit: make(chan struct{}), ended: make(chan struct{})}
	go w.run()
	c.unwatch = sync.OnceFunc(w.stop)
	return w.gone, c.unwatch
}

type watch struct {
	c                 *Conn
	gone, quit, ended chan struct{}
}

func (w *watch) stop() {
	close(w.quit)
	w.c.wake()
	<-w.ended
	w.c.mu.Lock()
	w.c.out.busy = true
	w.c.mu.Unlock()
}

// run owns the read side until it ends.
func (w *watch) run() {
	defer close(w.ended)
	c := w.c
	for !w.quitting() {
		switch {
		case c.readErr != nil || c.ending():
			close(w.gone)
			return
		case c.in.w-c.in.r >= watchLimit:
			w.sleep()
		default:
			c.readAhead()
		}
	}
}

func (w *watch) quitting() bool {
	select {
	case <-w.quit:
		return true
	default:
		return false
	}
}

// sleep waits for what needs no reading.
func (w *watch) sleep() {
	select {
	case <-w.quit:
	case <-w.c.dead:
	case <-w.c.srv.stop:
	}
}

// readAhead reads behind the bytes that a running handler's words are slices
// of, which must stay where they are.
func (c *Conn) readAhead() {
	if c.in.w == len(c.in.buf) {
		c.in.move(make([]byte, c.in.w-c.in.r+smallBuffer))
		c.cmdStart.Store(0)
	}
	c.readMore()
}
