package server

import "strings"

func commandCommand() *command {
	const flags = flagLoading | flagStale
	return &command{
		name: "command", arity: -1, flags: flags, group: "server", since: "0.1.0", complexity: "O(N) with N the number of commands",
		summary: "Describes all commands",
		reply:   "array of arrays: name, arity, flags, first key, last key, step, categories, tips, key specifications, subcommands",
		run: func(c *call) error {
			c.w.Array(len(c.table.all))
			for _, cmd := range c.table.all {
				c.describe(cmd)
			}
			return nil
		},
		subs: []*command{{
			name: "count", arity: 2, flags: flags, since: "0.1.0", complexity: "O(1)",
			summary: "Returns the number of commands", reply: "integer",
			run: func(c *call) error { c.w.Int(int64(len(c.table.all))); return nil },
		}, {
			name: "docs", arity: -2, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of commands",
			syntax: "[command-name [command-name ...]]", summary: "Explains commands", reply: "map: name, map of what there is to say",
			run: commandDocs,
		}, {
			name: "info", arity: -2, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of commands",
			syntax: "[command-name [command-name ...]]", summary: "Describes commands", reply: "array as COMMAND's, null for what does not exist",
			run: commandInfo,
		}},
	}
}

// describe writes COMMAND's ten elements for one command.
func (c *call) describe(cmd *command) {
	w := c.w
	w.Array(10)
	w.BulkString(cmd.fullName())
	w.Int(int64(cmd.arity))
	c.statuses(cmd.flags.names())
	w.Int(int64(cmd.keys.first))
	w.Int(int64(cmd.keys.last))
	w.Int(int64(cmd.keys.step))
	c.statuses(cmd.categories())
	w.Array(0) // tips
	c.describeKeys(cmd)
	w.Array(len(cmd.subs))
	for _, sub := range cmd.subs {
		c.describe(sub)
	}
}

func (c *call) statuses(list []string) {
	c.w.Set(len(list))
	for _, s := range list {
		c.w.SimpleString(s)
	}
}

// describeKeys writes the key specifications: at most one, a range that begins at an index.
func (c *call) describeKeys(cmd *command) {
	w := c.w
	if cmd.keys.first == 0 {
		w.Array(0)
		return
	}
	w.Array(1)
	w.Map(3)
	w.BulkString("flags")
	if cmd.flags&flagWrite != 0 {
		c.statuses([]string{"RW", "UPDATE"})
	} else {
		c.statuses([]string{"RO", "ACCESS"})
	}
	spec := func(name, kind string, spec ...any) {
		w.BulkString(name)
		w.Map(2)
		w.BulkString("type")
		w.BulkString(kind)
		w.BulkString("spec")
		w.Map(len(spec) / 2)
		for i := 0; i < len(spec); i += 2 {
			w.BulkString(spec[i].(string))
			w.Int(int64(spec[i+1].(int)))
		}
	}
	last := cmd.keys.last
	if last > 0 {
		last -= cmd.keys.first
	}
	spec("begin_search", "index", "index", cmd.keys.first)
	spec("find_keys", "range", "lastkey", last, "keystep", cmd.keys.step, "limit", 0)
}

// categories are the ACL categories, derived from flags and group.
func (cmd *command) categories() []string {
	var list []string
	add := func(yes bool, name string) {
		if yes {
			list = append(list, "@"+name)
		}
	}
	add(cmd.keys.first != 0 || cmd.group == "link" || cmd.group == "generic" || cmd.group == "string", "keyspace")
	add(cmd.flags&flagReadonly != 0, "read")
	add(cmd.flags&flagWrite != 0, "write")
	add(cmd.flags&flagFast != 0, "fast")
	add(cmd.flags&flagFast == 0, "slow")
	add(cmd.flags&flagAdmin != 0, "admin")
	add(cmd.flags&flagAdmin != 0, "dangerous")
	add(cmd.flags&flagBlocking != 0, "blocking")
	add(cmd.group != "generic" && cmd.group != "server", strings.TrimSuffix(cmd.group, "s")) // the category of transactions is @transaction
	return list
}

func commandInfo(c *call) error {
	if len(c.args) == 2 {
		return c.table.byName["command"].run(c)
	}
	c.w.Array(len(c.args) - 2)
	for _, name := range c.args[2:] {
		if cmd := c.table.full(name); cmd != nil {
			c.describe(cmd)
		} else {
			c.w.NullArray()
		}
	}
	return nil
}

func commandDocs(c *call) error {
	list := c.table.all
	if len(c.args) > 2 {
		list = nil
		for _, name := range c.args[2:] {
			if cmd := c.table.full(name); cmd != nil {
				list = append(list, cmd)
			}
		}
	}
	c.docs(list)
	return nil
}

// docs writes a map from names to what COMMAND DOCS says of each.
func (c *call) docs(list []*command) {
	w := c.w
	w.Map(len(list))
	for _, cmd := range list {
		w.BulkString(cmd.fullName())
		args := cmd.arguments()
		n := 4
		if len(args) > 0 {
			n++
		}
		if len(cmd.subs) > 0 {
			n++
		}
		w.Map(n)
		c.field("summary", cmd.summary)
		c.field("since", cmd.since)
		c.field("group", cmd.group)
		c.field("complexity", cmd.complexity)
		if len(args) > 0 {
			w.BulkString("arguments")
			c.writeArguments(args)
		}
		if len(cmd.subs) > 0 {
			w.BulkString("subcommands")
			c.docs(cmd.subs)
		}
	}
}

func (c *call) writeArguments(args []argument) {
	w := c.w
	w.Array(len(args))
	for _, a := range args {
		flags := a.flags()
		n := 2
		for _, has := range []bool{a.display, a.keyIndex >= 0, a.token != "", len(flags) > 0, len(a.parts) > 0} {
			if has {
				n++
			}
		}
		w.Map(n)
		c.field("name", a.name)
		c.field("type", a.kind)
		if a.display {
			c.field("display_text", a.name)
		}
		if a.keyIndex >= 0 {
			w.BulkString("key_spec_index")
			w.Int(int64(a.keyIndex))
		}
		if a.token != "" {
			c.field("token", a.token)
		}
		if len(flags) > 0 {
			w.BulkString("flags")
			c.statuses(flags)
		}
		if len(a.parts) > 0 {
			w.BulkString("arguments")
			c.writeArguments(a.parts)
		}
	}
}

// full finds a command or, as `parent|sub`, a subcommand.
func (t *table) full(name []byte) *command {
	parent, sub, isSub := strings.Cut(string(name), "|")
	cmd := t.find([]byte(parent))
	if cmd == nil || !isSub {
		return cmd
	}
	return cmd.sub([]byte(sub))
}

// each lists all commands, subcommands behind their parents.
func (t *table) each() []*command {
	list := make([]*command, 0, t.count)
	for _, c := range t.all {
		list = append(append(list, c), c.subs...)
	}
	return list
}
