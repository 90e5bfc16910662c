package main

import (
	"fmt"
	"io/fs"
	"log/slog"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"curt/codec/weburl"
	"curt/server"
	"curt/server/link"
	"curt/storage"
)

// settings are what the options of `curt serve` fill in.
type settings struct {
	server.Options
	args      []string // what stands behind the options
	config    string
	resp      []string // host:port or unix:PATH
	unixPerm  fs.FileMode
	http      string // host:port; empty: no HTTP
	keyFile   string
	logLevel  slog.Level
	logFormat string
}

// option is one thing that can be set: a flag, a CURT_ variable of the environment, a line of the configuration file.
type option struct {
	section string // heading in the help, empty: as the option before
	name    string
	value   string // what a value looks like
	def     string // the default, set like a given value; empty: nothing is set
	usage   string // one line; after "none:" what happens when nothing is set
	set     func(*settings, string) error
}

// serveOptions are the options of `curt serve`, in the order of the help.
func serveOptions() []option {
	return []option{
		{"Places", "config", "FILE", "", "read `name value` lines from FILE", text(func(s *settings) *string { return &s.config })},
		{"", "dir", "DIR", "./data", "data folder, made when it does not exist", text(func(s *settings) *string { return &s.Dir })},
		{"", "resp", "ADDR", "127.0.0.1:6380", "listen for Redis clients on host:port or unix:PATH; repeat it, or list with commas", addresses},
		{"", "unix-perm", "MODE", "0700", "permissions of unix sockets: 0700 or 0770", unixPerm},
		{"", "http", "ADDR", "127.0.0.1:8080", "listen for browsers on host:port; \"\" for no HTTP", text(func(s *settings) *string { return &s.http })},
		{"", "base-url", "URL", "", "what stands before a code in a short URL (none: http:// and the HTTP address)", text(func(s *settings) *string { return &s.BaseURL })},

		{"Store", "sync", "MODE", "always", "when a write is on the disk: always (before its reply), everysec, no", choice(func(s *settings) *storage.SyncMode { return &s.Sync },
			named[storage.SyncMode]{"always", storage.SyncAlways}, named[storage.SyncMode]{"everysec", storage.SyncEverySec}, named[storage.SyncMode]{"no", storage.SyncNo})},
		{"", "cache-bytes", "SIZE", "256MiB", "memory for the store's blocks, as 300000000, 512MiB or 2gb", size(func(s *settings) *int64 { return &s.CacheBytes })},

		{"Codes and targets", "alphabet", "NAME", "", "digits of codes: base62, or safe for print (none: as the store has it, a new one base62)", text(func(s *settings) *string { return &s.Codes.Alphabet })},
		{"", "code-length", "N", "", "characters of a code, 4 to 10 (none: as the store has it, a new one 7)", number(func(s *settings) *int { return &s.Codes.Length }, 4, 10)},
		{"", "key-file", "FILE", "", "ring of keys, one `id hex64` a line, the last is active (none: the ring is in the store)", text(func(s *settings) *string { return &s.keyFile })},
		{"", "max-url-bytes", "N", "2048", "longest target, 16 to 65536", number(func(s *settings) *int { return &s.MaxURLBytes }, 16, 64<<10)},
		{"", "allow-host", "HOST", "", "name suffix, address or CIDR that may be a target although private; repeat it, or list with commas", allowHosts},
		{"", "dedup", "MODE", "strict", "when a plain SHORTEN shares a link: strict (same target), loose (tracking words aside), off", choice(func(s *settings) *link.Dedup { return &s.Dedup },
			named[link.Dedup]{"strict", link.DedupStrict}, named[link.Dedup]{"loose", link.DedupLoose}, named[link.Dedup]{"off", link.DedupOff})},

		{"Redis clients", "requirepass", "PASSWORD", "", "password that clients must give (none: no password)", text(func(s *settings) *string { return &s.Password })},
		{"", "protected-mode", "yes|no", "yes", "refuse clients from other machines while there is no password", yesNo(func(s *settings) *bool { return &s.ProtectedMode })},
		{"", "maxclients", "N", "10000", "connections at a time", number(func(s *settings) *int { return &s.MaxClients }, 1, 1<<20)},
		{"", "timeout", "SECONDS", "0", "close a connection that was idle for so long; 0 for never", seconds(func(s *settings) *time.Duration { return &s.IdleTimeout })},
		{"", "allow-keys", "yes|no", "no", "let KEYS run", yesNo(func(s *settings) *bool { return &s.AllowKeys })},
		{"", "allow-flush", "yes|no", "no", "let FLUSHALL and FLUSHDB run", yesNo(func(s *settings) *bool { return &s.AllowFlush })},

		{"Browsers", "redirect-status", "CODE", "302", "status of redirects: 302 or 307", number(func(s *settings) *int { return &s.HTTP.RedirectStatus }, 302, 307)},
		{"", "redirect-max-age", "SECONDS", "0", "how long a browser may keep a redirect, at most 86400; 0 for not at all", seconds(func(s *settings) *time.Duration { return &s.HTTP.RedirectMaxAge })},
		{"", "gone-status", "CODE", "410", "410: expired and used-up links are 410, banned ones 451; 404: all are as if unknown", number(func(s *settings) *int { return &s.HTTP.GoneStatus }, 404, 410)},
		{"", "home-url", "URL", "", "where / leads (none: a short page)", text(func(s *settings) *string { return &s.HTTP.HomeURL })},
		{"", "not-found-url", "URL", "", "where unknown codes lead (none: a short page with 404)", text(func(s *settings) *string { return &s.HTTP.NotFoundURL })},
		{"", "forward-query", "yes|no", "no", "append a visitor's query to the target of every link", yesNo(func(s *settings) *bool { return &s.HTTP.ForwardQuery })},
		{"", "trusted-proxy", "CIDR", "", "peers whose X-Forwarded-For is believed; repeat it, or list with commas (none: nobody)", trustedProxies},

		{"Log", "log-level", "LEVEL", "info", "debug, info, warn or error", choice(func(s *settings) *slog.Level { return &s.logLevel },
			named[slog.Level]{"debug", slog.LevelDebug}, named[slog.Level]{"info", slog.LevelInfo}, named[slog.Level]{"warn", slog.LevelWarn}, named[slog.Level]{"error", slog.LevelError})},
		{"", "log-format", "FORMAT", "text", "text or json", choice(func(s *settings) *string { return &s.logFormat },
			named[string]{"text", "text"}, named[string]{"json", "json"})},
	}
}

// The setters below make one of an option's field.

func text(field func(*settings) *string) func(*settings, string) error {
	return func(s *settings, v string) error { *field(s) = v; return nil }
}

func number(field func(*settings) *int, low, high int) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < low || n > high {
			return fmt.Errorf("must be a number from %d to %d", low, high)
		}
		*field(s) = n
		return nil
	}
}

func seconds(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil {
			return fmt.Errorf("must be a number of seconds")
		}
		*field(s) = time.Duration(n) * time.Second
		return nil
	}
}

func yesNo(field func(*settings) *bool) func(*settings, string) error {
	return choice(field, named[bool]{"yes", true}, named[bool]{"no", false})
}

// named is a value with the word that stands for it.
type named[T any] struct {
	name  string
	value T
}

func choice[T any](field func(*settings) *T, choices ...named[T]) func(*settings, string) error {
	return func(s *settings, v string) error {
		i := slices.IndexFunc(choices, func(c named[T]) bool { return c.name == v })
		if i < 0 {
			names := make([]string, len(choices))
			for i, c := range choices {
				names[i] = c.name
			}
			return fmt.Errorf("must be one of %s", strings.Join(names, ", "))
		}
		*field(s) = choices[i].value
		return nil
	}
}

func size(field func(*settings) *int64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := parseSize(v)
		if err == nil {
			*field(s) = n
		}
		return err
	}
}

// parseSize reads a number of bytes, at least 1: 1048576, 1024KiB, 1mb. Units are powers of 1024, in any case.
func parseSize(v string) (int64, error) {
	digits := strings.TrimRight(strings.ToLower(v), "kmgib")
	shift, ok := map[string]int{"": 0, "kib": 10, "kb": 10, "mib": 20, "mb": 20, "gib": 30, "gb": 30}[strings.ToLower(v[len(digits):])]
	n, err := strconv.ParseUint(digits, 10, 63)
	if !ok || err != nil || n == 0 || n > 1<<62>>shift {
		return 0, fmt.Errorf("must be a size as 300000000, 512MiB or 2gb")
	}
	return int64(n) << shift, nil
}

// each calls fn with the words of a list with commas; the empty value is no word.
func each(v string, fn func(string) error) error {
	for word := range strings.SplitSeq(v, ",") {
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		if err := fn(word); err != nil {
			return err
		}
	}
	return nil
}

func addresses(s *settings, v string) error {
	return each(v, func(word string) error { s.resp = append(s.resp, word); return nil })
}

func allowHosts(s *settings, v string) error {
	return each(v, func(word string) error {
		a, err := weburl.ParseAllowed(word)
		if err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		s.AllowHosts = append(s.AllowHosts, a)
		return nil
	})
}

func trustedProxies(s *settings, v string) error {
	return each(v, func(word string) error {
		p, err := netip.ParsePrefix(word)
		if addr, aerr := netip.ParseAddr(word); aerr == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("%q is neither an address nor a CIDR", word)
		}
		s.HTTP.TrustedProxies = append(s.HTTP.TrustedProxies, p.Masked())
		return nil
	})
}

func unixPerm(s *settings, v string) error {
	switch v {
	case "0700", "700":
		s.unixPerm = 0o700
	case "0770", "770":
		s.unixPerm = 0o770
	default:
		return fmt.Errorf("must be 0700 or 0770")
	}
	return nil
}
