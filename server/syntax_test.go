package server

import (
	"regexp"
	"strings"
	"testing"
)

// written is an argument as the syntax has it.
func (a *argument) written() string {
	s := a.once()
	if a.multiple {
		again := a.name
		if a.multipleToken || a.kind == "block" {
			again = a.once()
		}
		s += " [" + again + " ...]"
	}
	if a.optional {
		return "[" + s + "]"
	}
	return s
}

func (a *argument) once() string {
	var parts []string
	for i := range a.parts {
		parts = append(parts, a.parts[i].written())
	}
	switch {
	case a.kind == "pure-token":
		return a.token
	case a.kind == "block":
		return strings.Join(parts, " ")
	case a.kind == "oneof" && (a.token != "" || !a.optional):
		return strings.TrimSpace(a.token + " <" + strings.Join(parts, " | ") + ">")
	case a.kind == "oneof":
		return strings.Join(parts, " | ")
	}
	return strings.TrimSpace(a.token + " " + a.name)
}

// TestSyntaxIsUnderstood writes what the parser made of each command's syntax, which must give the syntax again: COMMAND DOCS,
// and so what redis-cli helps with, is the syntax of COMMANDS.md.
func TestSyntaxIsUnderstood(t *testing.T) {
	s := openServer(t, Options{})
	name := regexp.MustCompile(`^[a-z][a-z0-9-]*$`)
	var named func(cmd *command, args []argument)
	named = func(cmd *command, args []argument) {
		for _, a := range args {
			if !name.MatchString(a.name) {
				t.Errorf("%s: an argument is called %q", cmd.fullName(), a.name)
			}
			named(cmd, a.parts)
		}
	}
	n := 0
	for _, cmd := range s.table.each() {
		args := cmd.arguments()
		named(cmd, args)
		var parts []string
		for i := range args {
			parts = append(parts, args[i].written())
		}
		if got, want := strings.Join(syntaxTokens(strings.Join(parts, " ")), " "), strings.Join(syntaxTokens(cmd.syntax), " "); got != want {
			t.Errorf("%s\n got: %s\nwant: %s", cmd.fullName(), got, want)
		}
		n++
	}
	if n < 100 {
		t.Errorf("only %d commands", n)
	}
}
