package server

import (
	"bytes"
	"fmt"
	"math"

	"curt/server/acl"
)

func connectionCommands() []*command {
	return []*command{{
		name: "ping", arity: -1, flags: flagFast | flagLoading | flagStale | flagPubSub, group: "connection", since: "0.1.0", complexity: "O(1)",
		syntax:  "[message]",
		summary: "Answers PONG, or the message",
		reply:   "status: PONG; bulk: the message",
		run:     ping,
	}, {
		name: "echo", arity: 2, flags: flagFast | flagLoading | flagStale, group: "connection", since: "0.1.0", complexity: "O(1)",
		syntax:  "message",
		summary: "Returns the message",
		reply:   "bulk",
		run:     func(c *call) error { c.w.Bulk(c.args[1]); return nil },
	}, {
		name: "quit", arity: -1, flags: flagFast | flagLoading | flagStale | flagNoAuth | flagPubSub, group: "connection", since: "0.1.0", complexity: "O(1)", immediate: true,
		summary: "Closes the connection once every earlier reply is out",
		reply:   "OK",
		run:     quit,
	}, {
		name: "reset", arity: 1, flags: flagFast | flagLoading | flagStale | flagNoAuth | flagPubSub, group: "connection", since: "0.1.0", complexity: "O(N) with N the number of subscriptions and watched codes", immediate: true,
		summary: "Makes the connection as new: RESP2, nobody's, with no name, transaction, watch, subscription, tracking or monitor",
		reply:   "status: RESET",
		run:     reset,
	}, {
		name: "select", arity: 2, flags: flagFast | flagLoading | flagStale, group: "connection", since: "0.1.0", complexity: "O(1)",
		syntax:  "index",
		summary: "Chooses the database; there is one, number 0",
		reply:   "OK. -ERR DB index is out of range",
		run:     selectDB,
	}, {
		name: "auth", arity: -2, flags: flagFast | flagLoading | flagStale | flagNoAuth | flagSkipSlowlog, group: "connection", since: "0.1.0", complexity: "O(1)", secrets: 1,
		syntax:  "[username] password",
		summary: "Authenticates the connection",
		reply:   "OK. -WRONGPASS; after 5 of them from a network (IPv4 /24, IPv6 /56) each next try takes a second, and none is made in a transaction",
		run:     auth,
	}, {
		name: "hello", arity: -1, flags: flagFast | flagLoading | flagStale | flagNoAuth | flagSkipSlowlog, group: "connection", since: "0.1.0", complexity: "O(1)", secrets: 2,
		syntax:  "[protover [AUTH username password] [SETNAME clientname]]",
		summary: "Greets the server and chooses the protocol, RESP2 or RESP3",
		reply:   "map: server, version, proto, id, mode, role, modules. -NOPROTO, -WRONGPASS, -NOAUTH",
		run:     hello,
	}, clientCommand()}
}

func ping(c *call) error {
	if len(c.args) <= 2 && c.session.onlySubscribes() {
		c.w.Array(2) // in the form of a message
		c.w.BulkString("pong")
		c.w.Bulk(bytes.Join(c.args[1:], nil))
		return nil
	}
	switch len(c.args) {
	case 1:
		c.w.SimpleString("PONG")
	case 2:
		c.w.Bulk(c.args[1])
	default:
		return errArity("ping")
	}
	return nil
}

func quit(c *call) error {
	c.w.SimpleString("OK")
	c.session.conn.CloseAfterReply()
	return nil
}

func reset(c *call) error {
	sess := c.session
	c.leave(sess)
	sess.settle()
	sess.setProto(2)
	sess.name.set("")
	sess.replies, sess.caching = repliesOn, false
	sess.noEvict.Store(false)
	sess.noTouch.Store(false)
	c.begin(sess)
	c.w.SimpleString("RESET")
	return nil
}

func selectDB(c *call) error {
	n, err := parseInt(c.args[1])
	switch {
	case err != nil:
		return err
	case n < math.MinInt32 || n > math.MaxInt32:
		return replyError("ERR value is out of range, value must between -2147483648 and 2147483647")
	case n != 0:
		return errDBIndex
	}
	c.w.SimpleString("OK")
	return nil
}

func auth(c *call) error {
	switch {
	case len(c.args) > 3:
		return errSyntax
	case len(c.args) == 3:
		return c.ok(c.login(string(c.args[1]), c.args[2]))
	case c.users.NoPassword():
		return replyError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	}
	return c.ok(c.login(acl.Default, c.args[1]))
}

// hello reads all of its options before it changes anything.
func hello(c *call) error {
	proto := int64(c.w.Proto())
	args := c.args[1:]
	if len(args) > 0 {
		n, err := parseInt(args[0])
		if err != nil {
			return errProtoVersion
		}
		if n != 2 && n != 3 {
			return errNoProto
		}
		proto, args = n, args[1:]
	}
	var user, name *string
	var password []byte
	for i := 0; i < len(args); i++ {
		left := len(args) - i - 1
		switch {
		case equalFold(args[i], "auth") && left >= 2:
			u := string(args[i+1])
			user, password = &u, args[i+2]
			i += 2
		case equalFold(args[i], "setname") && left >= 1:
			n := string(args[i+1])
			if err := checkClientText("Client names", n); err != nil {
				return err
			}
			name = &n
			i++
		default:
			return replyError(fmt.Sprintf("ERR Syntax error in HELLO option '%s'", cut(args[i], 128)))
		}
	}
	if user != nil {
		if err := c.login(*user, password); err != nil {
			return err
		}
	}
	if !c.session.authenticated {
		return errHelloNoAuth
	}
	if name != nil {
		c.session.name.set(*name)
	}
	c.session.setProto(int(proto))
	c.w.SetProto(int(proto)) // which in a transaction is another
	c.writeHello(proto)
	return nil
}

// redisVersion is what clients are told: they switch on features by it (client-side caching needs 7.4).
const redisVersion = "7.4.0"

func (c *call) writeHello(proto int64) {
	c.w.Map(7)
	for _, kv := range [][2]string{{"server", "redis"}, {"version", redisVersion}} {
		c.field(kv[0], kv[1])
	}
	c.w.BulkString("proto")
	c.w.Int(proto)
	c.w.BulkString("id")
	c.w.Int(c.session.conn.ID)
	for _, kv := range [][2]string{{"mode", "standalone"}, {"role", "master"}} {
		c.field(kv[0], kv[1])
	}
	c.w.BulkString("modules")
	c.w.Array(0)
}
