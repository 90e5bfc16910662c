package server

import (
	"context"
	"errors"

	"curt/server/transfer"
)

func transferCommands() []*command {
	return []*command{{
		name: "export", arity: -2, flags: flagReadonly | flagAdmin, gathers: always, group: "link", since: "0.1.0", complexity: "O(1) for every call, O(N) for a complete iteration",
		syntax:  "cursor [COUNT count]",
		summary: "Returns a part of what `curt export` writes: a header with epochs and counters, links, bans, each a line of JSON",
		reply:   "array: the next cursor (0: done), and an array of lines, COUNT (100; 1,000 at most) or fewer",
		run:     export,
	}, {
		name: "import", arity: -2, flags: flagWrite | flagDenyOOM | flagAdmin | flagNoMulti, group: "link", since: "0.1.0", complexity: "O(N) with N the number of lines",
		syntax:  "line [line ...]",
		summary: "Brings in links and bans, each a line as EXPORT returns it; generated codes become names. One point of durability, not atomic",
		reply:   "array, an element for each line: 1 it is new, 0 it was there already, or its error",
		secrets: 1,
		run:     importLines,
	}}
}

// maxExport is how many lines one EXPORT returns at most.
const maxExport = 1000

func export(c *call) error {
	w := words{list: c.args[2:]}
	count := int64(100)
	for {
		word, ok := w.next()
		if !ok {
			break
		}
		if !equalFold(word, "count") {
			return errSyntax
		}
		w.once("count")
		count = w.integer(1, maxExport)
	}
	if w.err != nil {
		return w.err
	}
	if err := c.links.MergeClicks(0); err != nil {
		return err
	}
	records, next, err := transfer.Page(c.store, c.opts.Codes.Ring, string(c.args[1]), int(count))
	if errors.Is(err, transfer.ErrCursor) {
		return errInvalidCur
	}
	if err != nil {
		return err
	}
	c.w.Array(2)
	c.w.BulkString(next)
	c.w.Array(len(records))
	for _, r := range records {
		line, err := r.Line()
		if err != nil {
			return err
		}
		c.w.Bulk(line)
	}
	return nil
}

func importLines(c *call) error {
	results, err := transfer.ImportLines(context.Background(), c.links, c.args[1:], c.mayMake)
	if err != nil {
		return err
	}
	c.w.Array(len(results))
	for _, r := range results {
		switch {
		case r.Err != nil:
			c.w.Error(c.explain(c.cmd, r.Err))
		case r.There:
			c.w.Int(0)
		default:
			c.w.Int(1)
		}
	}
	return nil
}
