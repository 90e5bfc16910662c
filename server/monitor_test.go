package server

import (
	"strings"
	"testing"
)

func TestShownHidesSecrets(t *testing.T) {
	commands := newTable(families()...)
	f := func(line, want string) {
		t.Helper()
		words := strings.Fields(line)
		cmd := commands.find([]byte(words[0]))
		if sub := cmd.sub([]byte(words[min(1, len(words)-1)])); sub != nil {
			cmd = sub
		}
		var b strings.Builder
		for i, w := range words {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.Write(cmd.shown(i, []byte(w)))
		}
		if b.String() != want {
			t.Errorf("%s is shown as %s, want %s", line, b.String(), want)
		}
	}
	f("AUTH secret", "AUTH (redacted)")
	f("auth user secret", "auth (redacted) (redacted)")
	f("HELLO 3 AUTH user secret", "HELLO 3 (redacted) (redacted) (redacted)")
	f("HELLO 3", "HELLO 3")
	f("SHORTEN https://a.example/p?token=1#f AS x", "SHORTEN https://a.example/p?(redacted) AS x")
	f("SHORTEN HTTP:\\\\a.example?token=1", "SHORTEN HTTP:\\\\a.example?(redacted)")
	f("MSHORTEN 2 http://a.example/?a http://b.example/?b", "MSHORTEN 2 http://a.example/?(redacted) http://b.example/?(redacted)")
	f("SCAN 0 MATCH a?c", "SCAN 0 MATCH a?c")
	f("PUBLISH a really?", "PUBLISH a really?")
}

func TestQuote(t *testing.T) {
	f := func(word, want string) {
		t.Helper()
		var b strings.Builder
		quote(&b, []byte(word))
		if b.String() != want {
			t.Errorf("%q is quoted as %s, want %s", word, b.String(), want)
		}
	}
	f("", `""`)
	f("plain ~", `"plain ~"`)
	f("q\"\\\n\r\t\a\b\x00\xff\x7f", `"q\"\\\n\r\t\a\b\x00\xff\x7f"`)
}
