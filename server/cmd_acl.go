package server

import (
	"fmt"
	"slices"

	"curt/server/acl"
)

func aclCommands() []*command {
	const harmless = flagLoading | flagStale
	sub := func(name string, arity int, flags flag, syntax, summary, reply string, run func(*call) error) *command {
		return &command{name: name, arity: arity, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of users or commands",
			syntax: syntax, summary: summary, reply: reply, run: run, wide: always}
	}
	setuser := sub("setuser", -3, flagAdmin|harmless, "username [rule [rule ...]]", "Makes a user, or changes one, by rules",
		"OK; with an error none of the rules counts", aclSetUser)
	setuser.secrets = 2
	whoami := sub("whoami", 2, harmless, "", "Returns the connection's user", "bulk", func(c *call) error { c.w.BulkString(c.session.user()); return nil })
	whoami.wide = nil
	return []*command{{
		name: "acl", arity: -2, group: "server", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about users",
		subs: []*command{
			sub("cat", -2, harmless, "[category]", "Lists the categories, or the commands of one", "array of bulk", aclCat),
			sub("deluser", -3, flagAdmin|harmless, "username [username ...]", "Deletes users and closes their connections", "integer: users deleted", aclDelUser),
			sub("dryrun", -4, flagAdmin|harmless, "username command [arg [arg ...]]", "Says whether a user may run a command, without running it",
				"OK, or bulk: why not", aclDryrun),
			sub("genpass", -2, harmless, "[bits]", "Returns a random password", "bulk: hexadecimal digits, of 256 bits unless it says otherwise", aclGenpass),
			sub("getuser", 3, flagAdmin|harmless, "username", "Returns the rules of a user",
				"map: flags, passwords, commands, keys, channels, tenant, selectors; null when there is no such user", aclGetUser),
			sub("list", 2, flagAdmin|harmless, "", "Lists the users as the ACL file has them", "array of bulk", aclList),
			sub("load", 2, flagAdmin|harmless, "", "Reads the users from the ACL file again", "OK; with an error nothing changes", aclLoad),
			sub("log", -2, flagAdmin|harmless, "[count | RESET]", "Lists what was refused lately, the newest first, or forgets it",
				"array of maps, at most 10 unless it says otherwise; OK for RESET", aclLog),
			sub("save", 2, flagAdmin|harmless, "", "Writes the users to the ACL file", "OK", aclSave),
			setuser,
			sub("users", 2, flagAdmin|harmless, "", "Lists the names of the users", "array of bulk", aclUsers),
			whoami,
			aclHelp(),
		},
	}}
}

func aclHelp() *command {
	help := helpCommand("ACL",
		"CAT [<category>]",
		"    List all commands that belong to <category>, or all command categories",
		"    when no category is specified.",
		"DELUSER <username> [<username> ...]",
		"    Delete a list of users.",
		"DRYRUN <username> <command> [<arg> ...]",
		"    Returns whether the user can execute the given command without executing the command.",
		"GETUSER <username>",
		"    Get the user's details.",
		"GENPASS [<bits>]",
		"    Generate a secure 256-bit user password. The optional `bits` argument can",
		"    be used to specify a different size.",
		"LIST",
		"    Show users details in config file format.",
		"LOAD",
		"    Reload users from the ACL file.",
		"LOG [<count> | RESET]",
		"    Show the ACL log entries.",
		"SAVE",
		"    Save the current config to the ACL file.",
		"SETUSER <username> <attribute> [<attribute> ...]",
		"    Create or modify a user with the specified attributes.",
		"USERS",
		"    List all the registered usernames.",
		"WHOAMI",
		"    Return the current connection username.")
	help.wide = always
	return help
}

// plainly makes an error of package acl, all of which are for the client, its reply.
func plainly(err error) error {
	if err == nil {
		return nil
	}
	return replyError("ERR " + err.Error())
}

func (c *call) rules() []string {
	rules := make([]string, 0, len(c.args))
	for _, word := range c.args[3:] {
		rules = append(rules, string(word))
	}
	return rules
}

func aclSetUser(c *call) error {
	change, err := c.users.Set(string(c.args[2]), c.rules())
	if err != nil {
		return plainly(err)
	}
	c.enforce([]acl.Change{change}, c.session)
	return c.ok(nil)
}

func aclDelUser(c *call) error {
	names := make([]string, 0, len(c.args)-2)
	for _, name := range c.args[2:] {
		names = append(names, string(name))
	}
	changes, err := c.users.Delete(names)
	if err != nil {
		return plainly(err)
	}
	c.enforce(changes, c.session)
	c.w.Int(int64(len(changes)))
	return nil
}

func aclGetUser(c *call) error {
	a := c.users.Account(string(c.args[2]))
	if a == nil {
		c.w.Null()
		return nil
	}
	u, w := a.User(), c.w
	w.Map(7)
	w.BulkString("flags")
	flags := u.Flags()
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("passwords")
	c.writeStrings(u.Passwords())
	for _, field := range [][2]string{{"commands", u.Commands()}, {"keys", u.Keys()}, {"channels", u.Channels()}, {"tenant", u.Tenant()}} {
		w.BulkString(field[0])
		w.BulkString(field[1])
	}
	w.BulkString("selectors")
	w.Array(0)
	return nil
}

func aclList(c *call) error {
	all := c.users.All()
	c.w.Array(len(all))
	for _, u := range all {
		c.w.BulkString(u.String())
	}
	return nil
}

func aclUsers(c *call) error {
	all := c.users.All()
	c.w.Array(len(all))
	for _, u := range all {
		c.w.BulkString(u.Name)
	}
	return nil
}

func aclCat(c *call) error {
	if len(c.args) > 3 {
		return errSubSyntax(c)
	}
	if len(c.args) == 2 {
		c.writeStrings(aclCategories)
		return nil
	}
	category := string(lower(nil, c.args[2]))
	if !slices.Contains(aclCategories, category) {
		return replyError(fmt.Sprintf("ERR Unknown category '%s'", cut(c.args[2], 128)))
	}
	var names []string
	for _, cmd := range append(c.table.each(), c.table.forms...) {
		if slices.Contains(cmd.categories(), "@"+category) {
			names = append(names, cmd.fullName())
		}
	}
	c.writeStrings(names)
	return nil
}

const errNoACLFile replyError = "ERR This Redis instance is not configured to use an ACL file. You may want to specify users via the ACL SETUSER command and then issue a CONFIG REWRITE (assuming you have a Redis configuration file set) in order to store users in the Redis configuration."

func aclLoad(c *call) error {
	if c.opts.ACLFile == "" {
		return errNoACLFile
	}
	changes, err := c.users.Load(c.opts.ACLFile, c.opts.Password)
	if err != nil {
		return plainly(err)
	}
	c.enforce(changes, c.session)
	return c.ok(nil)
}

func aclSave(c *call) error {
	if c.opts.ACLFile == "" {
		return errNoACLFile
	}
	if err := c.users.Save(c.opts.ACLFile); err != nil {
		c.log.Error("ACL SAVE", "err", err)
		return replyError("ERR There was an error trying to save the ACLs. Please check the server logs for more information")
	}
	return c.ok(nil)
}

func aclGenpass(c *call) error {
	bits := int64(256)
	switch len(c.args) {
	case 2:
	case 3:
		var err error
		if bits, err = parseInt(c.args[2]); err != nil {
			return err
		}
	default:
		return errSubSyntax(c)
	}
	if bits < 1 || bits > acl.MaxPassword {
		return replyError("ERR ACL GENPASS argument must be the number of bits for the output password, a positive number up to 4096")
	}
	c.w.BulkString(acl.GeneratePassword(int(bits)))
	return nil
}

func aclDryrun(c *call) error {
	a := c.users.Account(string(c.args[2]))
	if a == nil {
		return replyError(fmt.Sprintf("ERR User '%s' not found", cut(c.args[2], 128)))
	}
	args := c.args[3:]
	cmd := c.table.find(args[0])
	if cmd != nil && len(cmd.subs) > 0 && len(args) > 1 {
		cmd = cmd.sub(args[1])
	}
	if cmd == nil {
		return replyError(fmt.Sprintf("ERR Command '%s' not found", cut(args[0], 128)))
	}
	if !cmd.fits(len(args)) {
		return errArity(cmd.fullName())
	}
	d := permits(a.User(), cmd, args)
	if d == nil {
		return c.ok(nil)
	}
	c.w.BulkString(d.explained(a.Name))
	return nil
}

func aclLog(c *call) error {
	count := int64(10)
	switch {
	case len(c.args) > 3:
		return errSubSyntax(c)
	case len(c.args) == 3 && equalFold(c.args[2], "reset"):
		c.refusals.Reset()
		return c.ok(nil)
	case len(c.args) == 3:
		var err error
		if count, err = parseInt(c.args[2]); err != nil {
			return err
		}
	}
	now := c.now().UnixMilli()
	list := c.refusals.Last(int(max(min(count, 1<<20), 0)))
	c.w.Array(len(list))
	for _, e := range list {
		c.writeRefusal(&e, now)
	}
	return nil
}

func (c *call) writeRefusal(e *acl.Entry, now int64) {
	w := c.w
	w.Map(10)
	number := func(name string, n int64) { w.BulkString(name); w.Int(n) }
	text := func(name, s string) { w.BulkString(name); w.BulkString(s) }
	number("count", e.Count)
	text("reason", e.Reason)
	text("context", e.Context)
	text("object", e.Object)
	text("username", e.Username)
	w.BulkString("age-seconds")
	w.Double(float64(max(now-e.Updated, 0)) / 1000)
	text("client-info", e.Client)
	number("entry-id", e.ID)
	number("timestamp-created", e.Created)
	number("timestamp-last-updated", e.Updated)
}
