package tests

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"curt/server"
)

// TestMonitor shows what is carried out, in order, without secrets.
func TestMonitor(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Password = "secret" })
	watching := n.Dial()
	watching.Do("AUTH", "secret")
	watching.Do("MONITOR")
	c := n.Dial()
	for _, words := range [][]string{
		{"GET", "before"}, // refused: not shown
		{"AUTH", "wrong"},
		{"AUTH", "default", "secret"},
		{"HELLO", "3", "AUTH", "default", "secret"},
		{"SHORTEN", "https://example.com/p?token=1#f", "AS", "a"},
		{"CONFIG", "GET", "save"}, // an operator's
		{"NOSUCH"},
		{"get"},
		{"MULTI"},
		{"GET", "a"},
		{"EXEC"},
		{"CLIENT", "SETNAME", "x"},
		{"ECHO", "\x00\"\n"},
		{"RESET"},
	} {
		c.Do(words...)
	}
	line := regexp.MustCompile(`^[0-9]{10}\.[0-9]{6} \[0 127\.0\.0\.1:[0-9]+\] (.*)$`)
	for _, want := range []string{
		`"AUTH" "(redacted)"`,
		`"AUTH" "(redacted)" "(redacted)"`,
		`"HELLO" "3" "(redacted)" "(redacted)" "(redacted)"`,
		`"SHORTEN" "https://example.com/p?(redacted)" "AS" "a"`,
		`"MULTI"`,
		`"GET" "a"`,
		`"EXEC"`,
		`"CLIENT" "SETNAME" "x"`,
		`"ECHO" "\x00\"\n"`,
		`"RESET"`,
	} {
		r := watching.Receive()
		m := line.FindStringSubmatch(r.text)
		if r.kind != '+' || m == nil || m[1] != want {
			t.Errorf("got %s, want ... %s", r, want)
		}
	}
	if r := watching.Do("GET", "a"); r.text != "ERR Replica can't interact with the keyspace" {
		t.Errorf("GET: %s", r)
	}
	if r := watching.Do("RESET"); r.text != "RESET" {
		t.Errorf("RESET: %s", r)
	}
	c.Do("AUTH", "secret")
	watching.Do("AUTH", "secret")
	if r := watching.Do("GET", "a"); r.text != "https://example.com/p?token=1#f" {
		t.Errorf("GET: %s", r)
	}
}

// TestManyMonitors: a hundred that do not read hold up nobody, however much waits for them.
func TestManyMonitors(t *testing.T) {
	n := start(t)
	for range scale(20, 100, 100) {
		c := n.Dial()
		n.deaf(c)
		c.Do("MONITOR")
	}
	long := strings.Repeat("x", 100_000)
	n.together(4, func(i int, c *client) { // more than the sockets take
		for k := range 25 {
			if r := c.Do("SHORTEN", fmt.Sprintf("https://example.com/%d/%d", i, k)); r.isError() {
				t.Error(r)
			}
			if r := c.Do("ECHO", long); r.text != long {
				t.Error("ECHO")
			}
		}
	})
}

// TestClientReply drops what the client does not want to read.
func TestClientReply(t *testing.T) {
	n := start(t)
	c := n.Dial()
	for _, words := range [][]string{
		{"CLIENT", "REPLY", "SKIP"}, {"GET", "skipped"},
		{"CLIENT", "REPLY", "OFF"},
		{"SET", "a", "https://one.example/"}, {"GET"}, {"CLIENT", "REPLY", "SKIP"}, {"MULTI"}, {"GET", "a"}, {"EXEC"},
	} {
		c.Send(words...)
	}
	if r := c.Do("CLIENT", "REPLY", "ON"); r.text != "OK" {
		t.Errorf("got %s", r)
	}
	if r := c.Do("GET", "a"); r.text != "https://one.example/" {
		t.Errorf("got %s", r)
	}
}
