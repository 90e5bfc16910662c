// Package server is Curt: the RESP listener with its commands, the HTTP listener, and the service they share.
//
// Open makes a Server on a data folder. It answers without a network (Links), and Serve and ServeHTTP add listeners. Each command is
// one literal of a table, next to its handler, in a file per Redis group (cmd_string.go, cmd_generic.go, ...); dispatch.go says
// how one is carried out. The rules of links are in server/link, the wire in server/resp, HTTP in server/web.
package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"curt/server/acl"
	"curt/server/link"
	"curt/server/resp"
	"curt/server/web"
	"curt/storage"
)

// Version is the program's version.
const Version = "0.1.0"

// Server is an open data folder with everything that answers for it. It is safe for concurrent use.
type Server struct {
	opts    Options
	now     func() time.Time
	log     *slog.Logger
	store   *storage.Store
	links   *link.Service
	table   *table
	stats   *stats
	slow    slowlog
	rates   rates
	blocked atomic.Int64 // sessions in a blocking command
	resp    *resp.Server
	web     *web.Server
	started time.Time
	runID   string       // 40 hex digits, new at each start
	tcpPort atomic.Int64 // of the RESP listener, for INFO

	watches  watches
	tracking *tracking
	pubsub   *pubsub
	monitors monitors

	users    *acl.Users
	refusals acl.Log
	guesses  acl.Failures
	backups  backups

	drain              chan struct{} // closed when Shutdown begins
	stop               chan struct{} // closed to end the background work
	background         sync.WaitGroup
	respCert, httpCert *certificate // nil: no TLS

	mu       sync.Mutex
	admins   []*http.Server         // guarded by mu
	httpAddr atomic.Pointer[string] // where FULL's default base URL points
	closed   bool                   // guarded by mu
}

// Open opens the data folder, or makes a new one. Every fault of the options is reported.
func Open(o Options) (*Server, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o.Dir = cmp.Or(o.Dir, "data")
	o.BackupDir = cmp.Or(o.BackupDir, filepath.Clean(o.Dir)+".backups") // beside it, also when its name was given with a slash behind
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	table := newTable(families()...)
	respCert, err := newCertificate(o.RespTLS)
	if err != nil {
		return nil, err
	}
	httpCert, err := newCertificate(o.HTTPTLS)
	if err != nil {
		return nil, err
	}
	users, err := newUsers(&o, table)
	if err != nil {
		return nil, err
	}
	store, err := storage.Open(storage.Options{Dir: o.Dir, FS: o.FS, CacheBytes: o.CacheBytes, OpenFiles: o.StoreFiles, Sync: o.Sync, Logger: o.Logger, Now: o.Now, Fatal: o.Fatal})
	if err != nil {
		return nil, err // it names the folder
	}
	s := &Server{opts: o, now: o.Now, log: o.Logger, store: store, table: table, users: users, started: o.Now(), runID: newRunID(),
		pubsub: newPubsub(), drain: make(chan struct{}), stop: make(chan struct{}), respCert: respCert, httpCert: httpCert}
	s.backups.start(o.Now())
	s.tracking = newTracking(cmp.Or(o.TrackedKeys, 1_000_000), s.sessionOf)
	lo := o.LinkOptions()
	lo.Clicks, lo.OnChange = s.clickOptions(), s.changed
	s.links, err = link.Open(store, lo)
	if err != nil {
		store.Close()
		return nil, fmt.Errorf("open %s: %w", o.Dir, err)
	}
	s.stats = newStats(s.table.count)
	s.slow.configure(o.SlowlogThreshold, o.SlowlogLength)
	s.resp = s.newResp()
	if s.web, err = s.newWeb(); err != nil {
		s.links.Close()
		store.Close()
		return nil, err
	}
	s.background.Go(s.expireTracked)
	s.rates.start(s)
	return s, nil
}

// newResp makes the RESP side; it listens nowhere yet.
func (s *Server) newResp() *resp.Server {
	c := s.opts.RESP
	c.Durability, c.Admit, c.Now, c.Log = s.store, s.admit, s.now, s.log
	return resp.NewServer(s, c)
}

// changed hears of every change of a link, as link.Options.OnChange.
func (s *Server) changed(ch link.Changes) {
	s.watches.changed(&ch)
	s.tracking.changed(&ch)
	s.pubsub.events(ch.Events, s.store.Ticket)
}

// expireEvery is how often tracked keys whose time is over are looked for.
const expireEvery = 250 * time.Millisecond

func (s *Server) expireTracked() {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.tracking.expire(s.now().UnixMilli())
		case <-s.stop:
			return
		}
	}
}

// newRunID is what tells one run of the server from the next, as Redis's run_id.
func newRunID() string {
	var b [20]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// families are all commands, a group each.
func families() [][]*command {
	return [][]*command{linkCommands(), editCommands(), listCommands(), banCommands(), clickCommands(), streamCommands(), stringCommands(), genericCommands(), connectionCommands(), serverCommands(), idCommands(),
		transactionCommands(), pubsubCommands(), monitorCommands(), aclCommands(), transferCommands()}
}

// Links is the service itself, for programs that embed Curt. A change is durable once Durable returns.
func (s *Server) Links() *link.Service { return s.links }

// Durable returns when everything that has been changed so far is on the disk.
func (s *Server) Durable() error { return s.store.WaitSynced(s.store.Ticket()) }

// Serve answers RESP on ln until Shutdown, then returns nil. It takes ln over. With Options.RespTLS it speaks TLS, on unix sockets it never does.
func (s *Server) Serve(ln net.Listener) error {
	if tcp, ok := ln.Addr().(*net.TCPAddr); ok {
		s.tcpPort.Store(int64(tcp.Port))
	}
	serve := s.resp.Serve
	if s.respCert != nil && ln.Addr().Network() != "unix" {
		serve = func(ln net.Listener) error { return s.resp.ServeTLS(ln, s.respCert.config) }
	}
	if err := serve(ln); !errors.Is(err, resp.ErrServerClosed) {
		return err
	}
	return nil
}

// Shutdown stops the listeners, lets running commands and requests finish and their replies out, and closes the store. When ctx
// ends first it cuts the connections that are left, and returns ctx's error. It is called once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	close(s.drain)
	var browsers error
	var wait sync.WaitGroup
	wait.Go(func() { browsers = s.web.Shutdown(ctx) })
	err := s.resp.Shutdown(ctx)
	wait.Wait()
	s.stopAdmin(ctx)
	s.backups.end()
	err = cmp.Or(err, browsers)
	close(s.stop)
	s.background.Wait()
	s.rates.end()
	s.links.Close()
	return cmp.Or(err, s.store.Close())
}

// admit is protected mode: without a password only this machine gets in.
func (s *Server) admit(remote, _ net.Addr) string {
	if !s.opts.ProtectedMode || !s.users.Open() {
		return ""
	}
	tcp, ok := remote.(*net.TCPAddr)
	if !ok || tcp.IP.IsLoopback() {
		return ""
	}
	return "DENIED Curt is running in protected mode: the default user needs no password, so only connections from this machine are accepted. " +
		"Set one with --requirepass, or listen on the loopback interface only, or turn protected mode off with --protected-mode no if the network is safe."
}
