package server

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
)

func configCommand() *command {
	const flags = flagAdmin | flagLoading | flagStale
	return &command{name: "config", arity: -2, group: "server", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about the configuration",
		subs: []*command{{
			name: "get", arity: -3, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of settings",
			syntax:  "parameter [parameter ...]",
			summary: "Returns the settings whose names match",
			reply:   "map: name, value",
			run:     configGet,
		}, {
			name: "set", arity: -4, flags: flags, since: "0.1.0", complexity: "O(N) with N the number of settings",
			syntax:  "parameter value [parameter value ...]",
			summary: "Changes settings until the server stops: client-output-buffer-limit, loglevel, maxclients, proto-max-bulk-len, slowlog-log-slower-than, slowlog-max-len, timeout",
			reply:   "OK; all are changed, or none. -ERR with Redis's texts",
			run:     configSet,
		}, {
			name: "resetstat", arity: 2, flags: flags, since: "0.1.0", complexity: "O(1)",
			summary: "Sets the counters of the sections stats, commandstats, errorstats and latencystats of INFO back to 0",
			reply:   "OK",
			run:     func(c *call) error { c.resetStats(); return c.ok(nil) },
		}, {
			name: "rewrite", arity: 2, flags: flags, since: "0.1.0", complexity: "O(1)",
			summary: "The server never writes its configuration",
			reply:   "-ERR The server is running without a config file",
			run:     func(*call) error { return replyError("ERR The server is running without a config file") },
		}, helpCommand("CONFIG",
			"GET <pattern>",
			"    Return parameters matching the glob-like <pattern> and their values.",
			"SET <directive> <value>",
			"    Set the configuration <directive> to <value>.",
			"RESETSTAT",
			"    Reset statistics reported by the INFO command.",
			"REWRITE",
			"    Rewrite the configuration file."),
		}}
}

// setting is one line of CONFIG GET. A setting that can change has parse, which reads a value and returns what makes it
// so, or the reason why not, in Redis's words.
type setting struct {
	name  string
	get   func(*Server) string
	parse func(s *Server, value string) (apply func(), err error)
}

// settings are all that CONFIG knows, sorted by name.
func settings() []setting {
	fixed := func(name, value string) setting {
		return setting{name: name, get: func(*Server) string { return value }}
	}
	list := slices.Concat(linkLimits(), respLimits(), httpLimits(), []setting{
		{name: "alphabet", get: func(s *Server) string { return s.opts.Codes.Alphabet }},
		{name: "appendfsync", get: func(s *Server) string { return s.fsync() }},
		fixed("appendonly", "yes"),
		{name: "base-url", get: func(s *Server) string { return s.opts.BaseURL }},
		fixed("databases", "1"),
		fixed("latency-monitor-threshold", "0"),
		fixed("latency-tracking", "yes"),
		fixed("latency-tracking-info-percentiles", "50 99 99.9"),
		{name: "loglevel", get: (*Server).logLevel, parse: (*Server).parseLogLevel},
		fixed("maxmemory", "0"),
		fixed("maxmemory-policy", "noeviction"),
		{name: "port", get: func(s *Server) string { return decimal(s.tcpPort.Load()) }},
		{name: "protected-mode", get: func(s *Server) string { return yesNo(s.opts.ProtectedMode) }},
		fixed("replica-read-only", "no"),
		fixed("save", ""),
		fixed("slave-read-only", "no"),
		{name: "slowlog-log-slower-than", get: func(s *Server) string { return decimal(micros(s.slow.threshold.Load())) },
			parse: number(-1, math.MaxInt64/1000, func(s *Server, n int64) { s.slow.threshold.Store(n * 1000) })},
		{name: "slowlog-max-len", get: func(s *Server) string { return decimal(int64(s.slow.limitNow())) },
			parse: number(0, maxSlowlogLength, func(s *Server, n int64) { s.slow.setLimit(int(n)) })},
	})
	slices.SortFunc(list, func(a, b setting) int { return strings.Compare(a.name, b.name) })
	return list
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

// micros turns nanoseconds into microseconds; what is negative stays so.
func micros(ns int64) int64 {
	if ns < 0 {
		return -1
	}
	return ns / 1000
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (s *Server) fsync() string {
	if s.opts.Sync == "" {
		return "always"
	}
	return string(s.opts.Sync)
}

// number reads a setting that is a number within bounds.
func number(low, high int64, apply func(*Server, int64)) func(*Server, string) (func(), error) {
	return func(s *Server, value string) (func(), error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return nil, replyError("argument couldn't be parsed into an integer")
		}
		if n < low || n > high {
			return nil, outOfBounds(low, high)
		}
		return func() { apply(s, n) }, nil
	}
}

func outOfBounds(low, high int64) error {
	return replyError(fmt.Sprintf("argument must be between %d and %d inclusive", low, high))
}

// logLevels are Redis's names, most first.
var logLevels = []struct {
	name  string
	level slog.Level
}{{"debug", slog.LevelDebug}, {"verbose", slog.LevelDebug + 2}, {"notice", slog.LevelInfo}, {"warning", slog.LevelWarn}}

func (s *Server) logLevel() string {
	if s.opts.LogLevel == nil {
		return "notice"
	}
	level := s.opts.LogLevel.Level()
	for _, l := range logLevels {
		if level <= l.level {
			return l.name
		}
	}
	return "warning"
}

func (s *Server) parseLogLevel(value string) (func(), error) {
	if s.opts.LogLevel == nil {
		return nil, errImmutable
	}
	for _, l := range logLevels {
		if strings.EqualFold(value, l.name) {
			return func() { s.opts.LogLevel.Set(l.level) }, nil
		}
	}
	return nil, replyError("argument(s) must be one of the following: debug, verbose, notice, warning")
}

const errImmutable replyError = "can't set immutable config"

func configGet(c *call) error {
	patterns := make([]string, 0, len(c.args)-2)
	for _, p := range c.args[2:] {
		patterns = append(patterns, shortGlob(strings.ToLower(string(p))))
	}
	var found []setting
	for _, s := range settings() {
		for _, p := range patterns {
			if globMatch(p, s.name) {
				found = append(found, s)
				break
			}
		}
	}
	c.w.Map(len(found))
	for _, s := range found {
		c.w.BulkString(s.name)
		c.w.BulkString(s.get(c.Server))
	}
	return nil
}

// configSet reads all settings before it changes one.
func configSet(c *call) error {
	pairs := c.args[2:]
	if len(pairs)%2 != 0 {
		return errSyntax
	}
	var applies []func()
	seen := map[string]bool{}
	for ; len(pairs) > 0; pairs = pairs[2:] {
		name := strings.ToLower(string(pairs[0]))
		s := findSetting(name)
		if s == nil {
			return replyError(fmt.Sprintf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", cut(pairs[0], 128)))
		}
		var apply func()
		var err error = errImmutable
		switch {
		case seen[name]:
			err = replyError("duplicate parameter")
		case s.parse != nil:
			apply, err = s.parse(c.Server, string(pairs[1]))
		}
		if err != nil {
			return replyError(fmt.Sprintf("ERR CONFIG SET failed (possibly related to argument '%s') - %s", name, err))
		}
		seen[name] = true
		applies = append(applies, apply)
	}
	for _, apply := range applies {
		apply()
	}
	return c.ok(nil)
}

func findSetting(name string) *setting {
	for _, s := range settings() {
		if s.name == name {
			return &s
		}
	}
	return nil
}
