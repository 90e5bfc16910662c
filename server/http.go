package server

import (
	"errors"
	"net"
	"strconv"

	"curt/server/web"
)

// ServeHTTP answers browsers on ln until Shutdown, then returns nil. It takes ln over. Options.HTTP says what they get. Without Options.BaseURL
// short URLs begin with the address of the listener that came last.
func (s *Server) ServeHTTP(ln net.Listener) error {
	addr := reachable(ln.Addr())
	s.httpAddr.Store(&addr)
	if err := s.web.Serve(ln); !errors.Is(err, web.ErrClosed) {
		return err
	}
	return nil
}

// reachable is an address that this machine can be asked at: a listener on all interfaces is reached at localhost too.
func reachable(a net.Addr) string {
	if tcp, ok := a.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		return net.JoinHostPort("localhost", strconv.Itoa(tcp.Port))
	}
	return a.String()
}

// newWeb makes the HTTP side; it listens nowhere yet.
func (s *Server) newWeb() (*web.Server, error) {
	o := s.opts.HTTP
	o.Visit = s.visited
	o.Links, o.Now, o.Logger = s.links, s.now, s.log
	o.BaseURL, o.MaxURLBytes = s.opts.BaseURL, s.opts.MaxURLBytes
	o.TLS, o.Health = s.httpCert.config(), s.healthy
	return web.New(o)
}
