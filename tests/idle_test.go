package tests

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// residentBytes is the memory of a process that is in RAM.
func residentBytes(t *testing.T, pid int) int64 {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the process has no VmRSS")
	return 0
}

// mayOpen is how many files this process, and one that it starts, may have open.
func mayOpen(t *testing.T) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Cur, 1<<20))
}

// TestIdleConnectionsAreSmall: 10,000 clients that have done something and now do nothing cost the server 40 KB each, at most. The server is a process
// of its own, built without the race detector.
func TestIdleConnectionsAreSmall(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	const most = 40_000 // bytes a connection
	connections := 10_000
	if room := mayOpen(t) - 500; room < connections {
		t.Logf("only %d connections: so many files may be open", room)
		connections = room
	}
	if connections < 500 {
		t.Skip("too few files may be open to measure anything")
	}
	p := run(t, nil, "--dir", t.TempDir(), "--maxclients", strconv.Itoa(connections+10))
	control := dial(t, p.respAddr)
	for range 2000 { // what the first commands leave behind is no connection's
		control.Do("PING")
	}
	control.Do("MEMORY", "PURGE")
	before := residentBytes(t, p.cmd.Process.Pid)
	open := make([]net.Conn, connections)
	var opening sync.WaitGroup
	for part := range 8 {
		opening.Go(func() {
			for i := part; i < connections; i += 8 {
				c, err := tryDial(t, p.respAddr)
				if err != nil {
					t.Error(err)
					return
				}
				open[i] = c.conn
				if r, err := c.try("PING"); err != nil || r.text != "PONG" {
					t.Errorf("PING: %s, %v", r, err)
					return
				}
			}
		})
	}
	opening.Wait()
	defer func() {
		for _, conn := range open {
			if conn != nil {
				conn.Close()
			}
		}
	}()
	if t.Failed() {
		return
	}
	if n := infoNumber(t, control.Do("INFO").text, "connected_clients"); n != int64(connections)+1 {
		t.Errorf("%d are connected, of %d", n, connections)
	}
	each := (residentBytes(t, p.cmd.Process.Pid) - before) / int64(connections)
	t.Logf("%d idle connections cost %d bytes each", connections, each)
	if each > most {
		t.Errorf("an idle connection costs %d bytes, more than %d", each, most)
	}
	if r := control.Do("PING"); r.text != "PONG" {
		t.Errorf("PING: %s", r)
	}
}
