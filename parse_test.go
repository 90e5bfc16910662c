package main

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"curt/server/link"
	"curt/storage"
)

// mustParse reads options that are right.
func mustParse(t *testing.T, args ...string) *settings {
	t.Helper()
	s, err := parse(args)
	if err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return s
}

func TestDefaults(t *testing.T) {
	s := mustParse(t)
	if s.Dir != "./data" || !reflect.DeepEqual(s.resp, []string{"127.0.0.1:6380"}) || s.http != "127.0.0.1:8080" || s.Sync != storage.SyncAlways {
		t.Errorf("%+v", s)
	}
	if s.Codes.Alphabet != "" || s.Codes.Length != 0 || s.Codes.Ring != nil {
		t.Errorf("codes are asked for: %+v", s.Codes)
	}
	if s.CacheBytes != 256<<20 || s.MaxURLBytes != 2048 || s.RESP.MaxClients != 10000 || s.Dedup != link.DedupStrict || !s.ProtectedMode || s.AllowKeys || s.Password != "" {
		t.Errorf("%+v", s)
	}
}

func TestPrecedence(t *testing.T) {
	conf := file(t, 0o600, "sync no\ntimeout 1\ndedup off\nresp 127.0.0.1:1\nresp unix:/a\n")
	t.Setenv("CURT_CONFIG", conf)
	t.Setenv("CURT_SYNC", "everysec")
	t.Setenv("CURT_TIMEOUT", "2")
	s := mustParse(t, "--timeout", "3")
	if s.RESP.IdleTimeout != 3*time.Second || s.Sync != storage.SyncEverySec || s.Dedup != link.DedupOff {
		t.Errorf("timeout %v, sync %v, dedup %v; want the flag's, the variable's, the file's", s.RESP.IdleTimeout, s.Sync, s.Dedup)
	}
	if want := []string{"127.0.0.1:1", "unix:/a"}; !reflect.DeepEqual(s.resp, want) {
		t.Errorf("resp %q, want the file's", s.resp)
	}
	if s := mustParse(t, "--resp", "127.0.0.1:2, 127.0.0.1:3", "--resp", "127.0.0.1:4"); !reflect.DeepEqual(s.resp, []string{"127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4"}) {
		t.Errorf("resp %q, want the flags' alone", s.resp)
	}
}

// A subcommand with few options shares the file and the variables of serve.
func TestFewOptions(t *testing.T) {
	conf := file(t, 0o600, "sync no\ndir /a\n")
	t.Setenv("CURT_HTTP", "nonsense")
	s, err := parse([]string{"--config", conf, "in.csv", "--dir"}, "config", "dir")
	if err != nil || s.Dir != "/a" || s.Sync != "" || s.http != "" || !reflect.DeepEqual(s.args, []string{"in.csv", "--dir"}) {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := parse([]string{"--sync", "no"}, "config", "dir"); err == nil {
		t.Error("an option of serve was taken")
	}
	if _, err := parse([]string{"--config", file(t, 0o600, "synch no\n")}, "config", "dir"); err == nil {
		t.Error("an option that does not exist was taken")
	}
}

// O05: an empty variable is as if unset, also where the empty value means something.
func TestEmptyVariable(t *testing.T) {
	for _, o := range serveOptions() {
		t.Setenv(o.variable(), "")
	}
	t.Setenv("CURT_NOTHING", "")
	if s := mustParse(t); s.http != "127.0.0.1:8080" || len(s.resp) != 1 || s.MaxURLBytes != 2048 {
		t.Errorf("%+v", s)
	}
	if s := mustParse(t, "--http", ""); s.http != "" {
		t.Errorf("an empty flag: http %q", s.http)
	}
}

// A variable that no option has is an error that names it, for every command that has options; what Kubernetes sets for services is none.
func TestUnknownVariable(t *testing.T) {
	t.Setenv("CURT_SYNCH", "no")
	t.Setenv("CURT_AHEAD", "7") // a flag only
	want := "no option has the variable CURT_AHEAD, CURT_SYNCH:"
	if _, err := parse(nil); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("serve: %v", err)
	}
	if _, err := parse(nil, "config", "dir"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("check: %v", err)
	}
	if _, err := parse(nil, []string{}...); err != nil {
		t.Errorf("help: %v", err)
	}
	service := []string{"CURT_SERVICE_HOST", "CURT_SERVICE_PORT", "CURT_SERVICE_PORT_RESP", "CURT_PORT", "CURT_PORT_6380_TCP", "CURT_PORT_6380_TCP_PROTO",
		"CURT_PORT_6380_TCP_PORT", "CURT_PORT_6380_TCP_ADDR", "CURT_ADMIN_SERVICE_HOST", "CURT_ADMIN_PORT_9090_TCP"}
	for _, name := range service {
		if err := unknownVariables([]string{name + "=x"}); err != nil {
			t.Error(err)
		}
	}
	if err := unknownVariables([]string{"CURT_PASSWORD=x", "CURT_MAXCLIENTS=5", "CURTAIN=x", "PATH=/bin"}); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"CURT_", "CURT_PORTS", "CURT_SERVICE", "CURT_RESP_", "CURT_sync"} {
		if err := unknownVariables([]string{name + "=x"}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, o := range serveOptions() {
		if ofServices.MatchString(o.variable()) {
			t.Errorf("%s looks like a variable of Kubernetes: a misspelt one would pass", o.name)
		}
	}
}

// O05: a password is text, whatever it looks like.
func TestPasswordIsText(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if s := mustParse(t, args...); s.Password != want {
			t.Errorf("password %q, want %q", s.Password, want)
		}
	}
	for _, password := range []string{"0123", "1e3", "0x10", "true", "12345678901234567890", "a # b", "#"} {
		f(password, "--requirepass", password)
		f(password, "--config", file(t, 0o600, "requirepass "+password+"\n"))
		t.Setenv("CURT_REQUIREPASS", password)
		f(password)
		t.Setenv("CURT_REQUIREPASS", "")
	}
	f(" a\t", "--config", file(t, 0o600, `requirepass " a\t"`))
	f("", "--config", file(t, 0o600, `requirepass ""`))
}

func TestFileShapes(t *testing.T) {
	s := mustParse(t, "--config", file(t, 0o600, "\r\n# sync no\r\n  dir\t /a b \r\n\thttp \"\"\r\nallow-host corp,10.0.0.0/8\nallow-host wiki"))
	if s.Dir != "/a b" || s.http != "" || s.Sync != storage.SyncAlways || len(s.AllowHosts) != 3 {
		t.Errorf("dir %q, http %q, sync %q, hosts %v", s.Dir, s.http, s.Sync, s.AllowHosts)
	}
}

func TestParseSize(t *testing.T) {
	f := func(text string, want int64) {
		t.Helper()
		got, err := parseSize(text)
		if got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	f("1", 1)
	f("300000000", 300_000_000)
	f("1KiB", 1024)
	f("2kb", 2048)
	f("256MiB", 256<<20)
	f("1mb", 1<<20)
	f("3GB", 3<<30)
	f("4gib", 4<<30)
	f("4294967296GiB", 1<<62)
	for _, bad := range []string{"", "0", "-1", "1k", "1b", "MiB", "1 MiB", "1.5GiB", "0x10", "1kbb", "8589934592GiB", "9223372036854775808", "99999999999999999999"} {
		f(bad, 0)
	}
}

func TestValues(t *testing.T) {
	s := mustParse(t, "--expired-retention", "2d", "--snowflake-jitter", "0", "--snowflake-epoch", "2025-02-03", "--never-ban", "example.com,example.org",
		"--blocked-words", file(t, 0o600, "# mine\nbad\n\n"), "--density-limit", "0.5", "--trusted-proxy", "10.1.2.3/8,::1")
	if s.Retention != 48*time.Hour || s.Snowflake.Jitter != -1 || s.Snowflake.Epoch != time.Date(2025, 2, 3, 0, 0, 0, 0, time.UTC) || len(s.NeverBan) != 2 ||
		!reflect.DeepEqual(s.BlockedWords, []string{"bad"}) || s.Codes.Density != 0.5 || s.HTTP.TrustedProxies[0].String() != "10.0.0.0/8" || s.HTTP.TrustedProxies[1].String() != "::1/128" {
		t.Errorf("%+v", s)
	}
	if s := mustParse(t, "--blocked-words", file(t, 0o600, "")); s.BlockedWords == nil || len(s.BlockedWords) != 0 {
		t.Error("an empty file of words is not the public list")
	}
	f := func(args ...string) {
		t.Helper()
		if _, err := parse(args); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
	f("--expired-retention", "0d")
	f("--expired-retention", "30")
	f("--expired-retention", "-1h")
	f("--expired-retention", "99999d")
	f("--density-limit", "0")
	f("--density-limit", "NaN")
	f("--max-shorten-rate", "-1")
	f("--snowflake-worker", "-1")
	f("--snowflake-epoch", "yesterday")
	f("--never-ban", "a b")
	f("--blocked-words", "nowhere")
	f("--code-source", "dice")
}

// A subcommand takes some of serve's options from wherever they stand, and its own from its words alone.
func TestSubcommandWords(t *testing.T) {
	conf := file(t, 0o600, "dir /a\nresp 127.0.0.1:1\nmax-url-bytes 100\ntimeout 5\n")
	t.Setenv("CURT_CONFIG", conf)
	t.Setenv("CURT_MAX_URL_BYTES", "200")
	s, err := parse([]string{"--key-file", file(t, 0o600, keyA), "a", "--b"}, "config", "dir", "key-file", "max-url-bytes", "ahead")
	if err != nil {
		t.Fatal(err)
	}
	if s.Dir != "/a" || s.MaxURLBytes != 200 || s.Codes.Ring.Active != "2025" || s.ahead != 1_000_000_000 || !reflect.DeepEqual(s.args, []string{"a", "--b"}) {
		t.Errorf("%+v", s)
	}
	if s, err := parse([]string{"--dir", "/b"}, "config", "dir"); err != nil || s.Dir != "/b" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := parse([]string{"--config", file(t, 0o600, "colour red\n")}, "config", "dir"); err == nil {
		t.Error("a name that nobody knows passed")
	}
	if _, err := parse([]string{"--http", "x"}, "config", "dir"); err == nil {
		t.Error("another command's option passed")
	}
}

// Each value that stands in the help works.
func TestValuesOfTheHelp(t *testing.T) {
	for _, o := range serveOptions() {
		if o.usage == "" || strings.ContainsAny(o.usage, "\n|") || o.set == nil {
			t.Errorf("option %s: usage %q", o.name, o.usage)
		}
		if o.def != "" {
			mustParse(t, "--"+o.name, o.def)
		}
	}
}

// readable is the option of a name, unless setting it reads a file.
func readable(name string) *option {
	for _, o := range serveOptions() {
		if o.name == name && name != "blocked-words" {
			return &o
		}
	}
	return nil
}

func FuzzConfigFile(f *testing.F) {
	f.Add("sync no\n# a\n\nrequirepass \"x\"\n")
	f.Add("dir\t/a\r\nhttp \"\"")
	for _, o := range serveOptions() {
		f.Add(o.name + " " + o.def + "\n" + o.name + " 1e9\n" + o.name + " 0\n" + o.name + " -1")
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := parseFile("f", strings.NewReader(text), func(name, value string) error {
			if name == "" || strings.ContainsAny(name, " \t\n") || name[0] == '#' || name == "config" {
				t.Errorf("name %q, value %q", name, value)
			}
			if o := readable(name); o != nil {
				s := &settings{}
				if o.set(s, value) == nil {
					s.Validate() // whatever it says
				}
			}
			return nil
		})
		if err != nil && !strings.HasPrefix(err.Error(), "f line ") {
			t.Errorf("error %q", err)
		}
	})
}
