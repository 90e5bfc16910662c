package main

import (
	"context"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"curt/server"
)

// TestLimitsAreShown: CONFIG GET knows every limit by the name of its option, and shows what was asked for.
func TestLimitsAreShown(t *testing.T) {
	var args []string
	want := map[string]string{}
	for _, o := range slices.Concat(linkLimits(), clientLimits(), browserLimits()) {
		value := map[string]string{"SIZE": "2MiB", "N": "77", "SECONDS": "7", "LIMIT": "pubsub 3mb 0 0"}[o.value]
		switch o.name {
		case "max-random-length", "max-tags", "max-tag-bytes", "max-tenant-bytes":
			value = "11"
		case "http-client-header-buffer-size", "proto-inline-max-size", "proto-unauth-max-bulk-len":
			value = "16KiB"
		case "client-query-buffer-limit":
			value = "5MiB"
		}
		args = append(args, "--"+o.name, value)
		want[o.name] = value
		if o.value == "SIZE" {
			n, err := parseSize(value)
			if err != nil {
				t.Fatal(err)
			}
			want[o.name] = strconv.FormatInt(n, 10)
		}
	}
	want["client-output-buffer-limit"] = "normal 0 0 0 slave 0 0 0 pubsub 3145728 0 0"
	p := start(t, t.TempDir(), args...)
	for name, value := range want {
		if got := strings.TrimSpace(p.do("config", "get", name)); got != "map["+name+":"+value+"]" {
			t.Errorf("CONFIG GET %s: %s, want %s", name, got, value)
		}
	}
}

// TestLimitsDefaults: a limit that a program which embeds the server leaves at zero is what the option's default says.
func TestLimitsDefaults(t *testing.T) {
	serve := func(o server.Options) *process {
		o.Dir = t.TempDir()
		s, err := server.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Shutdown(context.Background()) })
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go s.Serve(ln) // ends with the server
		return &process{t: t, resp: []string{ln.Addr().String()}}
	}
	embedded, usual := serve(server.Options{CacheBytes: 8 << 20}), serve(mustParse(t, "--cache-bytes", "8MiB").Options)
	for _, o := range slices.Concat(linkLimits(), clientLimits(), browserLimits()) {
		if o.name == "tcp-backlog" {
			continue // of the listener that the program makes
		}
		if got, want := embedded.do("config", "get", o.name), usual.do("config", "get", o.name); got != want {
			t.Errorf("embedded: %s, by the option's default: %s", got, want)
		}
	}
}

// TestBadLimits: no limit can be turned off where a peer could then hold on for ever, and sizes have bounds.
func TestBadLimits(t *testing.T) {
	for _, args := range [][]string{
		{"--write-timeout", "0"}, {"--command-timeout", "0"}, {"--tls-handshake-timeout", "0"}, {"--http-send-timeout", "0"},
		{"--http-client-header-timeout", "0"}, {"--http-keepalive-timeout", "0"}, {"--http-max-connections", "0"}, {"--maxclients", "0"},
		{"--tcp-backlog", "0"}, {"--proto-max-bulk-len", "1000"}, {"--proto-max-bulk-len", "5MiB"}, {"--reply-window", "1KiB"},
		{"--reply-window-writes", "0"}, {"--http-client-header-buffer-size", "128KiB"}, {"--http-miss-rate", "0"}, {"--max-name-bytes", "129"}, {"--max-tags", "17"}, {"--max-visits", "0"}, {"--max-random-length", "33"}, {"--http-qr-rate", "NaN"},
		{"--client-output-buffer-limit", "pubsub 32mb 8mb 60"}, {"--client-output-buffer-limit", "normal 1mb 0 0"},
		{"--client-output-buffer-limit", "pubsub 32mb"}, {"--client-output-buffer-limit", "nobody 32mb 0 0"}, {"--client-output-buffer-limit", "pubsub 1kb 0 0"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q is accepted", args)
		} else if !strings.Contains(err.Error(), strings.TrimPrefix(args[0], "--")) {
			t.Errorf("%q: %v does not name the option", args, err)
		}
	}
}

// TestLimitsOff are those that can be turned off, by a value of their own: the option's zero is not the default.
func TestLimitsOff(t *testing.T) {
	s := mustParse(t, "--tcp-keepalive", "0", "--http-miss-burst", "0", "--timeout", "0")
	if s.RESP.KeepAlive >= 0 || s.HTTP.MissBurst >= 0 || s.RESP.IdleTimeout != 0 {
		t.Errorf("keep-alive %v, miss burst %d, timeout %v", s.RESP.KeepAlive, s.HTTP.MissBurst, s.RESP.IdleTimeout)
	}
	if s = mustParse(t); s.RESP.KeepAlive != 300*time.Second || s.HTTP.MissBurst != 60 || s.RESP.MaxPush != 32<<20 {
		t.Errorf("by default: keep-alive %v, miss burst %d, subscribers %d", s.RESP.KeepAlive, s.HTTP.MissBurst, s.RESP.MaxPush)
	}
}

// TestLimitsAreDocumented: docs/limits.md has every option that is a limit, no other name than an option's, and no figure that INFO
// does not show.
func TestLimitsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	info := start(t, t.TempDir()).do("info", "everything")
	word := regexp.MustCompile("`([^`]+)`")
	documented := map[string]bool{}
	for line := range strings.Lines(string(b)) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || cells[2] == " Default " || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		name := word.FindStringSubmatch(cells[1])[1]
		documented[name] = true
		if !isServeOption(name) {
			t.Errorf("%s is no option", name)
		}
		for _, figure := range word.FindAllStringSubmatch(cells[4], -1) {
			if !strings.HasPrefix(figure[1], "errorstat_") && !strings.Contains(info, "\n"+figure[1]+":") {
				t.Errorf("%s: INFO has no %s", name, figure[1])
			}
		}
	}
	for _, o := range slices.Concat(linkLimits(), clientLimits(), browserLimits()) {
		if !documented[o.name] {
			t.Errorf("docs/limits.md says nothing of %s", o.name)
		}
	}
}
