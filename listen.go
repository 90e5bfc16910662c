package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

// listeners are the bound sockets.
type listeners struct {
	resp  []net.Listener
	http  net.Listener // nil: no HTTP
	admin net.Listener // nil: none
}

// listen binds every socket, or none.
func listen(s *settings) (*listeners, error) {
	if len(s.resp) == 0 && s.http == "" {
		return nil, errors.New("nothing to listen on: both resp and http are empty")
	}
	l := &listeners{}
	for _, address := range s.resp {
		ln, err := listenOn(address, s)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("resp: %w", err)
		}
		l.resp = append(l.resp, ln)
	}
	for _, one := range []struct {
		name, address string
		ln            *net.Listener
	}{{"http", s.http, &l.http}, {"admin", s.admin, &l.admin}} {
		if one.address == "" {
			continue
		}
		ln, err := listenTCP(one.address, s.Backlog)
		if err != nil {
			l.close()
			return nil, fmt.Errorf("%s: %w", one.name, err)
		}
		*one.ln = ln
	}
	return l, nil
}

func (l *listeners) close() {
	for _, ln := range l.resp {
		ln.Close()
	}
	for _, ln := range []net.Listener{l.http, l.admin} {
		if ln != nil {
			ln.Close()
		}
	}
}

// listenOn binds host:port or unix:PATH.
func listenOn(address string, s *settings) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return listenTCP(address, s.Backlog)
	}
	ln, err := listenUnix(path, s.unixPerm)
	if errors.Is(err, syscall.EADDRINUSE) && abandoned(path) {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
		return listenUnix(path, s.unixPerm)
	}
	return ln, err
}

// listenTCP binds host:port. Go listens with the longest backlog that the system allows; a second call of listen shortens it.
func listenTCP(address string, backlog int) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	raw, err := ln.(*net.TCPListener).SyscallConn()
	if err == nil {
		err = errors.Join(raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), backlog) }), err)
	}
	if err != nil {
		ln.Close()
		return nil, fmt.Errorf("tcp-backlog: %w", err)
	}
	return ln, nil
}

// listenUnix binds a unix socket. The mask sees to it that there is no moment at which the socket is open to others; nothing
// else runs yet that makes files.
func listenUnix(path string, perm fs.FileMode) (net.Listener, error) {
	mask := syscall.Umask(int(0o777 &^ perm))
	defer syscall.Umask(mask)
	return net.Listen("unix", path)
}

// abandoned reports whether path is the socket of a process that was killed: nobody listens.
func abandoned(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != fs.ModeSocket {
		return false
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}
