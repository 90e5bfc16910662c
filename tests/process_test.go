package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// program and goClients are the paths of built programs, made when they are first asked for.
var (
	program   = sync.OnceValues(func() (string, error) { return build("curt") })
	goClients = sync.OnceValues(func() (string, error) { return build("curt/tests/clients/go") })
)

func build(what string) (path string, err error) {
	dir, err := os.MkdirTemp("", "curt-program-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "curt")
	built.Store(path, true)
	if out, err := exec.Command("go", "build", "-o", path, what).CombinedOutput(); err != nil {
		return path, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

var built sync.Map // paths of built programs, for removeProgram

func removeProgram() {
	built.Range(func(path, _ any) bool {
		os.RemoveAll(filepath.Dir(path.(string)))
		return true
	})
}

// process is the program as it runs.
type process struct {
	tb       testing.TB
	cmd      *exec.Cmd
	stdout   *logBuffer
	stderr   *logBuffer
	ended    chan struct{} // closed when it has ended
	respAddr string
	httpAddr string
}

// run starts `curt serve` on free ports and waits until it says that it is ready.
func run(tb testing.TB, env []string, args ...string) *process {
	tb.Helper()
	path, err := program()
	if err != nil {
		tb.Fatal(err)
	}
	return runAs(tb, path, env, args...)
}

// runAs is run for another path of the program.
func runAs(tb testing.TB, path string, env []string, args ...string) *process {
	tb.Helper()
	args = append([]string{"serve", "--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"}, args...)
	p, out := launchAs(tb, path, env, args...)
	ready := regexp.MustCompile(`(?s)RESP on (\S+)\n.*HTTP on http://(\S+)\n.*curl`)
	eventually(tb, "the program is ready: "+strings.Join(args, " "), func() bool {
		if m := ready.FindStringSubmatch(out.String()); m != nil {
			p.respAddr, p.httpAddr = m[1], m[2]
			return true
		}
		if p.hasEnded() {
			tb.Fatalf("%q ended: %s", args, p.stderr)
		}
		return false
	})
	return p
}

// launch starts the program with any arguments. It is killed when the test ends.
func launch(tb testing.TB, env []string, args ...string) (*process, *logBuffer) {
	tb.Helper()
	path, err := program()
	if err != nil {
		tb.Fatal(err)
	}
	return launchAs(tb, path, env, args...)
}

// launchAs is launch for another path of the program.
func launchAs(tb testing.TB, path string, env []string, args ...string) (*process, *logBuffer) {
	tb.Helper()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), env...)
	p := begin(tb, cmd)
	return p, p.stdout
}

// begin starts a command, whose output it keeps. It is killed when the test ends.
func begin(tb testing.TB, cmd *exec.Cmd) *process {
	tb.Helper()
	p := &process{tb: tb, cmd: cmd, stdout: &logBuffer{}, stderr: &logBuffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in ProcessState
	}()
	tb.Cleanup(func() {
		p.kill()
		if tb.Failed() {
			tb.Logf("stderr of %s:\n%s", p.cmd.Path, p.stderr)
		}
	})
	return p
}

// hasEnded tells whether it has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// kill is kill -9.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	<-p.ended
}

// stop sends a signal and returns the exit code.
func (p *process) stop(s os.Signal) int {
	p.tb.Helper()
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.tb.Fatal(err)
	}
	return p.exit()
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.tb.Fatalf("the program does not end: %s", p.stderr)
	}
	return p.cmd.ProcessState.ExitCode()
}

// refusesToStart runs the program, which must complain in one line and exit with code 1.
func refusesToStart(t *testing.T, want string, env []string, args ...string) {
	t.Helper()
	p, _ := launch(t, env, args...)
	code := p.exit()
	text := p.stderr.String()
	if code != 1 || !strings.Contains(text, want) || strings.Count(text, "\n") != 1 || strings.Contains(text, "goroutine") {
		t.Errorf("%q: exit code %d, want 1; stderr, want one line with %q:\n%s", args, code, want, text)
	}
}

// TestSignalsDrain: SIGTERM and SIGINT let what runs finish, and exit with 0. What was acknowledged is there afterwards.
func TestSignalsDrain(t *testing.T) { // O02
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		for _, mode := range []string{"always", "everysec", "no"} {
			t.Run(fmt.Sprintf("%v/%s", signal, mode), func(t *testing.T) {
				dir := t.TempDir()
				p := run(t, nil, "--dir", dir, "--sync", mode)
				var wg sync.WaitGroup
				l := newLedger()
				for i := range 4 {
					c, err := tryDial(t, p.respAddr)
					if err != nil {
						t.Fatal(err)
					}
					wg.Go(func() {
						defer c.conn.Close()
						l.load(t, c, newRand(uint64(i)), fmt.Sprint(i), 0)
					})
				}
				eventually(t, "there is load", func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.codes) > 50 })
				if code := p.stop(signal); code != 0 {
					t.Errorf("exit code %d: %s", code, p.stderr)
				}
				wg.Wait()
				l.check(t, dial(t, run(t, nil, "--dir", dir).respAddr))
			})
		}
	}
}

// TestSettings: words stay words, what is empty is as if unset, a flag goes before the environment, that before the file.
func TestSettings(t *testing.T) { // O05
	file := filepath.Join(t.TempDir(), "curt.conf")
	if err := os.WriteFile(file, []byte("# comment\nrequirepass from-file\nmaxclients 77\nbase-url https://file.example.com\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name     string
		env      []string
		args     []string
		password string
		clients  string
	}{
		{"a password of digits", nil, []string{"--requirepass", "0012345"}, "0012345", "10000"},
		{"from the environment", []string{"CURT_REQUIREPASS=1e3", "CURT_MAXCLIENTS=55"}, nil, "1e3", "55"},
		{"an empty variable is none", []string{"CURT_REQUIREPASS=", "CURT_MAXCLIENTS="}, nil, "", "10000"},
		{"from a file", nil, []string{"--config", file}, "from-file", "77"},
		{"the environment before the file", []string{"CURT_REQUIREPASS=from-env"}, []string{"--config", file}, "from-env", "77"},
		{"a flag before both", []string{"CURT_MAXCLIENTS=55"}, []string{"--config", file, "--maxclients", "66", "--requirepass", "f"}, "f", "66"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := run(t, c.env, append(c.args, "--dir", t.TempDir())...)
			cli := dial(t, p.respAddr)
			if c.password != "" {
				if r := cli.Do("PING"); r.word() != "NOAUTH" {
					t.Errorf("PING without password answers %s", r)
				}
				if r := cli.Do("AUTH", c.password); r.String() != "OK" {
					t.Errorf("AUTH %s answers %s", c.password, r)
				}
			}
			if r := cli.Do("CONFIG", "GET", "maxclients"); r.field("maxclients").text != c.clients {
				t.Errorf("maxclients is %s", r)
			}
		})
	}
}

// TestRefusesToStart: one clear line, exit code 1, and nothing touched.
func TestRefusesToStart(t *testing.T) { // O06
	t.Run("settings", func(t *testing.T) {
		refusesToStart(t, "no-such-option", nil, "serve", "--no-such-option", "1")
		refusesToStart(t, "sync", nil, "serve", "--dir", t.TempDir(), "--sync", "sometimes")
		refusesToStart(t, "code-length", nil, "serve", "--dir", t.TempDir(), "--code-length", "99")
		refusesToStart(t, "CURT_MAXCLIENTS", []string{"CURT_MAXCLIENTS=many"}, "serve", "--dir", t.TempDir())
		refusesToStart(t, "CURT_SYNCH", []string{"CURT_SYNCH=no"}, "serve", "--dir", t.TempDir())
		refusesToStart(t, "base-url", nil, "serve", "--dir", t.TempDir(), "--base-url", "sho.rt")
		refusesToStart(t, "none.conf", nil, "serve", "--config", filepath.Join(t.TempDir(), "none.conf"))
		refusesToStart(t, "frobnicate", nil, "frobnicate")
	})
	free := []string{"--resp", "127.0.0.1:0", "--http", "127.0.0.1:0"}
	serve := func(args ...string) []string { return append(append([]string{"serve"}, free...), args...) }
	t.Run("a folder in use", func(t *testing.T) {
		dir := t.TempDir()
		p := run(t, nil, "--dir", dir)
		refusesToStart(t, "in use", nil, serve("--dir", dir)...)
		if r := dial(t, p.respAddr).Do("SHORTEN", "https://example.com/"); r.isError() {
			t.Errorf("the first server is disturbed: %s", r)
		}
		refusesToStart(t, p.respAddr, nil, "serve", "--dir", t.TempDir(), "--resp", p.respAddr, "--http", "127.0.0.1:0")
		refusesToStart(t, p.httpAddr, nil, "serve", "--dir", t.TempDir(), "--resp", "127.0.0.1:0", "--http", p.httpAddr)
	})
	t.Run("a foreign folder", func(t *testing.T) {
		for name, content := range map[string]string{"dump.rdb": "REDIS0011", "CURRENT": "MANIFEST-000001\n", "notes.txt": "mine"} {
			dir := t.TempDir()
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			refusesToStart(t, dir, nil, serve("--dir", dir)...)
			if b, err := os.ReadFile(path); err != nil || string(b) != content {
				t.Errorf("%s was touched: %q, %v", name, b, err)
			}
			if list, _ := os.ReadDir(dir); len(list) != 1 {
				t.Errorf("the foreign folder now holds %v", list)
			}
		}
	})
	t.Run("a key that is wrong or missing", func(t *testing.T) {
		dir := t.TempDir()
		key := func(mode os.FileMode, lines string) string {
			path := filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(path, []byte(lines), mode); err != nil {
				t.Fatal(err)
			}
			return path
		}
		good := "2030 " + strings.Repeat("ab", 32) + "\n"
		p := run(t, nil, "--dir", dir, "--key-file", key(0o600, good))
		code := dial(t, p.respAddr).Do("SHORTEN", "https://example.com/").text
		p.stop(syscall.SIGTERM)
		refusesToStart(t, "2030", nil, serve("--dir", dir, "--key-file", key(0o600, "2030 "+strings.Repeat("cd", 32)+"\n"))...)
		refusesToStart(t, "2030", nil, serve("--dir", dir, "--key-file", key(0o600, "2031 "+strings.Repeat("cd", 32)+"\n"))...)
		refusesToStart(t, "2030", nil, serve("--dir", dir)...)
		refusesToStart(t, "chmod 600", nil, serve("--dir", dir, "--key-file", key(0o644, good))...)
		refusesToStart(t, "line 1", nil, serve("--dir", dir, "--key-file", key(0o600, "nonsense\n"))...)
		p = run(t, nil, "--dir", dir, "--key-file", key(0o600, good))
		if r := dial(t, p.respAddr).Do("RESOLVE", code); r.text != "https://example.com/" {
			t.Errorf("%s leads to %s", code, r)
		}
	})
}

// TestTheFolderIsPrivate: what links there are is nobody else's business.
func TestTheFolderIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "data")
	p := run(t, nil, "--dir", dir)
	if r := dial(t, p.respAddr).Do("SHORTEN", "https://example.com/?token=secret"); r.isError() {
		t.Fatal(r)
	}
	a, err := fetch(browser(false), "GET", p.httpAddr, "/nothere")
	if err != nil || a.status != 404 {
		t.Errorf("HTTP answers %d, %v", a.status, err)
	}
	p.stop(syscall.SIGTERM)
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder has mode %v, %v", info.Mode(), err)
	}
	if strings.Contains(p.stderr.String(), "secret") {
		t.Errorf("the log holds the query of a target:\n%s", p.stderr)
	}
}

// TestKill kills the program with -9 at random moments under load. In every sync mode each acknowledged change is there after the
// next start, and no code is issued twice in all its lives.
func TestKill(t *testing.T) {
	for _, mode := range []string{"always", "everysec", "no"} {
		t.Run(mode, func(t *testing.T) {
			seed := newSeed(t)
			rng := newRand(seed)
			dir := t.TempDir()
			l := newLedger()
			for life := range scale(2, 4, 200) {
				p := run(t, nil, "--dir", dir, "--sync", mode, "--cache-bytes", "16MiB")
				c, err := tryDial(t, p.respAddr)
				if err != nil {
					t.Fatal(err)
				}
				l.check(t, c)
				c.conn.Close()
				var loads sync.WaitGroup
				for i := range 8 {
					c, err := tryDial(t, p.respAddr)
					if err != nil {
						t.Fatal(err)
					}
					r := newRand(rng.Uint64())
					loads.Go(func() {
						defer c.conn.Close()
						l.load(t, c, r, fmt.Sprintf("life%d-%d", life, i), 0)
					})
				}
				time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond) // when it dies is for the seed and the scheduler to say
				p.kill()
				loads.Wait()
				if t.Failed() {
					t.Fatalf("in life %d of seed %d", life, seed)
				}
			}
			p := run(t, nil, "--dir", dir, "--sync", mode)
			l.check(t, dial(t, p.respAddr))
			survived(t, fmt.Sprintf("kill -9, %d times under load, `--sync %s`; %d codes issued", scale(2, 4, 200), mode, len(l.codes)), "connections that end")
		})
	}
}
