package resp

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/tidwall/redcon"
)

type pong struct{}

func (pong) Opened(c *Conn)              { c.SetAuthenticated(true) }
func (pong) Command(c *Conn, _ [][]byte) { c.W.SimpleString("PONG") }
func (pong) Closed(*Conn)                {}

// BenchmarkPipeline measures one command in a pipeline, client included.
func BenchmarkPipeline(b *testing.B) {
	for _, depth := range []int{1, 16, 64, 1000} {
		b.Run(sprintf("depth=%d", depth), func(b *testing.B) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			s := NewServer(pong{}, Config{Log: slog.New(slog.DiscardHandler)})
			go s.Serve(ln)
			defer s.Shutdown(context.Background())
			benchClient(b, ln.Addr().String(), depth)
		})
	}
}

// BenchmarkBareRedcon is the same with redcon alone, for comparison.
func BenchmarkBareRedcon(b *testing.B) {
	for _, depth := range []int{1, 16, 64, 1000} {
		b.Run(sprintf("depth=%d", depth), func(b *testing.B) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			go redcon.Serve(ln, func(c redcon.Conn, _ redcon.Command) { c.WriteString("PONG") }, nil, nil)
			defer ln.Close()
			benchClient(b, ln.Addr().String(), depth)
		})
	}
}

func benchClient(b *testing.B, addr string, depth int) {
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	request := []byte(strings.Repeat(command("RESOLVE", "abcdefg"), depth))
	reply := make([]byte, depth*len("+PONG\r\n"))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += depth {
		if _, err := nc.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(nc, reply); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
}

// BenchmarkParse measures the framing alone.
func BenchmarkParse(b *testing.B) {
	p := newParser(true)
	p.buf = []byte(strings.Repeat(command("RESOLVE", "abcdefg"), 1000))
	b.ReportAllocs()
	for n := 0; n < b.N; n++ {
		if p.r == p.w {
			p.r, p.pos, p.scan, p.w = 0, 0, 0, len(p.buf)
		}
		if args, err := p.next(); len(args) != 2 || err != nil {
			b.Fatal(args, err)
		}
	}
}
