package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"curt/server"
)

// drainTime is how long clients have, after a signal, to take the replies that they wait for.
const drainTime = 10 * time.Second

// serve runs a server until SIGTERM, SIGINT or SHUTDOWN; a second signal ends the process at once. Every socket is bound before the store
// is opened, and the store is open before the first client is answered.
func serve(s *settings, out io.Writer) error {
	s.Logger = newLogger(s)
	addProcessor()
	warn := fitDescriptors(s)
	signal.Ignore(syscall.SIGPIPE) // whoever read the log may be gone: links are still wanted
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP) // to the end: it must not kill a server that starts or drains
	signals, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()
	context.AfterFunc(signals, release)
	running, stop := context.WithCancel(signals)
	defer stop()
	s.Stop = stop
	bound, err := listen(s)
	if err != nil {
		return err
	}
	srv, err := server.Open(s.Options)
	if err != nil {
		bound.close()
		return err
	}
	announce(s, srv, bound, out)
	warn(s.Logger)
	notify("READY=1")
	return answer(running, hangup, release, s.Logger, srv, bound)
}

// addProcessor lets Go use one processor more than there are: of those it has, it keeps one for whoever is in a system call that takes its
// time, which is most often a sync of the log. Where fewer than all are for this process, by GOMAXPROCS or the limit of a container, Go goes on
// following that limit.
func addProcessor() {
	if n := runtime.NumCPU(); os.Getenv("GOMAXPROCS") == "" && runtime.GOMAXPROCS(0) == n {
		runtime.GOMAXPROCS(n + 1)
	}
}

func newLogger(s *settings) *slog.Logger {
	s.LogLevel = new(slog.LevelVar) // CONFIG SET loglevel changes it
	s.LogLevel.Set(s.logLevel)
	o := &slog.HandlerOptions{Level: s.LogLevel}
	if s.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, o))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, o))
}

// answer serves all listeners until ctx ends or one of them fails, then drains. It calls release when a signal is to end the
// process at once from then on.
func answer(ctx context.Context, hangup <-chan os.Signal, release func(), log *slog.Logger, srv *server.Server, bound *listeners) error {
	n := len(bound.resp)
	ended := make(chan error, n+2)
	for _, ln := range bound.resp {
		go func() { ended <- srv.Serve(ln) }()
	}
	if bound.http != nil {
		n++
		go func() { ended <- srv.ServeHTTP(bound.http) }()
	}
	if bound.admin != nil {
		n++
		go func() { ended <- srv.ServeAdmin(bound.admin) }()
	}
	failed, returned := untilDone(ctx, hangup, log, srv, ended)
	release()
	if returned {
		n--
	} else {
		log.Info("draining")
	}
	notify("STOPPING=1")
	limit, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	err := srv.Shutdown(limit)
	if errors.Is(err, context.DeadlineExceeded) {
		log.Warn("some connections were cut", "after", drainTime)
		err = nil
	}
	for ; n > 0; n-- {
		failed = cmp.Or(failed, <-ended)
	}
	if err = cmp.Or(failed, err); err == nil {
		log.Info("stopped")
	}
	return err
}

// untilDone waits for ctx, or for the first listener to return. A hangup reads files again meanwhile.
func untilDone(ctx context.Context, hangup <-chan os.Signal, log *slog.Logger, srv *server.Server, ended <-chan error) (err error, returned bool) {
	for {
		select {
		case <-ctx.Done():
			return nil, false
		case err := <-ended:
			return err, true
		case <-hangup:
			if err := srv.Reload(); err != nil {
				log.Error("reload", "err", err)
			} else {
				log.Info("reloaded")
			}
		}
	}
}

// announce says where the server listens and what to try. A log that machines read gets it as one record.
func announce(s *settings, srv *server.Server, bound *listeners, out io.Writer) {
	places := make([]string, len(bound.resp))
	for i, ln := range bound.resp {
		places[i] = place(ln.Addr())
	}
	http := ""
	if bound.http != nil {
		http = scheme(s.HTTPTLS) + place(bound.http.Addr())
	}
	if s.logFormat == "json" {
		s.Logger.Info("ready", "version", server.Version, "dir", s.Dir, "sync", s.Sync, "links", srv.Links().Links(), "resp", places, "http", http)
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Curt %s is ready: %d links in %s, sync %s.\n", server.Version, srv.Links().Links(), s.Dir, s.Sync)
	for _, p := range places {
		fmt.Fprintf(&b, "  RESP on %s\n", p)
	}
	if http != "" {
		fmt.Fprintf(&b, "  HTTP on %s\n", http)
	}
	if bound.admin != nil {
		fmt.Fprintf(&b, "  metrics on http://%s/metrics\n", place(bound.admin.Addr()))
	}
	b.WriteString("Try:\n")
	if len(places) > 0 {
		fmt.Fprintf(&b, "  %s SHORTEN https://go.dev/doc/\n", redisCLI(s, bound.resp[0].Addr()))
	}
	if http != "" {
		fmt.Fprintf(&b, "  curl -i %s/CODE\n", http)
	}
	io.WriteString(out, b.String())
}

func scheme(t server.TLSFiles) string {
	if t.Cert != "" {
		return "https://"
	}
	return "http://"
}

// place is an address as it is given to an option.
func place(a net.Addr) string {
	if a.Network() == "unix" {
		return "unix:" + a.String()
	}
	return a.String()
}

// redisCLI is how redis-cli is called for a listener.
func redisCLI(s *settings, a net.Addr) string {
	call := "redis-cli"
	if tcp, ok := a.(*net.TCPAddr); !ok {
		call += " -s " + a.String()
	} else {
		if !tcp.IP.IsUnspecified() && tcp.IP.String() != "127.0.0.1" {
			call += " -h " + tcp.IP.String()
		}
		call += fmt.Sprintf(" -p %d", tcp.Port)
		if s.RespTLS.Cert != "" {
			call += " --tls"
		}
	}
	if s.Password != "" {
		call += " --askpass"
	}
	return call
}
