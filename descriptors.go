package main

import (
	"log/slog"
	"syscall"

	"curt/storage"
)

const (
	ownFiles      = 64 // listeners, logs, what the store writes, a margin
	minStoreFiles = 64
)

// budget is how many files and sockets each part may have open.
type budget struct{ clients, browsers, store int }

func (b budget) sum() int { return b.clients + b.browsers + b.store + ownFiles }

// within is the budget cut down to a limit: the store gets an eighth, then browsers give way, down to a quarter of the rest, then clients. A server
// that accepted more than it can open would fail in the store, which it can't survive; so it turns connections away instead.
func (b budget) within(limit int) budget {
	if b.sum() <= limit {
		return b
	}
	b.store = min(b.store, max(limit/8, minStoreFiles))
	rest := max(limit-b.store-ownFiles, 4)
	b.browsers = min(b.browsers, max(rest/4, rest-b.clients))
	b.clients = min(b.clients, rest-b.browsers)
	return b
}

// fitDescriptors lowers what needs file descriptors to what the system gives, as Redis does. It returns a function that says so.
func fitDescriptors(s *settings) (warn func(*slog.Logger)) {
	warn = func(*slog.Logger) {}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > 1<<30 {
		return warn
	}
	wanted := budget{s.RESP.MaxClients, s.HTTP.MaxConns, storage.DefaultOpenFiles}
	if s.http == "" {
		wanted.browsers = 0
	}
	got := wanted.within(int(limit.Cur))
	if got == wanted {
		return warn
	}
	s.RESP.MaxClients, s.HTTP.MaxConns, s.StoreFiles = got.clients, got.browsers, got.store
	return func(log *slog.Logger) {
		log.Warn("few file descriptors: raise the limit (ulimit -n, LimitNOFILE)", "limit", limit.Cur, "wanted", wanted.sum(),
			"maxclients", got.clients, "http_connections", got.browsers, "store_files", got.store)
	}
}
