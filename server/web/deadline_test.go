package web

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// TestLazyDeadline: whatever the socket knows, the deadline that was set last is the one that counts.
func TestLazyDeadline(t *testing.T) {
	soon, later := func() time.Time { return time.Now().Add(20 * time.Millisecond) }, func() time.Time { return time.Now().Add(time.Hour) }
	for name, set := range map[string][]func() time.Time{
		"soon":                   {soon},
		"later, then soon":       {later, soon},
		"soon, later, soon":      {soon, later, soon},
		"soon, none, then soon":  {soon, func() time.Time { return time.Time{} }, soon},
		"later, past":            {later, func() time.Time { return time.Unix(1, 0) }},
		"past, later, then soon": {func() time.Time { return time.Unix(1, 0) }, later, soon},
	} {
		c, peer := lazyPair(t)
		for _, at := range set {
			if err := c.SetDeadline(at()); err != nil {
				t.Fatal(name, err)
			}
		}
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: read: %v", name, err)
		}
		if _, err := c.Write(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) { // nobody reads
			t.Errorf("%s: write: %v", name, err)
		}
		peer.Close()
	}
}

// TestLazyDeadlineMovedAway: a deadline that stands on the socket but was moved, or taken away, ends nothing.
func TestLazyDeadlineMovedAway(t *testing.T) {
	for name, last := range map[string]time.Time{"later": time.Now().Add(time.Hour), "none": {}} {
		c, peer := lazyPair(t)
		_ = c.SetDeadline(time.Now().Add(10 * time.Millisecond))
		_ = c.SetDeadline(last)
		go func() {
			time.Sleep(50 * time.Millisecond)
			_, _ = peer.Write([]byte("x"))
			time.Sleep(50 * time.Millisecond)
			_, _ = peer.Read(make([]byte, 2))
		}()
		if n, err := c.Read(make([]byte, 2)); n != 1 || err != nil {
			t.Errorf("%s: read %d, %v", name, n, err)
		}
		if n, err := c.Write([]byte("yz")); n != 2 || err != nil {
			t.Errorf("%s: wrote %d, %v", name, n, err)
		}
		peer.Close()
	}
}

// TestLazyInterrupt ends a read that waits, and the next one.
func TestLazyInterrupt(t *testing.T) {
	c, peer := lazyPair(t)
	defer peer.Close()
	_ = c.SetReadDeadline(time.Now().Add(time.Hour))
	go func() {
		time.Sleep(10 * time.Millisecond)
		c.interrupt()
	}()
	for range 2 {
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("interrupted read: %v", err)
		}
	}
}

func lazyPair(t *testing.T) (*lazyConn, net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close() })
	return &lazyConn{Conn: a}, b
}
