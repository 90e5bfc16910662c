package tests

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestFaultStopped: the process is stopped (SIGSTOP) under load for a while, as a suspended machine is.
func TestFaultStopped(t *testing.T) {
	dir, l := t.TempDir(), newLedger()
	p := run(t, nil, "--dir", dir)
	idle := dial(t, p.respAddr)
	loads := p.underLoad(l, 4, 0)
	eventually(t, "there is load", func() bool { return l.changes.Load() > 50 })
	clients := func() int64 { t.Helper(); return infoNumber(t, idle.Do("INFO", "clients").text, "connected_clients") }
	connected := clients()
	signal := func(s syscall.Signal) {
		t.Helper()
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	idle.Send("PING")
	late := dial(t, p.respAddr) // the system takes it
	late.Send("PING")
	seconds := scale(1, 30, 30)
	time.Sleep(time.Duration(seconds) * time.Second)
	before := l.changes.Load()
	signal(syscall.SIGCONT)
	for _, c := range []*client{idle, late} {
		if r := c.Receive(); r.text != "PONG" {
			t.Errorf("PING answers %s", r)
		}
	}
	eventually(t, "writers go on", func() bool { return l.changes.Load() > before+50 })
	if n := clients(); n != connected+1 { // late
		t.Errorf("%d clients are connected, %d were", n, connected)
	}
	if a, err := fetch(browser(false), "GET", p.httpAddr, "/nothere"); err != nil || a.status != 404 {
		t.Errorf("HTTP answers %d, %v", a.status, err)
	}
	p.kill()
	loads.Wait()
	l.check(t, dial(t, run(t, nil, "--dir", dir).respAddr))
	survived(t, fmt.Sprintf("SIGSTOP for %d s under load, then SIGCONT, then kill -9", seconds), "replies come when it goes on; no connection was closed")
}

// underLoad changes links through some connections until the server ends, with a pipeline of reads after each change.
func (p *process) underLoad(l *ledger, clients, reads int) *sync.WaitGroup {
	p.tb.Helper()
	var wg sync.WaitGroup
	seed := newSeed(p.tb)
	for i := range clients {
		c, err := tryDial(p.tb, p.respAddr)
		if err != nil {
			p.tb.Fatal(err)
		}
		wg.Go(func() {
			defer c.conn.Close()
			l.load(p.tb, c, newRand(seed+uint64(i)), fmt.Sprintf("%x-%d", seed, i), reads)
		})
	}
	return &wg
}

// TestFaultDescriptors: the system gives the process 256 file descriptors and strangers open hundreds of connections on both ports.
// They are turned away; the store always has enough.
func TestFaultDescriptors(t *testing.T) {
	const each, clients, browsers = 300, 96 - 1, 32 // connections on each port, and how many of them there is room for
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	limited := path + "-limited"
	if err := os.WriteFile(limited, []byte("#!/bin/sh\nulimit -n 256\nexec "+path+" \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	dir, l := t.TempDir(), newLedger()
	p := runAs(t, limited, nil, "--dir", dir, "--cache-bytes", "8MiB")
	first := dial(t, p.respAddr)
	if r := first.Do("CONFIG", "GET", "maxclients"); r.field("maxclients").text != "96" {
		t.Errorf("maxclients is %s", r)
	}
	var crowd []net.Conn
	defer func() {
		for _, c := range crowd {
			c.Close()
		}
	}()
	refused := 0
	for range each {
		for _, addr := range []string{p.respAddr, p.httpAddr} {
			c, err := net.DialTimeout("tcp", addr, patience)
			if err != nil {
				t.Fatal(err)
			}
			crowd = append(crowd, c)
		}
	}
	for i, c := range crowd {
		if i%2 == 1 {
			continue
		}
		if i/2 < clients {
			fmt.Fprint(c, "PING\r\n")
		}
		b := make([]byte, 100)
		c.SetDeadline(time.Now().Add(patience))
		n, err := c.Read(b)
		switch text := string(b[:n]); {
		case strings.HasPrefix(text, "-ERR max number of clients reached") && i/2 >= clients:
			refused++
		case err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && i/2 >= clients: // the crowd is too large to tell each
			refused++
		case text != "+PONG\r\n" || i/2 >= clients:
			t.Errorf("connection %d reads %q, %v", i/2, text, err)
		}
	}
	if refused != each-clients {
		t.Errorf("%d of %d connections were refused, want all but %d", refused, each, clients)
	}
	if refusals := pipelined(t, first, l, "n", 3000); refusals != nil { // tables are written meanwhile
		t.Errorf("writers are told %q", refusals)
	}
	info := first.Do("INFO", "curt").text
	if n := infoNumber(t, info, "curt_refused_max_clients"); n != int64(refused) {
		t.Errorf("INFO counts %d refused, clients %d", n, refused)
	}
	if n := infoNumber(t, info, "curt_refused_http_max_conns"); n != each-browsers {
		t.Errorf("INFO counts %d refused browsers", n)
	}
	for _, c := range crowd {
		c.Close()
	}
	crowd = nil
	eventually(t, "browsers are served again", func() bool {
		a, err := fetch(browser(false), "GET", p.httpAddr, "/n-7")
		return err == nil && a.status == 302
	})
	p.kill()
	l.check(t, dial(t, run(t, nil, "--dir", dir).respAddr))
	survived(t, "256 file descriptors (`ulimit -n`), 300 connections on each port, 3,000 links made meanwhile",
		fmt.Sprintf("the server lowers its limits at the start and says so; %d connections get `ERR max number of clients reached` or 503, or are just closed; the others notice nothing", 2*each-clients-browsers))
}

// TestFaultFullDisk fills a small file system under the server, first nearly, then wholly.
func TestFaultFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a small file system")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1g,mode=0700"); err != nil {
		t.Skipf("a file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	leave := func(free int64) {
		t.Helper()
		var fs syscall.Statfs_t
		if err := syscall.Statfs(dir, &fs); err != nil {
			t.Fatal(err)
		}
		size := int64(fs.Blocks-fs.Bfree)*fs.Bsize + free
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d,mode=0700", size)); err != nil {
			t.Fatal(err)
		}
	}
	l := newLedger()
	p := run(t, nil, "--dir", dir, "--cache-bytes", "8MiB")
	c := dial(t, p.respAddr)
	if refusals := pipelined(t, c, l, "n", 1000); refusals != nil {
		t.Fatal(refusals)
	}
	leave(100 << 20)
	eventually(t, "the low disk is noticed", func() bool { return c.Do("SHORTEN", "https://example.com/new", "DEDUP", "OFF").word() == "MISCONF" })
	for _, s := range []struct{ words, want string }{{"BAN n-1", "OK"}, {"UNBAN n-1", "OK"}, {"DEL n-2", "(integer) 1"}, {"EXPIRE n-3 1000", "(integer) 1"}} {
		if r := c.Do(strings.Fields(s.words)...); r.String() != s.want {
			t.Errorf("%s answers %s", s.words, r)
		}
	}
	l.settle("n-2", "")
	leave(0)
	ended := false
	for i := 0; i < 20_000 && !ended; i++ {
		_, err := c.try("EXPIRE", fmt.Sprintf("n-%d", 10+i%900), fmt.Sprint(1000+i))
		ended = err != nil
	}
	if !ended {
		t.Fatal("the disk is full and the server goes on writing")
	}
	if code := p.exit(); code != 1 || !strings.Contains(p.stderr.String(), "no space left on device") {
		t.Errorf("exit code %d: %s", code, p.stderr)
	}
	whileFull := startsOnAFullDisk(t, dir, l)
	leave(500 << 20)
	p = run(t, nil, "--dir", dir, "--cache-bytes", "8MiB")
	c = dial(t, p.respAddr)
	l.check(t, c)
	if r := c.Do("SHORTEN", "https://example.com/new", "AS", "new"); r.text != "new" {
		t.Errorf("with room again: %s", r)
	}
	p.stop(syscall.SIGTERM)
	survived(t, "a disk (tmpfs) is nearly full, then full to the last byte, then has room again",
		"nearly full: SHORTEN gets MISCONF, BAN, UNBAN, DEL, EXPIRE and reads go on; full: the process ends with exit code 1 and `no space left on device`; a start then "+whileFull+"; with room all is there")
}

// startsOnAFullDisk starts the server where no byte can be written. It may give up and say why, or serve what is there; it says which.
func startsOnAFullDisk(t *testing.T, dir string, l *ledger) string {
	t.Helper()
	p, out := launch(t, nil, "serve", "--dir", dir, "--resp", "127.0.0.1:0", "--http", "")
	defer p.kill()
	ready := regexp.MustCompile(`RESP on (\S+)\n`)
	for {
		select {
		case <-p.ended:
			if code := p.exit(); code != 1 || !strings.Contains(p.stderr.String(), "no space left on device") {
				t.Errorf("exit code %d: %s", code, p.stderr)
			}
			return "does the same"
		case <-time.After(10 * time.Millisecond):
		}
		if m := ready.FindStringSubmatch(out.String()); m != nil {
			c := dial(t, m[1])
			l.check(t, c)
			if r := c.Do("SHORTEN", "https://example.com/new", "AS", "new"); r.word() != "MISCONF" {
				t.Errorf("SHORTEN answers %s", r)
			}
			return "serves what is there"
		}
	}
}

// TestFaultSoak changes links through many connections while the server is stopped and killed in turn.
func TestFaultSoak(t *testing.T) {
	dir, l := t.TempDir(), newLedger()
	wanted := int64(scale(100_000, 1_000_000, 10_000_000))
	lives := scale(4, 6, 40)
	for life := range lives {
		p := run(t, nil, "--dir", dir, "--sync", []string{"always", "everysec", "no"}[life%3], "--cache-bytes", "16MiB")
		loads := p.underLoad(l, 16, 100)
		until := wanted * int64(life+1) / int64(lives)
		for l.changes.Load()+l.reads.Load() < until && !t.Failed() {
			time.Sleep(5 * time.Millisecond)
		}
		if life%2 == 0 {
			p.kill()
		} else if code := p.stop(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d", code)
		}
		loads.Wait()
		p = run(t, nil, "--dir", dir)
		l.check(t, dial(t, p.respAddr))
		p.stop(syscall.SIGTERM)
		if t.Failed() {
			t.Fatalf("in life %d", life)
		}
	}
	if path, err := program(); err == nil {
		if out, err := exec.Command(path, "check", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("curt check: %v: %s", err, out)
		}
	}
	survived(t, fmt.Sprintf("%d acknowledged changes and %d reads, each compared, through 16 connections; the server killed (-9) or stopped %d times, in each sync mode", l.changes.Load(), l.reads.Load(), lives), "connections that end")
}
