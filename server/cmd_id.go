package server

import (
	"context"
	"strconv"

	"curt/server/link"
)

func idCommands() []*command {
	return []*command{{
		name: "nextid", arity: -1, flags: flagWrite | flagFast, group: "id", since: "0.1.0", complexity: "O(N) with N the number of ids", ahead: true,
		syntax:  "[SNOWFLAKE | TAG name] [COUNT count]",
		summary: "Returns ids of a segment, or snowflake ids, each given out once for ever",
		reply:   "array of bulk: the ids, at most 1,000. -ERR when the clock stands behind the snowflake ids given out, -OVERLOADED",
		run:     nextID,
	}, {
		name: "parseid", arity: 2, flags: flagFast, group: "id", since: "0.1.0", complexity: "O(1)",
		syntax:  "id",
		summary: "Takes a snowflake id apart",
		reply:   "map: time (unix milliseconds), worker, sequence",
		run:     parseID,
	}}
}

func nextID(c *call) (err error) {
	w := words{list: c.args[1:]}
	name, count, flake := "default", int64(1), false
	for option := range w.options() {
		switch option {
		case "snowflake":
			w.once("kind")
			flake = true
		case "tag":
			w.once("kind")
			name = string(w.value())
		case "count":
			w.once(option)
			count = w.integer(1, link.MaxIDs)
		default:
			w.fail(errSyntax)
		}
	}
	if w.err != nil {
		return w.err
	}
	var ids []uint64
	if flake {
		ids, err = c.links.SnowflakeIDs(context.Background(), int(count))
	} else {
		ids, err = c.links.NextIDs(context.Background(), name, int(count))
	}
	if err != nil {
		return err
	}
	c.w.Array(len(ids))
	for _, id := range ids {
		c.w.BulkUint(id)
	}
	return nil
}

func parseID(c *call) error {
	id, err := strconv.ParseUint(string(c.args[1]), 10, 63)
	if err != nil {
		return errNotInteger
	}
	at, worker, sequence := c.links.ParseID(id)
	c.w.Map(3)
	for _, field := range []struct {
		name  string
		value int64
	}{{"time", at.UnixMilli()}, {"worker", worker}, {"sequence", sequence}} {
		c.w.BulkString(field.name)
		c.w.Int(field.value)
	}
	return nil
}
