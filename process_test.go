package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// asProgram makes the test binary be the program itself: the tests start real processes of it.
const asProgram = "TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "CURT_") {
			os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// program is a call of curt, with variables as "NAME=value".
func program(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Dir = t.TempDir()
	cmd.Env = append(append(os.Environ(), asProgram+"=1"), env...)
	return cmd
}

// ended is what a process left behind.
type ended struct {
	code           int
	stdout, stderr string
}

// runToEnd runs the program, which must end by itself.
func runToEnd(t *testing.T, env []string, args ...string) ended {
	t.Helper()
	cmd := program(t, env, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	cmd.Wait()
	return ended{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// process is a running server.
type process struct {
	t      *testing.T
	cmd    *exec.Cmd
	resp   []string // as announced
	http   string
	banner string // what it said before it was ready

	mu     sync.Mutex // guards stderr
	stderr bytes.Buffer
	done   chan struct{} // closed when stderr is at its end
}

// start starts a server on dir, at ports of its own unless args say otherwise, and waits until it is ready.
func start(t *testing.T, dir string, args ...string) *process {
	t.Helper()
	return startWith(t, nil, dir, args...)
}

// startWith is start with variables as "NAME=value".
func startWith(t *testing.T, env []string, dir string, args ...string) *process {
	t.Helper()
	args = append([]string{"--dir", dir, "--http", "127.0.0.1:0"}, args...)
	if !strings.Contains(strings.Join(args, " "), "--resp") {
		args = append(args, "--resp", "127.0.0.1:0")
	}
	p := &process{t: t, cmd: program(t, env, args...), done: make(chan struct{})}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	go p.collect(bufio.NewScanner(stderr))
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		line := lines.Text()
		p.banner += line + "\n"
		if _, address, ok := strings.Cut(line, "RESP on "); ok {
			p.resp = append(p.resp, address)
		}
		if _, address, ok := strings.Cut(line, "HTTP on "); ok {
			p.http = address
		}
		if strings.Contains(line, "curl ") {
			return p
		}
	}
	<-p.done
	t.Fatalf("the server did not start: %s%s", p.banner, p.log())
	return nil
}

func (p *process) collect(lines *bufio.Scanner) {
	defer close(p.done)
	for lines.Scan() {
		p.mu.Lock()
		p.stderr.WriteString(lines.Text() + "\n")
		p.mu.Unlock()
	}
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// waitLog waits until the log holds a text.
func (p *process) waitLog(text string) {
	p.t.Helper()
	for range 3000 {
		if strings.Contains(p.log(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("the log never said %q: %s", text, p.log())
}

// end waits for the process and returns how it ended.
func (p *process) end() syscall.WaitStatus {
	p.t.Helper()
	timer := time.AfterFunc(time.Minute, func() { p.cmd.Process.Kill() })
	defer timer.Stop()
	<-p.done
	var exit *exec.ExitError
	if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

// kill is kill -9.
func (p *process) kill() {
	p.cmd.Process.Kill()
	p.cmd.Wait()
}

// stop is SIGTERM, which must end in exit code 0.
func (p *process) stop() {
	p.t.Helper()
	p.cmd.Process.Signal(syscall.SIGTERM)
	if status := p.end(); !status.Exited() || status.ExitStatus() != 0 {
		p.t.Fatalf("SIGTERM: %v: %s", p.cmd.ProcessState, p.log())
	}
}

// redis is a client of the first RESP listener.
func (p *process) redis(password string) *redis.Client {
	o := &redis.Options{Addr: p.resp[0], Password: password, MaxRetries: -1}
	if path, ok := strings.CutPrefix(p.resp[0], "unix:"); ok {
		o.Network, o.Addr = "unix", path
	}
	c := redis.NewClient(o)
	p.t.Cleanup(func() { c.Close() })
	return c
}

// do runs one command and returns its reply or error as text.
func (p *process) do(words ...any) string {
	c := p.redis("")
	defer c.Close()
	reply, err := c.Do(p.t.Context(), words...).Result()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(reply)
}

// get asks HTTP for a code and returns the status and where it leads.
func (p *process) get(code string) (status int, location string) {
	p.t.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Get(p.http + "/" + code)
	if err != nil {
		p.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Location")
}

// file writes a file for the test and returns its path.
func file(t *testing.T, perm os.FileMode, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), perm); err != nil {
		t.Fatal(err)
	}
	return path
}

var generatedCode = regexp.MustCompile(`^[0-9a-zA-Z]{7}$`)
