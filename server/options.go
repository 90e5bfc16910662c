package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"curt/codec"
	"curt/codec/weburl"
	"curt/server/link"
	"curt/server/resp"
	"curt/server/web"
	"curt/storage"
)

// Options configure a Server. The zero value works for a server without a network, with its data in ./data.
type Options struct {
	Dir        string           // data folder; empty: ./data
	FS         storage.FS       // nil: the disk
	Sync       storage.SyncMode // empty: always
	CacheBytes int64            // the store's block cache, memtables come out of it; 0: 256 MiB
	StoreFiles int              // files the store keeps open; 0: storage.DefaultOpenFiles
	LinkCache  int64            // bytes of links kept in memory beside it; 0: 64 MiB

	BackupDir   string // where SAVE and BGSAVE put backups, each in a folder of its own; empty: Dir with .backups behind it
	BackupsKept int    // older ones are removed after a new one; 0: none is

	BaseURL        string           // what FULL puts before a code, without the last slashes; empty: http://<http address>
	MaxURLBytes    int              // of a serialised target, 16 to 65536; 0: 2048
	AllowHosts     []weburl.Allowed // hosts that may be targets although private
	Codes          link.CodeOptions // alphabet, length, keys; zero fields: as the store has it
	CodeSource     link.CodeKind    // of a request that names none; zero: the sequence
	Snowflake      link.Snowflake   // bits, epoch and worker of snowflake ids; zero: 41/10/12 since 2024, worker 0
	Limits         link.Limits      // what may be said of a link; zero fields: what its record can hold
	MaxShortenRate float64          // new links a second and user; 0: no limit
	Retention      time.Duration    // how long an expired or used-up link is kept; 0: 30 days
	NeverBan       []string         // hosts that BANHOST never covers, with all below them
	BlockedWords   []string         // no made code holds one; nil: a public list, empty: none
	Dedup          link.Dedup       // of a request that names none; zero: strict

	Password      string // of the default user, unless the ACL file names that user; empty: none is asked for
	ACLFile       string // users, as Redis's users.acl; empty: the default user only, and no ACL SAVE
	ProtectedMode bool   // refuse outside peers while there is no password

	RespTLS TLSFiles // certificate of the RESP listeners; none: plain
	HTTPTLS TLSFiles // certificate of the HTTP listeners; none: plain

	Backlog     int         // of the listeners that the caller makes, for CONFIG GET tcp-backlog; 0: unknown
	RESP        resp.Config // limits of Redis clients; Admit, Durability, Now and Log are the server's own
	TrackedKeys int         // that clients which track may have cached, for one more some other is invalidated; 0: 1,000,000
	AllowKeys   bool        // lets KEYS run
	AllowFlush  bool        // lets FLUSHALL and FLUSHDB run

	Clicks link.ClickOptions // how visits are counted and kept

	HTTP web.Options // what browsers get; Links, Now, Logger, BaseURL and MaxURLBytes are the server's own

	Stop     func()         // what SHUTDOWN calls: it makes the program stop, and returns at once; nil: SHUTDOWN is refused
	LogLevel *slog.LevelVar // of Logger, for CONFIG SET loglevel; nil: it can't be changed

	SlowlogThreshold time.Duration // commands that take as long are kept by SLOWLOG; 0: 10 ms, negative: none
	SlowlogLength    int           // how many it keeps at most, up to 10000; 0: 128

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: slog.Default
	Fatal  func(error)      // what a failed sync does; nil: log and exit with code 1
}

// Validate reports everything that is wrong with the options, nil when nothing is.
func (o *Options) Validate() error {
	var errs []error
	complain := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch o.Sync {
	case "", storage.SyncAlways, storage.SyncEverySec, storage.SyncNo:
	default:
		complain("sync: %q is none of always, everysec, no", o.Sync)
	}
	if o.MaxURLBytes != 0 && (o.MaxURLBytes < 16 || o.MaxURLBytes > 64<<10) {
		complain("max-url-bytes: %d is not within 16 to 65536", o.MaxURLBytes)
	}
	if o.CacheBytes < 0 {
		complain("cache-bytes: %d is negative", o.CacheBytes)
	}
	if l := o.Codes.Length; l != 0 && (l < codec.MinLength || l > codec.MaxLength) {
		complain("code-length: %d is not within %d to %d", l, codec.MinLength, codec.MaxLength)
	}
	if a := o.Codes.Alphabet; a != "" {
		if _, ok := codec.AlphabetByName(a); !ok {
			complain("alphabet: %q is none of base62, safe", a)
		}
	}
	if d := o.Codes.Density; d < 0 || d > 1 {
		complain("density-limit: %v is not within 0 to 1", d)
	}
	for _, t := range []struct {
		name string
		TLSFiles
	}{{"resp-tls", o.RespTLS}, {"http-tls", o.HTTPTLS}} {
		if t.on() && (t.Cert == "" || t.Key == "") {
			complain("%s: a certificate needs its key, and a key its certificate", t.name)
		}
	}
	if o.MaxShortenRate < 0 {
		complain("max-shorten-rate: %v is negative", o.MaxShortenRate)
	}
	if o.Retention < 0 {
		complain("expired-retention: %v is negative", o.Retention)
	}
	if o.TrackedKeys < 0 {
		complain("tracking-table-max-keys: %d is negative", o.TrackedKeys)
	}
	if o.BackupsKept < 0 {
		complain("backups-kept: %d is negative", o.BackupsKept)
	}
	if o.SlowlogLength < 0 || o.SlowlogLength > maxSlowlogLength {
		complain("slowlog-max-len: %d is not within 0 to %d", o.SlowlogLength, maxSlowlogLength)
	}
	http := o.HTTP
	if o.BaseURL != "" {
		http.BaseURL = o.BaseURL
		u, err := url.Parse(o.BaseURL)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.RawQuery != "" || u.Fragment != "" {
			complain("base-url: %q is not like https://go.example", o.BaseURL)
			http.BaseURL = "" // enough was said of it
		}
	}
	return errors.Join(append(errs, o.Limits.Validate(), o.RESP.Validate(), http.Validate())...)
}

// selfHosts are the hosts that no link may lead to: the one of the base URL.
func (o *Options) selfHosts() []string {
	u, err := url.Parse(o.BaseURL)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	return []string{u.Hostname()}
}

// LinkOptions are those of the service alone, for programs that work on its store without a server.
func (o *Options) LinkOptions() link.Options {
	return link.Options{
		Now: o.Now, Logger: o.Logger, Codes: o.Codes, Dedup: o.Dedup, CacheBytes: o.LinkCache,
		MaxRate: o.MaxShortenRate, Retention: o.Retention, NeverBan: o.NeverBan, Clicks: o.Clicks,
		Limits: o.Limits, CodeSource: o.CodeSource, Snowflake: o.Snowflake, BlockedWords: o.BlockedWords,
		Policy: &weburl.Policy{MaxBytes: o.MaxURLBytes, Allow: o.AllowHosts, Self: o.selfHosts()},
	}
}
