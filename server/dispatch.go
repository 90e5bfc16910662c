package server

import (
	"strings"
	"time"

	"curt/server/resp"
)

// Opened gives a new connection its session.
func (s *Server) Opened(c *resp.Conn) {
	s.stats.connections.Add(1)
	sess := &session{conn: c, authenticated: s.opts.Password == ""}
	c.Session = sess
	c.SetAuthenticated(sess.authenticated)
}

// Closed forgets a connection.
func (s *Server) Closed(*resp.Conn) {}

// Command carries out one command: find it, may it run now, run it, turn its error into a reply, and say what the reply waits for.
func (s *Server) Command(c *resp.Conn, args [][]byte) {
	sess := c.Session.(*session)
	cmd, err := s.look(sess, args)
	if err != nil {
		s.stats.refused(cmd, err)
		c.W.Error(err.Error())
		return
	}
	s.run(sess, cmd, args)
}

// look finds the command that the words name, and checks that the session may run it now.
func (s *Server) look(sess *session, args [][]byte) (*command, error) {
	cmd := s.table.find(args[0])
	if cmd != nil && len(cmd.subs) > 0 && len(args) > 1 {
		sub := cmd.sub(args[1])
		if sub == nil {
			return cmd, s.whenAllowed(sess, cmd, errUnknownSub(args[1], cmd))
		}
		if sub != nil {
			cmd = sub
		}
	}
	switch {
	case cmd == nil:
		return nil, s.whenAllowed(sess, cmd, errUnknown(args))
	case !sess.authenticated && cmd.flags&flagNoAuth == 0:
		return cmd, errNoAuth
	case !cmd.fits(len(args)) || cmd.run == nil:
		return cmd, errArity(cmd.fullName())
	}
	return cmd, nil
}

// whenAllowed tells a stranger nothing but that a password is needed.
func (s *Server) whenAllowed(sess *session, _ *command, err error) error {
	if !sess.authenticated {
		return errNoAuth
	}
	return err
}

// run carries out a command that may run.
func (s *Server) run(sess *session, cmd *command, args [][]byte) {
	c := sess.conn
	start := time.Now()
	sess.lastCmd = cmd
	mark := c.W.Len()
	err := cmd.run(&call{Server: s, session: sess, cmd: cmd, args: args, w: c.W, links: s.links})
	if err != nil {
		c.W.Truncate(mark)
		c.W.Error(s.explain(cmd, err))
	} else if cmd.flags&flagWrite != 0 {
		c.Owe(s.links.Ticket())
	}
	s.stats.ran(cmd, time.Since(start), err)
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
	b.WriteString("ERR unknown command '" + cut(args[0], 128) + "', with args beginning with: ")
	for _, a := range args[1:] {
		if b.Len() >= 128 {
			break
		}
		b.WriteString("'" + cut(a, 128-min(b.Len(), 127)) + "' ")
	}
	return replyError(b.String())
}

func errUnknownSub(word []byte, cmd *command) error {
	return replyError("ERR unknown subcommand '" + cut(word, 128) + "'. Try " + strings.ToUpper(cmd.name) + " HELP.")
}

func cut(b []byte, n int) string { return string(b[:min(len(b), n)]) }
