package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long a program may take to begin and to end. Both are for a machine that is busy with other things: no figure depends on them.
const (
	startTime = 2 * time.Minute
	stopTime  = time.Minute
)

// bench owns the processes it starts.
type bench struct {
	dir     string
	n       int
	servers []*server
	said    string // by the programs that were stopped last, for the error of a measurement that failed
}

// server is a running program with the port it listens on.
type server struct {
	cmd   *exec.Cmd
	port  int // commands, or HTTP for nginx
	http  int
	out   output
	ended chan struct{} // closed when it has ended; how is in cmd.ProcessState
}

// output is what a program says.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// errEnded is returned when a program ends before it is ready.
var errEnded = errors.New("ended before it was ready")

// start runs a program and waits until it says, in one of its lines, that it is ready. The error holds what it said instead.
func (b *bench) start(ready, name string, args ...string) (*server, error) {
	s := &server{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.out
	s.cmd.Dir = b.dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	b.servers = append(b.servers, s)
	go func() {
		defer close(s.ended)
		_ = s.cmd.Wait()
	}()
	for end := time.Now().Add(startTime); !strings.Contains(s.out.String(), ready); time.Sleep(10 * time.Millisecond) {
		select {
		case <-s.ended:
			return nil, fmt.Errorf("%w: %s", errEnded, s.last())
		default:
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("not ready after %v: %s", startTime, s.last())
		}
	}
	return s, nil
}

// last is how a program is doing, and its last lines.
func (s *server) last() string {
	state := "runs"
	select {
	case <-s.ended:
		state = s.cmd.ProcessState.String()
	default:
	}
	const most = 20
	lines := strings.Split(strings.TrimSpace(s.out.String()), "\n")
	return fmt.Sprintf("%s: %s; its last lines:\n%s\n", filepath.Base(s.cmd.Path), state, strings.Join(lines[max(0, len(lines)-most):], "\n"))
}

func addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (b *bench) folder() (string, error) {
	b.n++
	dir := filepath.Join(b.dir, strconv.Itoa(b.n))
	return dir, os.Mkdir(dir, 0o700)
}

// stopAll ends what was started, each program with its own process group.
func (b *bench) stopAll() {
	if len(b.servers) > 0 {
		b.said = ""
	}
	for _, s := range b.servers {
		b.said += s.last()
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-s.ended:
		case <-time.After(stopTime):
			syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
			<-s.ended
		}
	}
	b.servers = nil
}

// cpu is the processor time that the program and its children have used, in seconds.
func (s *server) cpu() (float64, error) {
	total := 0.0
	for _, pid := range append(children(s.cmd.Process.Pid), s.cmd.Process.Pid) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		for _, f := range fields[11:13] { // utime, stime
			ticks, err := strconv.ParseFloat(f, 64)
			if err != nil {
				return 0, err
			}
			total += ticks / 100
		}
	}
	return total, nil
}

func children(pid int) (list []int) {
	out, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(out)) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// resident is the memory that the program holds, in MiB.
func (s *server) resident() (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := strings.Cut(string(status), "VmRSS:")
	if !found {
		return 0, errors.New("no resident memory: " + s.last())
	}
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024, err
}
