package server

import (
	"reflect"
	"slices"
	"strings"
)

// argument is one node of COMMAND DOCS' arguments.
type argument struct {
	name, token, kind  string // kind: key, string, integer, unix-time, pattern, pure-token, oneof, block
	optional, multiple bool
	multipleToken      bool
	display            bool // has a display text
	keyIndex           int  // key specification it belongs to, -1: none
	parts              []argument
}

func (a *argument) flags() []string {
	var list []string
	if a.optional {
		list = append(list, "optional")
	}
	if a.multiple {
		list = append(list, "multiple")
	}
	if a.multipleToken {
		list = append(list, "multiple_token")
	}
	return list
}

// arguments reads the command's syntax, which is written as redis.io shows it:
//
//	word        a value        WORD       a keyword, with the value behind it if one follows
//	[ ... ]     optional       < a | b >  one of          [x ...]  more of what stands before, which is x
//
// It panics on a syntax that is not so: that is a fault in the source, and a test reads every entry.
func (cmd *command) arguments() []argument {
	p := syntaxParser{tokens: syntaxTokens(cmd.syntax)}
	args := p.sequence("")
	if len(p.tokens) > 0 {
		panic("syntax of " + cmd.fullName() + ": too much: " + p.tokens[0])
	}
	if cmd.keys.first > 0 && len(args) > 0 {
		at := 0
		for at < len(args) && args[at].kind != "string" && args[at].kind != "key" {
			at++
		}
		if at < len(args) {
			args[at].kind, args[at].keyIndex = "key", 0
		}
	}
	return args
}

func syntaxTokens(s string) []string {
	for _, c := range "[]<>|" {
		s = strings.ReplaceAll(s, string(c), " "+string(c)+" ")
	}
	return strings.Fields(s)
}

type syntaxParser struct{ tokens []string }

func (p *syntaxParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *syntaxParser) take() string {
	t := p.peek()
	p.tokens = p.tokens[1:]
	return t
}

// sequence reads items up to a closing token, which it leaves. Items parted by | become one choice.
func (p *syntaxParser) sequence(closing string) []argument {
	var items []argument
	var choices [][]argument
	for p.peek() != "" && p.peek() != closing {
		if p.peek() == "|" {
			p.take()
			choices = append(choices, items)
			items = nil
			continue
		}
		var again bool
		if items, again = p.repeats(items); !again {
			items = append(items, p.item())
		}
	}
	if choices == nil {
		return items
	}
	one := argument{kind: "oneof", keyIndex: -1}
	for _, c := range append(choices, items) {
		one.parts = append(one.parts, block(c))
	}
	one.name = one.parts[0].name
	return []argument{one}
}

// repeats reads `[x ...]`, which says that the items before it may come again: all of them, or the value of a keyword alone.
func (p *syntaxParser) repeats(items []argument) ([]argument, bool) {
	end := 1
	for end < len(p.tokens) && p.tokens[end] != "]" && p.tokens[end] != "[" {
		end++
	}
	if p.peek() != "[" || end >= len(p.tokens) || p.tokens[end] != "]" || p.tokens[end-1] != "..." {
		return items, false
	}
	again := (&syntaxParser{tokens: p.tokens[1 : end-1]}).sequence("")
	if len(again) > len(items) {
		return items, false
	}
	before, last := items[:len(items)-len(again)], block(items[len(items)-len(again):])
	switch {
	case reflect.DeepEqual(last, block(again)):
		last.multipleToken = last.token != ""
	case len(again) > 1 || last.token == "" || last.name != again[0].name:
		return items, false
	}
	last.multiple = true
	p.tokens = p.tokens[end+1:]
	return append(slices.Clone(before), last), true
}

func (p *syntaxParser) item() argument {
	switch t := p.take(); {
	case t == "[" || t == "<":
		closing := map[string]string{"[": "]", "<": ">"}[t]
		a := block(p.sequence(closing))
		if p.peek() != closing {
			panic("syntax: missing " + closing)
		}
		p.take()
		a.optional = t == "["
		return a
	case isKeyword(t):
		return p.keyword(t)
	case strings.ContainsAny(t, "[]<>|."):
		panic("syntax: no value: " + t)
	default:
		return argument{name: t, kind: kindOf(t), display: true, keyIndex: -1}
	}
}

// keyword reads what follows a keyword: nothing, one value, or one choice.
func (p *syntaxParser) keyword(t string) argument {
	next := p.peek()
	if next == "<" {
		a := p.item()
		a.token = t
		a.name = strings.ToLower(t)
		return a
	}
	if next == "" || strings.ContainsAny(next, "[]|>") || isKeyword(next) {
		return argument{name: strings.ToLower(t), token: t, kind: "pure-token", keyIndex: -1}
	}
	name := p.take()
	return argument{name: name, token: t, kind: kindOf(name), display: true, keyIndex: -1}
}

// block makes one argument out of several.
func block(items []argument) argument {
	if len(items) == 1 {
		return items[0]
	}
	return argument{name: items[0].name, kind: "block", parts: items, keyIndex: -1}
}

func isKeyword(t string) bool {
	return t == strings.ToUpper(t) && strings.ContainsAny(t, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
}

var argumentKinds = map[string]string{
	"pattern": "pattern", "count": "integer", "cursor": "integer", "seconds": "integer", "milliseconds": "integer", "index": "integer",
	"numurls": "integer", "length": "integer", "protover": "integer", "unix-time-seconds": "unix-time", "unix-time-milliseconds": "unix-time",
	"offset": "integer", "start": "integer", "end": "integer", "numreplicas": "integer", "timeout": "integer", "client-id": "integer",
}

func kindOf(name string) string {
	if k := argumentKinds[name]; k != "" {
		return k
	}
	return "string"
}
