package server

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestShown(t *testing.T) {
	table := newTable(families()...)
	f := func(line, want string) {
		t.Helper()
		args := bytes.Fields([]byte(line))
		cmd := table.find(args[0])
		for i, word := range args {
			args[i] = cmd.shown(i, word)
		}
		if got := string(bytes.Join(args, []byte(" "))); got != want {
			t.Errorf("%s: %s", line, got)
		}
	}
	f("auth secret", "auth (redacted)")
	f("AUTH user secret", "AUTH (redacted) (redacted)")
	f("hello 3 auth user secret", "hello 3 (redacted) (redacted) (redacted)")
	f("shorten https://a.example/p?token=1#x as y", "shorten https://a.example/p?(redacted) as y")
	f("shorten a.example?t=1", "shorten a.example?(redacted)")
	f("shorten https://u:p@a.example/x@y", "shorten https://(redacted)@a.example/x@y")
	f("set x https://u:p@a.example", "set x https://(redacted)@a.example")
	f("set x https://a.example/?u=http://b@c", "set x https://a.example/?(redacted)")
	f("keys a?b", "keys a?b")
}

func TestSlowWords(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 130)
	args := slices.Repeat([][]byte{long}, 40)
	words := slowWords(&command{name: "del"}, args)
	if len(words) != 32 || words[31] != "... (9 more arguments)" || words[0] != strings.Repeat("x", 128)+"... (2 more bytes)" {
		t.Errorf("%d words: %q ... %q", len(words), words[0], words[31])
	}
	if words := slowWords(&command{name: "del"}, args[:32]); len(words) != 32 || words[31] != words[0] {
		t.Errorf("%d words", len(words))
	}
}
