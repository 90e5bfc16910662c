package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// curtOK runs a subcommand that must succeed, and returns what it printed.
func curtOK(t *testing.T, args ...string) ended {
	t.Helper()
	got := runToEnd(t, nil, args...)
	if got.code != 0 {
		t.Fatalf("curt %q: code %d: %s", args, got.code, got.stderr)
	}
	return got
}

// The way of the data through the program: in from a file, checked, out, into another folder with the keys, out again.
func TestDataInAndOut(t *testing.T) {
	t.Parallel()
	keys := file(t, 0o600, keyA)
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	csv := file(t, 0o600, "\xEF\xBB\xBFurl,alias,title\r\nhttps://example.com/1,one,\"a\r\nb\"\r\nftp://example.com/,two,\r\nhttps://example.com/3,,\r\n")

	got := curtOK(t, "import", "--dir", first, "--key-file", keys, "--format", "csv", "--dry-run", csv)
	if got.stdout != "Nothing was written.\n2 imported, 1 refused\n" {
		t.Errorf("%+v", got)
	}
	if _, err := os.Stat(first); err == nil {
		t.Error("a dry run made a folder")
	}
	got = curtOK(t, "import", "--dir", first, "--key-file", keys, "--format", "csv", csv)
	if got.stdout != "2 imported, 1 refused\n" || got.stderr != "line 4: BADURL bad_scheme: the URL must begin with http:// or https://\n" {
		t.Errorf("%+v", got)
	}
	got = curtOK(t, "import", "--dir", first, "--key-file", keys, "--format", "csv", csv)
	if got.stdout != "2 were there already.\n0 imported, 1 refused\n" {
		t.Errorf("%+v", got)
	}
	if got = curtOK(t, "check", "--dir", first, "--key-file", keys); got.stdout != "2 links, no problem\n" {
		t.Errorf("%+v", got)
	}
	out := curtOK(t, "export", "--dir", first, "--key-file", keys)
	if strings.Count(out.stdout, "\n") != 3 || out.stderr != "" || strings.Contains(out.stdout, "00112233") {
		t.Errorf("%+v", out)
	}
	export := file(t, 0o600, out.stdout)
	if got = curtOK(t, "import", "--dir", second, "--key-file", keys, export); got.stdout != "The store took over ids and codes.\n2 imported, 0 refused\n" {
		t.Errorf("%+v", got)
	}
	if again := curtOK(t, "export", "--dir", second, "--key-file", keys); again.stdout != out.stdout {
		t.Errorf("%s\nwant\n%s", again.stdout, out.stdout)
	}
	third := filepath.Join(t.TempDir(), "third")
	if got = curtOK(t, "import", "--dir", third, export); !strings.Contains(got.stdout, "missing 2025") || !strings.HasSuffix(got.stdout, "1 generated codes came in as names.\n2 imported, 0 refused\n") {
		t.Errorf("%+v", got)
	}
}

func TestDataRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	for _, command := range [][]string{{"export"}, {"check"}, {"epochs"}, {"rotate-key"}, {"import", file(t, 0o600, "")}} {
		args := append([]string{command[0], "--dir", dir}, command[1:]...)
		checkFault(t, "in use by another process: stop the server first", nil, args...)
	}
	p.stop()
	none := filepath.Join(t.TempDir(), "none")
	for _, command := range []string{"export", "check", "epochs", "rotate-key"} {
		checkFault(t, "there is no Curt store", nil, command, "--dir", none)
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("a folder was made")
	}
	checkFault(t, "import takes one FILE", nil, "import", "--dir", dir)
	checkFault(t, "must be one of jsonl, csv", nil, "import", "--dir", dir, "--format", "tsv", "x")
	checkFault(t, "no such file", nil, "import", "--dir", dir, "nowhere")
	checkFault(t, "names no column with URLs", nil, "import", "--dir", dir, "--format", "csv", file(t, 0o600, "a,b\n"))
	checkFault(t, "by hand: add a last line", nil, "rotate-key", "--dir", dir, "--key-file", file(t, 0o600, keyA))
	checkFault(t, "unexpected argument", nil, "check", "--dir", dir, "now")
	if got := runToEnd(t, nil, "import", "--help"); got.code != 0 || !strings.Contains(got.stdout, "--format NAME") || !strings.Contains(got.stdout, "Usage: curt import [options] FILE|-") {
		t.Errorf("%+v", got)
	}
}

// Every subcommand's options exist.
func TestSubcommandOptions(t *testing.T) {
	for _, c := range subcommands() {
		shared, own := optionsOf(c.options)
		if c.options != nil && len(shared)+len(own) != len(c.options) {
			t.Errorf("%s: %d options of %q", c.name, len(shared)+len(own), c.options)
		}
		for _, o := range append(shared, own...) {
			if o.set == nil || o.usage == "" {
				t.Errorf("%s: option %s", c.name, o.name)
			}
		}
	}
}

// restore makes a new folder, says where ids go on, and refuses what is no backup or a folder in use.
func TestRestore(t *testing.T) {
	t.Parallel()
	dir, backups, keys := t.TempDir(), filepath.Join(t.TempDir(), "backups"), file(t, 0o600, keyA)
	p := start(t, dir, "--key-file", keys, "--backup-dir", backups, "--backups-kept", "1")
	first := p.do("SHORTEN", "https://example.com/first")
	p.do("SAVE")
	if got := p.do("SAVE"); got != "OK" {
		t.Fatal(got)
	}
	p.stop()
	list, err := filepath.Glob(filepath.Join(backups, "*"))
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	to := filepath.Join(t.TempDir(), "to")
	checkFault(t, "restore takes one BACKUP", nil, "restore", "--dir", to)
	checkFault(t, "no finished backup", nil, "restore", "--dir", to, "--key-file", keys, dir)
	checkFault(t, "missing 2025", nil, "restore", "--dir", to, list[0])
	checkFault(t, "is not empty", nil, "restore", "--dir", dir, "--key-file", keys, list[0])
	checkFault(t, "ahead", nil, "restore", "--dir", to, "--ahead", "0", list[0])
	checkFault(t, "the folder is a backup", nil, "serve", "--dir", list[0], "--resp", "127.0.0.1:0", "--http", "")
	if _, err := os.Stat(to); err == nil {
		t.Error("a refused restore left a folder")
	}
	got := curtOK(t, "restore", "--dir", to, "--key-file", keys, "--ahead", "5000", "--code-length", "9", list[0])
	if !strings.HasPrefix(got.stdout, "1 links are in "+to+". Ids go on behind 6001, new codes have 9 characters.\n") {
		t.Errorf("%+v", got)
	}
	if got := curtOK(t, "check", "--dir", to, "--key-file", keys); got.stdout != "1 links, no problem\n" {
		t.Errorf("%+v", got)
	}
	p = start(t, to, "--key-file", keys)
	if again, fresh := p.do("SHORTEN", "https://example.com/first"), p.do("SHORTEN", "https://example.com/new"); again != first || len(fresh) != 9 {
		t.Error(again, first, fresh)
	}
	p.stop()
}

// A slash behind the data folder's name, as shells put it there, changes nothing: backups lie beside the folder, not in it.
func TestSlashBehindTheFolder(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	p := start(t, dir+"/")
	if got := p.do("SAVE"); got != "OK" {
		t.Fatal(got)
	}
	p.stop()
	list, err := filepath.Glob(dir + ".backups/2*")
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	to := filepath.Join(t.TempDir(), "to")
	curtOK(t, "restore", "--dir", to+"/", list[0])
	curtOK(t, "check", "--dir", to)
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(to), "*")); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

// On a terminal stderr shows how far it is, and the result stands alone on its line; nowhere else is there a bar.
func TestProgressOnATerminal(t *testing.T) {
	t.Parallel()
	requirePrograms(t, "script")
	var rows strings.Builder
	rows.WriteString("url\nftp://example.com/\n")
	for i := range 30_000 {
		fmt.Fprintf(&rows, "https://example.com/%0200d\n", i)
	}
	csv, dir := file(t, 0o600, rows.String()), filepath.Join(t.TempDir(), "d")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	onTerminal := func(words string) string {
		cmd := exec.Command("script", "-qec", self+" "+words, os.DevNull)
		cmd.Env = append(os.Environ(), asProgram+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", words, err, out)
		}
		return string(out)
	}
	out := onTerminal("import --dir " + dir + " --format csv " + csv)
	if !strings.Contains(out, "%") || !strings.Contains(out, "MB") || !strings.Contains(out, "\r") {
		t.Errorf("no bar: %q", out)
	}
	if !strings.HasSuffix(out, "\r30000 imported, 1 refused\r\n") || !strings.Contains(out, "\rline 2: BADURL bad_scheme") {
		t.Errorf("%q", out)
	}
	out = onTerminal("export --dir " + dir + " > " + os.DevNull)
	if !strings.Contains(out, "%") || !strings.Contains(out, "/30000") {
		t.Errorf("no bar: %q", out)
	}
	if got := curtOK(t, "export", "--dir", dir); got.stderr != "" {
		t.Errorf("a bar where there is no terminal: %q", got.stderr)
	}
}

// However much --cache-bytes allows, an import takes no more than it needs, and never more than is allowed.
func TestImportTakesASmallCache(t *testing.T) {
	t.Parallel()
	csv := file(t, 0o600, "url\nhttps://example.com/1\n")
	for allowed, want := range map[string]string{"256MiB": "cache_size=25165824 mem_table_size=4194304", "8MiB": "cache_size=8388608 mem_table_size=524288"} {
		dir := filepath.Join(t.TempDir(), "data")
		curtOK(t, "import", "--dir", dir, "--cache-bytes", allowed, "--format", "csv", csv)
		files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Fields(want) {
			if !strings.Contains(string(text), "  "+line+"\n") {
				t.Errorf("--cache-bytes %s: no %s in %s", allowed, line, text)
			}
		}
	}
}

// A signal ends an import that waits for its standard input, with one line; what came in before is there.
func TestImportInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	cmd := program(t, nil, "import", "--dir", dir, "--format", "csv", "-")
	rows, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close() // only now: until then more may come
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	io.WriteString(rows, "url\nftp://example.com/\n")
	for i := range 1000 {
		fmt.Fprintf(rows, "https://example.com/%d\n", i)
	}
	said := bufio.NewScanner(stderr)
	if !said.Scan() || !strings.HasPrefix(said.Text(), "line 2: BADURL") { // the first rows are in
		t.Fatal(said.Text())
	}
	cmd.Process.Signal(os.Interrupt)
	var last []string
	for said.Scan() {
		last = append(last, said.Text())
	}
	cmd.Wait()
	if len(last) != 1 || !strings.HasPrefix(last[0], "curt: interrupt signal received (") || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: %q", cmd.ProcessState, last)
	}
	if got := curtOK(t, "check", "--dir", dir); !strings.HasSuffix(got.stdout, " links, no problem\n") || strings.HasPrefix(got.stdout, "0 ") {
		t.Errorf("%+v", got)
	}
}
