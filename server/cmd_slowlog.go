package server

func slowlogCommand() *command {
	const flags = flagAdmin | flagLoading | flagStale
	return &command{name: "slowlog", arity: -2, group: "server", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about the slow log",
		subs: []*command{{
			name: "get", arity: -2, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of entries",
			syntax:  "[count]",
			summary: "Returns the last commands that took long, without passwords and queries of URLs",
			reply:   "array, newest first, of arrays: id, unix time in seconds, microseconds, words, address, client name",
			run:     slowlogGet,
		}, {
			name: "len", arity: 2, flags: flags, since: "0.1.0", complexity: "O(1)",
			summary: "Returns the number of entries", reply: "integer",
			run: func(c *call) error { c.w.Int(int64(c.slow.length())); return nil },
		}, {
			name: "reset", arity: 2, flags: flags, since: "0.1.0", complexity: "O(1)",
			summary: "Forgets all entries", reply: "OK",
			run: func(c *call) error { c.slow.reset(); return c.ok(nil) },
		}, helpCommand("SLOWLOG",
			"GET [<count>]",
			"    Return top <count> entries from the slowlog (default: 10, -1 mean all).",
			"    Entries are made of:",
			"    id, timestamp, time in microseconds, arguments array, client IP and port,",
			"    client name",
			"LEN",
			"    Return the length of the slowlog.",
			"RESET",
			"    Reset the slowlog."),
		}}
}

func slowlogGet(c *call) error {
	count := int64(10)
	if len(c.args) > 3 {
		return replyError("ERR unknown subcommand or wrong number of arguments for '" + cut(c.args[1], 128) + "'. Try SLOWLOG HELP.")
	}
	if len(c.args) == 3 {
		n, err := parseInt(c.args[2])
		if err != nil || n < -1 {
			return replyError("ERR count should be greater than or equal to -1")
		}
		count = n
	}
	entries := c.slow.last(count)
	c.w.Array(len(entries))
	for _, e := range entries {
		c.w.Array(6)
		c.w.Int(e.id)
		c.w.Int(e.at.Unix())
		c.w.Int(e.took.Microseconds())
		c.writeStrings(e.words)
		c.w.BulkString(e.addr)
		c.w.BulkString(e.name)
	}
	return nil
}
