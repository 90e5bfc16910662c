package resp

import (
	"crypto/tls"
	"errors"
	"net"
	"time"
)

const (
	minBackoff = 5 * time.Millisecond
	maxBackoff = time.Second
)

// A listener gives redcon guarded connections. After the server stops it
// makes redcon wait until the last connection has ended, since redcon closes
// all that are left when Accept fails.
type listener struct {
	net.Listener
	srv       *Server
	tlsConfig func() *tls.Config // nil: no TLS
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.acceptRaw()
		if err != nil {
			<-l.srv.drained
			return nil, net.ErrClosed
		}
		config, ok := l.config()
		if !ok {
			l.srv.log.Error("closed a connection: there is no TLS configuration")
			raw.Close()
			continue
		}
		if refusal := l.srv.judge(raw); refusal != "" {
			l.srv.refuse(raw, config, refusal)
			continue
		}
		if c := l.srv.admit(raw, config); c != nil {
			return wire{c}, nil
		}
		raw.Close()
	}
}

// acceptRaw accepts, waiting longer after each error (out of descriptors),
// until the listener is closed.
func (l *listener) acceptRaw() (net.Conn, error) {
	pause := minBackoff
	for {
		raw, err := l.Listener.Accept()
		if err == nil {
			l.srv.keepAlive(raw)
			return raw, nil
		}
		if l.srv.draining.Load() || errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		l.srv.count.acceptErrors.Add(1)
		l.srv.log.Warn("accept failed", "err", err, "retry", pause)
		select {
		case <-time.After(pause):
		case <-l.srv.stop:
		}
		pause = min(2*pause, maxBackoff)
	}
}

// config returns what a new connection shakes hands with, nil on a listener
// without TLS. It is not ok when the listener should have one and has none.
func (l *listener) config() (config *tls.Config, ok bool) {
	if l.tlsConfig == nil {
		return nil, true
	}
	config = l.tlsConfig()
	return config, config != nil
}

// judge returns the error line that refuses a new connection, or "".
func (s *Server) judge(raw net.Conn) string {
	if int64(s.Count()) >= s.limits.MaxClients.Load() {
		s.count.rejectedClients.Add(1)
		return "ERR max number of clients reached"
	}
	if s.cfg.Admit == nil {
		return ""
	}
	line := s.cfg.Admit(raw.RemoteAddr(), raw.LocalAddr())
	if line != "" {
		s.count.rejectedAdmission.Add(1)
	}
	return line
}

// refuse says why and hangs up, away from the accept loop. While as many as
// MaxRefusals do so it is brief: it does as Redis, which says why and does not
// wait for the peer to take it.
func (s *Server) refuse(raw net.Conn, config *tls.Config, line string) {
	select {
	case s.refusals <- struct{}{}:
	default:
		s.brief(raw, config, line)
		return
	}
	if !s.begin() {
		raw.Close()
		<-s.refusals
		return
	}
	go func() {
		defer s.wg.Done()
		defer func() { <-s.refusals }()
		defer raw.Close()
		s.say(raw, config, line)
	}()
}

// brief sends the error line to a new plain connection, whose buffer has room
// for it, and hangs up. A peer that has sent bytes already may lose it.
func (s *Server) brief(raw net.Conn, config *tls.Config, line string) {
	defer raw.Close()
	if config != nil {
		return
	}
	var w Writer
	w.Error(line)
	raw.SetWriteDeadline(time.Now().Add(s.cfg.LingerTimeout))
	raw.Write(w.b)
}

// say sends the error line, within the linger timeout (or, with TLS, the
// handshake timeout) and lets the peer read it. A full server does not shake
// hands: as Redis, it just hangs up then.
func (s *Server) say(raw net.Conn, config *tls.Config, line string) {
	var w Writer
	w.Error(line)
	nc := raw
	if config != nil {
		if int64(s.Count()) >= s.limits.MaxClients.Load() {
			return
		}
		raw.SetDeadline(time.Now().Add(s.cfg.HandshakeTimeout))
		nc = tls.Server(raw, config)
	} else {
		raw.SetDeadline(time.Now().Add(s.cfg.LingerTimeout))
	}
	if _, err := nc.Write(w.b); err != nil {
		return
	}
	if half, ok := nc.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		lingerRead(raw, s.cfg.LingerTimeout)
	}
}

func (s *Server) keepAlive(raw net.Conn) {
	tc, ok := raw.(*net.TCPConn)
	if !ok {
		return
	}
	idle := s.cfg.KeepAlive
	tc.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable: idle > 0, Idle: idle, Interval: max(idle/3, time.Second), Count: 3,
	})
}
