package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReportKeepsWords: a run writes its table anew and nothing else, and refuses a file that has no place for it.
func TestReportKeepsWords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "B.md")
	write := func(text string, r report) (string, error) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		err := r.write(path)
		text2, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		return string(text2), err
	}
	r := report{
		lines:   []line{{"one", perSecond, 12345.6, 1234.5, 10, 4, false}, {"two", cpuMicros, 1.5, 1, 1.5, 1.6, true}},
		facts:   []string{"a fact"},
		skipped: []string{"three: missing program: nginx"},
	}
	got, err := write("words\n"+reportBegin+"old\n"+reportEnd+"\nmore words\n", r)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| one | 1/s | 12346 | 1234 | 10.00 | ≥ 4.00 |\n", "| two | µs CPU | 1.50 | 1.00 | 1.50 | ≤ 1.60 |\n",
		"- a fact\n", "- left out: three: missing program: nginx\n", "Measured on 2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the report lacks %q:\n%s", want, got)
		}
	}
	if !strings.HasPrefix(got, "words\n"+reportBegin) || !strings.HasSuffix(got, reportEnd+"\nmore words\n") || strings.Contains(got, "old") {
		t.Errorf("the words around the table are not as they were, or the old table is still there:\n%s", got)
	}
	if host, err := os.Hostname(); err == nil && len(host) > 5 && strings.Contains(got, host) {
		t.Errorf("the report names the host %s", host)
	}
	for _, text := range []string{"", reportBegin, reportEnd} {
		if got, err := write(text, r); err == nil || got != text {
			t.Errorf("%q: error %v, left %q", text, err, got)
		}
	}
}

// TestBenchmarksAreWritten: the file that `make bench` is for has a place for the table and a table in it.
func TestBenchmarksAreWritten(t *testing.T) {
	text, err := os.ReadFile("../../docs/BENCHMARKS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), reportBegin)
	table, _, found := strings.Cut(rest, reportEnd)
	if !found {
		t.Fatal("docs/BENCHMARKS.md lacks the marks")
	}
	for _, c := range comparisons {
		if !strings.Contains(table, "| "+c.name+" |") {
			t.Errorf("docs/BENCHMARKS.md has no row %q: run `make bench BENCHFLAGS=\"-out docs/BENCHMARKS.md\"`", c.name)
		}
	}
}
