package main

import (
	"fmt"
	"strconv"
	"time"

	"curt/server"
	"curt/server/link"
)

// clientLimits are the options of what a Redis client may take. Where Redis has the option it has its name.
func clientLimits() []option {
	return []option{
		{"Limits of Redis clients", "maxclients", "N", "10000", "connections at a time", number(func(s *settings) *int { return &s.RESP.MaxClients }, 1, 1<<20)},
		{"", "tcp-backlog", "N", "511", "connections that wait to be accepted, of every listener; the system may allow fewer", number(func(s *settings) *int { return &s.Backlog }, 1, 1<<16)},
		{"", "tcp-keepalive", "SECONDS", "300", "ask a silent peer whether it is still there after so long; 0 for never", keepAlive},
		{"", "timeout", "SECONDS", "0", "close a connection that was idle for so long; 0 for never", seconds(func(s *settings) *time.Duration { return &s.RESP.IdleTimeout })},
		{"", "command-timeout", "SECONDS", "60", "close a connection whose command is not whole so long after its first byte", positiveSeconds(func(s *settings) *time.Duration { return &s.RESP.CommandTimeout })},
		{"", "write-timeout", "SECONDS", "30", "close a connection that takes so long for the next 64 KiB of its replies", positiveSeconds(func(s *settings) *time.Duration { return &s.RESP.WriteTimeout })},
		{"", "tls-handshake-timeout", "SECONDS", "10", "close a connection whose TLS handshake takes longer, on both ports", handshakeTimeout},
		{"", "proto-max-bulk-len", "SIZE", "1MiB", "longest word of a command", sizeWithin(func(s *settings) *int { return &s.RESP.MaxBulk }, 1<<20, 512<<20)},
		{"", "proto-max-multibulk-len", "N", "20000", "words of a command", number(func(s *settings) *int { return &s.RESP.MaxWords }, 16, 1<<20)},
		{"", "client-query-buffer-limit", "SIZE", "4MiB", "longest command, all its words", sizeWithin(func(s *settings) *int { return &s.RESP.MaxCommand }, 64<<10, 1<<30)},
		{"", "proto-inline-max-size", "SIZE", "64KiB", "longest inline command", sizeWithin(func(s *settings) *int { return &s.RESP.MaxInline }, 1<<10, 1<<20)},
		{"", "proto-unauth-max-bulk-len", "SIZE", "64KiB", "longest word before AUTH", sizeWithin(func(s *settings) *int { return &s.RESP.PreAuthBulk }, 1<<10, 1<<20)},
		{"", "proto-unauth-max-multibulk-len", "N", "10", "words of a command before AUTH", number(func(s *settings) *int { return &s.RESP.PreAuthWords }, 8, 1<<10)},
		{"", "reply-window", "SIZE", "1MiB", "replies that a client has not taken; with more, its commands wait", sizeWithin(func(s *settings) *int { return &s.RESP.MaxUnsent }, 64<<10, 1<<30)},
		{"", "reply-window-writes", "N", "4096", "writes of a connection that wait for the disk; with more, its commands wait", number(func(s *settings) *int { return &s.RESP.MaxUnsentWrites }, 1, 1<<20)},
		{"", "client-output-buffer-limit", "LIMIT", "pubsub 32mb 0 0", "messages that a subscriber has not taken; with more, it is closed", outputLimit},
		{"", "tracking-table-max-keys", "N", "1000000", "keys that clients which track may have cached; for one more some other is invalidated", number(func(s *settings) *int { return &s.TrackedKeys }, 64, 1<<30)},
		{"", "max-refusals", "N", "64", "connections at a time that are waited for until they know why they are refused; more are told without waiting", number(func(s *settings) *int { return &s.RESP.MaxRefusals }, 1, 1<<16)},
	}
}

// linkLimits are the options of what may be said of a link: the widest is what its record can hold.
func linkLimits() []option {
	limit := func(name, def, usage string, field func(*link.Limits) *int, low, high int) option {
		return option{"", name, "N", def, usage, number(func(s *settings) *int { return field(&s.Limits) }, low, high)}
	}
	list := []option{
		limit("max-name-bytes", "128", "longest alias", func(l *link.Limits) *int { return &l.Name }, 1, link.MaxName),
		limit("max-random-length", "32", "longest LENGTH of a random or hash code", func(l *link.Limits) *int { return &l.Length }, 10, link.MaxLength),
		limit("max-tags", "16", "tags of a link", func(l *link.Limits) *int { return &l.Tags }, 1, link.MaxTags),
		limit("max-tag-bytes", "64", "longest tag", func(l *link.Limits) *int { return &l.Tag }, 1, link.MaxTag),
		limit("max-title-bytes", "256", "longest title", func(l *link.Limits) *int { return &l.Title }, 1, link.MaxTitle),
		limit("max-tenant-bytes", "64", "longest name of a tenant", func(l *link.Limits) *int { return &l.Tenant }, 1, link.MaxTenant),
		limit("max-visits", "2147483648", "largest MAXVISITS", func(l *link.Limits) *int { return &l.Visits }, 1, link.MaxVisitsCap),
	}
	list[0].section = "Limits of links"
	return list
}

// browserLimits are the options of what a browser may take. Where nginx has the option it has its name, behind "http-".
func browserLimits() []option {
	return []option{
		{"Limits of browsers", "http-max-connections", "N", "10000", "connections at a time; one more is answered 503", number(func(s *settings) *int { return &s.HTTP.MaxConns }, 1, 1<<20)},
		{"", "http-client-header-buffer-size", "SIZE", "8KiB", "request line and headers; larger is 414 or 431", sizeWithin(func(s *settings) *int { return &s.HTTP.MaxHeaderBytes }, 1<<10, 64<<10)},
		{"", "http-client-header-timeout", "SECONDS", "10", "time for a whole request", positiveSeconds(func(s *settings) *time.Duration { return &s.HTTP.ReadTimeout })},
		{"", "http-send-timeout", "SECONDS", "30", "time to take a whole answer", positiveSeconds(func(s *settings) *time.Duration { return &s.HTTP.WriteTimeout })},
		{"", "http-keepalive-timeout", "SECONDS", "60", "time to the next request of a connection", positiveSeconds(func(s *settings) *time.Duration { return &s.HTTP.IdleTimeout })},
		{"", "http-miss-burst", "N", "60", "codes that do not exist that a network (IPv4 /24, IPv6 /56) may ask for at once; then it gets 429; 0 for no limit", missBurst},
		{"", "http-miss-rate", "N", "1", "how many it may ask for a second after that", decimal(func(s *settings) *float64 { return &s.HTTP.MissPerSecond }, 0.001, 1e6)},
		{"", "http-qr-rate", "N", "20", "QR codes drawn a second, for everybody; more are 503", decimal(func(s *settings) *float64 { return &s.HTTP.QRPerSecond }, 0.001, 1e6)},
	}
}

// positiveSeconds is for what can't be turned off: without it one peer could hold a connection for ever.
func positiveSeconds(field func(*settings) *time.Duration) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := strconv.ParseUint(v, 10, 31)
		if err != nil || n == 0 {
			return fmt.Errorf("must be a number of seconds from 1")
		}
		*field(s) = time.Duration(n) * time.Second
		return nil
	}
}

func handshakeTimeout(s *settings, v string) error {
	err := positiveSeconds(func(s *settings) *time.Duration { return &s.RESP.HandshakeTimeout })(s, v)
	s.HTTP.HandshakeTimeout = s.RESP.HandshakeTimeout
	return err
}

func keepAlive(s *settings, v string) error {
	err := seconds(func(s *settings) *time.Duration { return &s.RESP.KeepAlive })(s, v)
	if err == nil && s.RESP.KeepAlive == 0 {
		s.RESP.KeepAlive = -1 // none; 0 is its default
	}
	return err
}

func missBurst(s *settings, v string) error {
	err := number(func(s *settings) *int { return &s.HTTP.MissBurst }, 0, 1e6)(s, v)
	if err == nil && s.HTTP.MissBurst == 0 {
		s.HTTP.MissBurst = -1 // no limit; 0 is its default
	}
	return err
}

// outputLimit reads Redis's client-output-buffer-limit.
func outputLimit(s *settings, v string) error {
	n, err := server.ParseOutputLimit(v)
	if err == nil && n > 0 {
		s.RESP.MaxPush = int(n)
	}
	return err
}

// sizeWithin is size of an int within bounds.
func sizeWithin(field func(*settings) *int, low, high int64) func(*settings, string) error {
	return func(s *settings, v string) error {
		n, err := parseSize(v)
		if err != nil {
			return err
		}
		if n < low || n > high {
			return fmt.Errorf("must be a size from %s to %s", sizeText(low), sizeText(high))
		}
		*field(s) = int(n)
		return nil
	}
}

// sizeText writes a size that is a whole number of its unit.
func sizeText(n int64) string {
	for _, unit := range []string{"", "KiB", "MiB"} {
		if n%1024 != 0 || n == 0 {
			return strconv.FormatInt(n, 10) + unit
		}
		n /= 1024
	}
	return strconv.FormatInt(n, 10) + "GiB"
}
