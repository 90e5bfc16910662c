package resp

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"
)

// A Durability tells when a write is safe. Tickets grow: when one is synced,
// so are all below it. Ticket 0 is always synced. Both methods are called from
// many goroutines.
type Durability interface {
	// Synced reports whether ticket is durable. It must not block.
	Synced(ticket uint64) bool
	// WaitSynced returns when ticket is durable, or with an error when it
	// never will be; then the connection closes and its replies are dropped.
	// A connection that ends waits for it, killed or not.
	WaitSynced(ticket uint64) error
}

// Config is what NewServer needs. The zero value works: every limit has its
// default, no gate, no admission hook.
type Config struct {
	MaxClients int // connections at a time; 0 means 10,000

	MaxBulk    int // bytes of one word; 0 means 1 MiB
	MaxWords   int // words of one command; 0 means 20,000
	MaxCommand int // bytes of one command as sent; 0 means 4 MiB
	MaxInline  int // bytes of an inline command or a header line; 0 means 64 KiB

	PreAuthWords int // MaxWords before SetAuthenticated(true); 0 means 10
	PreAuthBulk  int // MaxBulk before SetAuthenticated(true); 0 means 64 KiB

	MaxUnsent       int // bytes of replies queued before reading stops; 0 means 1 MiB
	MaxUnsentWrites int // owing commands queued before reading stops; 0 means 4,096
	MaxPush         int // bytes of pushes queued before the connection is closed; 0 means 32 MiB

	IdleTimeout      time.Duration // closes a connection that sends nothing; 0 means never
	CommandTimeout   time.Duration // a command must be whole this long after its first byte; 0 means 60 s
	WriteTimeout     time.Duration // the peer must take 64 KiB within; 0 means 30 s
	HandshakeTimeout time.Duration // a TLS handshake must end within; 0 means 10 s
	LingerTimeout    time.Duration // how long a closing server waits for the peer to take its last reply; 0 means 1 s
	KeepAlive        time.Duration // TCP keepalive, as Redis's tcp-keepalive; 0 means 300 s, < 0 off

	MaxRefusals int // refused connections that are waited for until they took the reason; 0 means 64

	// Admit, when set, judges a new connection by its addresses, before any
	// byte is read. A text other than "" is sent as an error line ("DENIED
	// ...", without the minus and the line end) and the connection closes. It
	// is called from the accept loop: it must not block.
	Admit func(remote, local net.Addr) string

	Durability Durability // nil means replies wait for nothing

	Now   func() time.Time // nil means time.Now
	Sweep time.Duration    // how often deadlines are checked, and the grain of all times; 0 means 500 ms
	Log   *slog.Logger     // nil means slog.Default
}

// Limits are the limits that may change while the server runs; a change counts
// from the next command (or connection) on. All methods are atomic.
type Limits struct {
	MaxClients   atomic.Int64
	MaxBulk      atomic.Int64
	MaxWords     atomic.Int64
	MaxCommand   atomic.Int64
	MaxInline    atomic.Int64
	PreAuthWords atomic.Int64
	PreAuthBulk  atomic.Int64
	MaxPush      atomic.Int64
	IdleTimeout  atomic.Int64 // nanoseconds; 0 means never
}

func (l *Limits) set(c *Config) {
	l.MaxClients.Store(int64(or(c.MaxClients, 10_000)))
	l.MaxBulk.Store(int64(or(c.MaxBulk, 1<<20)))
	l.MaxWords.Store(int64(or(c.MaxWords, 20_000)))
	l.MaxCommand.Store(int64(or(c.MaxCommand, 4<<20)))
	l.MaxInline.Store(int64(or(c.MaxInline, 64<<10)))
	l.PreAuthWords.Store(int64(or(c.PreAuthWords, 10)))
	l.PreAuthBulk.Store(int64(or(c.PreAuthBulk, 64<<10)))
	l.MaxPush.Store(int64(or(c.MaxPush, 32<<20)))
	l.IdleTimeout.Store(int64(c.IdleTimeout))
}

// Validate reports everything that is wrong with the limits at once.
func (c *Config) Validate() error {
	var errs []error
	for _, n := range []struct {
		name string
		n    int
	}{
		{"maxclients", c.MaxClients}, {"proto-max-bulk-len", c.MaxBulk}, {"proto-max-multibulk-len", c.MaxWords},
		{"client-query-buffer-limit", c.MaxCommand}, {"proto-inline-max-size", c.MaxInline},
		{"proto-unauth-max-multibulk-len", c.PreAuthWords}, {"proto-unauth-max-bulk-len", c.PreAuthBulk},
		{"reply-window", c.MaxUnsent}, {"reply-window-writes", c.MaxUnsentWrites}, {"client-output-buffer-limit", c.MaxPush},
		{"max-refusals", c.MaxRefusals}, {"timeout", int(c.IdleTimeout)}, {"command-timeout", int(c.CommandTimeout)},
		{"write-timeout", int(c.WriteTimeout)}, {"tls-handshake-timeout", int(c.HandshakeTimeout)},
	} {
		if n.n < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is negative", n.name, n.n))
		}
	}
	if bulk, command := or(c.MaxBulk, 1<<20), or(c.MaxCommand, 4<<20); bulk > command {
		errs = append(errs, fmt.Errorf("proto-max-bulk-len: %d is more than client-query-buffer-limit, %d", bulk, command))
	}
	return errors.Join(errs...)
}

func (c *Config) setDefaults() {
	c.MaxRefusals = or(c.MaxRefusals, 64)
	c.MaxUnsent = or(c.MaxUnsent, 1<<20)
	c.MaxUnsentWrites = or(c.MaxUnsentWrites, 4096)
	c.CommandTimeout = or(c.CommandTimeout, 60*time.Second)
	c.WriteTimeout = or(c.WriteTimeout, 30*time.Second)
	c.HandshakeTimeout = or(c.HandshakeTimeout, 10*time.Second)
	c.LingerTimeout = or(c.LingerTimeout, time.Second)
	c.KeepAlive = or(c.KeepAlive, 300*time.Second)
	c.Sweep = or(c.Sweep, 500*time.Millisecond)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
}

func or[T int | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}
