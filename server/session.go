package server

import (
	"curt/server/resp"
)

// session is what a connection's commands know of it. Only its own handler uses it, except where a field says otherwise.
type session struct {
	conn          *resp.Conn
	authenticated bool
	name          string // CLIENT SETNAME
	libName       string // CLIENT SETINFO
	libVer        string
	lastCmd       *command
}

// user is the name by which the session's links are remembered.
func (s *session) user() string { return "default" }
