package tests

import (
	"fmt"
	"strconv"
	"strings"
)

// reply is one RESP value of either protocol.
type reply struct {
	kind byte    // first byte on the wire; '_' for every null
	text string  // of what is no aggregate
	list []reply // of an array, set or push; of a map its keys and values in turn
}

func (r reply) isError() bool { return r.kind == '-' }
func (r reply) isNull() bool  { return r.kind == '_' }

// word is the first word of an error, "" of anything else.
func (r reply) word() string {
	if !r.isError() {
		return ""
	}
	w, _, _ := strings.Cut(r.text, " ")
	return w
}

// texts are the elements of an array.
func (r reply) texts() []string {
	list := make([]string, len(r.list))
	for i, e := range r.list {
		list[i] = e.text
	}
	return list
}

// field is the value of a key of a map, or of the flat array that stands for one.
func (r reply) field(key string) reply {
	for i := 0; i+1 < len(r.list); i += 2 {
		if r.list[i].text == key {
			return r.list[i+1]
		}
	}
	return reply{}
}

// String is the reply as redis-cli shows it.
func (r reply) String() string { return strings.TrimSuffix(r.show(""), "\n") }

// show follows redis-cli's cliFormatReplyTTY: parts are numbered and indented by what stands before them.
func (r reply) show(indent string) string {
	switch r.kind {
	case '+', '(', ',':
		prefix := map[byte]string{',': "(double) "}[r.kind]
		return prefix + r.text + "\n"
	case '=':
		_, text, _ := strings.Cut(r.text, ":")
		return text + "\n"
	case '-':
		return "(error) " + r.text + "\n"
	case ':':
		return "(integer) " + r.text + "\n"
	case '#':
		return map[string]string{"t": "(true)\n", "f": "(false)\n"}[r.text]
	case '$':
		return quote(r.text) + "\n"
	case '_':
		return "(nil)\n"
	}
	return r.showParts(indent)
}

func (r reply) showParts(indent string) string {
	if len(r.list) == 0 {
		return map[byte]string{'*': "(empty array)\n", '~': "(empty set)\n", '%': "(empty hash)\n", '>': "(empty push)\n"}[r.kind]
	}
	step, mark := 1, map[byte]string{'*': ") ", '>': ") ", '~': "~ ", '%': "# "}[r.kind]
	if r.kind == '%' {
		step = 2
	}
	width := len(strconv.Itoa(len(r.list) / step))
	inner := indent + strings.Repeat(" ", width+2)
	var b strings.Builder
	for i := 0; i < len(r.list); i += step {
		if i > 0 {
			b.WriteString(indent)
		}
		fmt.Fprintf(&b, "%*d%s", width, i/step+1, mark)
		if step == 2 {
			b.WriteString(strings.TrimSuffix(r.list[i].show(inner), "\n") + " => ")
		}
		b.WriteString(r.list[i+step-1].show(inner))
	}
	return b.String()
}

// quote is Redis's sdscatrepr: printable ASCII as it is, the rest escaped.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\\' || c == '"':
			b.WriteString(`\` + string(c))
		case c == '\n':
			b.WriteString(`\n`)
		case c == '\r':
			b.WriteString(`\r`)
		case c == '\t':
			b.WriteString(`\t`)
		case c == '\a':
			b.WriteString(`\a`)
		case c == '\b':
			b.WriteString(`\b`)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + `"`
}
