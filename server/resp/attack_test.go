package resp

import (
	"context"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMalformedOnTheWire sends each malformed stream behind a command: the
// command is answered, then comes the error, then the end.
func TestMalformedOnTheWire(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{})
	for _, m := range malformed {
		c := dial(t, addr)
		c.send(command("PING") + m.in)
		c.want("+PONG\r\n-ERR Protocol error: " + m.err + "\r\n")
		c.wantClosed()
		c.Close()
	}
	if got := s.Stats().ProtocolErrors + s.Stats().OverLimits; got != int64(len(malformed)) {
		t.Errorf("%d protocol errors counted of %d", got, len(malformed))
	}
}

// TestErrorReachesASender checks that the error arrives although the client
// goes on to send what nobody reads.
func TestErrorReachesASender(t *testing.T) {
	_, addr := start(t, &testHandler{}, Config{})
	for range 20 {
		c := dial(t, addr)
		c.send("*x\r\n" + repeat("y", 300_000))
		c.want("-ERR Protocol error: invalid multibulk length\r\n")
		c.wantClosed()
	}
}

func TestHTTP(t *testing.T) {
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\n\r\nSET a b\r\n",
		"hOsT: x\r\nSET a b\r\n",
		command("post", "x") + command("SET", "a", "b"),
	} {
		h := &testHandler{}
		s, addr := start(t, h, Config{})
		c := dial(t, addr)
		c.send(request)
		c.wantGone()
		eventually(t, "the close is known", func() bool { return h.closings() == 1 })
		if got := h.commands(); len(got) > 0 {
			t.Errorf("%q ran %q", request, got)
		}
		if s.Stats().CrossProtocol != 1 {
			t.Errorf("%q was not counted", request)
		}
	}
}

func TestStrangers(t *testing.T) {
	_, addr := start(t, &testHandler{strangers: true}, Config{})
	long := repeat("x", 70_000)

	c := dial(t, addr)
	c.send(command("ECHO", long))
	c.want("-ERR Protocol error: unauthenticated bulk length\r\n")
	c.wantClosed()

	c = dial(t, addr)
	c.send("*11\r\n")
	c.want("-ERR Protocol error: unauthenticated multibulk length\r\n")
	c.wantClosed()

	// In one pipeline: the limit rises with the command that authenticates.
	c = dial(t, addr)
	c.send(command("AUTH", "x") + command("ECHO", long))
	c.want("+OK\r\n$70000\r\n" + long + "\r\n")
}

func TestLimitsChange(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{MaxBulk: 10})
	c := dial(t, addr)
	c.send(command("ECHO", "0123456789"))
	c.want("$10\r\n0123456789\r\n")
	s.Limits().MaxBulk.Store(5)
	c.send(command("ECHO", "0123456789"))
	c.want("-ERR Protocol error: invalid bulk length\r\n")
	c.wantClosed()
}

// TestEveryBoundary sends a session in two writes, cut at every byte.
func TestEveryBoundary(t *testing.T) {
	_, addr := start(t, &testHandler{}, Config{})
	const stream = "*1\r\n$4\r\nPING\r\nECHO \"a b\"\r\n*0\r\n*2\r\n$4\r\nECHO\r\n$5\r\n\r\n*1x\r\n"
	const replies = "+PONG\r\n$3\r\na b\r\n$5\r\n\r\n*1x\r\n"
	c := dial(t, addr)
	for i := range len(stream) {
		c.send(stream[:i])
		runtime.Gosched()
		c.send(stream[i:])
		c.want(replies)
	}
	for i := range len(stream) {
		c.send(stream[i : i+1])
	}
	c.want(replies)
}

// TestLargeCommand sends one command as large as may be, between small ones.
func TestLargeCommand(t *testing.T) {
	_, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	x := repeat("x", 1<<20)
	in := command("PING") + command("NOTE", x, x, x, repeat("x", 1<<19)) + command("PING")
	go io.WriteString(c.Conn, in)
	c.want("+PONG\r\n+OK\r\n+PONG\r\n")
	many := make([]string, 20_000)
	go io.WriteString(c.Conn, command(many...)+command("PING"))
	c.want("+OK\r\n+PONG\r\n")
}

// TestUnalignedPipeline streams commands that no read ends with. redcon's
// buffer grows with the stream; ours must not grow at all.
func TestUnalignedPipeline(t *testing.T) {
	s, addr := start(t, &testHandler{}, Config{})
	c := dial(t, addr)
	const rounds, size = 4000, 5000
	go func() {
		piece := command("ECHO", repeat("x", size))
		cut := len(piece) / 2
		io.WriteString(c.Conn, piece[:cut])
		turned := []byte(piece[cut:] + piece[:cut])
		for range rounds {
			if _, err := c.Conn.Write(turned); err != nil {
				return
			}
		}
	}()
	reply := "$5000\r\n" + repeat("x", size) + "\r\n"
	c.want(reply)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range rounds - 1 {
		c.want(reply)
		if i%1000 != 0 {
			continue
		}
		runtime.GC()
		runtime.ReadMemStats(&now)
		if grown := int64(now.HeapAlloc) - int64(before.HeapAlloc); grown > 2<<20 {
			t.Fatalf("the heap grew by %d bytes after %d MB", grown, i*size>>20)
		}
		s.Each(func(c *Conn) bool {
			if n := c.Info().QueryBuffer; n > largeBuffer {
				t.Errorf("%d bytes in the read buffer", n)
			}
			return true
		})
	}
}

// TestIdleMemory holds many connections, each of which has once been busy.
func TestIdleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("opens 300 connections")
	}
	const n = 300
	clock := newFakeClock()
	s, addr := start(t, &testHandler{}, Config{Now: clock.now, Sweep: 5 * time.Millisecond})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	conns := make([]net.Conn, n)
	request := command("ECHO", repeat("x", 60_000))
	reply := make([]byte, len("$60000\r\n")+60_000+2)
	for i := range conns {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		conns[i] = nc
		io.WriteString(nc, request)
		if _, err := io.ReadFull(nc, reply); err != nil {
			t.Fatal(err)
		}
	}
	clock.advance(2 * restAfter)
	eventually(t, "all connections rest", func() bool {
		rest := true
		s.Each(func(c *Conn) bool { rest = rest && !c.roomy.Load(); return rest })
		return rest
	})
	runtime.GC()
	runtime.GC() // the pool
	runtime.ReadMemStats(&after)
	each := (int64(after.HeapAlloc+after.StackInuse) - int64(before.HeapAlloc+before.StackInuse)) / n
	t.Logf("%d bytes of heap and stack for each idle connection", each)
	if each > 32<<10 { // the client's half is in there too
		t.Errorf("an idle connection costs %d bytes", each)
	}
	runtime.KeepAlive(conns)
}

// TestAsRedis sends what is in this package's tables to a real Redis.
func TestAsRedis(t *testing.T) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("missing program: redis-server")
	}
	sock := filepath.Join(t.TempDir(), "r.sock")
	ctx, cancel := context.WithCancel(context.Background())
	redis := exec.CommandContext(ctx, path, "--port", "0", "--unixsocket", sock, "--save", "", "--appendonly", "no",
		"--proto-max-bulk-len", "1mb", "--dir", t.TempDir())
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	defer redis.Wait()
	defer cancel()
	eventually(t, "redis-server listens", func() bool {
		nc, err := net.Dial("unix", sock)
		if err == nil {
			nc.Close()
		}
		return err == nil
	})
	_, ours := start(t, &testHandler{}, Config{})
	ask := func(addr, in string) string {
		c := dial(t, addr)
		defer c.Close()
		c.send(in)
		c.Conn.(interface{ CloseWrite() error }).CloseWrite()
		all, _ := io.ReadAll(c.r)
		return string(all)
	}
	differs := map[string]bool{ // on purpose, or because Redis wants more bytes first
		"*20001\r\n": true, "*2000000000\r\n": true, "*1\n": true, "*1\r\n$4\nPING\r\n": true,
		"*1\r\n$4\r\nPINGxx": true, "*1\r\n$4\r\nPING\rx": true, repeat("a", 66_000) + "\r\n": true,
	}
	for _, m := range malformed {
		in := command("PING") + m.in
		if want, got := ask(sock, in), ask(ours, in); want != got && !differs[m.in] {
			t.Errorf("%.60q: Redis says %q, we say %q", m.in, want, got)
		}
	}
	for _, line := range []string{
		`PING`, ` ping `, "\tECHO\tx ", `echo "a b"`, `echo "\n\r\t\b\a\\\"\q\x41\xZZ"`, `echo 'a "b" \n \' c'`, `echo ""`,
		`echo a"b c"`, `echo a'b'`, `echo "a" "b`, "echo a\vb", "\v\fPING", `"PING"`, `echo "\"`, `echo '\\'`, `ECHO "a\x0ab"`,
	} {
		in := line + "\r\n\r\n*0\r\n*-1\r\nPING\n"
		if want, got := ask(sock, in), ask(ours, in); want != got {
			t.Errorf("%q: Redis says %q, we say %q", line, want, got)
		}
	}
	if s := ask(ours, strings.Repeat(command("PING"), 3)); s != repeat("+PONG\r\n", 3) {
		t.Errorf("after the client closed its half: %q", s)
	}
}
