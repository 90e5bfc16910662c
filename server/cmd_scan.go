package server

import (
	"slices"
	"strconv"
	"strings"

	"curt/storage"
)

// scanCommands are the part of Redis's generic group that walks the keyspace.
func scanCommands() []*command {
	return []*command{{
		name: "scan", arity: -2, flags: flagReadonly, group: "generic", since: "0.1.0", complexity: "O(1) for every call, O(N) for a complete iteration",
		syntax:  "cursor [MATCH pattern] [COUNT count] [TYPE type]",
		summary: "Iterates over the live links by their current code",
		reply:   "array: the next cursor (0: done), and an array of codes. A link that is there throughout comes at least once",
		run:     scan,
	}, {
		name: "keys", arity: 2, flags: flagReadonly, group: "generic", since: "0.1.0", complexity: "O(N) with N the number of links",
		syntax: "pattern", dangerous: true,
		summary: "Returns all live links whose code fits a pattern, when the server allows that",
		reply:   "array of codes, at most 1,000,000. -ERR KEYS is disabled, use SCAN",
		run:     keys,
	}, {
		name: "randomkey", arity: 1, flags: flagReadonly, group: "generic", since: "0.1.0", complexity: "O(1)",
		summary: "Returns the code of some live link",
		reply:   "bulk; null when there is none, or hardly any among ended links",
		run:     randomkey,
	}}
}

const (
	scanCount    = 10     // links of one SCAN call, unless it says otherwise
	maxScanCount = 10_000 // and at most
	maxKeys      = 1_000_000
)

func scan(c *call) error {
	cursor, err := strconv.ParseUint(string(c.args[1]), 10, 64)
	if err != nil {
		return errInvalidCur
	}
	o, err := scanOptions(c.args[2:])
	if err != nil {
		return err
	}
	var codes []string
	next, err := c.links.Scan(cursor, o.count, func(code string, _ *storage.Link) {
		if o.kind == "string" && (o.pattern == "*" || globMatch(o.pattern, code)) {
			codes = append(codes, code)
		}
	})
	if err != nil {
		return err
	}
	c.w.Array(2)
	c.w.BulkUint(next)
	c.writeStrings(codes)
	return nil
}

type scanOption struct {
	count         int
	pattern, kind string
}

// scanOptions reads MATCH, COUNT and TYPE. As in Redis each may come again, and the last counts.
func scanOptions(list [][]byte) (scanOption, error) {
	o := scanOption{count: scanCount, pattern: "*", kind: "string"}
	w := words{list: list}
	for {
		word, ok := w.next()
		if !ok {
			return o, w.err
		}
		switch strings.ToLower(string(word)) {
		case "match":
			o.pattern = shortGlob(string(w.value()))
		case "count":
			count := w.integer(-1<<63, 1<<63-1)
			if w.err == nil && count < 1 {
				w.err = errSyntax
			}
			o.count = int(min(count, maxScanCount))
		case "type":
			o.kind = strings.ToLower(string(w.value()))
		default:
			w.fail(errSyntax)
		}
	}
}

func (c *call) writeStrings(list []string) {
	c.w.Array(len(list))
	for _, s := range list {
		c.w.BulkString(s)
	}
}

// keys scans in pieces, so that no iterator lives long.
func keys(c *call) error {
	if !c.opts.AllowKeys {
		return replyError("ERR KEYS is disabled, use SCAN")
	}
	pattern := shortGlob(string(c.args[1]))
	var found []string
	for cursor := uint64(0); ; {
		next, err := c.links.Scan(cursor, maxScanCount, func(code string, _ *storage.Link) {
			if globMatch(pattern, code) {
				found = append(found, code)
			}
		})
		switch {
		case err != nil:
			return err
		case len(found) > maxKeys:
			return replyError("ERR more than 1000000 codes fit, use SCAN")
		case next == 0:
			c.writeStrings(slices.Clip(found))
			return nil
		}
		cursor = next
	}
}

func randomkey(c *call) error {
	code, err := c.links.Random()
	if err != nil {
		return err
	}
	if code == "" {
		c.w.Null()
	} else {
		c.w.BulkString(code)
	}
	return nil
}
