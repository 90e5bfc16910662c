package server

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"curt/server/link"
	"curt/server/resp"
	"curt/server/web"
)

// respLimits are the settings of what a Redis client may take: the options of the same names. Those that can change do so from
// the next command, or connection, on.
func respLimits() []setting {
	second := int64(time.Second)
	live := func(name string, get func(*resp.Limits) int64) setting {
		return setting{name: name, get: func(s *Server) string { return decimal(get(s.resp.Limits())) }}
	}
	made := func(name string, get func(*resp.Config) int64) setting {
		return setting{name: name, get: func(s *Server) string { c := s.resp.Config(); return decimal(get(&c)) }}
	}
	list := []setting{
		{name: "tcp-backlog", get: func(s *Server) string { return decimal(int64(s.opts.Backlog)) }},
		{name: "tracking-table-max-keys", get: func(s *Server) string { return decimal(int64(s.tracking.max)) }},
		{name: "client-output-buffer-limit", parse: parseOutputLimit, get: func(s *Server) string {
			return fmt.Sprintf("normal 0 0 0 slave 0 0 0 pubsub %d 0 0", s.resp.Limits().MaxPush.Load())
		}},
		live("maxclients", func(l *resp.Limits) int64 { return l.MaxClients.Load() }),
		live("timeout", func(l *resp.Limits) int64 { return l.IdleTimeout.Load() / second }),
		live("proto-max-bulk-len", func(l *resp.Limits) int64 { return l.MaxBulk.Load() }),
		live("proto-max-multibulk-len", func(l *resp.Limits) int64 { return l.MaxWords.Load() }),
		live("proto-inline-max-size", func(l *resp.Limits) int64 { return l.MaxInline.Load() }),
		live("proto-unauth-max-bulk-len", func(l *resp.Limits) int64 { return l.PreAuthBulk.Load() }),
		live("proto-unauth-max-multibulk-len", func(l *resp.Limits) int64 { return l.PreAuthWords.Load() }),
		live("client-query-buffer-limit", func(l *resp.Limits) int64 { return l.MaxCommand.Load() }),
		made("reply-window", func(c *resp.Config) int64 { return int64(c.MaxUnsent) }),
		made("reply-window-writes", func(c *resp.Config) int64 { return int64(c.MaxUnsentWrites) }),
		made("max-refusals", func(c *resp.Config) int64 { return int64(c.MaxRefusals) }),
		made("command-timeout", func(c *resp.Config) int64 { return int64(c.CommandTimeout) / second }),
		made("write-timeout", func(c *resp.Config) int64 { return int64(c.WriteTimeout) / second }),
		made("tls-handshake-timeout", func(c *resp.Config) int64 { return int64(c.HandshakeTimeout) / second }),
		made("tcp-keepalive", func(c *resp.Config) int64 { return max(0, int64(c.KeepAlive)) / second }),
	}
	change := map[string]func(*Server, string) (func(), error){
		"maxclients":         number(1, math.MaxUint32, func(s *Server, n int64) { s.resp.Limits().MaxClients.Store(n) }),
		"timeout":            number(0, math.MaxInt32, func(s *Server, n int64) { s.resp.Limits().IdleTimeout.Store(n * second) }),
		"proto-max-bulk-len": parseMaxBulk,
	}
	for i := range list {
		if parse := change[list[i].name]; parse != nil {
			list[i].parse = parse
		}
	}
	return list
}

// linkLimits are the settings of what may be said of a link.
func linkLimits() []setting {
	made := func(name string, get func(*link.Limits) int) setting {
		return setting{name: name, get: func(s *Server) string { l := s.links.Limits(); return decimal(int64(get(&l))) }}
	}
	return []setting{
		made("max-name-bytes", func(l *link.Limits) int { return l.Name }),
		made("max-random-length", func(l *link.Limits) int { return l.Length }),
		made("max-tags", func(l *link.Limits) int { return l.Tags }),
		made("max-tag-bytes", func(l *link.Limits) int { return l.Tag }),
		made("max-title-bytes", func(l *link.Limits) int { return l.Title }),
		made("max-tenant-bytes", func(l *link.Limits) int { return l.Tenant }),
		made("max-visits", func(l *link.Limits) int { return l.Visits }),
		{name: "max-url-bytes", get: func(s *Server) string { return decimal(int64(cmp.Or(s.opts.MaxURLBytes, 2048))) }},
		{name: "max-shorten-rate", get: func(s *Server) string { return strconv.FormatFloat(s.opts.MaxShortenRate, 'f', -1, 64) }},
	}
}

// httpLimits are the settings of what a browser may take.
func httpLimits() []setting {
	made := func(name string, get func(*web.Options) string) setting {
		return setting{name: name, get: func(s *Server) string { o := s.web.Options(); return get(&o) }}
	}
	seconds := func(d time.Duration) string { return decimal(int64(d / time.Second)) }
	rate := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	return []setting{
		made("http-max-connections", func(o *web.Options) string { return decimal(int64(o.MaxConns)) }),
		made("http-client-header-buffer-size", func(o *web.Options) string { return decimal(int64(o.MaxHeaderBytes)) }),
		made("http-client-header-timeout", func(o *web.Options) string { return seconds(o.ReadTimeout) }),
		made("http-send-timeout", func(o *web.Options) string { return seconds(o.WriteTimeout) }),
		made("http-keepalive-timeout", func(o *web.Options) string { return seconds(o.IdleTimeout) }),
		made("http-miss-burst", func(o *web.Options) string { return decimal(int64(max(0, o.MissBurst))) }),
		made("http-miss-rate", func(o *web.Options) string { return rate(o.MissPerSecond) }),
		made("http-qr-rate", func(o *web.Options) string { return rate(o.QRPerSecond) }),
	}
}

// Bounds of what a subscriber may leave unread.
const (
	minOutputLimit = 64 << 10
	maxOutputLimit = 1 << 30
)

// ParseOutputLimit reads Redis's client-output-buffer-limit: class, hard limit, soft limit, seconds, any number of times. Only the
// hard limit of the class pubsub can be set, and is returned; it is 0 when that class is not named. The others must be 0: Curt
// stops to read a client that takes no replies, rather than close it, and has no replicas and no soft limits.
func ParseOutputLimit(value string) (pubsub int64, err error) {
	words := strings.Fields(value)
	if len(words) == 0 || len(words)%4 != 0 {
		return 0, replyError("Wrong number of arguments in buffer limit configuration.")
	}
	for ; len(words) > 0; words = words[4:] {
		hard, ok := parseMemory(words[1])
		soft, softOK := parseMemory(words[2])
		seconds, err := strconv.ParseUint(words[3], 10, 31)
		if !ok || !softOK || err != nil {
			return 0, replyError("Error in hard, soft or soft_seconds setting in buffer limit configuration.")
		}
		if soft != 0 || seconds != 0 {
			return 0, replyError("soft limits are not offered: give 0 0")
		}
		switch strings.ToLower(words[0]) {
		case "normal", "slave", "replica":
			if hard != 0 {
				return 0, replyError("only pubsub can have a limit: clients that take no replies are not read (reply-window)")
			}
		case "pubsub":
			if hard < minOutputLimit || hard > maxOutputLimit {
				return 0, outOfBounds(minOutputLimit, maxOutputLimit)
			}
			pubsub = hard
		default:
			return 0, replyError("Invalid client class specified in buffer limit configuration.")
		}
	}
	return pubsub, nil
}

func parseOutputLimit(s *Server, value string) (func(), error) {
	n, err := ParseOutputLimit(value)
	if err != nil {
		return nil, err
	}
	return func() {
		if n > 0 {
			s.resp.Limits().MaxPush.Store(n)
		}
	}, nil
}

// parseMaxBulk reads the longest word that is accepted: at least 1 MiB, as in Redis, and no more than a whole command.
func parseMaxBulk(s *Server, value string) (func(), error) {
	n, ok := parseMemory(value)
	if !ok {
		return nil, replyError("argument must be a memory value")
	}
	limits := s.resp.Limits()
	if low, high := int64(1<<20), limits.MaxCommand.Load(); n < low || n > high {
		return nil, outOfBounds(low, high)
	}
	return func() { limits.MaxBulk.Store(n) }, nil
}

// parseMemory reads sizes as redis.conf has them: 1k is 1000 bytes, 1kb is 1024.
func parseMemory(value string) (int64, bool) {
	value = strings.ToLower(value)
	digits := strings.TrimRight(value, "kmgb")
	unit, ok := map[string]int64{"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1e6, "mb": 1 << 20, "g": 1e9, "gb": 1 << 30}[value[len(digits):]]
	n, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || n < 0 || n > math.MaxInt64/unit {
		return 0, false
	}
	return n * unit, true
}
