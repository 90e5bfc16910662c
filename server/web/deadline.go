package web

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// lazyConn is a socket whose deadlines may be moved for every request: a deadline reaches the socket only when it comes before the one
// that stands there. A later one is looked at when that one passes. One goroutine at a time reads or sets the read deadline, one writes
// or sets the write deadline; interrupt may be called by any.
type lazyConn struct {
	net.Conn
	read, write deadline
	interrupted atomic.Bool
}

// deadline is one of the two: armed is what the socket knows. Zero is none.
type deadline struct{ wanted, armed time.Time }

// move takes a new deadline and reports whether the socket must know.
func (d *deadline) move(t time.Time) (arm bool) {
	d.wanted = t
	if t.IsZero() || !d.armed.IsZero() && !t.Before(d.armed) {
		return false
	}
	d.armed = t
	return true
}

// passed is asked when the armed deadline has passed: true when it was the one that is wanted, else the socket must learn that one.
func (d *deadline) passed() bool {
	if !d.wanted.After(d.armed) && !d.wanted.IsZero() {
		return true
	}
	d.armed = d.wanted
	return false
}

func (c *lazyConn) SetReadDeadline(t time.Time) error {
	if !c.read.move(t) {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func (c *lazyConn) SetWriteDeadline(t time.Time) error {
	if !c.write.move(t) {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

func (c *lazyConn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// interrupt ends a running or coming Read with a timeout.
func (c *lazyConn) interrupt() {
	c.interrupted.Store(true)
	_ = c.Conn.SetReadDeadline(time.Unix(1, 0))
}

func (c *lazyConn) Read(p []byte) (int, error) {
	for {
		n, err := c.Conn.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) || c.interrupted.Load() || c.read.passed() {
			return n, err
		}
		if err := c.Conn.SetReadDeadline(c.read.armed); err != nil {
			return 0, err
		}
		if c.interrupted.Load() { // it came in between and was overwritten
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (c *lazyConn) Write(p []byte) (n int, err error) {
	for {
		m, err := c.Conn.Write(p[n:])
		n += m
		if !errors.Is(err, os.ErrDeadlineExceeded) || c.write.passed() {
			return n, err
		}
		if err := c.Conn.SetWriteDeadline(c.write.armed); err != nil {
			return n, err
		}
	}
}

// CloseWrite says that nothing more is written.
func (c *lazyConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
