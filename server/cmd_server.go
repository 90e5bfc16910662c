package server

import (
	"slices"
	"strings"
)

const serverFlags = flagLoading | flagStale

func serverCommands() []*command {
	return slices.Concat([]*command{{
		name: "dbsize", arity: 1, flags: flagReadonly | flagFast, group: "server", since: "0.1.0", complexity: "O(1)",
		summary: "Returns the number of stored links, in whatever state",
		reply:   "integer",
		run:     dbsize,
	}, {
		name: "info", arity: -1, flags: serverFlags, group: "server", since: "0.1.0", complexity: "O(1)",
		syntax: "[section [section ...]]", dangerous: true, wide: asksForAllTenants,
		summary: "Returns the server's figures",
		reply:   "text: sections of name:value lines",
		run:     info,
	}, {
		name: "time", arity: 1, flags: serverFlags | flagFast, group: "server", since: "0.1.0", complexity: "O(1)",
		summary: "Returns the server's clock",
		reply:   "array of two bulks: unix time in seconds, and microseconds",
		run:     serverTime,
	}, {
		name: "role", arity: 1, flags: serverFlags | flagFast, group: "server", since: "0.1.0", complexity: "O(1)",
		summary: "Returns the part in replication: there is none",
		reply:   "array: master, 0, empty array",
		run:     role,
	}, {
		name: "wait", arity: 3, flags: 0, group: "generic", since: "0.1.0", complexity: "O(1)",
		syntax:  "numreplicas timeout",
		summary: "Returns how many replicas have the writes of this connection: none, at once. On the disk they are before their replies",
		reply:   "integer: 0",
		run:     wait,
	}, flushCommand("flushall"), flushCommand("flushdb"), {
		name: "shutdown", arity: -1, flags: serverFlags | flagAdmin | flagNoMulti, group: "server", since: "0.1.0", complexity: "O(1)",
		syntax:  "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
		summary: "Stops the server once running commands are done; nothing acknowledged is lost, whatever the option",
		reply:   "none: the connection closes. -ERR when the program can't be stopped this way",
		run:     shutdown,
	}, configCommand(), commandCommand(), slowlogCommand(), memoryCommand(), latencyCommand()}, backupCommands(), clusterCommands(), []*command{{
		name: "module", arity: -2, group: "server", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about modules",
		subs: []*command{{
			name: "list", arity: 2, flags: flagAdmin, since: "0.1.0", complexity: "O(1)",
			summary: "Returns the loaded modules: none", reply: "empty array",
			run: func(c *call) error { c.w.Array(0); return nil },
		}, helpCommand("MODULE", "LIST", "    Return a list of loaded modules.")},
	}})
}

func dbsize(c *call) error {
	n, err := c.links.Count()
	if err == nil {
		c.w.Int(n)
	}
	return err
}

func serverTime(c *call) error {
	now := c.now()
	c.w.Array(2)
	c.w.BulkInt(now.Unix())
	c.w.BulkInt(int64(now.Nanosecond() / 1000))
	return nil
}

func role(c *call) error {
	c.w.Array(3)
	c.w.BulkString("master")
	c.w.Int(0)
	c.w.Array(0)
	return nil
}

func wait(c *call) error {
	if _, err := parseInt(c.args[1]); err != nil {
		return err
	}
	timeout, err := parseInt(c.args[2])
	if err != nil {
		return replyError("ERR timeout is not an integer or out of range")
	}
	if timeout < 0 {
		return replyError("ERR timeout is negative")
	}
	c.w.Int(0)
	return nil
}

// flushCommand is FLUSHALL or, there being one database, FLUSHDB.
func flushCommand(name string) *command {
	return &command{name: name, arity: -1, flags: flagWrite, group: "server", since: "0.1.0", complexity: "O(N) with N the number of links",
		syntax: "[ASYNC | SYNC]", dangerous: true, wide: always, gathers: always,
		summary: "Removes every link, name and ban, when the server allows that. Ids and codes go on: none comes twice",
		reply:   "OK. -ERR " + strings.ToUpper(name) + " is disabled",
		run:     flush}
}

func flush(c *call) error {
	if len(c.args) > 2 || len(c.args) == 2 && !equalFold(c.args[1], "async") && !equalFold(c.args[1], "sync") {
		return errSyntax
	}
	if !c.opts.AllowFlush {
		return replyError("ERR " + strings.ToUpper(c.cmd.name) + " is disabled")
	}
	return c.ok(c.links.FlushAll())
}

// shutdown asks the program to stop. It leaves no reply behind: that is how clients know that it went well.
func shutdown(c *call) error {
	w := words{list: c.args[1:]}
	abort := false
	for option := range w.options() {
		switch option {
		case "save", "nosave":
			w.once("save")
		case "now", "force":
		case "abort":
			abort = true
			if len(c.args) > 2 {
				w.fail(errSyntax)
			}
		default:
			w.fail(errSyntax)
		}
	}
	switch {
	case w.err != nil:
		return w.err
	case abort:
		return replyError("ERR No shutdown in progress.")
	case c.opts.Stop == nil:
		return replyError("ERR Errors trying to SHUTDOWN. Check logs.")
	}
	c.log.Warn("shutdown asked for", "client", c.session.conn.ID, "user", c.session.user())
	c.session.conn.CloseAfterReply()
	c.opts.Stop()
	return nil
}

// clusterCommands are what a server without cluster answers; clients tell from the errors that it is none.
func clusterCommands() []*command {
	const disabled replyError = "ERR This instance has cluster support disabled"
	ok := func(name, summary string) *command {
		return &command{name: name, arity: 1, flags: serverFlags | flagFast, group: "cluster", since: "0.1.0", complexity: "O(1)",
			summary: summary, reply: "OK", run: func(c *call) error { return c.ok(nil) }}
	}
	return []*command{{
		name: "cluster", arity: -2, flags: serverFlags, group: "cluster", since: "0.1.0", complexity: "O(1)",
		syntax:  "subcommand [argument [argument ...]]",
		summary: "There is no cluster",
		reply:   "-" + string(disabled),
		run:     func(*call) error { return disabled },
	}, ok("readonly", "Allows reads from a replica; this is none"), ok("readwrite", "Undoes READONLY")}
}
