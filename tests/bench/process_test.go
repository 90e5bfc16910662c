package main

import (
	"errors"
	"strings"
	"testing"
)

// shell starts a shell's script as a program that says "ready" when it is.
func (b *bench) shell(script string) (*server, error) { return b.start("ready", "sh", "-c", script) }

// TestProgramThatEnds: a program that ends before it is ready is not waited for, and the error holds what it said.
func TestProgramThatEnds(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	defer b.stopAll()
	_, err := b.shell("echo first; echo the cause >&2; exit 3")
	if !errors.Is(err, errEnded) {
		t.Fatalf("error %v", err)
	}
	for _, want := range []string{"exit status 3", "first", "the cause"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}

// TestPortTaken: a program that finds its port taken gets another one, and only so often.
func TestPortTaken(t *testing.T) {
	b := &bench{dir: t.TempDir()}
	defer b.stopAll()
	var ports []int
	s, err := b.onFreePort(func(port int) (*server, error) {
		if ports = append(ports, port); len(ports) < 3 {
			return b.shell("echo the port is taken; exit 1")
		}
		return b.shell("echo ready; exec sleep 1000")
	})
	if err != nil || len(ports) != 3 || s.port != ports[2] {
		t.Fatalf("server %+v at the ports %v: %v", s, ports, err)
	}
	b.stopAll()
	if !strings.Contains(b.said, "the port is taken") || !strings.Contains(b.said, "sh: runs") {
		t.Errorf("what they said is not kept: %s", b.said)
	}
	if _, err := b.onFreePort(func(int) (*server, error) { return b.shell("echo never; exit 1") }); err == nil || !strings.Contains(err.Error(), "never") {
		t.Errorf("a program that never starts: %v", err)
	}
}
