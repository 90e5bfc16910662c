package main

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	keyA = "2025 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
	keyB = "2026 ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100\n"
)

// checkFault starts the program, which must say one line on stderr, nothing on stdout, and end with code 1.
func checkFault(t *testing.T, want string, env []string, args ...string) {
	t.Helper()
	got := runToEnd(t, env, args...)
	line, rest, _ := strings.Cut(got.stderr, "\n")
	if got.code != 1 || rest != "" || got.stdout != "" || !strings.HasPrefix(line, "curt: ") || !strings.Contains(line, want) {
		t.Errorf("curt %q %q: code %d, stdout %q, stderr %q; want one line with %q", env, args, got.code, got.stdout, got.stderr, want)
	}
}

func TestBadWords(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		dir := filepath.Join(t.TempDir(), "data")
		checkFault(t, want, []string{"CURT_DIR=" + dir}, args...)
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("curt %q made a data folder", args)
		}
	}
	f(`unknown command "sreve"`, "sreve")
	f(`unexpected argument "now"`, "serve", "now")
	f("not defined: -colour", "--colour", "red")
	f("needs an argument: -dir", "--dir")
	f("must be one of always, everysec, no", "--sync", "maybe")
	f("from 4 to 10", "--code-length", "11")
	f(`alphabet: "base64" is none of base62, safe`, "--alphabet", "base64")
	f("from 16 to 65536", "--max-url-bytes", "15")
	f("must be a size", "--cache-bytes", "256 MiB")
	f("must be one of yes, no", "--protected-mode", "true")
	f(`"ftp://x" is not like https://go.example`, "--base-url", "ftp://x")
	f("base URL: must be", "--base-url", "https://go.example:65536")
	f("base URL: must be", "--base-url", "https://go!.example")
	f(`"a b":`, "--allow-host", "corp,a b")
	f(`"10.0.0.0/40" is neither`, "--trusted-proxy", "10.0.0.0/40")
	f("must be one of 302, 307", "--redirect-status", "303")
	f("must be one of 404, 410", "--gone-status", "409")
	f("must not be empty", "--dir", "")
	f("unix: needs the path", "--resp", "unix:")
	f("must be 0700 or 0770", "--unix-perm", "0777")
	f("nothing to listen on", "--resp", "", "--http", "")
	f("no such file", "--config", "nowhere.conf")
	f("missing port", "--resp", "localhost")
	f("unknown port", "--resp", "127.0.0.1:0", "--http", "localhost:htpp")
	f("no such file", "--key-file", "nowhere.keys")
	f("home URL: must be", "--base-url", "x", "--home-url", "y") // all complaints, in one line
}

func TestBadEnvironmentAndFile(t *testing.T) {
	t.Parallel()
	checkFault(t, "snowflake ids: the clock says 20", nil, "--dir", t.TempDir(), "--resp", "127.0.0.1:0", "--http", "", "--snowflake-epoch", "2999-01-01")
	checkFault(t, "and ids can tell 2024-01-01 00:00:00 to 2024-01-01 02:19:48", nil, "--dir", t.TempDir(), "--resp", "127.0.0.1:0", "--http", "", "--snowflake-worker-bits", "20", "--snowflake-sequence-bits", "20", "--snowflake-jitter", "0")
	checkFault(t, "worker 4 is not within 0 to 3", nil, "--dir", t.TempDir(), "--resp", "127.0.0.1:0", "--http", "", "--snowflake-worker-bits", "2", "--snowflake-worker", "4")
	checkFault(t, `curt: CURT_SYNC: must be one of`, []string{"CURT_SYNC=maybe"})
	f := func(want, text string) {
		t.Helper()
		path := file(t, 0o600, text)
		checkFault(t, path+want, nil, "--config", path)
	}
	f(` line 3: unknown option "colour"`, "# mine\n\ncolour red\n")
	f(` line 1: sync: must be one of`, "sync maybe\n")
	f(" line 1: requirepass has no value", "requirepass\n")
	f(" line 2: requirepass has a bad quoted value", "sync no\nrequirepass \"a\n")
	f(" line 1: config can't be set", "config other.conf\n")
	f(" line 1: bufio.Scanner: token too long", "dir "+strings.Repeat("x", 1<<17))
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	dir := filepath.Join(t.TempDir(), "data")
	checkFault(t, "resp: listen tcp "+ln.Addr().String()+": bind: address already in use", nil,
		"--dir", dir, "--resp", "127.0.0.1:0,"+ln.Addr().String(), "--http", "127.0.0.1:0")
	checkFault(t, "http: listen tcp "+ln.Addr().String()+": bind: address already in use", nil,
		"--dir", dir, "--resp", "127.0.0.1:0", "--http", ln.Addr().String())
	if _, err := os.Stat(dir); err == nil {
		t.Error("a data folder was made although the port was in use")
	}
}

// O06: what is not ours is refused, and left as it is.
func TestDataFolder(t *testing.T) {
	t.Parallel()
	f := func(want, dir string) {
		t.Helper()
		checkFault(t, want, nil, "--dir", dir, "--resp", "127.0.0.1:0", "--http", "")
	}
	foreign := file(t, 0o600, "a photo")
	f("holds no Curt store", filepath.Dir(foreign))
	f("not a directory", foreign)
	if text, err := os.ReadFile(foreign); err != nil || string(text) != "a photo" {
		t.Errorf("the foreign file: %q, %v", text, err)
	}

	newer := t.TempDir()
	if err := os.WriteFile(filepath.Join(newer, "CURT"), []byte("curt store 99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f("it has 99, this version knows 1", newer)

	dir := t.TempDir()
	p := start(t, dir)
	f(dir+": the data folder is in use by another process", dir)
	p.stop()
	start(t, dir).stop()
}

func TestKeyFile(t *testing.T) {
	t.Parallel()
	ring := func(perm os.FileMode, text string) string {
		path := file(t, 0o600, text)
		if err := os.Chmod(path, perm); err != nil {
			t.Fatal(err)
		}
		return path
	}
	f := func(want, dir, path string) {
		t.Helper()
		checkFault(t, want, nil, "--dir", dir, "--resp", "127.0.0.1:0", "--http", "", "--key-file", path)
	}
	dir := t.TempDir()
	open := ring(0o640, keyA)
	f("has mode 0640, group or others may use it: chmod 600 "+open, dir, open)
	bad := ring(0o600, keyA+"2026 cafe\n")
	f(bad+": key file line 2: the key must have 64 hexadecimal digits", dir, bad)
	folder := t.TempDir()
	f(folder+" is a folder", dir, folder)
	if names, _ := os.ReadDir(dir); len(names) > 0 {
		t.Errorf("a refused key left %v", names)
	}

	p := start(t, dir, "--key-file", ring(0o600, keyA))
	code := p.do("SHORTEN", "https://example.com/")
	p.stop()
	f("missing 2025", dir, ring(0o600, keyB))
	f("wrong 2025", dir, ring(0o600, strings.Replace(keyB, "2026", "2025", 1)))
	checkFault(t, "missing 2025", nil, "--dir", dir, "--resp", "127.0.0.1:0", "--http", "") // no file: the ring in the store is empty
	p = start(t, dir, "--key-file", ring(0o600, keyA+keyB))
	if got := p.do("RESOLVE", code); got != "https://example.com/" {
		t.Errorf("after a rotation: %s", got)
	}
}

func TestKilledKeepsLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	code := p.do("SHORTEN", "https://go.dev/doc/")
	if !generatedCode.MatchString(code) {
		t.Fatalf("SHORTEN: %s", code)
	}
	if full := p.do("SHORTEN", "https://go.dev/doc/", "FULL"); full != p.http+"/"+code {
		t.Errorf("FULL: %s, listening on %s", full, p.http)
	}
	p.kill()

	p = start(t, dir)
	if !strings.Contains(p.banner, ": 1 links in ") {
		t.Errorf("after a restart: %s", p.banner)
	}
	if got := p.do("RESOLVE", code); got != "https://go.dev/doc/" {
		t.Errorf("RESOLVE after kill -9: %s", got)
	}
	if status, to := p.get(code); status != 302 || to != "https://go.dev/doc/" {
		t.Errorf("HTTP after kill -9: %d %s", status, to)
	}
	if got := p.do("BAN", code); got != "OK" {
		t.Fatal(got)
	}
	if status, _ := p.get(code); status != 451 {
		t.Errorf("HTTP after BAN: %d", status)
	}
}

// O02: both signals drain.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := start(t, t.TempDir())
		if got := p.redis("").Ping(t.Context()).Val(); got != "PONG" { // its connection stays open
			t.Fatal(got)
		}
		p.cmd.Process.Signal(signal)
		if status := p.end(); !status.Exited() || status.ExitStatus() != 0 || !strings.Contains(p.log(), "msg=stopped") {
			t.Errorf("%v: %v: %s", signal, p.cmd.ProcessState, p.log())
		}
	}
}

// TestShutdownCommand: SHUTDOWN stops the program like a signal, and what was written before is there again.
func TestShutdownCommand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	client := p.redis("")
	if err := client.Set(t.Context(), "kept", "https://example.com/", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Do(t.Context(), "SHUTDOWN", "NOSAVE").Err(); err == nil || strings.HasPrefix(err.Error(), "ERR") {
		t.Errorf("SHUTDOWN leaves a reply: %v", err)
	}
	if status := p.end(); !status.Exited() || status.ExitStatus() != 0 || !strings.Contains(p.log(), "msg=stopped") {
		t.Errorf("%v: %s", p.cmd.ProcessState, p.log())
	}
	again := start(t, dir)
	if got, err := again.redis("").Get(t.Context(), "kept").Result(); got != "https://example.com/" {
		t.Errorf("after SHUTDOWN: %q, %v", got, err)
	}
}

// waitStuck waits until the server has nothing more to hand to a client that does not read: what it sent in all grows by no more than its answers
// to this question, and half a megabyte is out.
func (p *process) waitStuck() {
	p.t.Helper()
	sent := regexp.MustCompile(`total_net_output_bytes:(\d+)`)
	last, still := 0, 0
	for range 3000 {
		now := last
		if m := sent.FindStringSubmatch(p.do("INFO", "stats")); m != nil {
			now, _ = strconv.Atoi(m[1])
		}
		if still++; now-last > 100_000 || now < 500_000 {
			still = 0
		}
		if last = now; still == 30 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatal("the replies of the client that does not read were never stuck")
}

// stuck connects a client that never reads, and so holds up the drain: it asks for more replies than the sockets' buffers take. end closes it.
func (p *process) stuck() (end func()) {
	p.t.Helper()
	conn, err := net.Dial("tcp", p.resp[0])
	if err != nil {
		p.t.Fatal(err)
	}
	conn.(*net.TCPConn).SetReadBuffer(4096)
	question := append([]byte("*2\r\n$4\r\nECHO\r\n$500000\r\n"), append(bytes.Repeat([]byte("x"), 500_000), "\r\n"...)...)
	var writing sync.WaitGroup
	writing.Go(func() { conn.Write(bytes.Repeat(question, 64)) })
	p.waitStuck()
	return func() {
		conn.Close() // ends the writer too
		writing.Wait()
	}
}

func TestSecondSignal(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	defer p.stuck()()
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.waitLog("msg=draining")
	p.cmd.Process.Signal(syscall.SIGTERM)
	if status := p.end(); !status.Signaled() || strings.Contains(p.log(), "msg=stopped") {
		t.Errorf("the second signal: %v: %s", p.cmd.ProcessState, p.log())
	}
}

// TestHangup: SIGHUP reads files again while the server answers, and does nothing to one that drains.
func TestHangup(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	p.cmd.Process.Signal(syscall.SIGHUP)
	p.waitLog("msg=reloaded")
	end := p.stuck()
	p.cmd.Process.Signal(syscall.SIGTERM)
	p.waitLog("msg=draining")
	p.cmd.Process.Signal(syscall.SIGHUP)
	end()
	if status := p.end(); !status.Exited() || status.ExitStatus() != 0 || !strings.Contains(p.log(), "msg=stopped") {
		t.Errorf("SIGHUP while it drains: %v: %s", p.cmd.ProcessState, p.log())
	}
}

// TestNobodyReadsTheLog: a server whose standard output and error go nowhere goes on.
func TestNobodyReadsTheLog(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "curt.sock")
	cmd := program(t, nil, "--dir", t.TempDir(), "--resp", "unix:"+socket, "--http", "", "--log-level", "debug")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = write, write
	read.Close()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	write.Close()
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	p := &process{t: t, cmd: cmd, resp: []string{"unix:" + socket}}
	for range 1000 {
		if _, err = os.Stat(socket); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := p.do("SHORTEN", "https://example.com/"); !generatedCode.MatchString(got) {
		t.Errorf("SHORTEN: %s", got)
	}
}

func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), filepath.Join(t.TempDir(), "curt.sock")
	p := start(t, dir, "--resp", "unix:"+path, "--unix-perm", "0770")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o770 {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	if got := p.do("PING"); got != "PONG" {
		t.Fatal(got)
	}
	checkFault(t, "address already in use", nil, "--dir", t.TempDir(), "--resp", "unix:"+path, "--http", "")
	p.kill()
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("kill -9 removed the socket: %v", err)
	}
	p = start(t, dir, "--resp", "unix:"+path)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	if got := p.do("DBSIZE"); got != "0" {
		t.Errorf("DBSIZE: %s", got)
	}
	p.stop()
	if _, err := os.Stat(path); err == nil {
		t.Error("a clean stop left the socket")
	}
	plain := file(t, 0o600, "a letter")
	checkFault(t, "address already in use", nil, "--dir", t.TempDir(), "--resp", "unix:"+plain, "--http", "")
	if text, _ := os.ReadFile(plain); string(text) != "a letter" {
		t.Error("a file was taken for a socket")
	}
}

func TestSeveralListeners(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--resp", "127.0.0.1:0,127.0.0.1:0", "--resp", "unix:"+filepath.Join(t.TempDir(), "s"))
	if len(p.resp) != 3 {
		t.Fatalf("listens on %q", p.resp)
	}
	for range p.resp {
		if got := p.do("PING"); got != "PONG" {
			t.Errorf("%s: %s", p.resp[0], got)
		}
		p.resp = append(p.resp[1:], p.resp[0])
	}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	const password = "007-nowhere-else" // digits alone may well be in a port, a folder or a time
	p := start(t, t.TempDir(), "--requirepass", password)
	if got := p.do("PING"); !strings.HasPrefix(got, "NOAUTH") {
		t.Errorf("without a password: %s", got)
	}
	if got, err := p.redis(password).Ping(t.Context()).Result(); got != "PONG" {
		t.Errorf("with the password: %s %v", got, err)
	}
	if strings.Contains(p.banner+p.log(), password) || !strings.Contains(p.banner, "--askpass") {
		t.Errorf("the banner: %s", p.banner)
	}
}

func TestJSONLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := program(t, []string{"CURT_LOG_FORMAT=json"}, "--dir", dir, "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0")
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	ready := false
	for lines := json.NewDecoder(stderr); lines.More(); {
		var line struct {
			Msg  string
			Dir  string
			RESP []string
		}
		if err := lines.Decode(&line); err != nil {
			t.Fatal(err)
		}
		if line.Msg == "ready" {
			ready = line.Dir == dir && len(line.RESP) == 1
			cmd.Process.Signal(syscall.SIGTERM)
		}
	}
	if err := cmd.Wait(); err != nil || !ready || stdout.Len() > 0 {
		t.Errorf("ready %v, %v, stdout %q", ready, err, stdout.String())
	}
}

func TestHelpAndVersion(t *testing.T) {
	t.Parallel()
	help := runToEnd(t, nil, "help")
	for _, words := range [][]string{{"-h"}, {"--help"}, {"serve", "--help"}} {
		if got := runToEnd(t, nil, words...); got != help || got.code != 0 || got.stderr != "" {
			t.Errorf("curt %q: code %d, stderr %q", words, got.code, got.stderr)
		}
	}
	for _, o := range serveOptions() {
		i := strings.Index(help.stdout, "\n  --"+o.name+" "+o.value+" ")
		if i < 0 {
			t.Errorf("the help lacks --%s", o.name)
			continue
		}
		line, _, _ := strings.Cut(help.stdout[i+1:], "\n")
		if o.def != "" && !strings.HasSuffix(line, " (default "+o.def+")") {
			t.Errorf("the help hides a default: %s", line)
		}
	}
	for _, c := range subcommands() {
		if !strings.Contains(help.stdout, "\n  "+c.name+" ") {
			t.Errorf("the help lacks %s", c.name)
		}
	}
	if got := runToEnd(t, nil, "version"); got.code != 0 || !strings.HasPrefix(got.stdout, "curt 0.") {
		t.Errorf("version: %+v", got)
	}
}
