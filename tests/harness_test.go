package tests

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/codec"
	"curt/server"
	"curt/server/link"
)

// clock is the time that a server sees. It stands still until it is moved.
type clock struct{ nanos atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nanos.Store(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) Now() time.Time          { return time.Unix(0, c.nanos.Load()).UTC() }
func (c *clock) Advance(d time.Duration) { c.nanos.Add(int64(d)) }

// node is one data folder and the server that answers for it now. Its fields may be read after start; its methods are for
// the goroutine of the test.
type node struct {
	tb      testing.TB
	options server.Options
	memory  *vfs.MemFS // nil: the data is in a folder on the disk
	disk    *disk      // what the server sees of memory
	clock   *clock
	log     *logBuffer

	server   *server.Server // nil while it is down
	respAddr string
	httpAddr string
	serving  *sync.WaitGroup
	cli      *client   // for Do
	clients  []*client // to be closed before a drain, which waits for peers that stay
	names    int       // given out by freshName
}

// start starts a server on a new disk that can lose power. options are changed by each of with, in order.
func start(tb testing.TB, with ...func(*server.Options)) *node {
	tb.Helper()
	n := newNode(tb, with...)
	n.up()
	return n
}

// newNode prepares a node that is not up.
func newNode(tb testing.TB, with ...func(*server.Options)) *node {
	n := &node{tb: tb, memory: vfs.NewCrashableMem(), clock: newClock(), log: &logBuffer{}}
	n.options = server.Options{
		Dir: "data", CacheBytes: 32 << 20, LinkCache: 16 << 20,
		Now:    n.clock.Now,
		Logger: slog.New(slog.NewTextHandler(n.log, nil)),
		Codes:  link.CodeOptions{Ring: testRing()},
	}
	for _, fn := range with {
		fn(&n.options)
	}
	tb.Cleanup(func() {
		n.down()
		if log := n.log.String(); tb.Failed() && log != "" {
			tb.Logf("the server's log:\n%s", log)
		}
	})
	return n
}

// testRing is a key that everybody may know, so that codes are the same in every run: the one of NIST's AES-256 samples.
func testRing() *codec.Ring {
	var k codec.Key
	if _, err := hex.Decode(k[:], []byte("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94")); err != nil {
		panic(err)
	}
	return &codec.Ring{Keys: map[string]codec.Key{"test": k}, Active: "test"}
}

// up starts the server.
func (n *node) up() {
	n.tb.Helper()
	if err := n.open(); err != nil {
		n.tb.Fatal(err)
	}
}

// open is up with its error returned.
func (n *node) open() error {
	o := n.options
	if n.memory != nil {
		n.disk = newDisk(n.memory)
		o.FS = n.disk
	}
	s, err := server.Open(o)
	if err != nil {
		return err
	}
	n.server, n.serving = s, &sync.WaitGroup{}
	n.respAddr = n.serve("RESP", s.Serve)
	n.httpAddr = n.serve("HTTP", s.ServeHTTP)
	n.waitForFilter()
	return nil
}

// serve runs one listener on a free port.
func (n *node) serve(name string, run func(net.Listener) error) (addr string) {
	n.tb.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.tb.Fatal(err)
	}
	n.serving.Go(func() {
		if err := run(ln); err != nil {
			n.tb.Errorf("serve %s: %v", name, err)
		}
	})
	return ln.Addr().String()
}

// waitForFilter returns when look-ups of unknown names are answered from memory, so that reads of the store can be counted.
func (n *node) waitForFilter() {
	n.tb.Helper()
	for end := time.Now().Add(patience); !n.server.Links().FilterReady(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			n.tb.Fatal("the name filter is not ready")
		}
	}
}

// down drains and closes the server, if it is up.
func (n *node) down() {
	n.tb.Helper()
	if n.server == nil {
		return
	}
	for _, c := range n.clients {
		c.conn.Close()
	}
	n.cli, n.clients = nil, nil
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.server.Shutdown(ctx); err != nil {
		n.tb.Errorf("shutdown: %v", err)
	}
	n.serving.Wait()
	n.server = nil
}

// Restart is a clean stop and a start. Open connections end.
func (n *node) Restart() {
	n.tb.Helper()
	n.down()
	n.up()
}

// Crash cuts the power and starts again. Of the bytes that were never synced each block survives with a chance of
// keepPercent; the choice depends on seed alone.
func (n *node) Crash(keepPercent int, seed uint64) {
	n.tb.Helper()
	if n.memory == nil {
		n.tb.Fatal("only a disk in memory can lose power")
	}
	after := n.powerCut(keepPercent, seed)
	n.down() // of the old disk, which nobody will look at again
	n.memory = after
	n.up()
}

// powerCut is the disk as it would be found after a power cut now.
func (n *node) powerCut(keepPercent int, seed uint64) *vfs.MemFS {
	return n.memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: keepPercent, RNG: rand.New(rand.NewPCG(seed, 1))})
}

// Advance moves the clock.
func (n *node) Advance(d time.Duration) { n.clock.Advance(d) }

// Dial opens another connection. It ends with the server, at the latest.
func (n *node) Dial() *client {
	n.tb.Helper()
	c, err := tryDial(n.tb, n.respAddr)
	if err != nil {
		n.tb.Fatal(err)
	}
	n.clients = append(n.clients, c)
	return c
}

// Do sends a command on a connection of the node's own.
func (n *node) Do(words ...string) reply {
	n.tb.Helper()
	if n.cli == nil {
		n.cli = n.Dial()
	}
	return n.cli.Do(words...)
}

// Must is Do for a command that may not fail.
func (n *node) Must(words ...string) reply {
	n.tb.Helper()
	r := n.Do(words...)
	if r.isError() {
		n.tb.Fatalf("%.200q: %s", words, r.text)
	}
	return r
}

// Want fails the test unless the reply, as redis-cli shows it, is want.
func (n *node) Want(want string, words ...string) {
	n.tb.Helper()
	if got := n.Do(words...).String(); got != want {
		n.tb.Errorf("%.200q\n got: %s\nwant: %s", words, got, want)
	}
}

// WantError fails the test unless the reply is an error that begins with want.
func (n *node) WantError(want string, words ...string) {
	n.tb.Helper()
	r := n.Do(words...)
	if !r.isError() || !strings.HasPrefix(r.text, want) {
		n.tb.Errorf("%.200q\n got: %s\nwant: (error) %s...", words, r, want)
	}
}

// Info is a number of INFO.
func (n *node) Info(name string) int64 {
	n.tb.Helper()
	return infoNumber(n.tb, n.Must("INFO", "everything").text, name)
}

// logBuffer keeps what the server logs.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
