package server

import (
	"bytes"
	"math"
	"strconv"

	"curt/server/link"
	"curt/server/link/clicks"
	"curt/storage"
)

// maxEntries is how many entries one reply has at most; whoever wants more asks again from the last one.
const maxEntries = 10_000

const (
	errWrongType  replyError = "WRONGTYPE Operation against a key holding the wrong kind of value"
	errReadOnly   replyError = "ERR read-only stream"
	errStreamID   replyError = "ERR Invalid stream ID specified as stream command argument"
	errStartID    replyError = "ERR invalid start ID for the interval"
	errEndID      replyError = "ERR invalid end ID for the interval"
	errUnbalanced replyError = "ERR Unbalanced 'xread' list of streams: for each stream key an ID, '+', or '$' must be specified."
	errTimeout    replyError = "ERR timeout is not an integer or out of range"
	errNegTimeout replyError = "ERR timeout is negative"
)

func streamCommands() []*command {
	const entries = "array, in order: of each entry an array of its id and an array of field, value, ...: code, target, referrer, browser, os, device, country, bot; " +
		"what is not known is left out. At most 10,000 entries; null with COUNT 0. -WRONGTYPE on a link"
	refused := func(name, syntax, summary string) *command {
		return &command{name: name, arity: -2, flags: flagWrite, keys: oneKey, group: "stream", since: "0.1.0", complexity: "O(1)",
			syntax: syntax, summary: summary, reply: "none, it is always refused. -ERR read-only stream, -WRONGTYPE on a link", run: readOnlyStream}
	}
	return []*command{{
		name: "xrange", arity: -4, flags: flagReadonly, keys: oneKey, group: "stream", since: "0.1.0", complexity: "O(N) with N the number of entries returned",
		syntax:  "key start end [COUNT count]",
		summary: "Returns the clicks between two ids, oldest first; the key is clicks, or clicks: and a code",
		reply:   entries,
		run:     func(c *call) error { return c.xrange(c.args[2], c.args[3], false) },
	}, {
		name: "xrevrange", arity: -4, flags: flagReadonly, keys: oneKey, group: "stream", since: "0.1.0", complexity: "O(N) with N the number of entries returned",
		syntax:  "key end start [COUNT count]",
		summary: "Returns the clicks between two ids, newest first",
		reply:   entries,
		run:     func(c *call) error { return c.xrange(c.args[3], c.args[2], true) },
	}, {
		name: "xlen", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "stream", since: "0.1.0", complexity: "O(N) with N the days that are kept",
		syntax:  "key",
		summary: "Returns the number of clicks in a stream",
		reply:   "integer; 0 when there is no such stream. -WRONGTYPE on a link",
		run:     xlen,
	}, {
		name: "xread", arity: -4, flags: flagReadonly | flagBlocking, keyword: keyword{word: "STREAMS", from: 1, halved: true}, group: "stream", since: "0.1.0", complexity: "O(N) with N the number of entries returned",
		syntax:  "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
		summary: "Returns the clicks behind an id of each stream, or waits for one",
		reply:   "map (RESP2: array of arrays): of each stream with entries its key and them, as XRANGE, at most 10,000 entries in all; null when there are none in time. New clicks come about once a second",
		run:     xread,
	}, {
		name: "xinfo", arity: -2, flags: flagReadonly, group: "stream", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands that tell about streams",
		subs: []*command{{
			name: "stream", arity: -3, flags: flagReadonly, keys: keySpan{2, 2, 1}, since: "0.1.0", complexity: "O(N) with N the days that are kept",
			syntax:  "key",
			summary: "Returns what is known of a stream",
			reply:   "map: length, radix-tree-keys, radix-tree-nodes, last-generated-id, max-deleted-entry-id, entries-added, recorded-first-entry-id, groups, first-entry, last-entry. -ERR no such key",
			run:     xinfoStream,
		}, {
			name: "groups", arity: 3, flags: flagReadonly, keys: keySpan{2, 2, 1}, since: "0.1.0", complexity: "O(1)",
			syntax:  "key",
			summary: "Returns the consumer groups of a stream, of which there are none",
			reply:   "array: empty. -ERR no such key",
			run: func(c *call) error {
				if _, err := c.mustStream(c.args[2]); err != nil {
					return err
				}
				c.w.Array(0)
				return nil
			},
		}, helpCommand("XINFO",
			"GROUPS <key>",
			"    Show the stream consumer groups.",
			"STREAM <key>",
			"    Show information about the stream.")},
	},
		refused("xadd", "key id field value [field value ...]", "Refused: streams hold what was clicked and nothing else"),
		refused("xdel", "key id [id ...]", "Refused: see --click-retention"),
		refused("xtrim", "key <MAXLEN | MINID> threshold", "Refused: see --click-retention"),
	}
}

// stream finds the stream of a key. There is none at an unknown key; a link's own key is of another type.
func (c *call) stream(key []byte) (of link.Stream, ok bool, err error) {
	if link.IsStreamKey(key) {
		return c.links.Stream(string(key))
	}
	t, err := c.live(key)
	if err == nil && t != nil {
		err = errWrongType
	}
	return of, false, err
}

// freshStream is stream, with all in it that was clicked so far. The reply waits until that is durable, so that no id is seen that comes again.
func (c *call) freshStream(key []byte) (of link.Stream, ok bool, err error) {
	if err := c.links.FlushClicks(); err != nil {
		return of, false, err
	}
	return c.stream(key)
}

func (c *call) mustStream(key []byte) (link.Stream, error) {
	of, ok, err := c.freshStream(key)
	if err == nil && !ok {
		err = errNoSuchKey
	}
	return of, err
}

// checkType refuses a command on strings for a key that holds a stream.
func (c *call) checkType() error {
	if c.cmd.group != "string" || c.cmd.name == "mget" {
		return nil
	}
	for _, i := range c.cmd.keys.positions(len(c.args)) {
		if !link.IsStreamKey(c.args[i]) {
			continue
		}
		_, ok, err := c.links.Stream(string(c.args[i]))
		if err == nil && ok {
			err = errWrongType
		}
		return err
	}
	return nil
}

func readOnlyStream(c *call) error {
	if _, _, err := c.stream(c.args[1]); err != nil {
		return err
	}
	return errReadOnly
}

// parseStreamID reads `ms` or `ms-seq`; seq is what a missing number stands for.
func parseStreamID(b []byte, seq uint64) (id storage.StreamID, err error) {
	ms, rest, whole := bytes.Cut(b, []byte("-"))
	if id.Ms, err = strconv.ParseUint(string(ms), 10, 64); err == nil && whole {
		id.Seq, err = strconv.ParseUint(string(rest), 10, 64)
	} else {
		id.Seq = seq
	}
	if err != nil {
		return id, errStreamID
	}
	return id, nil
}

// edge reads one end of an interval: `-`, `+`, an id, or `(id`, which is open. seq is what a missing number stands for.
func edge(b []byte, seq uint64) (id storage.StreamID, open bool, err error) {
	switch {
	case string(b) == "-":
		return storage.MinStreamID, false, nil
	case string(b) == "+":
		return storage.MaxStreamID, false, nil
	case len(b) > 0 && b[0] == '(':
		id, err = parseStreamID(b[1:], seq)
		return id, true, err
	}
	id, err = parseStreamID(b, seq)
	return id, false, err
}

// lowEnd is the first id of an interval that starts so.
func lowEnd(b []byte) (storage.StreamID, error) {
	id, open, err := edge(b, 0)
	if err != nil || !open {
		return id, err
	}
	if id == (storage.StreamID{Ms: math.MaxUint64, Seq: math.MaxUint64}) {
		return id, errStartID
	}
	return id.Next(), nil
}

// highEnd is the last id of an interval that ends so.
func highEnd(b []byte) (storage.StreamID, error) {
	id, open, err := edge(b, math.MaxUint64)
	if err != nil || !open {
		return id, err
	}
	if id == storage.MinStreamID {
		return id, errEndID
	}
	return id.Prev(), nil
}

func (c *call) xrange(start, end []byte, reverse bool) error {
	low, err := lowEnd(start)
	if err != nil {
		return err
	}
	high, err := highEnd(end)
	if err != nil {
		return err
	}
	n := int64(maxEntries)
	w := words{list: c.args[4:]}
	for {
		word, ok := w.next()
		if !ok {
			break
		}
		if !equalFold(word, "count") {
			w.fail(errSyntax)
		}
		n = max(w.integer(math.MinInt64, math.MaxInt64), 0)
	}
	if w.err != nil {
		return w.err
	}
	of, ok, err := c.freshStream(c.args[1])
	if err != nil {
		return err
	}
	var list []clicks.Click
	if ok {
		if n == 0 { // as Redis has it: nothing was asked for
			c.w.NullArray()
			return nil
		}
		if list, err = c.links.ReadStream(of, low, high, reverse, int(min(n, maxEntries))); err != nil {
			return err
		}
	}
	c.writeEntries(list)
	return nil
}

// writeEntries writes entries, and makes the reply wait until they are durable.
func (c *call) writeEntries(list []clicks.Click) {
	c.w.Array(len(list))
	for i := range list {
		c.writeEntry(&list[i])
	}
	c.owes = true
}

func streamID(id storage.StreamID) string {
	return strconv.FormatUint(id.Ms, 10) + "-" + strconv.FormatUint(id.Seq, 10)
}

func (c *call) writeEntry(e *clicks.Click) {
	bot := "0"
	if e.Bot {
		bot = "1"
	}
	fields := [][2]string{{"code", e.Code}, {"target", e.Target}, {"referrer", e.Referrer}, {"browser", e.Browser}, {"os", e.OS}, {"device", e.Device},
		{"country", e.Country}, {"bot", bot}}
	known := 0
	for _, f := range fields {
		if f[1] != "" {
			known++
		}
	}
	c.w.Array(2)
	c.w.BulkString(streamID(e.ID))
	c.w.Array(2 * known)
	for _, f := range fields {
		if f[1] != "" {
			c.w.BulkString(f[0])
			c.w.BulkString(f[1])
		}
	}
}

func xlen(c *call) error {
	of, ok, err := c.freshStream(c.args[1])
	if err != nil {
		return err
	}
	var n int64
	if ok {
		if n, err = c.links.StreamLen(of); err != nil {
			return err
		}
	}
	c.w.Int(n)
	return nil
}
