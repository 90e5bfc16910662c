package tests

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"curt/server"
	"curt/server/link"
)

// A limitCase goes over one limit. Deadlines of the RESP port follow the clock of the test; those of HTTP are the socket's own,
// and are short.
type limitCase struct {
	name    string
	options func(*server.Options)
	exceed  func(t *testing.T, n *limited) // goes over the limit, and looks at what the client sees
	figures []string                       // of INFO, that rise
}

// limited is a server with somebody else on it.
type limited struct {
	*node
	other *client // was there before
}

// others is what everybody else does: nothing of it may fail, whoever holds on to what. It is called while a limit is exceeded.
func (n *limited) others() {
	n.tb.Helper()
	if r := n.other.Do("RESOLVE", "here"); r.text != "https://example.com/" {
		n.tb.Errorf("somebody else's RESOLVE: %s", r)
	}
	if a := n.Get("/here"); a.status != 302 {
		n.tb.Errorf("somebody else's GET: %d", a.status)
	}
}

// later moves the clock, and gives the server the time to see it before anybody asks for something: what is under way at that moment
// looks as if it took so long.
func (n *limited) later(d time.Duration) {
	n.Advance(d)
	time.Sleep(100 * time.Millisecond)
}

func runLimits(t *testing.T, cases []limitCase) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := &limited{node: start(t, func(o *server.Options) {
				o.RESP.Sweep = 20 * time.Millisecond
				if c.options != nil {
					c.options(o)
				}
			})}
			n.enter(t)
			before := map[string]int64{}
			for _, name := range c.figures {
				before[name] = n.Info(name)
			}
			c.exceed(t, n)
			for _, name := range c.figures {
				eventually(t, name+" rises", func() bool { return n.Info(name) > before[name] })
			}
			n.others()
			n.Must("SHORTEN", "https://example.com/after")
		})
	}
}

// enter makes the test's own connection and somebody else's, over a unix socket where the port speaks TLS.
func (n *limited) enter(t *testing.T) {
	t.Helper()
	door := n.Dial
	if n.options.RespTLS.Cert != "" {
		path := filepath.Join(t.TempDir(), "socket")
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		n.serving.Go(func() {
			if err := n.server.Serve(ln); err != nil {
				t.Error(err)
			}
		})
		door = func() *client {
			conn, err := net.Dial("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			c := clientOn(t, conn)
			n.clients = append(n.clients, c)
			return c
		}
	}
	n.cli, n.other = door(), door()
	if p := n.options.Password; p != "" {
		n.cli.Do("AUTH", p)
		n.other.Do("AUTH", p)
	}
	n.Must("SHORTEN", "https://example.com/", "AS", "here")
	n.others()
}

func clientOn(t *testing.T, conn net.Conn) *client {
	return &client{tb: t, conn: conn, in: bufio.NewReader(conn)}
}

// socket connects, and hangs up when the test ends.
func socket(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// rest is everything that still comes before the server hangs up.
func rest(t *testing.T, from io.Reader, conn net.Conn) string {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(patience))
	b, err := io.ReadAll(from)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the server does not hang up")
	}
	return string(b)
}

// turnedAway makes a connection, which is told text and closed.
func turnedAway(t *testing.T, addr, text string) {
	t.Helper()
	conn := socket(t, addr)
	if got := rest(t, conn, conn); got != text {
		t.Errorf("a new connection is told %q, want %q", got, text)
	}
}

// wrong sends bytes behind a command: that is answered, then comes the error, and the server hangs up.
func wrong(bytes, text string) func(*testing.T, *limited) {
	return func(t *testing.T, n *limited) {
		c := n.Dial()
		first := c.Do("PING").String()
		c.SendRaw(bytes)
		n.others()
		if got, want := rest(t, c.in, c.conn), "-ERR Protocol error: "+text+"\r\n"; got != want {
			t.Errorf("after %s comes %q, want %q", first, got, want)
		}
	}
}

// stuck sends first, if any, and many times command, and takes no reply, until the connection breaks, which closes the channel.
func (n *limited) stuck(t *testing.T, command []string, times int, first ...string) (*client, <-chan struct{}) {
	c := n.Dial()
	if len(first) > 0 {
		c.Send(first...)
	}
	encoded := appendCommand(nil, command...)
	broken := make(chan struct{})
	var sending sync.WaitGroup
	t.Cleanup(func() { c.conn.Close(); sending.Wait() })
	sending.Go(func() {
		for range times {
			if _, err := c.conn.Write(encoded); err != nil {
				close(broken)
				return
			}
		}
	})
	return c, broken
}

func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// TestLimitsOfRedisClients goes over every limit of the RESP port: the client sees what docs/limits.md says, INFO counts it, and
// nobody else notices.
func TestLimitsOfRedisClients(t *testing.T) {
	overLimit := []string{"curt_refused_over_limit"}
	locked := func(o *server.Options) { o.Password = "secret" }
	full := "-ERR max number of clients reached\r\n"
	runLimits(t, []limitCase{
		{"maxclients", func(o *server.Options) { o.RESP.MaxClients = 3 }, func(t *testing.T, n *limited) {
			last := n.Dial()
			last.Do("PING")
			turnedAway(t, n.respAddr, full)
			n.others()
		}, []string{"curt_refused_max_clients", "rejected_connections"}},
		{"max-refusals", func(o *server.Options) { o.RESP.MaxClients, o.RESP.MaxRefusals = 2, 1 }, func(t *testing.T, n *limited) {
			for range 5 { // none hangs up by itself, and each is told why all the same
				turnedAway(t, n.respAddr, full)
			}
			n.others()
		}, []string{"curt_refused_max_clients"}},
		{"proto-max-bulk-len", nil, wrong("*2\r\n$4\r\nECHO\r\n$1048577\r\n", "invalid bulk length"), overLimit},
		{"proto-max-multibulk-len", nil, wrong("*20001\r\n", "invalid multibulk length"), overLimit},
		{"client-query-buffer-limit", nil, wrong("*6\r\n$3\r\nDEL\r\n"+strings.Repeat("$1048576\r\n"+strings.Repeat("x", 1<<20)+"\r\n", 3)+"$1048576\r\n", "too big multibulk request"), overLimit},
		{"proto-inline-max-size", nil, wrong(strings.Repeat("x", 64<<10+1), "too big inline request"), overLimit},
		{"a count without an end", nil, wrong("*"+strings.Repeat("1", 64<<10+1), "too big mbulk count string"), overLimit},
		{"a length without an end", nil, wrong("*1\r\n$"+strings.Repeat("1", 64<<10+1), "too big bulk count string"), overLimit},
		{"not the protocol", nil, wrong("*1\r\n+PING\r\n", "expected '$', got '+'"), []string{"curt_refused_protocol_error"}},
		{"proto-unauth-max-multibulk-len", locked, wrong("*11\r\n", "unauthenticated multibulk length"), overLimit},
		{"proto-unauth-max-bulk-len", locked, wrong("*2\r\n$4\r\nECHO\r\n$65537\r\n", "unauthenticated bulk length"), overLimit},
		{"reply-window", func(o *server.Options) { o.RESP.MaxUnsent = 64 << 10 }, func(t *testing.T, n *limited) {
			const commands = 2000
			word := strings.Repeat("x", 16<<10)
			release := n.disk.hold()
			defer release()
			c, _ := n.stuck(t, []string{"ECHO", word}, commands, "SHORTEN", "https://example.com/x") // what follows waits behind it
			eventually(t, "the server stops to read", func() bool { return n.Info("curt_reply_windows_full") > 0 })
			n.others()
			release()
			if r := c.Receive(); r.kind != '$' {
				t.Fatal(r)
			}
			for range commands { // nothing is lost
				if c.Receive().text != word {
					t.Fatal("a wrong reply")
				}
			}
		}, []string{"curt_reply_windows_full"}},
		{"reply-window-writes", func(o *server.Options) { o.RESP.MaxUnsentWrites = 10 }, func(t *testing.T, n *limited) {
			const commands = 100
			release := n.disk.hold()
			defer release()
			c, _ := n.stuck(t, []string{"SHORTEN", "https://example.com/x", "DEDUP", "OFF"}, commands)
			eventually(t, "the server stops to read", func() bool { return n.Info("curt_reply_windows_full") > 0 })
			n.others()
			release()
			for range commands {
				if r := c.Receive(); r.kind != '$' {
					t.Fatal(r)
				}
			}
		}, []string{"curt_reply_windows_full"}},
		{"write-timeout", nil, func(t *testing.T, n *limited) {
			_, broken := n.stuck(t, []string{"ECHO", strings.Repeat("x", 64<<10)}, 1<<20)
			for end := time.Now().Add(patience); !closed(broken); n.later(31 * time.Second) { // again while the system still takes bytes
				if n.others(); time.Now().After(end) {
					t.Fatal("who never reads is not closed")
				}
			}
		}, []string{"curt_refused_write_timeout"}},
		{"write-timeout, of a slow reader", nil, func(t *testing.T, n *limited) {
			c, broken := n.stuck(t, []string{"ECHO", strings.Repeat("x", 64<<10)}, 1<<20)
			for end := time.Now().Add(patience); !closed(broken); n.later(9 * time.Second) {
				c.in.ReadByte() // one every nine seconds; an error comes when it is closed
				if n.others(); time.Now().After(end) {
					t.Fatal("who reads a byte now and then is not closed")
				}
			}
		}, []string{"curt_refused_write_timeout"}},
		{"command-timeout", nil, func(t *testing.T, n *limited) {
			c := n.Dial()
			for _, b := range []byte("*2\r\n$4\r\nECHO\r\n$100\r\n" + strings.Repeat("x", 100)) { // a byte every nine seconds
				if _, err := c.conn.Write([]byte{b}); err != nil {
					break
				}
				n.later(9 * time.Second)
				n.others()
			}
			if got := rest(t, c.in, c.conn); got != "" {
				t.Errorf("the slow one gets %q", got)
			}
		}, []string{"curt_refused_read_timeout"}},
		{"timeout", func(o *server.Options) { o.RESP.IdleTimeout = 5 * time.Second }, func(t *testing.T, n *limited) {
			c := n.Dial()
			c.Do("PING")
			n.other.Do("SUBSCRIBE", "channel") // subscribers are exempt, as in Redis
			n.later(6 * time.Second)
			if got := rest(t, c.in, c.conn); got != "" {
				t.Errorf("the idle one gets %q", got)
			}
			n.cli = n.Dial() // the test's own was idle, too
			n.Must("PUBLISH", "channel", "message")
			if r := n.other.Receive(); len(r.list) != 3 {
				t.Errorf("the subscriber gets %s", r)
			}
			n.other.Do("UNSUBSCRIBE", "channel")
		}, []string{"curt_refused_idle"}},
		{"client-output-buffer-limit", func(o *server.Options) { o.RESP.MaxPush = 256 << 10 }, func(t *testing.T, n *limited) {
			c := n.Dial()
			c.Do("SUBSCRIBE", "channel")
			message := strings.Repeat("x", 64<<10)
			eventually(t, "the subscriber that never reads is closed", func() bool { n.others(); return n.Must("PUBLISH", "channel", message).text == "0" })
		}, []string{"curt_refused_push_overflow", "client_output_buffer_limit_disconnections"}},
		{"tracking-table-max-keys", func(o *server.Options) { o.TrackedKeys = 64 }, func(t *testing.T, n *limited) {
			c := n.Dial()
			c.Do("HELLO", "3")
			c.Do("CLIENT", "TRACKING", "ON")
			invalidated := 0
			for i := range 2000 {
				c.Send("GET", fmt.Sprintf("key-%d", i))
				for c.Receive().kind == '>' {
					invalidated++
				}
			}
			if held := n.Info("tracking_total_keys"); held > 64 || invalidated == 0 {
				t.Errorf("%d keys are tracked, %d were invalidated", held, invalidated)
			}
		}, []string{"tracking_total_keys"}},
		{"tls-handshake-timeout", func(o *server.Options) { o.RespTLS = certificate(t) }, func(t *testing.T, n *limited) {
			silent, half := socket(t, n.respAddr), socket(t, n.respAddr)
			io.WriteString(half, "\x16\x03\x01\x02\x00") // the head of a ClientHello
			c := clientOn(t, tls.Client(socket(t, n.respAddr), &tls.Config{InsecureSkipVerify: true}))
			if r := c.Do("PING"); r.text != "PONG" {
				t.Errorf("PING over TLS: %s", r)
			}
			n.others()
			n.later(11 * time.Second)
			for _, conn := range []net.Conn{silent, half} {
				if got := rest(t, conn, conn); got != "" {
					t.Errorf("an unfinished handshake gets %q", got)
				}
			}
			if r := c.Do("PING"); r.text != "PONG" {
				t.Errorf("PING over TLS: %s", r)
			}
		}, []string{"curt_refused_handshake"}},
	})
}

// certificate is that of Go's own tests, in files.
func certificate(t *testing.T) server.TLSFiles {
	t.Helper()
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	pair := s.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := server.TLSFiles{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{f.Cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, f.Key: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// TestLimitsOfLinks narrows what may be said of a link: what is there stays as it is, and can be changed; new links are held to it. The defaults are
// looked at in testdata/limits.txt.
func TestLimitsOfLinks(t *testing.T) {
	n := start(t)
	long := strings.Repeat("n", 100)
	n.Must("SHORTEN", "https://example.com/old", "AS", long, "TITLE", strings.Repeat("t", 200), "TAG", strings.Repeat("g", 60), "TAG", "1", "TAG", "2", "TENANT", strings.Repeat("x", 60), "MAXVISITS", "1000")
	n.options.Limits = link.Limits{Name: 10, Tags: 2, Tag: 5, Title: 20, Tenant: 8, Length: 12, Visits: 100}
	n.Restart()
	n.wantTarget(long, "https://example.com/old")
	n.Must("RETARGET", long, "https://example.com/new")
	n.Must("SET", long, "https://example.com/set")
	n.Must("TAG", long, "DEL", "1")
	n.wantTarget(long, "https://example.com/set")
	for _, c := range []struct {
		word, want string
		words      []string
	}{
		{"BADNAME", "BADNAME ", []string{"SHORTEN", "https://example.com/", "AS", "elevenbytes"}},
		{"BADNAME", "BADNAME ", []string{"SET", "elevenbytes", "https://example.com/"}},
		{"BADNAME", "BADNAME ", []string{"RENAME", "short", "elevenbytes"}},
		{"ERR", "ERR a link has at most 2 tags", []string{"SHORTEN", "https://example.com/", "TAG", "1", "TAG", "2", "TAG", "3"}},
		{"ERR", "ERR a link has at most 2 tags", []string{"TAG", "short", "ADD", "1", "2", "3"}},
		{"ERR", "ERR TAG is longer than 5 bytes", []string{"SHORTEN", "https://example.com/", "TAG", "sixsix"}},
		{"ERR", "ERR TITLE is longer than 20 bytes", []string{"SHORTEN", "https://example.com/", "TITLE", strings.Repeat("t", 21)}},
		{"ERR", "ERR TITLE is longer than 20 bytes", []string{"TITLE", "short", strings.Repeat("t", 21)}},
		{"ERR", "ERR TENANT is longer than 8 bytes", []string{"SHORTEN", "https://example.com/", "TENANT", "ninebytes"}},
		{"ERR", "ERR TENANT is longer than 8 bytes", []string{"RESERVE", "1", "TENANT", "ninebytes"}},
		{"ERR", "ERR LENGTH must be 4 to 12", []string{"SHORTEN", "https://example.com/", "CODE", "RANDOM", "LENGTH", "13"}},
		{"ERR", "ERR MAXVISITS must be 1 to 100", []string{"SHORTEN", "https://example.com/", "MAXVISITS", "101"}},
		{"BADURL", "BADURL too_long", []string{"SHORTEN", "https://example.com/" + strings.Repeat("x", 2048)}},
	} {
		if c.words[0] == "RENAME" || c.words[1] == "short" {
			n.Must("SHORTEN", "https://example.com/", "AS", "short")
		}
		before := errorsOf(n, c.word)
		n.WantError(c.want, c.words...)
		if after := errorsOf(n, c.word); after != before+1 {
			t.Errorf("%q: errorstat_%s was %d and is %d", c.words, c.word, before, after)
		}
	}
	n.Must("SHORTEN", "https://example.com/", "AS", "tenbytes-x", "TAG", "fives", "TITLE", strings.Repeat("t", 20), "TENANT", "tenant-8", "MAXVISITS", "100")
}

// errorsOf is how many errors began with a word.
func errorsOf(n *node, word string) (count int) {
	for line := range strings.Lines(n.Must("INFO", "errorstats").text) {
		if value, ok := strings.CutPrefix(line, "errorstat_"+word+":count="); ok {
			fmt.Sscan(value, &count)
		}
	}
	return count
}
