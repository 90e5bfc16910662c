package tests

import (
	"bufio"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"curt/server"
)

// sent sends bytes over a new connection, and returns all that comes back before the server hangs up.
func sent(t *testing.T, addr, bytes string) string {
	t.Helper()
	conn := socket(t, addr)
	io.WriteString(conn, bytes)
	return rest(t, conn, conn)
}

// wantStatus looks at the first line of an answer, and that it may not be kept.
func wantStatus(t *testing.T, answer, status string) {
	t.Helper()
	head, _, _ := strings.Cut(answer, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.1 "+status) || !strings.Contains(head, "Cache-Control: no-store") {
		t.Errorf("want %s, got\n%.300s", status, answer)
	}
}

// once is a server's whole request over a connection that stays.
const once = "GET /here HTTP/1.1\r\nHost: s\r\n\r\n"

// TestLimitsOfBrowsers is TestLimitsOfRedisClients for HTTP.
func TestLimitsOfBrowsers(t *testing.T) {
	const short = time.Second
	runLimits(t, []limitCase{
		{"http-max-connections", func(o *server.Options) { o.HTTP.MaxConns = 2 }, func(t *testing.T, n *limited) {
			var held []net.Conn
			var in []*bufio.Reader
			for i := range 2 {
				held = append(held, socket(t, n.httpAddr))
				in = append(in, bufio.NewReader(held[i]))
				io.WriteString(held[i], once)
				wantLine(t, in[i], "302")
			}
			wantStatus(t, sent(t, n.httpAddr, ""), "503")
			io.WriteString(held[0], once) // who is in stays in
			wantLine(t, in[0], "302")
			for _, conn := range held {
				conn.Close()
			}
			eventually(t, "there is room again", func() bool {
				a, err := fetch(browser(false), "GET", n.httpAddr, "/here")
				return err == nil && a.status == 302
			})
		}, []string{"curt_refused_http_max_conns"}},
		{"http-client-header-buffer-size, the address", nil, func(t *testing.T, n *limited) {
			wantStatus(t, sent(t, n.httpAddr, "GET /"+strings.Repeat("x", 9000)+" HTTP/1.1\r\nHost: s\r\n\r\n"), "414")
		}, []string{"curt_http_too_large"}},
		{"http-client-header-buffer-size, the headers", nil, func(t *testing.T, n *limited) {
			wantStatus(t, sent(t, n.httpAddr, "GET /here HTTP/1.1\r\nHost: s\r\n"+strings.Repeat("X: "+strings.Repeat("x", 1000)+"\r\n", 9)+"\r\n"), "431")
		}, []string{"curt_http_too_large"}},
		{"http-client-header-timeout", func(o *server.Options) { o.HTTP.ReadTimeout = short }, func(t *testing.T, n *limited) {
			silent, slow := socket(t, n.httpAddr), socket(t, n.httpAddr)
			for range 10_000 { // a byte now and then
				if _, err := io.WriteString(slow, once[:1]); err != nil {
					break
				}
				n.others()
			}
			wantStatus(t, rest(t, slow, slow), "408")
			if got := rest(t, silent, silent); got != "" {
				t.Errorf("who asked nothing gets %q", got)
			}
		}, []string{"curt_http_timeout"}},
		{"http-send-timeout", func(o *server.Options) { o.HTTP.WriteTimeout = short }, func(t *testing.T, n *limited) {
			conn := socket(t, n.httpAddr)
			conn.(*net.TCPConn).SetReadBuffer(4 << 10)
			var sending sync.WaitGroup
			t.Cleanup(func() { conn.Close(); sending.Wait() })
			broken := make(chan struct{})
			sending.Go(func() {
				defer close(broken)
				for { // takes no answer
					if _, err := io.WriteString(conn, strings.Repeat("GET /nothing HTTP/1.1\r\nHost: s\r\n\r\n", 1000)); err != nil {
						return
					}
				}
			})
			eventually(t, "it is closed", func() bool { n.others(); return closed(broken) })
		}, []string{"curt_refused_http_write_timeout"}},
		{"http-keepalive-timeout", func(o *server.Options) { o.HTTP.IdleTimeout = short }, func(t *testing.T, n *limited) {
			conn := socket(t, n.httpAddr)
			io.WriteString(conn, once)
			if got := rest(t, conn, conn); strings.Count(got, "HTTP/1.1 ") != 1 || !strings.HasPrefix(got, "HTTP/1.1 302") {
				t.Errorf("the idle one gets %q", got)
			}
		}, []string{"curt_refused_http_idle"}},
		{"tls-handshake-timeout", func(o *server.Options) { o.HTTPTLS, o.HTTP.HandshakeTimeout = certificate(t), short }, func(t *testing.T, n *limited) {
			silent, half := socket(t, n.httpAddr), socket(t, n.httpAddr)
			io.WriteString(half, "\x16\x03\x01\x02\x00")
			n.others()
			for _, conn := range []net.Conn{silent, half} {
				if got := rest(t, conn, conn); got != "" {
					t.Errorf("an unfinished handshake gets %q", got)
				}
			}
		}, []string{"curt_refused_http_handshake"}},
		{"http-miss-burst, http-miss-rate", behindProxy, func(t *testing.T, n *limited) {
			from := func(ip, path string) answer { return n.request("GET", path, "X-Forwarded-For", ip) }
			for range 60 {
				if a := from("8.8.8.1", "/nothing"); a.status != 404 {
					t.Fatalf("a miss within the burst: %d", a.status)
				}
			}
			for _, path := range []string{"/nothing", "/here"} {
				if a := from("8.8.8.2", path); a.status != 429 || a.header.Get("Retry-After") != "1" || a.header.Get("Cache-Control") != "no-store" {
					t.Errorf("%s from the same /24: %d %v", path, a.status, a.header)
				}
			}
			for _, ip := range []string{"8.8.9.1", "8.8.7.255", "2001:db8::1"} {
				if a := from(ip, "/here"); a.status != 302 {
					t.Errorf("a neighbour, %s: %d", ip, a.status)
				}
			}
			n.Advance(time.Second)
			if a := from("8.8.8.2", "/here"); a.status != 302 {
				t.Errorf("a second later: %d", a.status)
			}
		}, []string{"curt_misses_limited", "curt_http_limited"}},
		{"http-qr-rate", func(o *server.Options) { o.BaseURL, o.HTTP.QRPerSecond = "https://go.example", 2 }, func(t *testing.T, n *limited) {
			for range 10 {
				if a := n.Get("/-/qr/here"); a.status != 200 {
					t.Fatalf("a drawing within the rate: %d", a.status)
				}
			}
			if a := n.Get("/-/qr/here"); a.status != 503 || a.header.Get("Retry-After") == "" {
				t.Errorf("one too many: %d %v", a.status, a.header)
			}
			n.others()
			n.Advance(time.Second)
			if a := n.Get("/-/qr/here"); a.status != 200 {
				t.Errorf("a second later: %d", a.status)
			}
		}, []string{"curt_http_qr_limited"}},
	})
}

// behindProxy believes the test's own X-Forwarded-For.
func behindProxy(o *server.Options) {
	o.HTTP.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
}

// wantLine reads an answer without a body.
func wantLine(t *testing.T, in *bufio.Reader, status string) {
	t.Helper()
	line, err := in.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 "+status) {
		t.Fatalf("got %q, %v; want %s", line, err, status)
	}
	for line != "\r\n" {
		if line, err = in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
}
