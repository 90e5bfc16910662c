package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench owns the processes it starts.
type bench struct {
	dir     string
	n       int
	servers []*server
}

// server is a running program with the port it listens on.
type server struct {
	cmd  *exec.Cmd
	port int // commands, or HTTP for nginx
	http int
	log  bytes.Buffer
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// start runs a program and waits until it listens.
func (b *bench) start(s *server, name string, args ...string) error {
	s.cmd = exec.Command(name, args...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.Dir = b.dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	b.servers = append(b.servers, s)
	for range 1000 {
		c, err := net.Dial("tcp", addr(s.port))
		if err == nil {
			return c.Close()
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New(name + " does not listen")
}

func addr(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func (b *bench) folder() (string, error) {
	b.n++
	dir := filepath.Join(b.dir, strconv.Itoa(b.n))
	return dir, os.Mkdir(dir, 0o700)
}

func (b *bench) curt(args ...string) (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	return b.curtIn(filepath.Join(dir, "data"), args...)
}

// curtIn starts Curt on a data folder.
func (b *bench) curtIn(data string, args ...string) (s *server, err error) {
	s = &server{}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	if s.http, err = freePort(); err != nil {
		return nil, err
	}
	return s, b.start(s, filepath.Join(b.dir, "curt"), append([]string{"serve", "--dir", data, "--resp", addr(s.port), "--http", addr(s.http)}, args...)...)
}

func (b *bench) redis(args ...string) (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	s := &server{}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	return s, b.start(s, "redis-server", append([]string{"--port", strconv.Itoa(s.port), "--dir", dir, "--save", ""}, args...)...)
}

const nginxConf = `daemon off; worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen 127.0.0.1:%[2]d; location / { add_header Cache-Control "no-cache, no-store, max-age=0"; return 302 https://example.com/some/landing/page; } } }
`

func (b *bench) nginx() (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	s := &server{}
	if s.port, err = freePort(); err != nil {
		return nil, err
	}
	s.http = s.port
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, s.port), 0o600); err != nil {
		return nil, err
	}
	return s, b.start(s, "nginx", "-c", conf, "-e", filepath.Join(dir, "start.log"))
}

// stopAll ends what was started, each program with its own process group.
func (b *bench) stopAll() {
	for _, s := range b.servers {
		syscall.Kill(-s.cmd.Process.Pid, syscall.SIGTERM)
		s.cmd.Wait()
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
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024, err
}
