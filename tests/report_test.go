package tests

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var faultsFile = flag.String("faults", "", "write the table of faults that the tests ran into this file")

// fault is a row of docs/FAULTS.md: what was done, what clients saw of it, and what of the acknowledged was lost.
type fault struct{ test, done, saw, lost string }

// faults are the rows of this run.
type faultList struct {
	mu   sync.Mutex
	rows []fault // guarded by mu
}

var faults faultList

// survived reports a fault that a test has put the server through. Nothing that was acknowledged was lost: the test has checked that.
func survived(tb testing.TB, done, saw string) {
	tb.Helper()
	suffered(tb, done, saw, "nothing")
}

// suffered is survived for a fault that took something.
func suffered(tb testing.TB, done, saw, lost string) {
	tb.Helper()
	if tb.Failed() {
		return
	}
	tb.Logf("%s: %s", done, saw)
	faults.mu.Lock()
	defer faults.mu.Unlock()
	name, _, _ := strings.Cut(tb.Name(), "/")
	faults.rows = append(faults.rows, fault{name, done, saw, lost})
}

// marks of the table in docs/FAULTS.md.
const faultsBegin, faultsEnd = "<!-- faults: `make faults` -->\n", "<!-- end of faults -->"

// write puts the rows where the file has its marks.
func (l *faultList) write(path string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), faultsBegin)
	_, after, ok2 := strings.Cut(rest, faultsEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s lacks the marks %q and %q", path, faultsBegin, faultsEnd)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Run on %s, %s, %s/%s.\n\n", time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	b.WriteString("| What was done | What clients saw | Acknowledged and lost | Test |\n| --- | --- | --- | --- |\n")
	for _, f := range l.rows {
		fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", f.done, f.saw, f.lost, f.test)
	}
	return os.WriteFile(path, []byte(before+faultsBegin+b.String()+faultsEnd+after), 0o644)
}

// TestFaultsAreReported: each test of a fault has its row in docs/FAULTS.md.
func TestFaultsAreReported(t *testing.T) {
	text, err := os.ReadFile("../docs/FAULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var tests []string
	for _, f := range files {
		source, err := os.ReadFile(f.Name())
		if f.IsDir() || err != nil {
			continue
		}
		for line := range strings.Lines(string(source)) {
			if name, ok := strings.CutPrefix(line, "func TestFault"); ok && !strings.HasPrefix(name, "sAre") {
				name, _, _ = strings.Cut(name, "(")
				tests = append(tests, "TestFault"+name)
			}
		}
	}
	slices.Sort(tests)
	for _, name := range tests {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("docs/FAULTS.md has no row of %s: run `make faults`", name)
		}
	}
	if len(tests) == 0 {
		t.Error("no test of a fault was found")
	}
}
