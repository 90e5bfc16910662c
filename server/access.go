package server

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"curt/server/acl"
)

// aclCategories are the names that may stand behind @ in a rule: Redis's, so that its rules can be read, and then our own.
var aclCategories = []string{"keyspace", "read", "write", "set", "sortedset", "list", "hash", "string", "bitmap", "hyperloglog", "geo", "stream",
	"pubsub", "admin", "fast", "slow", "blocking", "dangerous", "connection", "transaction", "scripting", "link", "click", "id"}

// newUsers makes the list of users: the default one and those of the ACL file.
func newUsers(opts *Options, commands *table) (*acl.Users, error) {
	o := acl.Options{Categories: aclCategories, Match: globMatch}
	for _, cmd := range append(commands.each(), commands.forms...) {
		c := acl.Command{Name: cmd.fullName()}
		for _, category := range cmd.categories() {
			c.Categories = append(c.Categories, category[1:])
		}
		o.Commands = append(o.Commands, c)
	}
	users := acl.New(o, opts.Password)
	if opts.ACLFile == "" {
		return users, nil
	}
	if _, err := users.Load(opts.ACLFile, opts.Password); err != nil {
		return nil, fmt.Errorf("acl-file: %w", err)
	}
	return users, nil
}

// denial is why a user may not do something.
type denial struct {
	replyError
	reason string // one of acl.Denied...
	object string // the command, key or channel
}

// Unwrap gives errorText the reply.
func (d *denial) Unwrap() error { return d.replyError }

func deniedCommand(user, command string) *denial {
	return &denial{replyError("NOPERM User " + user + " has no permissions to run the '" + command + "' command"), acl.DeniedCommand, command}
}

// permits is nil, or why a user may not run a command with these words. It is asked before a command runs or is queued, and
// again when EXEC runs it.
func permits(u *acl.User, cmd *command, args [][]byte) *denial {
	cmd = cmd.as(args)
	if cmd.flags&flagNoAuth == 0 && !u.May(cmd.index) {
		return deniedCommand(u.Name, cmd.fullName())
	}
	if !u.AllKeys() {
		for _, i := range cmd.keyPositions(args) {
			if d := permitsKey(u, args[i], cmd.access(args, i)); d != nil {
				return d
			}
		}
	}
	if !u.AllChannels() {
		for _, i := range cmd.channels.positions(len(args)) {
			if !u.MayChannel(string(args[i]), cmd.name == "psubscribe") {
				return &denial{"NOPERM No permissions to access a channel", acl.DeniedChannel, string(args[i])}
			}
		}
	}
	if u.Tenant() != "" {
		return permitsConfined(u, cmd, args)
	}
	return nil
}

func permitsKey(u *acl.User, key []byte, access acl.Access) *denial {
	if u.MayKey(key, access) {
		return nil
	}
	return &denial{"NOPERM No permissions to access a key", acl.DeniedKey, string(key)}
}

// permitsConfined refuses what is about more than the user's tenant. What is about links is the service's to confine.
func permitsConfined(u *acl.User, cmd *command, args [][]byte) *denial {
	if cmd.flags&flagAdmin != 0 {
		return deniedCommand(u.Name, cmd.fullName())
	}
	if cmd.wide != nil && cmd.wide(args) {
		return &denial{errTenant, acl.DeniedTenant, cmd.fullName()}
	}
	return nil
}

// access is what a command does with the key at a position.
func (cmd *command) access(args [][]byte, at int) acl.Access {
	switch {
	case cmd.flags&flagWrite == 0:
		return acl.Read
	case at == cmd.keys.first && cmd.discloses != nil && cmd.discloses(args):
		return acl.Read | acl.Write
	}
	return acl.Write
}

// mayMake is nil when the user may give a link this name. permits looks at the first AS of SHORTEN, which may be a title.
func (c *call) mayMake(name string) error {
	d := permitsKey(c.session.may(), []byte(name), acl.Write)
	if d == nil {
		return nil
	}
	c.denied(c.session, c.session.user(), d, c.tx != nil)
	return d
}

// always is the wide of a command that is about all tenants whatever its words.
func always([][]byte) bool { return true }

// hasWord reports that one of a command's arguments is a keyword.
func hasWord(keyword string) func(args [][]byte) bool {
	return func(args [][]byte) bool {
		for _, word := range args[1:] {
			if equalFold(word, keyword) {
				return true
			}
		}
		return false
	}
}

// forTenants reports that a section of INFO tells nothing of other tenants.
func forTenants(section string) bool {
	switch strings.ToLower(section) {
	case "server", "persistence", "replication", "cluster":
		return true
	}
	return false
}

// asksForAllTenants reports that INFO is asked for a section that a tenant does not get; of "all" it gets those that it may have.
func asksForAllTenants(args [][]byte) bool {
	for _, word := range args[1:] {
		switch section := string(lower(nil, word)); section {
		case "all", "everything", "default":
		default:
			if !forTenants(section) {
				return true
			}
		}
	}
	return false
}

// afterQueued is the text for a command that was allowed when it was queued, and is not any more.
func (d *denial) afterQueued() string {
	why := map[string]string{
		acl.DeniedCommand: "no permission to execute the command or subcommand",
		acl.DeniedKey:     "no permission to touch the specified keys",
		acl.DeniedChannel: "no permission to access one of the channels used as arguments to the command",
	}[d.reason]
	return "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. " +
		"This command is no longer allowed for the following reason: " + cmp.Or(why, strings.TrimPrefix(d.Error(), "NOPERM "))
}

// may is what the session's user may do now. Safe from any goroutine.
func (s *session) may() *acl.User { return s.who.Load().User() }

// user is the name by which the session's links are remembered. Safe from any goroutine.
func (s *session) user() string { return s.who.Load().Name }

// begin makes a session the default user's, who may have to give a password.
func (s *Server) begin(sess *session) {
	sess.become(s.users.Account(acl.Default), s.users.Open())
}

// become makes the session an account's.
func (s *session) become(a *acl.Account, authenticated bool) {
	s.who.Store(a)
	s.authenticated = authenticated
	s.conn.SetAuthenticated(authenticated)
}

// login lets the session in. Who guesses waits, on this connection only and with no lock held: EXEC holds one, so that there a
// guess is not even tried. A stray password for a user who has none is no error, as with Redis.
func (c *call) login(user string, password []byte) error {
	from := networkAddr(c.session.conn.RemoteAddr())
	wait := c.guesses.Delay(from, c.now())
	if wait > 0 && c.tx != nil {
		return errGuessInMulti
	}
	c.pause(wait)
	a := c.users.Authenticate(user, password)
	if a == nil {
		c.guesses.Failed(from, c.now())
		c.denied(c.session, user, &denial{errWrongPass, acl.DeniedAuth, strings.ToUpper(c.cmd.name)}, c.tx != nil)
		return errWrongPass
	}
	c.session.become(a, true)
	if a.User().Tenant() != "" {
		c.confine(c.session)
	}
	return nil
}

// confine ends what a session may have begun as another user and must not hear as a tenant's.
func (s *Server) confine(sess *session) {
	s.tracking.stop(&sess.tracker)
	if sess.monitoring {
		sess.monitoring = false
		s.monitors.remove(sess)
		sess.settle()
	}
}

// networkAddr is a peer's address, none for a unix socket's.
func networkAddr(a net.Addr) netip.Addr {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr()
	}
	return netip.Addr{}
}

// pause waits, but not while the server shuts down.
func (s *Server) pause(d time.Duration) {
	if d <= 0 {
		return
	}
	s.stats.delayedLogins.Add(1)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.drain:
	}
}

// denied counts and remembers a refusal.
func (s *Server) denied(sess *session, user string, d *denial, multi bool) {
	s.stats.denied(d.reason)
	context := "toplevel"
	if multi {
		context = "multi"
	}
	var line strings.Builder
	s.clientLine(&line, client{sess, sess.conn.Info()})
	s.refusals.Add(acl.Entry{Reason: d.reason, Context: context, Object: d.object, Username: user, Client: strings.TrimSuffix(line.String(), "\n")}, s.now().UnixMilli())
}

// enforce drops the connections that a change of users leaves with more than they may have: of deleted users, of users who belong
// to another tenant now, and of users who listen to channels that they no longer may. Whoever asked gets the reply first.
func (s *Server) enforce(changes []acl.Change, self *session) {
	for _, ch := range changes {
		if ch.Was == nil {
			continue
		}
		all := ch.Deleted || ch.Was.Tenant() != ch.Now.Tenant()
		for _, sess := range s.sessionsOf(ch.Account) {
			switch {
			case !all && !s.pubsub.overhears(sess, ch.Now):
			case sess == self:
				sess.conn.CloseAfterReply()
			default:
				sess.conn.Kill()
			}
		}
	}
}

func (s *Server) sessionsOf(a *acl.Account) (list []*session) {
	s.clients(func(c client) {
		if c.who.Load() == a {
			list = append(list, c.session)
		}
	})
	return list
}

// explained is the denial as ACL DRYRUN says it.
func (d *denial) explained(user string) string {
	if d.reason == acl.DeniedKey || d.reason == acl.DeniedChannel {
		return fmt.Sprintf("User %s has no permissions to access the '%s' %s", user, d.object, d.reason)
	}
	return strings.TrimPrefix(d.Error(), "NOPERM ")
}
