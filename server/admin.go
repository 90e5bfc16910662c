package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// ServeAdmin answers operators on ln until Shutdown, then returns nil: /metrics for Prometheus, /healthz (the process answers), /readyz
// (it can do its work), /debug/pprof. It asks for no password: listen on the loopback interface. It takes ln over.
func (s *Server) ServeAdmin(ln net.Listener) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&metrics{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, s.healthy()) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { answerHealth(w, s.ready()) })
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	admin := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	s.mu.Lock()
	s.admins = append(s.admins, admin)
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ln.Close()
	}
	if err := admin.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func answerHealth(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Write([]byte("ok\n"))
}

// healthy says why links cannot be read, nil when they can.
func (s *Server) healthy() error {
	_, err := s.store.Keys()
	return err
}

// ready says why the server can't do its whole work now, nil when it can: clients are let in, links are stored and found, and look-ups of unknown
// names cost no read.
func (s *Server) ready() error {
	switch {
	case s.draining():
		return errors.New("the server is stopping")
	case s.store.Stalled():
		return errors.New("the store stalls")
	case s.store.DiskLow():
		return errors.New("the disk is nearly full")
	case !s.links.FilterReady():
		return errors.New("the name filter is being built")
	}
	return nil
}

// draining reports that Shutdown has begun.
func (s *Server) draining() bool {
	select {
	case <-s.drain:
		return true
	default:
		return false
	}
}

// stopAdmin ends the admin listeners. s.mu is held.
func (s *Server) stopAdmin(ctx context.Context) {
	for _, a := range s.admins {
		if a.Shutdown(ctx) != nil {
			a.Close()
		}
	}
}
