package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The sessions of these sections of the README do what they show. `curt serve` runs until the next `curt`.
func TestReadmeSections(t *testing.T) {
	for name, least := range map[string]int{"Keys, rotation, growth": 20, "Data in and out": 25} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			readmeSection(t, name, least)
		})
	}
}

// readmeSection does what a section's sessions show: so many commands at least.
func readmeSection(t *testing.T, name string, least int) {
	requirePrograms(t, "sh", "openssl")
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "\n## "+name+"\n")
	if !ok {
		t.Fatal("the README has no section", name)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	r := &reader{t: t, dir: t.TempDir()}
	n := 0
	for _, part := range strings.Split(section, "\n```console\n$ ")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		for _, step := range strings.Split(block, "\n$ ") {
			command, want, _ := strings.Cut(step, "\n")
			got := strings.TrimSuffix(r.do(command, want != ""), "\n")
			if !shows(want, got) {
				t.Errorf("$ %s\n%s\nthe README shows\n%s", command, got, want)
			}
			n++
		}
	}
	r.stop()
	if n < least {
		t.Errorf("only %d commands were found", n)
	}
}

// reader does what the README says.
type reader struct {
	t      *testing.T
	dir    string
	server *process
}

func (r *reader) stop() {
	if r.server != nil {
		r.server.stop()
		r.server = nil
	}
}

// do runs a command and returns what it says. A server that should say something is one that does not start.
func (r *reader) do(command string, says bool) string {
	r.t.Helper()
	words := strings.Fields(command)
	if strings.Contains(command, "--resp") {
		command = strings.ReplaceAll(command, "127.0.0.1:6380", r.server.resp[0])
	} else if words[0] == "curt" {
		r.stop()
	}
	if words[0] == "curt" && words[1] == "serve" && !says {
		args := []string{}
		for i, w := range words[2:] {
			if strings.HasSuffix(words[i+1], "dir") || strings.HasSuffix(words[i+1], "-file") || words[i+1] == "--blocked-words" {
				w = filepath.Join(r.dir, w)
			}
			args = append(args, w)
		}
		r.server = start(r.t, filepath.Join(r.dir, "unused"), args...)
		return ""
	}
	if words[0] == "redis-cli" {
		args := make([]any, 0, len(words))
		for _, w := range words[3:] { // behind -p PORT
			args = append(args, w)
		}
		if reply := r.server.do(args...); reply != "OK" {
			return fmt.Sprintf("%q", reply)
		}
		return "OK"
	}
	self, err := os.Executable()
	if err != nil {
		r.t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `curt() { "`+self+`" "$@"; }; `+command)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), asProgram+"=1", "CURT_RESP=127.0.0.1:0", "CURT_HTTP=127.0.0.1:0") // others may use the usual ports
	out, _ := cmd.CombinedOutput()
	return string(out)
}

var aCode = regexp.MustCompile(`^"[0-9A-Za-z]+"$`)

// shows reports that a text is what another promises: of a code the length, of "..." anything, of a table the words.
func shows(want, got string) bool {
	if want == "..." {
		return true
	}
	if aCode.MatchString(want) {
		return aCode.MatchString(got) && len(got) == len(want)
	}
	return strings.Join(strings.Fields(want), " ") == strings.Join(strings.Fields(got), " ")
}
