package server

import (
	"strconv"
	"strings"

	"github.com/tidwall/match"

	"curt/server/link"
	"curt/storage"
)

func genericCommands() []*command {
	return []*command{{
		name: "del", arity: -2, flags: flagWrite, keys: manyKeys, group: "generic", since: "0.1.0", complexity: "O(N) with N the number of codes",
		syntax:  "code [code ...]",
		summary: "Deletes links for good; their generated codes are never issued again",
		reply:   "integer: links deleted",
		run:     del,
	}, {
		name: "exists", arity: -2, flags: flagReadonly | flagFast, keys: manyKeys, group: "generic", since: "0.1.0", complexity: "O(N) with N the number of codes",
		syntax:  "code [code ...]",
		summary: "Counts the codes that are live, each as often as it is named",
		reply:   "integer",
		run:     exists,
	}, {
		name: "type", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns the type of what is stored at a code",
		reply:   "status: string or none",
		run:     typeOf,
	}, {
		name: "ttl", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns how long a link still lives, in seconds",
		reply:   "integer: seconds, rounded; -1 without expiry; -2 when it is not live",
		run: func(c *call) error {
			return c.writeTTL(func(left int64) int64 { return (left + 500) / 1000 })
		},
	}, {
		name: "pttl", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns how long a link still lives, in milliseconds",
		reply:   "integer: milliseconds; -1 without expiry; -2 when it is not live",
		run:     func(c *call) error { return c.writeTTL(func(left int64) int64 { return left }) },
	}, {
		name: "scan", arity: -2, flags: flagReadonly, group: "generic", since: "0.1.0", complexity: "O(1) for every call, O(N) for a complete iteration",
		syntax:  "cursor [MATCH pattern] [COUNT count] [TYPE type]",
		summary: "Iterates over the live links by their current code",
		reply:   "array: the next cursor (0: done), and an array of codes. A link that is there throughout comes at least once",
		run:     scan,
	}}
}

func del(c *call) error {
	n := 0
	for _, code := range c.args[1:] {
		deleted, err := c.links.Delete(string(code))
		if err != nil {
			return err
		}
		if deleted {
			n++
		}
	}
	c.w.Int(int64(n))
	return nil
}

func exists(c *call) error {
	n := 0
	for _, code := range c.args[1:] {
		_, state, err := c.links.Lookup(code)
		if err != nil {
			return err
		}
		c.stats.looked(state == link.Live)
		if state == link.Live {
			n++
		}
	}
	c.w.Int(int64(n))
	return nil
}

func typeOf(c *call) error {
	_, state, err := c.links.Lookup(c.args[1])
	if err != nil {
		return err
	}
	if state == link.Live {
		c.w.SimpleString("string")
	} else {
		c.w.SimpleString("none")
	}
	return nil
}

// writeTTL writes the time that a link has left, as shown by unit.
func (c *call) writeTTL(unit func(left int64) int64) error {
	t, state, err := c.links.Lookup(c.args[1])
	switch {
	case err != nil:
		return err
	case state != link.Live:
		c.w.Int(-2)
	case t.Expires == 0:
		c.w.Int(-1)
	default:
		c.w.Int(unit(max(t.Expires-c.now().UnixMilli(), 0)))
	}
	return nil
}

const (
	scanCount    = 10     // links of one SCAN call, unless it says otherwise
	maxScanCount = 10_000 // and at most
)

func scan(c *call) error {
	cursor, err := strconv.ParseUint(string(c.args[1]), 10, 64)
	if err != nil {
		return errInvalidCur
	}
	w := words{list: c.args[2:]}
	count, pattern, kind := int64(scanCount), "", "string"
	for {
		word, ok := w.next()
		if !ok {
			break
		}
		switch strings.ToLower(string(word)) {
		case "match":
			pattern = string(w.value())
		case "count":
			count = w.integer(-1<<63, 1<<63-1)
			if w.err == nil && count < 1 {
				w.err = errSyntax
			}
		case "type":
			kind = strings.ToLower(string(w.value()))
		default:
			w.fail(errSyntax)
		}
	}
	if w.err != nil {
		return w.err
	}
	var codes []string
	next, err := c.links.Scan(cursor, int(min(count, maxScanCount)), func(code string, _ *storage.Link) {
		if kind == "string" && (pattern == "" || match.Match(code, pattern)) {
			codes = append(codes, code)
		}
	})
	if err != nil {
		return err
	}
	c.w.Array(2)
	c.w.BulkUint(next)
	c.w.Array(len(codes))
	for _, code := range codes {
		c.w.BulkString(code)
	}
	return nil
}
