package main

import (
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"time"

	"curt/server"
	"curt/server/link"
	"curt/server/transfer"
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
	admin     string // host:port; empty: none
	keyFile   string
	logLevel  slog.Level
	logFormat string

	// Of other subcommands than serve.
	ahead  uint64          // restore: how far the counters move
	format transfer.Format // import
	dryRun bool            // import
	target target          // export, import: a running server
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

// variable is the option's name in the environment.
func (o *option) variable() string {
	return "CURT_" + strings.ToUpper(strings.ReplaceAll(o.name, "-", "_"))
}

// serveOptions are the options of `curt serve`, in the order of the help.
func serveOptions() []option {
	return slices.Concat([]option{
		{"Places", "config", "FILE", "", "read `name value` lines from FILE", text(func(s *settings) *string { return &s.config })},
		{"", "dir", "DIR", "./data", "data folder, made when it does not exist", filled(func(s *settings) *string { return &s.Dir })},
		{"", "resp", "ADDR", "127.0.0.1:6380", "listen for Redis clients on host:port or unix:PATH; repeat it, or list with commas", addresses},
		{"", "unix-perm", "MODE", "0700", "permissions of unix sockets: 0700 or 0770", unixPerm},
		{"", "http", "ADDR", "127.0.0.1:8080", "listen for browsers on host:port; \"\" for no HTTP", text(func(s *settings) *string { return &s.http })},
		{"", "admin", "ADDR", "", "listen for operators on host:port: /metrics, /healthz, /readyz, /debug/pprof; it asks for no password (none: no such listener)", text(func(s *settings) *string { return &s.admin })},
		{"", "base-url", "URL", "", "what stands before a code in a short URL (none: http:// and the HTTP address)", text(func(s *settings) *string { return &s.BaseURL })},

		{"Store", "sync", "MODE", "always", "when a write is on the disk: always (before its reply), everysec, no", choice(func(s *settings) *storage.SyncMode { return &s.Sync },
			named[storage.SyncMode]{"always", storage.SyncAlways}, named[storage.SyncMode]{"everysec", storage.SyncEverySec}, named[storage.SyncMode]{"no", storage.SyncNo})},
		{"", "cache-bytes", "SIZE", "256MiB", "memory for the store's blocks, as 300000000, 512MiB or 2gb", size(func(s *settings) *int64 { return &s.CacheBytes })},
		{"", "link-cache-bytes", "SIZE", "64MiB", "memory for links that are read often", size(func(s *settings) *int64 { return &s.LinkCache })},
		{"", "backup-dir", "DIR", "", "where SAVE and BGSAVE put backups (none: beside the data folder, with .backups behind its name)", text(func(s *settings) *string { return &s.BackupDir })},
		{"", "backups-kept", "N", "7", "older backups are removed after a new one; 0 keeps all", number(func(s *settings) *int { return &s.BackupsKept }, 0, 1<<20)},

		{"Codes", "alphabet", "NAME", "", "digits of codes: base62, or safe for print (none: as the store has it, a new one base62)", text(func(s *settings) *string { return &s.Codes.Alphabet })},
		{"", "code-length", "N", "", "characters of a code, 4 to 10 (none: as the store has it, a new one 7)", number(func(s *settings) *int { return &s.Codes.Length }, 4, 10)},
		{"", "key-file", "FILE", "", "ring of keys, one `id hex64` a line, the last is active (none: the ring is in the store)", text(func(s *settings) *string { return &s.keyFile })},
		{"", "density-limit", "SHARE", "0.01", "share of all codes that may be issued before codes grow by a character", decimal(func(s *settings) *float64 { return &s.Codes.Density }, 1e-9, 1)},
		{"", "code-source", "NAME", "sequence", "where codes come from when SHORTEN does not say: sequence, random, hash, snowflake", choice(func(s *settings) *link.CodeKind { return &s.CodeSource },
			named[link.CodeKind]{"sequence", link.CodeSequence}, named[link.CodeKind]{"random", link.CodeRandom}, named[link.CodeKind]{"hash", link.CodeHash}, named[link.CodeKind]{"snowflake", link.CodeSnowflake})},
		{"", "blocked-words", "FILE", "", "words that no made code holds, one a line (none: a public list)", blockedWords},
		{"", "snowflake-worker", "N", "0", "this machine's number in snowflake ids", snowflakePart(func(s *settings) *int64 { return &s.Snowflake.Worker })},
		{"", "snowflake-worker-bits", "N", "10", "bits of the worker in snowflake ids", number(func(s *settings) *int { return &s.Snowflake.WorkerBits }, 0, 20)},
		{"", "snowflake-sequence-bits", "N", "12", "bits of the sequence in snowflake ids", number(func(s *settings) *int { return &s.Snowflake.SequenceBits }, 1, 20)},
		{"", "snowflake-epoch", "DAY", "2024-01-01", "day from which the time in snowflake ids counts", snowflakeEpoch},
		{"", "snowflake-jitter", "N", "100", "a millisecond's first snowflake id is drawn from so many, so that ids tell no volume; 0 for none", snowflakeJitter},

		{"Links", "max-url-bytes", "N", "2048", "longest target, 16 to 65536", number(func(s *settings) *int { return &s.MaxURLBytes }, 16, 64<<10)},
		{"", "allow-host", "HOST", "", "name suffix, address or CIDR that may be a target although private; repeat it, or list with commas", allowHosts},
		{"", "dedup", "MODE", "strict", "when a plain SHORTEN shares a link: strict (same target), loose (tracking words aside), off", choice(func(s *settings) *link.Dedup { return &s.Dedup },
			named[link.Dedup]{"strict", link.DedupStrict}, named[link.Dedup]{"loose", link.DedupLoose}, named[link.Dedup]{"off", link.DedupOff})},
		{"", "expired-retention", "SPAN", "30d", "how long an expired or used-up link is kept, as 30d or 12h", duration(func(s *settings) *time.Duration { return &s.Retention })},
		{"", "never-ban", "HOST", "", "host that BANHOST never covers, with all below it; repeat it, or list with commas", neverBan},
		{"", "max-shorten-rate", "N", "0", "new links a second and user; 0 for no limit", decimal(func(s *settings) *float64 { return &s.MaxShortenRate }, 0, 1e6)},
	}, linkLimits(), []option{

		{"Redis clients", "requirepass", "PASSWORD", "", "password that clients must give (none: no password)", text(func(s *settings) *string { return &s.Password })},
		{"", "acl-file", "FILE", "", "users and their rights, as Redis's users.acl; ACL SAVE writes it (none: the default user only, who may do everything)", text(func(s *settings) *string { return &s.ACLFile })},
		{"", "protected-mode", "yes|no", "yes", "refuse clients from other machines while there is no password", yesNo(func(s *settings) *bool { return &s.ProtectedMode })},
		{"", "resp-tls-cert", "FILE", "", "certificate chain (PEM) with which --resp speaks TLS, unix sockets aside; read again on SIGHUP (none: plain)", text(func(s *settings) *string { return &s.RespTLS.Cert })},
		{"", "resp-tls-key", "FILE", "", "its private key (PEM)", text(func(s *settings) *string { return &s.RespTLS.Key })},
		{"", "allow-keys", "yes|no", "no", "let KEYS run", yesNo(func(s *settings) *bool { return &s.AllowKeys })},
		{"", "allow-flush", "yes|no", "no", "let FLUSHALL and FLUSHDB run", yesNo(func(s *settings) *bool { return &s.AllowFlush })},
		{"", "slowlog-log-slower-than", "MICROSECONDS", "10000", "SLOWLOG keeps commands that take as long; 0 for all, -1 for none", slowlogThreshold},
		{"", "slowlog-max-len", "N", "128", "how many it keeps", number(func(s *settings) *int { return &s.SlowlogLength }, 1, 10_000)},
	}, clientLimits(), []option{

		{"Browsers", "redirect-status", "CODE", "302", "status of redirects: 302 or 307", choice(func(s *settings) *int { return &s.HTTP.RedirectStatus }, named[int]{"302", 302}, named[int]{"307", 307})},
		{"", "redirect-max-age", "SECONDS", "0", "how long a browser may keep a redirect, at most 86400; 0 for not at all", seconds(func(s *settings) *time.Duration { return &s.HTTP.RedirectMaxAge })},
		{"", "gone-status", "CODE", "410", "410: expired and used-up links are 410, banned ones 451; 404: all are as if unknown", choice(func(s *settings) *int { return &s.HTTP.GoneStatus }, named[int]{"404", 404}, named[int]{"410", 410})},
		{"", "home-url", "URL", "", "where / leads (none: a short page)", text(func(s *settings) *string { return &s.HTTP.HomeURL })},
		{"", "not-found-url", "URL", "", "where unknown codes lead (none: a short page with 404)", text(func(s *settings) *string { return &s.HTTP.NotFoundURL })},
		{"", "forward-query", "yes|no", "no", "append a visitor's query to the target of every link", yesNo(func(s *settings) *bool { return &s.HTTP.ForwardQuery })},
		{"", "http-tls-cert", "FILE", "", "certificate chain (PEM) with which --http speaks TLS; read again on SIGHUP (none: plain)", text(func(s *settings) *string { return &s.HTTPTLS.Cert })},
		{"", "http-tls-key", "FILE", "", "its private key (PEM)", text(func(s *settings) *string { return &s.HTTPTLS.Key })},
		{"", "trusted-proxy", "CIDR", "", "peers whose X-Forwarded-For is believed; repeat it, or list with commas (none: nobody)", trustedProxies},
	}, browserLimits(), []option{

		{"Clicks", "click-stream", "yes|no", "yes", "keep raw clicks for XRANGE and XREAD", noYes(func(s *settings) *bool { return &s.Clicks.NoStream })},
		{"", "click-retention", "TIME", "90d", "how long raw clicks stay; they are dropped a day at a time", duration(func(s *settings) *time.Duration { return &s.Clicks.StreamRetention })},
		{"", "hour-retention", "TIME", "90d", "how long clicks are told apart by the hour; later by the day", duration(func(s *settings) *time.Duration { return &s.Clicks.HourRetention })},
		{"", "count-once", "SECONDS", "0", "count visits of a network (IPv4 /24, IPv6 /48) to a link once in so long; 0 counts each", seconds(func(s *settings) *time.Duration { return &s.Clicks.CountOnce })},
		{"", "geoip", "FILE", "", "MaxMind-format file with countries, read again on SIGHUP (none: no country is known)", text(func(s *settings) *string { return &s.Clicks.GeoIP })},

		{"Log", "log-level", "LEVEL", "info", "debug, info, warn or error", choice(func(s *settings) *slog.Level { return &s.logLevel },
			named[slog.Level]{"debug", slog.LevelDebug}, named[slog.Level]{"info", slog.LevelInfo}, named[slog.Level]{"warn", slog.LevelWarn}, named[slog.Level]{"error", slog.LevelError})},
		{"", "log-format", "FORMAT", "text", "text or json", choice(func(s *settings) *string { return &s.logFormat },
			named[string]{"text", "text"}, named[string]{"json", "json"})},
	})
}

// dataOptions are those of other subcommands than serve. They are flags only.
func dataOptions() []option {
	return []option{
		{"", "format", "NAME", "jsonl", "what FILE holds: jsonl (an export), csv, yourls, shlink, kutt, bitly", format},
		{"", "dry-run", "", "", "say what would come of it, and write nothing", func(s *settings, _ string) error { s.dryRun = true; return nil }},
		{"", "resp", "ADDR", "", "work on the server that listens there, on host:port or unix:PATH (none: on the data folder)", text(func(s *settings) *string { return &s.target.addr })},
		{"", "user", "NAME", "", "log in there as this user (none: the default user)", text(func(s *settings) *string { return &s.target.user })},
		{"", "password", "PASSWORD", "", "with this password; others can read a flag (none: the variable CURT_PASSWORD)", text(func(s *settings) *string { return &s.target.password })},
		{"", "tls", "", "", "speak TLS", func(s *settings, _ string) error { s.target.tls = true; return nil }},
		{"", "tls-ca", "FILE", "", "speak TLS, and trust only these certificates (PEM)", text(func(s *settings) *string { return &s.target.ca })},
		{"", "ahead", "N", "1000000000", "how far every counter moves, so that what was issued after the backup is not issued again", number64(func(s *settings) *uint64 { return &s.ahead }, 1, 1<<40)},
	}
}
