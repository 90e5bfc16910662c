package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"

	"curt/server/link"
	"curt/storage"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1")) // one a process, for ever
}

// clock is the time of a test.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

// table is Links from memory, for targets that no store would take and answers that no store would give.
type table struct {
	mu      sync.Mutex
	links   map[string]entry
	lookups atomic.Int64
}

type entry struct {
	*link.Target
	state link.State
	err   error
}

var errDisk = errors.New("read /data/secret.sst: input/output error")

func (t *table) Lookup(code []byte) (*link.Target, link.State, error) {
	t.lookups.Add(1)
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.links[string(code)]
	if !ok {
		return nil, link.Absent, nil
	}
	return e.Target, e.state, e.err
}

// usual are links in every state.
func usual() *table {
	live := func(url string) entry { return entry{Target: &link.Target{URL: url}, state: link.Live} }
	dead := func(s link.State) entry { return entry{Target: &link.Target{URL: "https://hidden.test/"}, state: s} }
	return &table{links: map[string]entry{
		"live": live("https://example.com/a?b=c#d"), "a-b.c_d~e": live("https://example.com/tilde"),
		"expired": dead(link.Expired), "used": dead(link.UsedUp), "banned": dead(link.Banned), "reserved": dead(link.Reserved),
		"broken":  {state: link.Absent, err: errDisk},
		"forward": {Target: &link.Target{URL: "https://example.com/f?x=1#frag", Flags: storage.Forward}, state: link.Live},
	}}
}

// site is a server on a real socket.
type site struct {
	*Server
	addr  string
	clock *clock
}

func start(t testing.TB, o Options) *site {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return startOn(t, ln, o)
}

func startOn(t testing.TB, ln net.Listener, o Options) *site {
	t.Helper()
	c := newClock()
	if o.Now == nil {
		o.Now = c.now
	}
	if o.Logger == nil {
		o.Logger = discard()
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &site{Server: s, addr: ln.Addr().String(), clock: c}
}

// answer is a response as it came.
type answer struct {
	status int
	head   string // status line and headers without Date, LF line ends
	header http.Header
	body   string
	closed bool // the connection ended after it
}

func (a *answer) get(name string) string { return strings.Join(a.header[name], " | ") }

// dial opens a connection that ends with the test.
func (s *site) dial(t testing.TB) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return c
}

// raw sends bytes on a connection of their own and reads everything until the server closes it: answers to requests
// of the given methods, then nothing more.
func (s *site) raw(t testing.TB, request string, methods ...string) []*answer {
	t.Helper()
	c := s.dial(t)
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatalf("write %q: %v", request, err)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	return readAll(t, c, methods...)
}

func readAll(t testing.TB, c net.Conn, methods ...string) []*answer {
	t.Helper()
	r := bufio.NewReader(c)
	var all []*answer
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return all
		}
		method := "GET"
		if len(all) < len(methods) {
			method = methods[len(all)]
		}
		all = append(all, read(t, r, method))
	}
}

// read reads one answer to a request with the method.
func read(t testing.TB, r *bufio.Reader, method string) *answer {
	t.Helper()
	var head strings.Builder
	a := &answer{header: http.Header{}}
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatalf("read head after %q: %v", head.String()+line, err)
		}
		line, ok := strings.CutSuffix(line, "\r\n")
		if !ok {
			t.Fatalf("a line of the head ends without CR: %q", line)
		}
		if line == "" {
			break
		}
		if name, value, ok := strings.Cut(line, ": "); ok {
			a.header[name] = append(a.header[name], value)
			if name == "Date" {
				continue
			}
		} else if a.status == 0 {
			a.status, _ = strconv.Atoi(strings.Fields(line)[1])
		}
		head.WriteString(line + "\n")
	}
	a.head = head.String()
	a.closed = a.get("Connection") == "close"
	if len(a.header["Date"]) != 1 && a.status < 500 {
		t.Errorf("%d dates in %q", len(a.header["Date"]), a.head)
	}
	if method == "HEAD" || a.status == 204 {
		return a
	}
	n, err := strconv.Atoi(a.get("Content-Length"))
	if err != nil {
		t.Fatalf("content length of %q: %v", a.head, err)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(r, body); err != nil {
		t.Fatalf("body of %q: %v", a.head, err)
	}
	a.body = string(body)
	return a
}

// ask sends one request for a raw target, headers as whole lines.
func (s *site) ask(t testing.TB, method, target string, headers ...string) *answer {
	t.Helper()
	lines := append([]string{method + " " + target + " HTTP/1.1", "Host: s.test"}, headers...)
	all := s.raw(t, strings.Join(append(lines, "Connection: close", "", ""), "\r\n"), method)
	if len(all) != 1 {
		t.Fatalf("%s %s: %d answers", method, target, len(all))
	}
	return all[0]
}

func (s *site) get(t testing.TB, target string, headers ...string) *answer {
	t.Helper()
	return s.ask(t, "GET", target, headers...)
}

// service is the real thing: the rules on a store in memory.
func service(t testing.TB, now func() time.Time) *link.Service {
	t.Helper()
	store, err := storage.Open(storage.Options{Dir: "data", FS: vfs.NewCrashableMem(), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	s, err := link.Open(store, link.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func equal[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func prefixes(texts ...string) (list []netip.Prefix) {
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

func sorted(m http.Header) (names []string) {
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
