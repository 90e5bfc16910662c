package server

import "curt/server/link"

func stringCommands() []*command {
	return []*command{{
		name: "get", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns the target of a live link: the form of RESOLVE that a client may cache",
		reply:   "bulk: the target; null for every code that is not live. Never an error",
		run:     get,
	}, {
		name: "mget", arity: -2, flags: flagReadonly | flagFast, keys: manyKeys, group: "string", since: "0.1.0", complexity: "O(N) with N the number of codes",
		syntax:  "code [code ...]",
		summary: "Returns the targets of live links",
		reply:   "array, in order: the target, null for every code that is not live",
		run:     func(c *call) error { return c.writeTargets(c.args[1:]) },
	}}
}

func get(c *call) error {
	t, state, err := c.links.Lookup(c.args[1])
	if err != nil {
		return err
	}
	c.stats.looked(state == link.Live)
	if state == link.Live {
		c.w.BulkString(t.URL)
	} else {
		c.w.Null()
	}
	return nil
}
