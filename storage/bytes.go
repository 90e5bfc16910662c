package storage

import (
	"encoding/binary"
	"errors"
	"math"
)

func appendUint(b []byte, v uint64) []byte { return binary.AppendUvarint(b, v) }

func appendUintIf(b []byte, bit, v uint64) []byte {
	if bit == 0 {
		return b
	}
	return appendUint(b, v)
}

func appendText(b []byte, s string) []byte {
	return append(appendUint(b, uint64(len(s))), s...)
}

// appendTextIf appends s unless it is empty: the head says which.
func appendTextIf(b []byte, s string) []byte {
	if s == "" {
		return b
	}
	return appendText(b, s)
}

var (
	errShort   = errors.New("value ends too early")
	errTrail   = errors.New("value has bytes after its end")
	errNumber  = errors.New("value has a malformed number")
	errTooMuch = errors.New("value has a number out of range")
)

// cursor reads a value from its front. The first error sticks, later reads return zero values. Texts
// share the memory of the value.
type cursor struct {
	rest string
	err  error
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.rest = ""
}

// end returns the first error; bytes left over are one.
func (c *cursor) end() error {
	if c.rest != "" {
		c.fail(errTrail)
	}
	return c.err
}

func (c *cursor) take(n uint64) string {
	if n > uint64(len(c.rest)) {
		c.fail(errShort)
		return ""
	}
	s := c.rest[:n]
	c.rest = c.rest[n:]
	return s
}

func (c *cursor) byte() byte {
	if s := c.take(1); s != "" {
		return s[0]
	}
	return 0
}

// uint reads a uvarint in its shortest form.
func (c *cursor) uint() uint64 {
	var v uint64
	for i := 0; i < binary.MaxVarintLen64; i++ {
		if i >= len(c.rest) {
			c.fail(errShort)
			return 0
		}
		b := c.rest[i]
		if b < 0x80 {
			if b == 0 && i > 0 || i == binary.MaxVarintLen64-1 && b > 1 {
				break
			}
			c.rest = c.rest[i+1:]
			return v | uint64(b)<<(7*i)
		}
		v |= uint64(b&0x7f) << (7 * i)
	}
	c.fail(errNumber)
	return 0
}

func (c *cursor) uintIf(bit uint64) uint64 {
	if bit == 0 {
		return 0
	}
	return c.uint()
}

func (c *cursor) upTo(most uint64) uint64 {
	v := c.uint()
	if v > most {
		c.fail(errTooMuch)
		return 0
	}
	return v
}

func (c *cursor) upToIf(bit, most uint64) uint64 {
	if bit == 0 {
		return 0
	}
	return c.upTo(most)
}

func (c *cursor) time() int64 { return int64(c.upTo(math.MaxInt64)) }

func (c *cursor) timeIf(bit uint64) int64 { return int64(c.upToIf(bit, math.MaxInt64)) }

func (c *cursor) text() string { return c.take(c.uint()) }

func (c *cursor) textIf(bit uint64) string {
	if bit == 0 {
		return ""
	}
	return c.text()
}

func (c *cursor) textsIf(bit uint64) []string {
	if bit == 0 {
		return nil
	}
	n := c.upTo(uint64(len(c.rest))) // each takes a byte at least
	list := make([]string, 0, min(n, 64))
	for range n {
		list = append(list, c.text())
		if c.err != nil {
			return nil
		}
	}
	return list
}
