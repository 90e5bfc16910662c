package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

func (b *bench) curt(args ...string) (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	return b.curtIn(filepath.Join(dir, "data"), args...)
}

// curtIn starts Curt on a data folder.
func (b *bench) curtIn(data string, args ...string) (*server, error) {
	return b.startCurt(append([]string{"--dir", data, "--http", "127.0.0.1:0"}, args...)...)
}

var (
	respPlace = regexp.MustCompile(`RESP on 127\.0\.0\.1:(\d+)\n`)
	httpPlace = regexp.MustCompile(`HTTP on http://127\.0\.0\.1:(\d+)\n`)
)

// startCurt lets Curt choose its ports, and reads them where it says that it is ready.
func (b *bench) startCurt(args ...string) (*server, error) {
	s, err := b.start("Try:\n", filepath.Join(b.dir, "curt"), append([]string{"serve", "--resp", "127.0.0.1:0"}, args...)...)
	if err != nil {
		return nil, err
	}
	said := s.out.String()
	s.port, s.http = portOf(respPlace, said), portOf(httpPlace, said)
	if s.port == 0 {
		return nil, errors.New("no port is named: " + s.last())
	}
	return s, nil
}

func portOf(place *regexp.Regexp, said string) int {
	m := place.FindStringSubmatch(said)
	if m == nil {
		return 0
	}
	port, _ := strconv.Atoi(m[1]) // the expression lets digits alone through
	return port
}

// onFreePort starts a program that must be told its port. Somebody else may take the port in between: the program ends then, and another
// port is tried.
func (b *bench) onFreePort(start func(port int) (*server, error)) (*server, error) {
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := start(port)
		if err == nil {
			s.port, s.http = port, port
			return s, nil
		}
		if try == 5 || !errors.Is(err, errEnded) {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "bench: port %d, another one is tried: %v", port, err)
	}
}

func freePort() (int, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

func (b *bench) redis(args ...string) (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	return b.onFreePort(func(port int) (*server, error) {
		return b.start("Ready to accept connections", "redis-server", append([]string{"--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", ""}, args...)...)
	})
}

const nginxConf = `daemon off; worker_processes 1; pid %[1]s/pid; error_log stderr notice;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 100000000; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p; fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen 127.0.0.1:%[2]d; location / { add_header Cache-Control "no-cache, no-store, max-age=0"; return 302 https://example.com/some/landing/page; } } }
`

func (b *bench) nginx() (*server, error) {
	dir, err := b.folder()
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	return b.onFreePort(func(port int) (*server, error) {
		if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, port), 0o600); err != nil {
			return nil, err
		}
		return b.start("start worker process ", "nginx", "-c", conf, "-e", "stderr")
	})
}
