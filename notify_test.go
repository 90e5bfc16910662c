package main

import (
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A unit of Type=notify hears when the server answers and when it begins to stop.
func TestNotify(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notify")
	heard, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer heard.Close()
	hear := func() string {
		t.Helper()
		b := make([]byte, 100)
		heard.SetReadDeadline(time.Now().Add(time.Minute))
		n, err := heard.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	p := startWith(t, []string{"NOTIFY_SOCKET=" + path}, t.TempDir())
	if s := hear(); s != "READY=1" {
		t.Errorf("after the start: %q", s)
	}
	if s := p.do("PING"); s != "PONG" {
		t.Errorf("PING: %s", s)
	}
	p.cmd.Process.Signal(syscall.SIGTERM)
	if s := hear(); s != "STOPPING=1" {
		t.Errorf("after SIGTERM: %q", s)
	}
	if status := p.end(); status.ExitStatus() != 0 {
		t.Errorf("%v: %s", p.cmd.ProcessState, p.log())
	}
}

// Where nobody listens the server serves all the same.
func TestNotifyNobody(t *testing.T) {
	t.Parallel()
	p := startWith(t, []string{"NOTIFY_SOCKET=" + filepath.Join(t.TempDir(), "none")}, t.TempDir())
	if s := p.do("PING"); s != "PONG" {
		t.Errorf("PING: %s", s)
	}
	p.stop()
}
