package server

import (
	"fmt"
	"slices"
	"strings"

	"curt/server/resp"
)

// clientOthers are the subcommands of CLIENT that look at other connections.
func clientOthers() []*command {
	const perClient = "O(N) with N the number of connections"
	list := []*command{
		clientSub("list", -2, perClient, "[TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [ID client-id [client-id ...]]",
			"Returns all connections, or some of them", "text: a line of name=value each", clientList),
		clientSub("kill", -3, perClient, "<ip-port | [ID client-id] [TYPE <NORMAL | MASTER | REPLICA | PUBSUB>] [USER username] [ADDR ip-port] [LADDR ip-port] [SKIPME <YES | NO>] [MAXAGE maxage]>",
			"Closes connections", "integer: how many; OK for the form with one address. -ERR No such client", clientKill),
		clientSub("unblock", -3, "O(1)", "client-id [TIMEOUT | ERROR]", "Wakes a connection that waits in a blocking command", "integer: 1 woken, 0 it did not wait", clientUnblock),
	}
	for _, c := range list {
		c.flags = flagAdmin | flagLoading | flagStale
	}
	return list
}

// clientType says what CLIENT's TYPE means; there are no replicas and no master.
func clientType(word []byte) (string, error) {
	name := strings.ToLower(string(word))
	switch name {
	case "slave":
		return "replica", nil
	case "normal", "replica", "master", "pubsub":
		return name, nil
	}
	return "", replyError(fmt.Sprintf("ERR Unknown client type '%s'", cut(word, 128)))
}

// kind is the type of a session, as CLIENT LIST TYPE asks for it.
func (s *session) kind() string {
	if s.subscribed() {
		return "pubsub"
	}
	return "normal"
}

// client is one connection as CLIENT LIST shows it.
type client struct {
	*session
	info resp.Info
}

// clients calls fn for every open connection, by ascending id. One that was killed is gone at once.
func (s *Server) clients(fn func(client)) {
	s.resp.Each(func(conn *resp.Conn) bool {
		if info := conn.Info(); !info.Killed {
			fn(client{conn.Session.(*session), info})
		}
		return true
	})
}

// line is the connection's line. Values hold neither spaces nor equal signs, since clients split at them.
func (s *Server) clientLine(b *strings.Builder, c client) {
	now := s.now()
	cmd := "NULL"
	if last := c.lastCmd.Load(); last != nil {
		cmd = last.fullName()
	}
	i := c.info
	fmt.Fprintf(b, "id=%d addr=%s laddr=%s fd=-1 name=%s age=%d idle=%d flags=%s db=0 sub=%d psub=%d ssub=0 multi=%d watch=%d qbuf=%d qbuf-free=0 argv-mem=0 multi-mem=0 "+
		"rbs=0 rbp=0 obl=0 oll=%d omem=%d tot-mem=%d events=r cmd=%s user=%s redir=%d resp=%d lib-name=%s lib-ver=%s\n",
		i.ID, plain(i.Remote.String()), plain(i.Local.String()), plain(c.name.get()),
		max(int64(now.Sub(i.Created).Seconds()), 0), max(int64(now.Sub(i.LastActive).Seconds()), 0), c.flagLetters(),
		c.counts.channels.Load(), c.counts.patterns.Load(), c.counts.queued.Load()-1, c.watch.count.Load(),
		i.QueryBuffer, i.OutList, i.OutBytes, i.QueryBuffer+i.OutBytes, cmd, c.user(), c.tracker.redirect(), i.Proto, plain(c.libName.get()), plain(c.libVer.get()))
}

// plain takes out of a value what would end it.
func plain(s string) string { return strings.NewReplacer(" ", "_", "=", "_").Replace(s) }

// flagLetters are CLIENT LIST's flags, N for none.
func (c client) flagLetters() string {
	tracking := c.tracker.options.Load()
	var b []byte
	for _, f := range []struct {
		letter byte
		set    bool
	}{
		{'O', c.counts.monitoring.Load()},
		{'P', c.subscribed()},
		{'x', c.counts.queued.Load() > 0},
		{'b', c.waiting.Load() != nil},
		{'t', tracking != nil},
		{'R', tracking != nil && c.tracker.broken.Load()},
		{'B', tracking != nil && tracking.bcast},
		{'d', c.watch.dirty.Load()},
		{'e', c.noEvict.Load()},
		{'T', c.noTouch.Load()},
	} {
		if f.set {
			b = append(b, f.letter)
		}
	}
	if len(b) == 0 {
		return "N"
	}
	return string(b)
}

func clientInfo(c *call) error {
	var b strings.Builder
	c.clientLine(&b, client{c.session, c.session.conn.Info()})
	c.w.Verbatim("txt", b.String())
	return nil
}

func clientList(c *call) error {
	keep := func(client) bool { return true }
	switch args := c.args[2:]; {
	case len(args) == 0:
	case len(args) == 2 && equalFold(args[0], "type"):
		kind, err := clientType(args[1])
		if err != nil {
			return err
		}
		keep = func(c client) bool { return c.kind() == kind }
	case len(args) >= 2 && equalFold(args[0], "id"):
		ids, err := clientIDs(args[1:])
		if err != nil {
			return err
		}
		keep = func(c client) bool { return slices.Contains(ids, c.info.ID) }
	default:
		return errSyntax
	}
	var b strings.Builder
	c.clients(func(one client) {
		if keep(one) {
			c.clientLine(&b, one)
		}
	})
	c.w.Verbatim("txt", b.String())
	return nil
}

func clientIDs(words [][]byte) ([]int64, error) {
	ids := make([]int64, len(words))
	for i, w := range words {
		id, err := parseInt(w)
		if err != nil {
			return nil, replyError("ERR Invalid client ID")
		}
		ids[i] = id
	}
	return ids, nil
}

func clientKill(c *call) error {
	if len(c.args) == 3 {
		addr := string(c.args[2])
		if c.killWhere(func(one client) bool { return one.info.Remote.String() == addr }) == 0 {
			return replyError("ERR No such client")
		}
		return c.ok(nil)
	}
	filter, err := c.killFilter(c.args[2:])
	if err != nil {
		return err
	}
	c.w.Int(c.killWhere(filter))
	return nil
}

// killFilter reads the options of CLIENT KILL; a connection must fit them all.
func (c *call) killFilter(args [][]byte) (func(client) bool, error) {
	skipMe := true
	var filters []func(client) bool
	for ; len(args) > 0; args = args[2:] {
		if len(args) == 1 {
			return nil, errSyntax
		}
		value := args[1]
		var fits func(client) bool
		switch strings.ToLower(string(args[0])) {
		case "id":
			id, err := positive(value, "client-id")
			if err != nil {
				return nil, err
			}
			fits = func(c client) bool { return c.info.ID == id }
		case "maxage":
			age, err := positive(value, "maxage")
			if err != nil {
				return nil, err
			}
			now := c.now()
			fits = func(c client) bool { return int64(now.Sub(c.info.Created).Seconds()) >= age }
		case "type":
			kind, err := clientType(value)
			if err != nil {
				return nil, err
			}
			fits = func(c client) bool { return c.kind() == kind }
		case "addr":
			addr := string(value)
			fits = func(c client) bool { return c.info.Remote.String() == addr }
		case "laddr":
			addr := string(value)
			fits = func(c client) bool { return c.info.Local.String() == addr }
		case "user":
			user := string(value)
			if !c.hasUser(user) {
				return nil, replyError(fmt.Sprintf("ERR No such user '%s'", cut(value, 128)))
			}
			fits = func(c client) bool { return c.user() == user }
		case "skipme":
			if skipMe = equalFold(value, "yes"); !skipMe && !equalFold(value, "no") {
				return nil, errSyntax
			}
			continue
		default:
			return nil, errSyntax
		}
		filters = append(filters, fits)
	}
	me := c.session
	return func(one client) bool {
		if skipMe && one.session == me {
			return false
		}
		return !slices.ContainsFunc(filters, func(fits func(client) bool) bool { return !fits(one) })
	}, nil
}

// hasUser reports whether there is a user of this name.
func (s *Server) hasUser(name string) bool { return s.users.Account(name) != nil }

func positive(word []byte, what string) (int64, error) {
	n, err := parseInt(word)
	if err != nil || n <= 0 {
		return 0, replyError("ERR " + what + " should be greater than 0")
	}
	return n, nil
}

// killWhere closes the connections that fit, its own once the reply is out, and returns how many.
func (c *call) killWhere(fits func(client) bool) (n int64) {
	c.clients(func(one client) {
		switch {
		case !fits(one):
			return
		case one.session == c.session:
			one.conn.CloseAfterReply()
		default:
			one.conn.Kill()
		}
		n++
	})
	return n
}

const errUnblocked replyError = "UNBLOCKED client unblocked via CLIENT UNBLOCK"

func clientUnblock(c *call) error {
	var err error
	switch {
	case len(c.args) > 4:
		return errSyntax
	case len(c.args) == 3 || equalFold(c.args[3], "timeout"):
	case equalFold(c.args[3], "error"):
		err = errUnblocked
	default:
		return replyError("ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR")
	}
	id, bad := parseInt(c.args[2])
	if bad != nil {
		return bad
	}
	sess := c.sessionOf(id)
	c.writeFlag(sess != nil && sess.wake(err))
	return nil
}
