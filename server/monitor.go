package server

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"curt/server/resp"
)

// monitors are the sessions that see every command go by. The zero value has none; it is safe for concurrent use.
type monitors struct {
	any  atomic.Bool // false: a command pays nothing
	mu   sync.RWMutex
	list map[*session]struct{} // guarded by mu
}

func (m *monitors) add(sess *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.list == nil {
		m.list = map[*session]struct{}{}
	}
	m.list[sess] = struct{}{}
	m.any.Store(true)
}

// remove ends monitoring: when it returns, no more lines are queued for the session.
func (m *monitors) remove(sess *session) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.list, sess)
	m.any.Store(len(m.list) > 0)
}

// feed shows a command that was carried out. Commands of operators are not shown, as with Redis.
func (m *monitors) feed(c *call) {
	if !m.any.Load() || c.cmd.flags&(flagAdmin|flagSkipMonitor) != 0 {
		return
	}
	line := monitorLine(c)
	f := &frame{write: func(w *resp.Writer) { w.SimpleString(line) }}
	m.mu.RLock()
	defer m.mu.RUnlock()
	for sess := range m.list {
		sess.push(0, f)
	}
}

// monitorLine is `time [database client] "word" ...`, the time in seconds with microseconds.
func monitorLine(c *call) string {
	var b strings.Builder
	now := c.now().UnixMicro()
	fmt.Fprintf(&b, "%d.%06d [0 %s]", now/1e6, now%1e6, clientAddr(c.session.conn))
	for i, word := range c.args {
		b.WriteByte(' ')
		quote(&b, c.cmd.shown(i, word))
	}
	return b.String()
}

// clientAddr is a client's address as Redis writes it.
func clientAddr(c *resp.Conn) string {
	addr := c.RemoteAddr()
	if addr.Network() == "unix" {
		return "unix:" + c.LocalAddr().String()
	}
	return addr.String()
}

// quote writes a word as Redis quotes it (sdscatrepr).
func quote(b *strings.Builder, word []byte) {
	b.WriteByte('"')
	for _, c := range word {
		switch {
		case c == '\\' || c == '"':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		case strings.IndexByte("\n\r\t\a\b", c) >= 0:
			b.WriteByte('\\')
			b.WriteByte("nrtab"[strings.IndexByte("\n\r\t\a\b", c)])
		default:
			fmt.Fprintf(b, "\\x%02x", c)
		}
	}
	b.WriteByte('"')
}

const redacted = "(redacted)" // as Redis writes it

// shown is a word of a command as MONITOR and SLOWLOG may show it: passwords are hidden, and of what looks like a URL the
// query with what follows, and who the user is.
func (cmd *command) shown(position int, word []byte) []byte {
	if cmd.secrets > 0 && position >= cmd.secrets {
		return []byte(redacted)
	}
	if query := bytes.IndexByte(word, '?'); query >= 0 && bytes.ContainsAny(word[:query], ":/\\.") {
		word = append(word[:query+1:query+1], redacted...)
	}
	scheme, rest, ok := bytes.Cut(word, []byte("://"))
	if !ok {
		return word
	}
	host, _, _ := bytes.Cut(rest, []byte("/"))
	at := bytes.LastIndexByte(host, '@')
	if at < 0 {
		return word
	}
	return slices.Concat(scheme, []byte("://"+redacted), rest[at:])
}

func monitorCommands() []*command {
	return []*command{{
		name: "monitor", arity: 1, flags: flagAdmin | flagLoading | flagStale, group: "server", since: "0.1.0", complexity: "O(1)",
		summary: "Shows every command that is carried out from now on; passwords and the queries of URLs are hidden",
		reply:   "OK, then a status for each command: its time, its client and its words",
		run:     monitor,
	}}
}

func monitor(c *call) error {
	if c.tx != nil {
		return replyError("ERR MONITOR isn't allowed for DENY BLOCKING client")
	}
	c.session.monitoring = true
	c.monitors.add(c.session)
	c.session.settle()
	return c.ok(nil)
}
