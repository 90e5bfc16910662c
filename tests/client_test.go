package tests

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen. Nothing waits for what must not.
const patience = 60 * time.Second

// client is one RESP connection. It belongs to one goroutine. What it can't do with the connection fails the test.
type client struct {
	tb   testing.TB
	conn net.Conn
	in   *bufio.Reader
	raw  bytes.Buffer // bytes of the last reply
	out  []byte       // scratch
}

// dial connects to a RESP listener, and hangs up when the test ends.
func dial(tb testing.TB, addr string) *client {
	tb.Helper()
	c, err := tryDial(tb, addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { c.conn.Close() })
	return c
}

// tryDial is dial for a server that may be gone. The caller hangs up.
func tryDial(tb testing.TB, addr string) (*client, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	c := &client{tb: tb, conn: conn}
	c.in = bufio.NewReader(conn)
	return c, nil
}

// Do sends one command and returns its reply.
func (c *client) Do(words ...string) reply {
	c.tb.Helper()
	c.Send(words...)
	return c.Receive()
}

// Send sends a command and waits for nothing.
func (c *client) Send(words ...string) {
	c.tb.Helper()
	if err := c.send(words...); err != nil {
		c.tb.Fatalf("send %.100q: %v", words, err)
	}
}

func (c *client) send(words ...string) error {
	c.out = appendCommand(c.out[:0], words...)
	_, err := c.conn.Write(c.out)
	return err
}

// SendRaw sends bytes as they are.
func (c *client) SendRaw(b string) {
	c.tb.Helper()
	if _, err := io.WriteString(c.conn, b); err != nil {
		c.tb.Fatal(err)
	}
}

// Receive reads one reply.
func (c *client) Receive() reply {
	c.tb.Helper()
	r, err := c.receive()
	if err != nil {
		c.tb.Fatalf("receive: %v", err)
	}
	return r
}

// try is Do for a server that may go away.
func (c *client) try(words ...string) (reply, error) {
	if err := c.send(words...); err != nil {
		return reply{}, err
	}
	return c.receive()
}

func (c *client) receive() (reply, error) {
	c.raw.Reset()
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return reply{}, err
	}
	return c.value()
}

// Raw is the last reply as it came.
func (c *client) Raw() string { return c.raw.String() }

// Pipeline sends all commands in one go and returns their replies.
func (c *client) Pipeline(commands ...[]string) []reply {
	c.tb.Helper()
	var b []byte
	for _, words := range commands {
		b = appendCommand(b, words...)
	}
	sent := make(chan error, 1)
	go func() { _, err := c.conn.Write(b); sent <- err }()
	replies := make([]reply, len(commands))
	for i := range replies {
		replies[i] = c.Receive()
	}
	if err := <-sent; err != nil {
		c.tb.Fatal(err)
	}
	return replies
}

func appendCommand(b []byte, words ...string) []byte {
	b = fmt.Appendf(b, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n", len(w))
		b = append(append(b, w...), "\r\n"...)
	}
	return b
}

// value reads one value and its parts.
func (c *client) value() (reply, error) {
	line, err := c.line()
	if err != nil {
		return reply{}, err
	}
	r := reply{kind: line[0], text: line[1:]}
	switch r.kind {
	case '+', '-', ':', ',', '#', '(':
		return r, nil
	case '_':
		return reply{kind: '_'}, nil
	case '$', '=', '*', '~', '>', '%':
	default:
		return r, fmt.Errorf("reply begins with %q", line)
	}
	n, err := strconv.Atoi(r.text)
	if err != nil {
		return r, fmt.Errorf("length of a reply: %w", err)
	}
	r.text = ""
	switch {
	case n < 0:
		return reply{kind: '_'}, nil
	case r.kind == '$' || r.kind == '=':
		r.text, err = c.body(n)
		return r, err
	case r.kind == '%':
		n *= 2
	}
	for range n {
		part, err := c.value()
		if err != nil {
			return r, err
		}
		r.list = append(r.list, part)
	}
	return r, nil
}

func (c *client) line() (string, error) {
	s, err := c.in.ReadString('\n')
	c.raw.WriteString(s)
	if err != nil {
		return "", err
	}
	if s = strings.TrimSuffix(s, "\r\n"); s == "" || strings.ContainsAny(s, "\r\n") {
		return "", fmt.Errorf("malformed line %q", s)
	}
	return s, nil
}

func (c *client) body(n int) (string, error) {
	b := make([]byte, n+2)
	if _, err := io.ReadFull(c.in, b); err != nil {
		return "", err
	}
	c.raw.Write(b)
	if string(b[n:]) != "\r\n" {
		return "", errors.New("a bulk string without its end")
	}
	return string(b[:n]), nil
}
