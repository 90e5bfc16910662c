package server

import (
	"errors"

	"curt/server/link"
)

func objectCommand() *command {
	sub := func(name, summary, reply string, run func(c *call, t *link.Target) error) *command {
		return &command{name: name, arity: 3, flags: flagReadonly, keys: keySpan{2, 2, 1}, since: "0.1.0", complexity: "O(1)",
			syntax: "code", summary: summary, reply: reply + "; null when it is not live",
			run: func(c *call) error {
				t, err := c.live(c.args[2])
				if err != nil {
					return err
				}
				if t == nil {
					c.w.Null()
					return nil
				}
				return run(c, t)
			}}
	}
	return &command{name: "object", arity: -2, group: "generic", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about how links are kept",
		subs: []*command{
			sub("encoding", "Returns the encoding that Redis would keep a target in", "bulk: embstr or raw", objectEncoding),
			sub("freq", "Access frequencies are not kept", "-ERR as Redis says it without an LFU policy", objectFreq),
			sub("idletime", "Returns the seconds since a link was made", "integer", objectIdletime),
			sub("refcount", "Returns how often a link is referred to", "integer: 1", func(c *call, _ *link.Target) error { c.w.Int(1); return nil }),
			helpCommand("OBJECT",
				"ENCODING <key>",
				"    Return the kind of internal representation used in order to store the value",
				"    associated with a <key>.",
				"FREQ <key>",
				"    Return the access frequency index of the <key>. The returned integer is",
				"    proportional to the logarithm of the recent access frequency of the key.",
				"IDLETIME <key>",
				"    Return the idle time of the <key>, that is the approximated number of",
				"    seconds elapsed since the last access to the key.",
				"REFCOUNT <key>",
				"    Return the number of references of the value associated with the specified",
				"    <key>."),
		}}
}

// embedded is the longest string that Redis keeps in one piece with its header.
const embedded = 44

func objectEncoding(c *call, t *link.Target) error {
	if len(t.URL) <= embedded {
		c.w.BulkString("embstr")
	} else {
		c.w.BulkString("raw")
	}
	return nil
}

func objectFreq(*call, *link.Target) error {
	return replyError("ERR An LFU maxmemory policy is not selected, access frequency not tracked. Please note that when switching between policies at runtime LRU and LFU data will take some time to adjust.")
}

// objectIdletime has the creation only: look-ups leave no trace in the store.
func objectIdletime(c *call, _ *link.Target) error {
	l, err := c.links.Info(string(c.args[2]))
	if errors.Is(err, link.ErrNotFound) { // deleted since the look-up
		c.w.Null()
		return nil
	}
	if err != nil {
		return err
	}
	c.w.Int(max(c.now().UnixMilli()-l.Created, 0) / 1000)
	return nil
}
