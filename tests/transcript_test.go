package tests

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"curt/server"
)

// TestTranscripts runs the sessions in testdata. Directives:
//
//	start [password=P] [base-url=U] [allow-flush] [allow-keys] [max-url-bytes=N] [no-stream] [count-once=1m] [loose]   a new server on a new disk
//	redis [proto=3] [client=NAME] [raw]     a command a line, as typed into redis-cli; replies as it shows them, or as raw bytes
//	receive [proto=3] [client=NAME] [n=N]   N messages (1) that come without a command
//	http [method=M] [agent=(UA)] [referer=U] [purpose=P] [body]   a path a line; status and headers
//	advance 1h30m                           moves the clock
//	restart                                 clean
//	crash [keep=PERCENT]                    a power cut; what was not synced survives in part
//	info                                    a name of INFO a line
//
// In a command, {x*3} stands for xxx. Codes are made with a key that is known, so they are the same in every run.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &session{t: t, clients: map[string]*client{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.t = t
			return s.run(d)
		})
	})
}

// session is one transcript while it runs.
type session struct {
	t       *testing.T
	node    *node
	clients map[string]*client
}

func (s *session) run(d *datadriven.TestData) string {
	if d.Cmd != "start" && s.node == nil {
		s.node = start(s.t)
	}
	switch d.Cmd {
	case "start":
		s.start(d)
	case "redis":
		return s.redis(d)
	case "receive":
		return s.receive(d)
	case "http":
		return s.http(d)
	case "info":
		return s.info(d)
	case "advance":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(s.t, "%v", err)
		}
		s.node.Advance(by)
	case "restart":
		clear(s.clients)
		s.node.Restart()
	case "crash":
		keep := 0
		d.MaybeScanArgs(s.t, "keep", &keep)
		clear(s.clients)
		s.node.Crash(keep, 1)
	default:
		d.Fatalf(s.t, "unknown directive %s", d.Cmd)
	}
	return ""
}

func (s *session) start(d *datadriven.TestData) {
	clear(s.clients)
	if s.node != nil {
		s.node.down()
	}
	s.node = start(s.t, func(o *server.Options) {
		for _, a := range d.CmdArgs {
			switch a.Key {
			case "password":
				o.Password = a.Vals[0]
			case "base-url":
				o.BaseURL = a.Vals[0]
			case "allow-flush":
				o.AllowFlush = true
			case "no-stream":
				o.Clicks.NoStream = true
			case "count-once":
				o.Clicks.CountOnce, _ = time.ParseDuration(a.Vals[0])
			case "allow-keys":
				o.AllowKeys = true
			case "max-url-bytes":
				o.MaxURLBytes, _ = strconv.Atoi(a.Vals[0])
			default:
				d.Fatalf(s.t, "unknown option %s", a.Key)
			}
		}
	})
}

// client is the connection that the directive names; each connection greets in the protocol it is first used with.
func (s *session) client(d *datadriven.TestData) *client {
	proto, name := "2", ""
	d.MaybeScanArgs(s.t, "proto", &proto)
	d.MaybeScanArgs(s.t, "client", &name)
	c := s.clients[proto+name]
	if c == nil {
		c = s.node.Dial()
		s.clients[proto+name] = c
		if proto == "3" {
			c.Do("HELLO", "3")
		}
	}
	return c
}

func (s *session) receive(d *datadriven.TestData) string {
	n := 1
	d.MaybeScanArgs(s.t, "n", &n)
	var b strings.Builder
	for range n {
		b.WriteString(s.client(d).Receive().String() + "\n")
	}
	return b.String()
}

// redis runs each line on the connection that the directive names.
func (s *session) redis(d *datadriven.TestData) string {
	c := s.client(d)
	var b strings.Builder
	for line := range strings.Lines(d.Input) {
		words, err := splitLine(repeat(strings.TrimSuffix(line, "\n")))
		if err != nil {
			d.Fatalf(s.t, "%s: %v", line, err)
		}
		if len(words) == 0 {
			continue
		}
		r := c.Do(words...)
		if d.HasArg("raw") {
			b.WriteString(strconv.Quote(c.Raw()) + "\n")
		} else {
			b.WriteString(r.String() + "\n")
		}
	}
	return b.String()
}

var repeated = regexp.MustCompile(`\{([^{}*]+)\*([0-9]+)\}`)

// repeat replaces {x*3} by xxx.
func repeat(line string) string {
	return repeated.ReplaceAllStringFunc(line, func(m string) string {
		parts := repeated.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], n)
	})
}

// hiddenHeaders differ from run to run, follow from the body, or are the same on every page.
var hiddenHeaders = []string{"Date", "Content-Length", "Content-Security-Policy", "Referrer-Policy", "X-Content-Type-Options"}

func (s *session) http(d *datadriven.TestData) string {
	method := "GET"
	d.MaybeScanArgs(s.t, "method", &method)
	var headers []string
	for _, h := range [][2]string{{"agent", "User-Agent"}, {"referer", "Referer"}, {"purpose", "Sec-Purpose"}} {
		if d.HasArg(h[0]) {
			value := ""
			d.ScanArgs(s.t, h[0], &value)
			headers = append(headers, h[1], value)
		}
	}
	var b strings.Builder
	for path := range strings.FieldsSeq(d.Input) {
		a := s.node.request(method, path, headers...)
		fmt.Fprintf(&b, "%d\n", a.status)
		var names []string
		for name := range a.header {
			if !slices.Contains(hiddenHeaders, name) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(&b, "  %s: %s\n", name, strings.Join(a.header[name], ", "))
		}
		if d.HasArg("body") {
			b.WriteString(a.body)
		}
	}
	return b.String()
}

func (s *session) info(d *datadriven.TestData) string {
	var b strings.Builder
	for name := range strings.FieldsSeq(d.Input) {
		fmt.Fprintf(&b, "%s:%d\n", name, s.node.Info(name))
	}
	return b.String()
}

// splitLine splits a line as redis-cli does: words, "..." with escapes, '...' almost without.
func splitLine(line string) (words []string, err error) {
	for {
		line = strings.TrimLeft(line, " ")
		if line == "" {
			return words, nil
		}
		var word string
		switch line[0] {
		case '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			if word, err = strconv.Unquote(quoted); err != nil {
				return nil, err
			}
			line = line[len(quoted):]
		case '\'':
			end := strings.IndexByte(line[1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("unbalanced quote")
			}
			word, line = line[1:1+end], line[2+end:]
		default:
			word, line, _ = strings.Cut(line, " ")
		}
		words = append(words, word)
	}
}
