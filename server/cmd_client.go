package server

import (
	"fmt"
	"slices"
	"strings"
)

func clientCommand() *command {
	return &command{name: "client", arity: -2, group: "connection", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about connections",
		subs:    slices.Concat(clientIdentity(), clientOthers(), clientSwitches(), trackingSubcommands(), []*command{helpCommand("CLIENT", clientHelp...)})}
}

// clientSub is a subcommand of CLIENT.
func clientSub(name string, arity int, complexity, syntax, summary, reply string, run func(*call) error) *command {
	return &command{name: name, arity: arity, flags: flagFast | flagLoading | flagStale, since: "0.1.0", complexity: complexity,
		syntax: syntax, summary: summary, reply: reply, run: run}
}

// clientIdentity are the subcommands by which a connection says and hears who it is.
func clientIdentity() []*command {
	return []*command{
		clientSub("id", 2, "O(1)", "", "Returns the connection's id", "integer", func(c *call) error { c.w.Int(c.session.conn.ID); return nil }),
		clientSub("getname", 2, "O(1)", "", "Returns the connection's name", "bulk; null without a name", clientGetName),
		clientSub("setname", 3, "O(1)", "connection-name", "Names the connection", "OK", clientSetName),
		clientSub("setinfo", 4, "O(1)", "<LIB-NAME libname | LIB-VER libver>", "Names the client library", "OK", clientSetInfo),
		clientSub("info", 2, "O(1)", "", "Returns what CLIENT LIST shows of this connection", "text: one line", clientInfo),
	}
}

// clientSwitches are settings of a connection.
func clientSwitches() []*command {
	return []*command{
		clientSub("no-evict", 3, "O(1)", "<ON | OFF>", "Marks the connection; none is ever evicted", "OK",
			func(c *call) error { return c.setSwitch(c.session.noEvict.Store) }),
		clientSub("no-touch", 3, "O(1)", "<ON | OFF>", "Marks the connection; no look-up alters a link", "OK",
			func(c *call) error { return c.setSwitch(c.session.noTouch.Store) }),
		clientSub("capa", -3, "O(1)", "capability [capability ...]", "Declares what the client can do; nothing follows from it", "OK",
			func(c *call) error { return c.ok(nil) }),
	}
}

var clientHelp = []string{
	"CACHING (YES|NO)",
	"    Enable/disable tracking of the keys for next command in OPTIN/OPTOUT modes.",
	"GETREDIR",
	"    Return the client ID we are redirecting to when tracking is enabled.",
	"CAPA <option> [options...]",
	"    The client claims its some capability options. Options are:",
	"    * REDIRECT",
	"      The client can handle redirection during primary and replica failover in standalone mode.",
	"GETNAME",
	"    Return the name of the current connection.",
	"ID",
	"    Return the ID of the current connection.",
	"INFO",
	"    Return information about the current client connection.",
	"KILL <ip:port>",
	"    Kill connection made from <ip:port>.",
	"KILL <option> <value> [<option> <value> [...]]",
	"    Kill connections. Options are:",
	"    * ADDR (<ip:port>|<unixsocket>:0)",
	"      Kill connections made from the specified address",
	"    * LADDR (<ip:port>|<unixsocket>:0)",
	"      Kill connections made to specified local address",
	"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
	"      Kill connections by type.",
	"    * USER <username>",
	"      Kill connections authenticated by <username>.",
	"    * SKIPME (YES|NO)",
	"      Skip killing current connection (default: yes).",
	"    * ID <client-id>",
	"      Kill connections by client id.",
	"    * MAXAGE <maxage>",
	"      Kill connections older than the specified age.",
	"LIST [options ...]",
	"    Return information about client connections. Options:",
	"    * TYPE (NORMAL|MASTER|REPLICA|PUBSUB)",
	"      Return clients of specified type.",
	"    * ID <client-id> [<client-id> [...]]",
	"      Return clients of specified IDs only.",
	"REPLY (ON|OFF|SKIP)",
	"    Control the replies sent to the current connection.",
	"SETNAME <name>",
	"    Assign the name <name> to the current connection.",
	"SETINFO <option> <value>",
	"    Set client meta attr. Options are:",
	"    * LIB-NAME: the client lib name.",
	"    * LIB-VER: the client lib version.",
	"TRACKING (ON|OFF) [REDIRECT <id>] [BCAST] [PREFIX <prefix> [...]]",
	"         [OPTIN] [OPTOUT] [NOLOOP]",
	"    Control server assisted client side caching.",
	"TRACKINGINFO",
	"    Report tracking status for the current connection.",
	"UNBLOCK <clientid> [TIMEOUT|ERROR]",
	"    Unblock the specified blocked client.",
	"NO-EVICT (ON|OFF)",
	"    Protect current client connection from eviction.",
	"NO-TOUCH (ON|OFF)",
	"    Will not touch LRU/LFU stats when this mode is on.",
}

// maxClientText is the longest name, in bytes, that a client may have: CLIENT LIST has those of all.
const maxClientText = 1024

// checkClientText is Redis's rule for names that CLIENT LIST prints, and ours for their length.
func checkClientText(what, text string) error {
	if len(text) > maxClientText {
		return replyError("ERR " + what + " cannot be longer than 1024 bytes.")
	}
	for i := range len(text) {
		if text[i] < '!' || text[i] > '~' {
			return replyError("ERR " + what + " cannot contain spaces, newlines or special characters.")
		}
	}
	return nil
}

func clientGetName(c *call) error {
	if name := c.session.name.get(); name == "" {
		c.w.Null()
	} else {
		c.w.BulkString(name)
	}
	return nil
}

func clientSetName(c *call) error {
	name := string(c.args[2])
	if err := checkClientText("Client names", name); err != nil {
		return err
	}
	c.session.name.set(name)
	return c.ok(nil)
}

func clientSetInfo(c *call) error {
	value := string(c.args[3])
	option := strings.ToLower(string(c.args[2]))
	field := map[string]*text{"lib-name": &c.session.libName, "lib-ver": &c.session.libVer}[option]
	if field == nil {
		return replyError(fmt.Sprintf("ERR Unrecognized option '%s'", cut(c.args[2], 128)))
	}
	if err := checkClientText(option, value); err != nil {
		return err
	}
	field.set(value)
	return c.ok(nil)
}

// setSwitch reads ON or OFF.
func (c *call) setSwitch(set func(bool)) error {
	switch word := c.args[2]; {
	case equalFold(word, "on"):
		set(true)
	case equalFold(word, "off"):
		set(false)
	default:
		return errSyntax
	}
	return c.ok(nil)
}
