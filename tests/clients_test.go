package tests

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outsideClient is a program of the folder clients: it does there what its README says, with one client library.
type outsideClient struct {
	name  string
	needs []string // programs, python3:MODULE, header:FILE, ...: what must be there
	// command makes what it takes to run, and returns how it is called; host and port follow.
	command func(t *testing.T) []string
	steps   []string // besides those of all
	more    bool     // only run with CLIENTS=all: its programs are not what everybody has
	locked  bool     // this repository says which version it is
}

// commonSteps are what every client must report, in this order.
var commonSteps = []string{"connect", "shorten", "resolve", "get", "pipeline", "multi", "scan", "ban", "error", "reconnect"}

var outsideClients = []outsideClient{
	{name: "go-redis", locked: true, command: goProgram("go-redis"), steps: []string{"cache"}},
	{name: "rueidis", locked: true, command: goProgram("rueidis"), steps: []string{"cache"}},
	{name: "redigo", locked: true, command: goProgram("redigo")},
	{name: "redis-py", needs: []string{"python3:redis"}, command: script(python(), "python/redis_py.py")},
	{name: "node-redis", locked: true, needs: []string{"node", "npm"}, command: nodeScript("node-redis.mjs"), steps: []string{"cache"}},
	{name: "ioredis", locked: true, needs: []string{"node", "npm"}, command: nodeScript("ioredis.mjs")},
	{name: "hiredis", needs: []string{"gcc", "header:hiredis/hiredis.h"}, command: hiredis},

	{name: "node-redis 4", locked: true, needs: []string{"node", "npm"}, command: nodeScript("node-redis.mjs", "redis-4"), more: true},
	{name: "redis-rb", needs: []string{"ruby:redis"}, command: script("ruby", "ruby/redis.rb"), more: true},
	{name: "phpredis", needs: []string{"php:redis", "php:pcntl"}, command: script("php", "php/phpredis.php"), more: true},
	{name: "Predis", needs: []string{"php:Predis/autoload.php"}, command: script("php", "php/predis.php"), more: true},
	{name: "Perl", needs: []string{"perl:Redis"}, command: script("perl", "perl/redis.pl"), more: true},
}

// TestClients drives the program with one client library after the other.
func TestClients(t *testing.T) {
	for _, c := range outsideClients {
		t.Run(c.name, func(t *testing.T) {
			if c.more {
				requireAll(t)
			}
			requireProgram(t, c.needs...)
			m := newMatrix(t)
			m.drive(c.command(t), append(slices.Clone(commonSteps), c.steps...))
			if c.locked && !inReadme(t, strings.Fields(m.version)) {
				t.Errorf("README.md's table of clients does not have %s", m.version)
			}
		})
	}
}

// inReadme reports that README.md has a row that begins with these cells.
func inReadme(t *testing.T, cells []string) bool {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "\n| "+strings.Join(cells, " | ")+" |")
}

// requireAll skips a test that only make clients runs.
func requireAll(t *testing.T) {
	t.Helper()
	if os.Getenv("CLIENTS") != "all" {
		t.Skip("make clients runs it")
	}
}

// python is the interpreter that Debian's modules are for, whatever else is first in the path.
func python() string {
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	return "python3"
}

// have reports that a program is there, or python3:MODULE, header:FILE, ruby:LIBRARY, php:EXTENSION, php:FILE, perl:MODULE.
func have(need string) bool {
	kind, name, library := strings.Cut(need, ":")
	if !library {
		_, err := exec.LookPath(need)
		return err == nil
	}
	var check *exec.Cmd
	switch kind {
	case "python3":
		check = exec.Command(python(), "-c", "import "+name)
	case "header":
		check = exec.Command("gcc", "-E", "-")
		check.Stdin = strings.NewReader("#include <" + name + ">")
	case "ruby":
		check = exec.Command("ruby", "-r", name, "-e", "")
	case "php":
		check = exec.Command("php", "-r", "exit(extension_loaded($argv[1]) || stream_resolve_include_path($argv[1]) ? 0 : 1);", name)
	case "perl":
		check = exec.Command("perl", "-M"+name, "-e", "1")
	}
	return check.Run() == nil
}

func script(interpreter, file string) func(*testing.T) []string {
	return func(*testing.T) []string { return []string{interpreter, filepath.Join("clients", file)} }
}

// goProgram is the program of clients/go, for one of its libraries.
func goProgram(library string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		path, err := goClients()
		if err != nil {
			t.Fatal(err)
		}
		return []string{path, library}
	}
}

// nodeScript is a program of clients/node, beside the locked packages.
func nodeScript(file string, args ...string) func(*testing.T) []string {
	return func(t *testing.T) []string {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS("clients/node")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(nodeModules(t, dir), filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		return append([]string{"node", filepath.Join(dir, file), "HOST", "PORT"}, args...)
	}
}

// nodeModules has npm install the locked packages of a folder, once for each lock, and returns where they are.
func nodeModules(t *testing.T, from string) string {
	t.Helper()
	lock, err := os.ReadFile(filepath.Join(from, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "curt-test-clients", fmt.Sprintf("%x", sha256.Sum256(lock)))
	modules := filepath.Join(dir, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	fresh := t.TempDir()
	if err := os.CopyFS(fresh, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	npm := exec.Command("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
	whole := dir + ".new" // what is in dir is whole, also when this is interrupted
	for _, step := range []func() error{
		func() error { return os.RemoveAll(whole) },
		func() error { return os.CopyFS(whole, os.DirFS(fresh)) },
		func() error { return os.Rename(whole, dir) },
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return modules
}

func hiredis(t *testing.T) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hiredis")
	if out, err := exec.Command("gcc", "-Wall", "-Werror", "-o", path, "clients/hiredis/hiredis.c", "-lhiredis").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return []string{path}
}

// matrix is a server with 10,000 links that a client is driven against.
type matrix struct {
	t    *testing.T
	dir  string
	addr string
	p    *process

	version string // what the client said of itself
}

func newMatrix(t *testing.T) *matrix {
	t.Helper()
	m := &matrix{t: t, dir: t.TempDir()}
	m.p = run(t, nil, "--dir", m.dir, "--cache-bytes", "32MiB")
	m.addr = m.p.respAddr
	c := dial(t, m.addr)
	for i := range 10 {
		words := []string{"MSHORTEN", "1000"}
		for j := range 1000 {
			words = append(words, fmt.Sprintf("https://example.com/there/%d/%d", i, j))
		}
		if r := c.Do(words...); len(r.list) != 1000 {
			t.Fatal(r)
		}
	}
	c.conn.Close()
	return m
}

// restart stops the server and starts it again at the same address.
func (m *matrix) restart() {
	m.t.Helper()
	if code := m.p.stop(syscall.SIGTERM); code != 0 {
		m.t.Errorf("exit code %d", code)
	}
	m.p = run(m.t, nil, "--dir", m.dir, "--cache-bytes", "32MiB", "--resp", m.addr)
}

// drive runs a client's program and checks that it reports every step.
func (m *matrix) drive(command, steps []string) {
	m.t.Helper()
	host, port, _ := strings.Cut(m.addr, ":")
	if i := slices.Index(command, "HOST"); i >= 0 {
		command[i], command[i+1] = host, port
	} else {
		command = append(command, host, port)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 5 * time.Second
	stderr := &logBuffer{}
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		m.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	done := m.follow(stdout, stdin, steps)
	if err := cmd.Wait(); err != nil || !done {
		m.t.Errorf("%q: %v, done %v\n%s", command, err, done, stderr)
	}
}

// follow reads what the program reports until it ends, and restarts the server when it is asked to.
func (m *matrix) follow(stdout io.Reader, stdin io.Writer, steps []string) (done bool) {
	lines := bufio.NewScanner(stdout)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ok":
			i := slices.Index(steps, rest)
			if i < 0 {
				m.t.Errorf("unknown step, or twice: %s", rest)
				continue
			}
			steps = slices.Delete(steps, i, i+1)
		case "restart":
			m.restart()
			if _, err := io.WriteString(stdin, "go\n"); err != nil {
				m.t.Error(err)
			}
		case "done":
			m.version, done = rest, true
		default:
			m.t.Logf("it says: %s", lines.Text())
		}
	}
	if len(steps) > 0 {
		m.t.Errorf("steps that did not go well: %q", steps)
	}
	return done
}
