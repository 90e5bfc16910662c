package resp

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/redcon"
)

// newParser returns a parser with the default limits.
func newParser(authed bool) *parser {
	limits, known := &Limits{}, &atomic.Bool{}
	limits.set(&Config{})
	known.Store(authed)
	return &parser{limits: limits, authed: known}
}

// feed gives p a piece of the stream and returns the commands it completes.
func (p *parser) feed(piece []byte) (cmds [][]string, err error) {
	p.move(append(make([]byte, p.w-p.r), piece...))
	p.w += len(piece)
	for {
		args, err := p.next()
		if args == nil || err != nil {
			return cmds, err
		}
		cmds = append(cmds, words(args))
	}
}

func words(args [][]byte) (s []string) {
	for _, a := range args {
		s = append(s, string(a))
	}
	return s
}

// show writes commands and the error behind them as one line.
func show(cmds [][]string, err error) string {
	var b strings.Builder
	for _, c := range cmds {
		fmt.Fprintf(&b, "%q ", c)
	}
	if err != nil {
		b.WriteString(err.Error())
	}
	return strings.TrimSpace(b.String())
}

func parseAll(in string, authed bool) string { return show(newParser(authed).feed([]byte(in))) }

// malformed are streams and what Redis says to them, behind "Protocol error: ".
var malformed = []struct{ in, err string }{
	{"*abc\r\n", "invalid multibulk length"},
	{"*1\n", "invalid multibulk length"},
	{"*\r\n", "invalid multibulk length"},
	{"*+1\r\n", "invalid multibulk length"},
	{"*01\r\n", "invalid multibulk length"},
	{"* 1\r\n", "invalid multibulk length"},
	{"*1 \r\n", "invalid multibulk length"},
	{"*-\r\n", "invalid multibulk length"},
	{"*20001\r\n", "invalid multibulk length"},
	{"*2000000000\r\n", "invalid multibulk length"},
	{"*9223372036854775807\r\n", "invalid multibulk length"},
	{"*9223372036854775808\r\n", "invalid multibulk length"},
	{"*99999999999999999999999999\r\n", "invalid multibulk length"},
	{"*1\r\n+PING\r\n", "expected '$', got '+'"},
	{"*1\r\n*1\r\n", "expected '$', got '*'"},
	{"*2\r\n$4\r\nPING\r\nx\r\n", "expected '$', got 'x'"},
	{"*1\r\n\r\n", "expected '$', got ' '"},
	{"*1\r\n$-1\r\n", "invalid bulk length"},
	{"*1\r\n$abc\r\n", "invalid bulk length"},
	{"*1\r\n$+4\r\nPING\r\n", "invalid bulk length"},
	{"*1\r\n$04\r\nPING\r\n", "invalid bulk length"},
	{"*1\r\n$4\nPING\r\n", "invalid bulk length"},
	{"*1\r\n$\r\n", "invalid bulk length"},
	{"*1\r\n$1048577\r\n", "invalid bulk length"},
	{"*1\r\n$9223372036854775807\r\nx", "invalid bulk length"},
	{"*1\r\n$18446744073709551616\r\nx", "invalid bulk length"},
	{"*1\r\n$4\r\nPINGxx", "invalid bulk length"},
	{"*1\r\n$4\r\nPING\rx", "invalid bulk length"},
	{"set a \"b\r\n", "unbalanced quotes in request"},
	{"set a 'b\r\n", "unbalanced quotes in request"},
	{"set \"a\"b\r\n", "unbalanced quotes in request"},
	{"set 'a'b\r\n", "unbalanced quotes in request"},
	{"set \"a\\\"\r\n", "unbalanced quotes in request"},
	{"\"\r\n", "unbalanced quotes in request"},
	{"*" + repeat("1", 66_000), "too big mbulk count string"},
	{"*1\r\n$" + repeat("1", 66_000), "too big bulk count string"},
	{repeat("a", 66_000), "too big inline request"},
	{repeat("a", 66_000) + "\r\n", "too big inline request"},
}

func TestMalformed(t *testing.T) {
	for _, m := range malformed {
		// Redis's text has the offending byte; it is the Writer that makes a blank of it.
		got := strings.NewReplacer("\r", " ", "\n", " ").Replace(parseAll(command("PING")+m.in, true))
		if want := `["PING"] ERR Protocol error: ` + m.err; got != want {
			t.Errorf("%.60q: got %.200s, want %s", m.in, got, want)
		}
	}
}

func TestDropped(t *testing.T) {
	f := func(in string) {
		t.Helper()
		if got := parseAll(in+command("PING")+in, true); got != `["PING"]` {
			t.Errorf("%q: got %s", in, got)
		}
	}
	f("*0\r\n")
	f("*-1\r\n")
	f("*-9223372036854775808\r\n")
	f("\r\n")
	f("\n")
	f(" \t \r\n")
	f("*0\r\n\n*-1\r\n\r\n")
}

func TestIncomplete(t *testing.T) {
	f := func(in string) {
		t.Helper()
		if got := parseAll(in, true); got != "" {
			t.Errorf("%q: got %s", in, got)
		}
	}
	f("*")
	f("*1")
	f("*1\r")
	f("*1\r\n")
	f("*1\r\n$")
	f("*1\r\n$4\r\nPING")
	f("*1\r\n$4\r\nPING\r")
	f("*20000\r\n$1048576\r\n")
	f("PING\r")
	f("\"PING")
}

func TestStrangersLimits(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := parseAll(in, false); got != want {
			t.Errorf("%.40q: got %.100s, want %s", in, got, want)
		}
	}
	f("*10\r\n", "")
	f("*11\r\n", "ERR Protocol error: unauthenticated multibulk length")
	f("*2147483647\r\n", "ERR Protocol error: unauthenticated multibulk length")
	f("*2147483648\r\n", "ERR Protocol error: invalid multibulk length")
	f("*1\r\n$65536\r\n", "")
	f("*1\r\n$65537\r\n", "ERR Protocol error: unauthenticated bulk length")
	f("*1\r\n$1048577\r\n", "ERR Protocol error: invalid bulk length")
}

func TestCommandLimit(t *testing.T) {
	four := "*5\r\n" + repeat("$1000000\r\n"+repeat("x", 1_000_000)+"\r\n", 4)
	if got := parseAll(four+"$100000\r\n", true); got != "" {
		t.Errorf("within: %.100s", got)
	}
	if got := parseAll(four+"$200000\r\n", true); got != "ERR Protocol error: too big multibulk request" {
		t.Errorf("over: %.100s", got)
	}
}

func TestInline(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		for _, end := range []string{"\n", "\r\n"} {
			if got := parseAll(line+end, true); got != want {
				t.Errorf("%q: got %s, want %s", line, got, want)
			}
		}
	}
	f(`PING`, `["PING"]`)
	f(`  set   a  b `, `["set" "a" "b"]`)
	f("set\ta\v\fb\t", `["set" "a\v\fb"]`)
	f("a\rb", `["a" "b"]`)
	f(`echo "a b"`, `["echo" "a b"]`)
	f(`echo "\n\r\t\b\a\\\"\q"`, `["echo" "\n\r\t\b\a\\\"q"]`)
	f(`echo "\x00\xfF\x4a"`, `["echo" "\x00\xffJ"]`)
	f(`echo "\xg0\x1"`, `["echo" "xg0x1"]`)
	f(`echo 'a "b" \n \' c'`, `["echo" "a \"b\" \\n ' c"]`)
	f(`echo "" ''`, `["echo" "" ""]`)
	f(`echo a"b c"`, `["echo" "ab c"]`)
	f(`echo a'b c' d`, `["echo" "ab c" "d"]`)
	f(`$4`, `["$4"]`)
	f(`"PING"`, `["PING"]`)
	f("a\x00b", `["a\x00b"]`)
	f("GET / HTTP/1.1", `["GET" "/" "HTTP/1.1"]`)
}

// session is a bit of everything, well formed.
const session = "*1\r\n$4\r\nPING\r\n" + "*0\r\n" + "PING\r\n\r\n" + "*3\r\n$3\r\nset\r\n$0\r\n\r\n$4\r\n\r\n\x00*\r\n" +
	"echo \"a\\x41\" 'b'\n" + "*-1\r\n*1\r\n$0\r\n\r\n" + "*2\r\n$12\r\nabcdefghijkl\r\n$1\r\n*\r\n"

const sessionShown = `["PING"] ["PING"] ["set" "" "\r\n\x00*"] ["echo" "aA" "b"] [""] ["abcdefghijkl" "*"]`

func TestSplitAnywhere(t *testing.T) {
	if got := parseAll(session, true); got != sessionShown {
		t.Fatalf("whole: %s", got)
	}
	for i := range len(session) {
		p := newParser(true)
		a, err1 := p.feed([]byte(session[:i]))
		b, err2 := p.feed([]byte(session[i:]))
		if got := show(append(a, b...), cmpErr(err1, err2)); got != sessionShown {
			t.Errorf("split at %d: %s", i, got)
		}
	}
	p := newParser(true)
	var all [][]string
	for i := range len(session) {
		cmds, err := p.feed([]byte{session[i]})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cmds...)
	}
	if got := show(all, nil); got != sessionShown {
		t.Errorf("byte by byte: %s", got)
	}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestManySegments feeds 1.4 million one-byte pieces of one command, which
// overflow redcon's stack. The parser must not begin anew for each.
func TestManySegments(t *testing.T) {
	in := "*2\r\n$4\r\nECHO\r\n$1000000\r\n" + repeat("x", 1_000_000) + "\r\n" + "*" + repeat("1", 60_000)
	p := newParser(true)
	p.buf = []byte(in)
	var got [][]byte
	for p.w < len(in) {
		p.w++
		args, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		if args != nil {
			got = append([][]byte(nil), args...)
		}
	}
	if len(got) != 2 || len(got[1]) != 1_000_000 {
		t.Fatalf("got %d words", len(got))
	}
}

func TestAppendToWord(t *testing.T) {
	p := newParser(true)
	p.buf = []byte(command("a", "b"))
	p.w = len(p.buf)
	args, _ := p.next()
	_ = append(args[0], "XXXXXXXX"...)
	if string(args[1]) != "b" {
		t.Errorf("the next word became %q", args[1])
	}
}

// reference parses a whole stream in the plainest way.
func reference(in []byte) (cmds [][]string, err error) {
	line := func(bad error) (n int64, ok bool) {
		i := bytes.IndexByte(in, '\n')
		if i < 0 {
			return 0, false
		}
		s := in[1:max(i, 1)]
		in = in[i+1:]
		if len(s) == 0 || s[len(s)-1] != '\r' {
			err = bad
			return 0, false
		}
		var text = string(s[:len(s)-1])
		if _, e := fmt.Sscanf(text, "%d", &n); e != nil || fmt.Sprint(n) != text {
			err = bad
			return 0, false
		}
		return n, true
	}
	for len(in) > 0 {
		if in[0] != '*' {
			i := bytes.IndexByte(in, '\n')
			if i < 0 {
				return cmds, nil
			}
			args, ok := referenceInline(strings.TrimSuffix(string(in[:i]), "\r"))
			if !ok {
				return cmds, errQuotes
			}
			if len(args) > 0 {
				cmds = append(cmds, args)
			}
			in = in[i+1:]
			continue
		}
		n, ok := line(errArrayLength)
		if !ok {
			return cmds, err
		}
		if n > 20_000 {
			return cmds, errManyWords
		}
		var args []string
		for ; n > 0; n-- {
			if len(in) == 0 {
				return cmds, nil
			}
			if in[0] != '$' {
				return cmds, protocolError("expected '$', got '" + string(in[:1]) + "'")
			}
			size, ok := line(errBulkLength)
			if !ok {
				return cmds, err
			}
			if size < 0 {
				return cmds, errBulkLength
			}
			if size > 1<<20 {
				return cmds, errLongBulk
			}
			have := int64(len(in))
			if have > size && in[size] != '\r' || have > size+1 && in[size+1] != '\n' {
				return cmds, errBulkLength
			}
			if have < size+2 {
				return cmds, nil
			}
			args = append(args, string(in[:size]))
			in = in[size+2:]
		}
		if len(args) > 0 {
			cmds = append(cmds, args)
		}
	}
	return cmds, nil
}

// referenceInline is sdssplitargs as a state machine.
func referenceInline(s string) (args []string, ok bool) {
	const blanks = " \t\n\v\f\r"
	for {
		s = strings.TrimLeft(s, blanks)
		if s == "" {
			return args, true
		}
		var word []byte
		for quote := byte(0); ; {
			if s == "" {
				if quote != 0 {
					return nil, false
				}
				break
			}
			c := s[0]
			s = s[1:]
			if quote == 0 {
				if strings.IndexByte(" \t\n\r", c) >= 0 {
					break
				}
				if c == '"' || c == '\'' {
					quote = c
				} else {
					word = append(word, c)
				}
				continue
			}
			if c == quote {
				if s != "" && strings.IndexByte(blanks, s[0]) < 0 {
					return nil, false
				}
				break
			}
			var x int
			switch {
			case quote == '\'' && c == '\\' && strings.HasPrefix(s, "'"):
				c, s = '\'', s[1:]
			case quote == '"' && c == '\\' && len(s) >= 3 && s[0] == 'x' && isHex(s[1]) && isHex(s[2]):
				fmt.Sscanf(s[1:3], "%x", &x)
				c, s = byte(x), s[3:]
			case quote == '"' && c == '\\' && s != "":
				c = s[0]
				if i := strings.IndexByte("nrtba", c); i >= 0 {
					c = "\n\r\t\b\a"[i]
				}
				s = s[1:]
			}
			word = append(word, c)
		}
		args = append(args, string(word))
	}
}

func isHex(c byte) bool { return strings.IndexByte("0123456789abcdefABCDEF", c) >= 0 }

// checkStream compares the parser, fed in pieces, with the reference, and its
// commands, written anew, with what redcon's parser makes of them.
func checkStream(t *testing.T, in []byte, rnd *rand.Rand) {
	want := show(reference(in))
	p := newParser(true)
	var cmds [][]string
	var err error
	for rest := in; len(rest) > 0 && err == nil; {
		n := 1 + rnd.IntN(min(len(rest), 64))
		var some [][]string
		some, err = p.feed(rest[:n])
		cmds, rest = append(cmds, some...), rest[n:]
	}
	if got := show(cmds, err); got != want {
		t.Fatalf("%q:\n got %s\nwant %s", in, got, want)
	}
	var again bytes.Buffer
	for _, c := range cmds {
		again.WriteString(command(c...))
	}
	rd := redcon.NewReader(&again)
	for _, c := range cmds {
		cmd, err := rd.ReadCommand()
		if err != nil || fmt.Sprint(words(cmd.Args)) != fmt.Sprint(c) {
			t.Fatalf("redcon read %q, %v; want %q", cmd.Args, err, c)
		}
	}
}

// addStreams adds what a client may send, well and badly formed, as seeds.
func addStreams(f *testing.F) {
	f.Add([]byte(session), uint64(1))
	for _, m := range malformed {
		if len(m.in) < 1000 {
			f.Add([]byte(m.in), uint64(2))
		}
	}
}

func FuzzParser(f *testing.F) {
	addStreams(f)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		if len(in) < 60_000 {
			checkStream(t, in, rand.New(rand.NewPCG(seed, 0)))
		}
	})
}

// TestRandomStreams mutates valid streams.
func TestRandomStreams(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	pieces := []string{"*", "$", "\r\n", "\n", "\r", "0", "1", "4", "-1", "PING", "\"", "'", "\\", "\\x41", " ", "\t", "\x00",
		command("PING"), command("SET", "a", ""), "ECHO \"x y\"\r\n", "*2\r\n$1\r\na\r\n"}
	for range 20_000 {
		var in []byte
		for range 1 + rnd.IntN(12) {
			in = append(in, pieces[rnd.IntN(len(pieces))]...)
		}
		checkStream(t, in, rnd)
	}
}
