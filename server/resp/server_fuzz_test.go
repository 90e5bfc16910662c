package resp

import (
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// A mirror answers each command with the command.
type mirror struct{}

func (mirror) Opened(c *Conn) { c.SetAuthenticated(true) }
func (mirror) Closed(*Conn)   {}
func (mirror) Command(c *Conn, args [][]byte) {
	c.W.Array(len(args))
	for _, a := range args {
		c.W.Bulk(a)
	}
}

// mirrored is what a mirror must answer to a whole stream.
func mirrored(in []byte) (out string, http bool) {
	cmds, err := reference(in)
	var w Writer
	for _, c := range cmds {
		if isHTTP([]byte(c[0])) {
			return "", true
		}
		w.Raw([]byte(command(c...)))
	}
	if err != nil {
		w.Error(err.Error())
	}
	return string(w.Bytes()), false
}

// checkServer sends a stream in pieces through a server, redcon and all.
func checkServer(t *testing.T, s *Server, addr string, in []byte, rnd *rand.Rand) {
	want, http := mirrored(in)
	if http {
		return
	}
	c := dial(t, addr)
	defer c.Close()
	for rest := in; len(rest) > 0; {
		n := 1 + rnd.IntN(len(rest))
		if _, err := c.Conn.Write(rest[:n]); err != nil {
			break // the server has had enough
		}
		rest = rest[n:]
	}
	c.Conn.(*net.TCPConn).CloseWrite()
	got, _ := io.ReadAll(c.r)
	if string(got) != want {
		t.Fatalf("%q:\n got %q\nwant %q", in, got, want)
	}
	if s.count.foreign.Load() != 0 || s.count.panics.Load() != 0 {
		t.Fatalf("%q: redcon wrote by itself, or something panicked", in)
	}
}

func FuzzServer(f *testing.F) {
	s, addr := start(f, mirror{}, Config{})
	addStreams(f)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		if len(in) < 60_000 {
			checkServer(t, s, addr, in, rand.New(rand.NewPCG(seed, 0)))
		}
	})
}
