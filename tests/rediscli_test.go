package tests

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// requireProgram skips a test for a program that is not there.
func requireProgram(t *testing.T, needs ...string) {
	t.Helper()
	for _, need := range needs {
		if !have(need) {
			t.Skip("missing program: " + need)
		}
	}
}

// redisTool prepares redis-cli or redis-benchmark for the matrix's server.
func (m *matrix) redisTool(name string, args ...string) *exec.Cmd {
	host, port, _ := strings.Cut(m.addr, ":")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	m.t.Cleanup(cancel)
	return exec.CommandContext(ctx, name, append([]string{"-h", host, "-p", port}, args...)...)
}

// cli runs redis-cli with something on its standard input and returns what it prints.
func (m *matrix) cli(stdin string, args ...string) string {
	m.t.Helper()
	cmd := m.redisTool("redis-cli", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("redis-cli %q: %v\n%s", args, err, out)
	}
	return string(out)
}

// want fails the test unless redis-cli prints want.
func (m *matrix) want(want, stdin string, args ...string) {
	m.t.Helper()
	if got := m.cli(stdin, args...); got != want {
		m.t.Errorf("redis-cli %q\n got: %q\nwant: %q", args, got, want)
	}
}

// wantMatch fails the test unless redis-cli prints something that fits a pattern.
func (m *matrix) wantMatch(pattern, stdin string, args ...string) {
	m.t.Helper()
	if got := m.cli(stdin, args...); !regexp.MustCompile(pattern).MatchString(got) {
		m.t.Errorf("redis-cli %q\n got: %s\nwant: %s", args, got, pattern)
	}
}

// conversation is a program that is talked to.
type conversation struct {
	t     *testing.T
	in    io.Writer
	out   *logBuffer
	heard int // bytes of out, as plain text
}

// talk starts a program. It is killed when the test ends.
func talk(t *testing.T, cmd *exec.Cmd) *conversation {
	t.Helper()
	c := &conversation{t: t, out: &logBuffer{}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, cmd.Stdout, cmd.Stderr = in, c.out, c.out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%q said: %q", cmd.Args, c.out)
		}
	})
	return c
}

func (c *conversation) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatal(err)
	}
}

// hear waits until the program says a text, in whatever colours, after all that was heard before.
func (c *conversation) hear(text string) {
	c.t.Helper()
	escape := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	eventually(c.t, fmt.Sprintf("it says %q", text), func() bool {
		at := strings.Index(escape.ReplaceAllString(c.out.String(), "")[c.heard:], text)
		if at >= 0 {
			c.heard += at + len(text)
		}
		return at >= 0
	})
}

// TestRedisCLI does with redis-cli, in both protocols, what clients/README.md says.
func TestRedisCLI(t *testing.T) {
	requireProgram(t, "redis-cli")
	for _, proto := range []string{"-2", "-3"} {
		t.Run("RESP"+proto[1:], func(t *testing.T) {
			m := newMatrix(t)
			one := "https://example.com/cli/one"
			m.want("PONG\n", "", proto, "PING")
			code := strings.TrimSpace(m.cli("", proto, "SHORTEN", one))
			m.want(code+"\n", "", proto, "SHORTEN", one)
			m.want(one+"\n", "", proto, "RESOLVE", code)
			m.want("\n", "", proto, "RESOLVE", "no-such-code")
			m.want(one+"\n", "", proto, "GET", code)
			m.want("OK\nQUEUED\nQUEUED\nQUEUED\nOK\nhttps://example.com/m\n1\n", "MULTI\nSET cli https://example.com/m\nGET cli\nDEL cli\nEXEC\n", proto)

			var many strings.Builder
			for i := range 1000 {
				fmt.Fprintf(&many, "SHORTEN https://example.com/cli/%d\n", i)
			}
			m.wantMatch(`errors: 0, replies: 1000\n$`, many.String(), proto, "--pipe")

			seen := map[string]bool{}
			for line := range strings.Lines(m.cli("", proto, "--scan")) {
				seen[strings.TrimSpace(line)] = true
			}
			if len(seen) != 11_001 || !seen[code] {
				t.Errorf("--scan: %d links", len(seen))
			}
			m.want(code+"\n", "", proto, "--scan", "--pattern", code[:5]+"*")
			m.wantMatch(`(?s)Sampled 11001 keys.*Biggest string found .* has [0-9]+ bytes.*11001 strings with [0-9]+ bytes`, "", proto, "--bigkeys")
			m.wantMatch(`(?s)Sampled 11001 keys.*Biggest string found .* has [0-9]+ bytes`, "", proto, "--memkeys")

			sub := talk(t, m.redisTool("redis-cli", proto, "SUBSCRIBE", "link:"+code))
			sub.hear("link:" + code)
			m.want("OK\n", "", proto, "BAN", code)
			sub.hear(`"event":"banned"`)
			m.want("\n", "", proto, "GET", code)
			m.wantMatch(`^BANNED`, "", proto, "RESOLVE", code)

			m.wantMatch(`^BADURL bad_scheme`, "", proto, "SHORTEN", "ftp://example.com/")
			if out, err := m.redisTool("redis-cli", proto, "-e", "SHORTEN", "ftp://example.com/").CombinedOutput(); err == nil {
				t.Errorf("-e: no error, %s", out)
			}

			session := talk(t, m.redisTool("redis-cli", proto))
			session.say("SHORTEN https://example.com/cli/7\nECHO first\n")
			session.hear("first")
			m.restart()
			session.say("GET nothing\nSHORTEN https://example.com/cli/7 FULL\n")
			session.hear("http://")
		})
	}
}

// TestRedisCLIHelps types into redis-cli at a terminal: it knows our own commands, from COMMAND DOCS.
func TestRedisCLIHelps(t *testing.T) {
	requireProgram(t, "redis-cli", "script")
	m := newMatrix(t)
	host, port, _ := strings.Cut(m.addr, ":")
	for _, proto := range []string{"-2", "-3"} {
		cmd := exec.Command("script", "-qec", fmt.Sprintf("stty cols 200 rows 50; exec redis-cli -h %s -p %s %s", host, port, proto), "/dev/null")
		cmd.Env = append(cmd.Environ(), "TERM=xterm", "HOME="+t.TempDir())
		c := talk(t, cmd)
		prompt := m.addr + "> "
		enter := func(line string, answers ...string) {
			c.hear(prompt) // what is typed before it is lost
			c.say(line + "\r")
			c.hear("\r\n")
			for _, a := range answers {
				c.hear(a)
			}
		}
		enter("help shorten", "SHORTEN url [AS alias]", " [TENANT tenant] [TAG tag [TAG tag ...]] [TITLE title]", "summary: ", "since: ", "group: ")
		enter("help ban", "BAN code [REASON reason]", "summary: ")
		enter("help client kill", "CLIENT KILL", "summary: ")
		enter("help @connection", "AUTH", "HELLO", "PING")
		enter("help nosuch")
		enter("PING", "PONG")
		c.hear(prompt)
		c.say("shorten ") // the rest is the hint
		c.hear("url [AS alias]")
	}
}

// TestRedisBenchmark: redis-benchmark ends at the first error.
func TestRedisBenchmark(t *testing.T) {
	requireProgram(t, "redis-benchmark")
	m := newMatrix(t)
	c := dial(t, m.addr)
	code := c.Do("SHORTEN", "https://example.com/").text
	links := infoNumber(t, c.Do("INFO", "curt").text, "curt_links")
	for _, args := range [][]string{
		{"-t", "ping,get"},
		{"-3", "-t", "ping,get", "-r", "1000"},
		{"-t", "ping,get", "-P", "100"},
		{"RESOLVE", code},
		{"-3", "-P", "100", "RESOLVE", code},
		{"-r", "1000", "SET", "bench__rand_int__", "https://example.com/__rand_int__"},
		{"-3", "-P", "100", "-r", "1000", "SET", "bench__rand_int__", "https://example.com/__rand_int__"},
		{"-P", "10", "-r", "1000", "SHORTEN", "https://example.com/b/__rand_int__"},
	} {
		args = append([]string{"-q", "-n", "3000"}, args...)
		out, err := m.redisTool("redis-benchmark", args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "requests per second") {
			t.Errorf("redis-benchmark %q: %v\n%s", args, err, out)
		}
	}
	for _, line := range []string{"ping", "get", "resolve", "set", "shorten"} {
		stats := regexp.MustCompile(`cmdstat_` + line + `:calls=([0-9]+),.*failed_calls=([0-9]+)`).FindStringSubmatch(c.Do("INFO", "commandstats").text)
		if stats == nil || len(stats[1]) < 4 || stats[2] != "0" {
			t.Errorf("%s: %q", line, stats)
		}
	}
	if now := infoNumber(t, c.Do("INFO", "curt").text, "curt_links"); now <= links+1000 || now > links+2000 {
		t.Errorf("there were %d links, now %d", links, now)
	}
}

// TestRedisExporter: what Prometheus's exporter for Redis asks for is there.
func TestRedisExporter(t *testing.T) {
	requireAll(t)
	requireProgram(t, "prometheus-redis-exporter")
	m := newMatrix(t)
	c := dial(t, m.addr)
	code := c.Do("SHORTEN", "https://example.com/").text
	c.Do("GET", code)
	exporter := func(port string) *exec.Cmd {
		return exec.Command("prometheus-redis-exporter", "-redis.addr", "redis://"+m.addr, "-web.listen-address", "127.0.0.1:"+port,
			"-check-single-keys", code, "-count-keys", "*", "-export-client-list", "-include-config-metrics", "-include-system-metrics", "-ping-on-connect")
	}
	var text string
	onFreePort(t, exporter, func(listen, _ string) bool {
		r, err := http.Get("http://" + listen + "/metrics")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		text = string(b)
		return err == nil
	})
	for _, want := range []string{
		`redis_up 1`, `redis_exporter_last_scrape_error{err=""} 0`, `redis_db_keys{db="db0"} 10001`, `redis_keys_count{db="db0",key="*"} 10001`,
		`redis_commands_total{cmd="get"} `, `redis_key_size{db="db0",key="` + code + `"} 20`, `redis_config_maxclients 10000`,
		`redis_connected_clients_details{`, `redis_slowlog_length `, `redis_instance_info{`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if t.Failed() {
		t.Logf("%.3000s", text)
	}
}

// TestDoors goes through a unix socket and TLS, with a name and a password: by redis-cli, and by a library that does it in HELLO.
func TestDoors(t *testing.T) { // O08
	requireProgram(t, "redis-cli", "openssl")
	dir := t.TempDir()
	cert, key, socket := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "socket")
	if out, err := exec.Command("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
		"-subj", "/CN=curt", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert).CombinedOutput(); err != nil {
		t.Fatalf("openssl: %v\n%s", err, out)
	}
	p := run(t, nil, "--dir", filepath.Join(dir, "data"), "--resp", "unix:"+socket, "--resp-tls-cert", cert, "--resp-tls-key", key, "--requirepass", "secret")
	m := &matrix{t: t, addr: p.respAddr, p: p}
	in := []string{"--no-auth-warning", "--user", "default", "--pass", "secret"}
	secure := append([]string{"--tls", "--cacert", cert}, in...)
	local := append([]string{"-s", socket}, in...)
	code := strings.TrimSpace(m.cli("", append(local, "SHORTEN", "https://example.com/")...))
	m.want("https://example.com/\n", "", append(secure, "RESOLVE", code)...)
	m.want("https://example.com/\n", "", append(secure, "-3", "-n", "0", "GET", code)...)
	m.want("NOAUTH Authentication required.\n\n", "", "-s", socket, "GET", code)
	m.wantMatch("^AUTH failed: WRONGPASS", "", "--no-auth-warning", "-s", socket, "-a", "wrong", "GET", code)

	pem, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("no certificate")
	}
	for _, o := range []*redis.Options{
		{Addr: p.respAddr, TLSConfig: &tls.Config{RootCAs: roots}, Username: "default", Password: "secret"},
		{Network: "unix", Addr: socket, Password: "secret", Protocol: 2},
	} {
		client := redis.NewClient(o)
		if got, err := client.Get(t.Context(), code).Result(); err != nil || got != "https://example.com/" {
			t.Errorf("%s: %q, %v", o.Addr, got, err)
		}
		client.Close()
		o.Password = "wrong"
		client = redis.NewClient(o)
		if err := client.Ping(t.Context()).Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGPASS") {
			t.Errorf("%s: %v", o.Addr, err)
		}
		client.Close()
	}
}
