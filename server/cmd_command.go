package server

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

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
		}, {
			name: "list", arity: -2, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of commands",
			syntax:  "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
			summary: "Returns the names of commands and subcommands", reply: "array",
			run: commandList,
		}, {
			name: "getkeys", arity: -4, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of words",
			syntax:  "command arg [arg ...]",
			summary: "Returns the codes among the words of a command", reply: "array. -ERR when there are none",
			run: commandGetKeys,
		}, helpCommand("COMMAND",
			"(no subcommand)",
			"    Return details about all commands.",
			"COUNT",
			"    Return the total number of commands in this server.",
			"LIST",
			"    Return a list of all commands in this server.",
			"INFO [<command-name> ...]",
			"    Return details about multiple commands.",
			"    If no command names are given, documentation details for all",
			"    commands are returned.",
			"DOCS [<command-name> ...]",
			"    Return documentation details about multiple commands.",
			"    If no command names are given, documentation details for all",
			"    commands are returned.",
			"GETKEYS <full-command>",
			"    Return the keys from a full command.")},
	}
}

// describe writes COMMAND's ten elements for one command.
func (c *call) describe(cmd *command) {
	w := c.w
	w.Array(10)
	w.BulkString(cmd.fullName())
	w.Int(int64(cmd.arity))
	flags := cmd.flags.names()
	if cmd.keyword.word != "" {
		flags = append(flags, "movablekeys")
	}
	c.statuses(flags)
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

// describeKeys writes the key specifications: a range that begins at an index, or words behind a keyword.
func (c *call) describeKeys(cmd *command) {
	switch k := cmd.keyword; {
	case k.word != "":
		limit, last := 0, 0
		if k.halved {
			limit, last = 2, -1
		}
		c.w.Array(1)
		c.keySpec(cmd, keyPart{"keyword", []any{"keyword", k.word, "startfrom", k.from}},
			keyPart{"range", []any{"lastkey", last, "keystep", 1, "limit", limit}})
	case cmd.keys.first > 0:
		last := cmd.keys.last
		if last > 0 {
			last -= cmd.keys.first
		}
		c.w.Array(1)
		c.keySpec(cmd, keyPart{"index", []any{"index", cmd.keys.first}},
			keyPart{"range", []any{"lastkey", last, "keystep", cmd.keys.step, "limit", 0}})
	default:
		c.w.Array(0)
	}
}

// keyPart is one half of a key specification: its type, and names with their values.
type keyPart struct {
	kind string
	spec []any
}

func (c *call) keySpec(cmd *command, begin, find keyPart) {
	w := c.w
	w.Map(3)
	w.BulkString("flags")
	switch {
	case cmd.name == "del" || cmd.name == "unlink":
		c.statuses([]string{"RM", "delete"})
	case cmd.discloses != nil:
		c.statuses([]string{"RW", "access", "update"})
	case cmd.flags&flagWrite != 0:
		c.statuses([]string{"RW", "update"})
	default:
		c.statuses([]string{"RO", "access"})
	}
	for i, part := range []keyPart{begin, find} {
		w.BulkString([]string{"begin_search", "find_keys"}[i])
		w.Map(2)
		w.BulkString("type")
		w.BulkString(part.kind)
		w.BulkString("spec")
		w.Map(len(part.spec) / 2)
		for j := 0; j < len(part.spec); j += 2 {
			w.BulkString(part.spec[j].(string))
			switch v := part.spec[j+1].(type) {
			case int:
				w.Int(int64(v))
			case string:
				w.BulkString(v)
			}
		}
	}
}

// categories are the ACL categories, derived from flags and group.
func (cmd *command) categories() []string {
	var list []string
	add := func(yes bool, name string) {
		if yes {
			list = append(list, "@"+name)
		}
	}
	add(cmd.keys.first != 0 || cmd.keyword.word != "" || cmd.group == "link" || cmd.group == "generic" || cmd.group == "string", "keyspace")
	add(cmd.flags&flagReadonly != 0, "read")
	add(cmd.flags&flagWrite != 0, "write")
	add(cmd.flags&flagFast != 0, "fast")
	add(cmd.flags&flagFast == 0, "slow")
	add(cmd.flags&flagAdmin != 0, "admin")
	add(cmd.flags&flagAdmin != 0 || cmd.dangerous, "dangerous")
	add(cmd.flags&flagBlocking != 0, "blocking")
	add(cmd.group != "generic" && cmd.group != "server", strings.TrimSuffix(cmd.group, "s")) // the category of transactions is @transaction
	return list
}

func commandInfo(c *call) error {
	if len(c.args) == 2 {
		return c.table.byName["command"].run(c)
	}
	c.w.Array(len(c.args) - 2)
	described := map[*command][]byte{} // who asks again gets the same bytes
	for _, name := range c.args[2:] {
		cmd := c.table.full(name)
		switch from := c.w.Len(); {
		case cmd == nil:
			c.w.Null()
		case described[cmd] != nil:
			c.w.Raw(described[cmd])
		default:
			c.describe(cmd)
			described[cmd] = bytes.Clone(c.w.Bytes()[from:])
		}
	}
	return nil
}

func commandList(c *call) error {
	keep := func(*command) bool { return true }
	switch args := c.args[2:]; {
	case len(args) == 0:
	case len(args) != 3 || !equalFold(args[0], "filterby"):
		return errSyntax
	case equalFold(args[1], "module"):
		keep = func(*command) bool { return false }
	case equalFold(args[1], "aclcat"):
		category := "@" + strings.ToLower(string(args[2]))
		keep = func(cmd *command) bool { return slices.Contains(cmd.categories(), category) }
	case equalFold(args[1], "pattern"):
		pattern := shortGlob(strings.ToLower(string(args[2])))
		keep = func(cmd *command) bool { return globMatch(pattern, cmd.fullName()) }
	default:
		return errSyntax
	}
	var names []string
	for _, cmd := range c.table.each() {
		if keep(cmd) {
			names = append(names, cmd.fullName())
		}
	}
	c.writeStrings(names)
	return nil
}

func commandGetKeys(c *call) error {
	words := c.args[2:]
	cmd := c.table.find(words[0])
	if cmd != nil && len(cmd.subs) > 0 && len(words) > 1 {
		cmd = cmp.Or(cmd.sub(words[1]), cmd)
	}
	switch {
	case cmd == nil:
		return replyError("ERR Invalid command specified")
	case cmd.keys.first == 0 && cmd.keyword.word == "":
		return replyError("ERR The command has no key arguments")
	case !cmd.fits(len(words)):
		return replyError("ERR Invalid number of arguments specified for command")
	}
	positions := cmd.keyPositions(words)
	if len(positions) == 0 {
		return replyError("ERR The command has no key arguments")
	}
	c.w.Array(len(positions))
	for _, i := range positions {
		c.w.Bulk(words[i])
	}
	return nil
}

func commandDocs(c *call) error {
	list := c.table.all
	if len(c.args) > 2 {
		list = nil
		for _, name := range c.args[2:] {
			if cmd := c.table.full(name); cmd != nil && !slices.Contains(list, cmd) {
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
