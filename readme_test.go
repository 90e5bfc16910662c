package main

import (
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The first link of a new store is position 0 of its first key: with this key the codes are those of the README.
const readmeKey = "1 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n"

// requirePrograms skips a test where one of the outside programs that it runs is missing.
func requirePrograms(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("missing program: " + name)
		}
	}
}

// step is a command of a session with what it prints.
type step struct {
	command string
	output  []string // "..." stands for any lines
}

// readmeBlock reads the first block in a language of one of the README's sections.
func readmeBlock(t *testing.T, section, language string) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "\n## "+section+"\n")
	_, block, _ := strings.Cut(rest, "```"+language+"\n")
	block, _, ok := strings.Cut(block, "\n```")
	if !ok {
		t.Fatalf("README.md has no %s block under %q", language, section)
	}
	return block
}

// readmeSession is the README's session.
func readmeSession(t *testing.T) []step {
	t.Helper()
	var steps []step
	for line := range strings.SplitSeq(readmeBlock(t, "A session", "console"), "\n") {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			steps = append(steps, step{command: command})
		} else {
			last := &steps[len(steps)-1]
			last.output = append(last.output, line)
		}
	}
	return steps
}

// matches compares lines with a pattern.
func matches(pattern, lines []string) bool {
	switch {
	case len(pattern) == 0:
		return len(lines) == 0
	case pattern[0] == "...":
		return matches(pattern[1:], lines) || len(lines) > 0 && matches(pattern, lines[1:])
	}
	return len(lines) > 0 && pattern[0] == lines[0] && matches(pattern[1:], lines[1:])
}

func TestReadmeSession(t *testing.T) {
	t.Parallel()
	requirePrograms(t, "bash", "redis-cli", "curl")
	p := start(t, t.TempDir(), "--key-file", file(t, 0o600, readmeKey))
	_, respPort, _ := net.SplitHostPort(p.resp[0])
	_, httpPort, _ := net.SplitHostPort(strings.TrimPrefix(p.http, "http://"))
	for _, s := range readmeSession(t) {
		script := strings.NewReplacer("redis-cli -p 6380", "redis-cli --no-raw -p "+respPort, "localhost:8080", "localhost:"+httpPort).Replace(s.command)
		out, err := exec.Command("bash", "-c", script).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", s.command, err, out)
		}
		text := strings.ReplaceAll(strings.ReplaceAll(string(out), "\r", ""), "127.0.0.1:"+httpPort, "127.0.0.1:8080")
		if lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n"); !matches(s.output, lines) {
			t.Errorf("$ %s\nprints\n%s\nand the README says\n%s", s.command, text, strings.Join(s.output, "\n"))
		}
	}
}

// The lines of the README's Go program are those of the example, in its order.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("server/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	rest, ok := string(example), false
	for line := range strings.SplitSeq(readmeBlock(t, "In a Go program", "go"), "\n") {
		if line == "..." {
			continue
		}
		if _, rest, ok = strings.Cut(rest, "\t"+line+"\n"); !ok {
			t.Errorf("the example does not say there\n%s", line)
		}
	}
}

// The two commands and the files that the README sends a reader to exist.
func TestReadmeNames(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?:`|    )make ([a-z]+)").FindAllStringSubmatch(string(readme), -1) {
		if !regexp.MustCompile(`(?m)^` + m[1] + `:.*## `).Match(makefile) {
			t.Errorf("the Makefile has no target %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?:`|\\]\\()([a-z/]*[a-zA-Z_]+\\.(?:go|md))[#`)]").FindAllStringSubmatch(string(readme), -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("the README names %s: %v", m[1], err)
		}
	}
	var options []string
	for _, o := range append(serveOptions(), dataOptions()...) {
		options = append(options, o.name)
	}
	for _, m := range regexp.MustCompile(`--([a-z][a-z-]*)`).FindAllStringSubmatch(string(readme), -1) {
		if !slices.Contains(options, m[1]) {
			t.Errorf("the README names an option --%s", m[1])
		}
	}
}
