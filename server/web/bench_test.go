package web

import (
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"curt/server/link"
)

// replay is a client that sends one request n times and reads nothing.
type replay struct {
	net.Conn
	request string
	left    int
}

func (r *replay) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	r.left--
	return copy(p, r.request), nil
}

func (r *replay) Write(p []byte) (int, error)      { return len(p), nil }
func (r *replay) Close() error                     { return nil }
func (r *replay) SetReadDeadline(time.Time) error  { return nil }
func (r *replay) SetWriteDeadline(time.Time) error { return nil }
func (r *replay) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// play serves n requests of one connection, without a socket.
func play(t testing.TB, s *Server, request string, n int) {
	client := &replay{request: request, left: n}
	c := &conn{Conn: client, socket: &lazyConn{Conn: client}, server: s, shard: s.counters.shard(0)}
	c.setPeer(netip.MustParseAddr("127.0.0.1"))
	if err := s.http.ServeConn(c); err != nil {
		t.Fatal(err)
	}
}

const browser = " HTTP/1.1\r\nHost: s.test\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n" +
	"Accept: text/html,application/xhtml+xml\r\nAccept-Language: en-US,en;q=0.5\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" +
	"Connection: keep-alive\r\nReferer: https://news.test/\r\nUpgrade-Insecure-Requests: 1\r\nSec-Fetch-Dest: document\r\nSec-Fetch-Mode: navigate\r\n" +
	"X-Forwarded-For: 6.6.6.6, 8.8.8.8, 127.0.0.2\r\n\r\n"

func counted(t testing.TB) *Server {
	s, err := New(Options{Links: usual(), TrustedProxies: prefixes("127.0.0.0/8"), ForwardQuery: true, MissBurst: 1e6, MissPerSecond: 1e6,
		Visit: func(v *Visit) (link.State, error) { return link.Live, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A redirect through a trusted proxy, told to the hook, with a query forwarded: nothing is allocated for it, and
// nothing for a miss.
func TestNothingIsAllocated(t *testing.T) {
	s := counted(t)
	const n = 5000
	for _, target := range []string{"/live", "/%6cive/?a=b", "/nothing", "/expired"} {
		play(t, s, "GET "+target+browser, 100)
		once := testing.AllocsPerRun(1, func() { play(t, s, "GET "+target+browser, 1) })
		many := testing.AllocsPerRun(1, func() { play(t, s, "GET "+target+browser, n) })
		if many > once+n/50 { // pools are emptied now and then
			t.Errorf("%s: %v allocations for %d requests", target, many, n)
		}
	}
}

func BenchmarkServe(b *testing.B) {
	plain, err := New(Options{Links: usual()})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name, request string
		server        *Server
	}{
		{"plain", "GET /live HTTP/1.1\r\nHost: s\r\n\r\n", plain},
		{"browser", "GET /live" + browser, plain},
		{"counted", "GET /live" + browser, counted(b)},
		{"forwarded", "GET /live?a=b" + browser, counted(b)},
		{"miss", "GET /nothing" + browser, counted(b)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			play(b, c.server, c.request, b.N)
		})
	}
}

func BenchmarkClient(b *testing.B) {
	p := newProxies(prefixes("10.0.0.0/8", "fd00::/8"))
	peer := netip.MustParseAddr("10.0.0.1")
	lines := [][]byte{[]byte("6.6.6.6, 8.8.8.8, 10.0.0.2")}
	b.ReportAllocs()
	for b.Loop() {
		p.client(peer, lines)
	}
}
