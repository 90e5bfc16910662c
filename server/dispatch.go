package server

import (
	"bytes"
	"errors"
	"strings"
	"time"

	"curt/server/resp"
)

// Command carries out one command: find it and see whether it may run now; queue it after MULTI, else run it.
func (s *Server) Command(c *resp.Conn, args [][]byte) {
	sess := c.Session.(*session)
	sess.mark = c.W.Len()
	if c.Waited() {
		sess.clock = s.now()
	}
	cmd, err := s.look(sess, args)
	switch {
	case err != nil:
		s.refuse(sess, cmd, err)
	case sess.tx != nil && !cmd.immediate:
		s.enqueue(sess, cmd, args)
	default:
		s.run(sess, cmd, args)
	}
	if sess.caching && sess.tx == nil && !cmd.isClient() {
		sess.caching = false // it was for this command
	}
	sess.dropReply()
}

// look finds the command that the words name, and checks that the session may run it now. With an error the command may be nil.
func (s *Server) look(sess *session, args [][]byte) (*command, error) {
	cmd := sess.find(s.table, args[0])
	if cmd != nil && len(cmd.subs) > 0 && len(args) > 1 {
		sub := cmd.sub(args[1])
		if sub == nil {
			return cmd, whenAllowed(sess, errUnknownSub(args[1], cmd))
		}
		cmd = sub
	}
	if cmd == nil {
		return nil, whenAllowed(sess, errUnknown(args))
	}
	return cmd, sess.mayRun(cmd, args)
}

// find looks a command up, at once when it is the one of the last time.
func (s *session) find(t *table, name []byte) *command {
	if s.found == nil || !bytes.Equal(name, s.word) {
		s.word, s.found = append(s.word[:0], name[:min(len(name), maxCommandName+1)]...), t.find(name)
	}
	return s.found
}

// whenAllowed tells a stranger nothing but that a password is needed.
func whenAllowed(sess *session, err error) error {
	if !sess.authenticated {
		return errNoAuth
	}
	return err
}

// mayRun is nil, or the first reason why a command must not run now.
func (s *session) mayRun(cmd *command, args [][]byte) error {
	switch {
	case !s.authenticated && cmd.flags&flagNoAuth == 0:
		return errNoAuth
	case !cmd.fits(len(args)) || cmd.run == nil:
		return errArity(cmd.fullName())
	}
	if d := permits(s.may(), cmd, args); d != nil {
		return d
	}
	switch {
	case s.tx != nil && cmd.flags&flagNoMulti != 0:
		return errNotInMulti
	case cmd.flags&flagPubSub == 0 && s.onlySubscribes():
		return errSubscribed(cmd.fullName())
	case s.monitoring && cmd.flags&(flagReadonly|flagWrite) != 0:
		return errMonitoring
	}
	return nil
}

// refuse answers a command that does not run. Its transaction will not run either.
func (s *Server) refuse(sess *session, cmd *command, err error) {
	original := err
	switch {
	case cmd != nil && cmd.name == "exec":
		s.endTransaction(sess)
		err = replyError("EXECABORT Transaction discarded because of: " + strings.TrimPrefix(err.Error(), "ERR "))
	case sess.tx != nil:
		sess.tx.spoilt = true
	}
	var d *denial
	if errors.As(original, &d) {
		s.denied(sess, sess.user(), d, sess.tx != nil)
	}
	s.stats.refused(cmd, err)
	sess.conn.W.Error(err.Error())
}

// run carries out a command that may run, and says what its reply waits for.
func (s *Server) run(sess *session, cmd *command, args [][]byte) {
	sess.lastCmd.Store(cmd)
	c := &sess.running
	if tenant := sess.may().Tenant(); tenant != sess.links.Tenant() {
		sess.links = sess.links.Within(tenant)
	}
	*c = call{Server: s, session: sess, cmd: cmd, args: args, w: sess.conn.W, links: sess.links}
	s.carryOut(c)
	if c.owes {
		sess.conn.Owe(s.links.Ticket())
	}
	c.args = nil // the words may be a large buffer's
}

// carryOut runs the handler and turns its error into the reply. EXEC calls it for each command of the transaction. The clock is read once
// a command: the end of one is the beginning, and the present, of the next.
func (s *Server) carryOut(c *call) error {
	start := c.session.clock
	c.links.At(start.UnixMilli())
	mark := c.w.Len()
	s.track(c)
	err := c.checkType()
	if err == nil {
		err = c.cmd.run(c)
	}
	if err != nil {
		c.w.Truncate(mark)
		c.w.Error(s.explain(c.cmd, err))
	}
	c.owes = c.owes || err == nil && c.cmd.flags&flagWrite != 0
	end := s.now()
	c.session.clock = end
	s.ran(c, end.Sub(start), err)
	return err
}

// ran is told of every command that was carried out: all that watches commands go by begins here.
func (s *Server) ran(c *call, took time.Duration, err error) {
	s.stats.ran(c.cmd, took, err)
	s.slow.note(c, took)
	s.monitors.feed(c)
}

// explain is the text of an error; a fault of ours is logged and masked.
func (s *Server) explain(cmd *command, err error) string {
	text, fault := errorText(err)
	if fault {
		s.log.Error("command failed", "command", cmd.fullName(), "err", err)
	}
	return text
}

// errUnknown is Redis's text for a command that does not exist, with the beginning of its arguments.
func errUnknown(args [][]byte) error {
	var b strings.Builder
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		b.WriteString("'" + cut(a, 128-b.Len()) + "' ")
	}
	return replyError("ERR unknown command '" + cut(args[0], 128) + "', with args beginning with: " + b.String())
}

func errUnknownSub(word []byte, cmd *command) error {
	return replyError("ERR unknown subcommand '" + cut(word, 128) + "'. Try " + strings.ToUpper(cmd.name) + " HELP.")
}

// errSubSyntax is Redis's text for a subcommand that exists, with words that it has not.
func errSubSyntax(c *call) error {
	return replyError("ERR unknown subcommand or wrong number of arguments for '" + cut(c.args[1], 128) + "'. Try " + strings.ToUpper(c.cmd.parent.name) + " HELP.")
}

func cut(b []byte, n int) string { return string(b[:min(len(b), n)]) }
