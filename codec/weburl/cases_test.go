package weburl

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// rows reads a table of testdata: tab-separated, '#' begins a comment line.
func rows(t testing.TB, name string, columns int) [][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		cells := strings.Split(line, "\t")
		if len(cells) != columns {
			t.Fatalf("%s: %d columns, want %d: %q", name, len(cells), columns, line)
		}
		list = append(list, cells)
	}
	return list
}

// unquote decodes JSON string escapes.
func unquote(t testing.TB, cell string) (s string) {
	t.Helper()
	if err := json.Unmarshal([]byte(`"`+cell+`"`), &s); err != nil {
		t.Fatalf("%q: %v", cell, err)
	}
	return s
}

func TestURLCases(t *testing.T) {
	p := &Policy{Self: []string{"sho.rt"}}
	table := rows(t, "url-cases.tsv", 4)
	if len(table) < 100 {
		t.Fatalf("only %d rows", len(table))
	}
	for _, row := range table {
		input, want := unquote(t, row[0]), unquote(t, row[2])
		switch row[1] {
		case "accept":
			testTarget(t, p, input, want)
		case "refuse":
			testRefused(t, p, input, Reason(want))
		default:
			t.Errorf("verdict %q", row[1])
		}
	}
}

// The URLs of this table are written as they are, without escapes.
func TestDedupPairs(t *testing.T) {
	p := &Policy{}
	table := rows(t, "url-dedup-pairs.tsv", 7)
	if len(table) < 30 {
		t.Fatalf("only %d rows", len(table))
	}
	for _, row := range table {
		a, errA := p.Check(row[0])
		b, errB := p.Check(row[1])
		if errA != nil || errB != nil {
			t.Errorf("%q, %q: %v, %v", row[0], row[1], errA, errB)
			continue
		}
		testPair(t, "strict", row[2], StrictKey(a), StrictKey(b))
		testPair(t, "loose", row[3], LooseKey(a), LooseKey(b))
	}
}

func testPair(t *testing.T, mode, want, keyA, keyB string) {
	t.Helper()
	got := "differ"
	if keyA == keyB {
		got = "same"
	}
	if got != want {
		t.Errorf("%s: %q and %q %s, want %s", mode, keyA, keyB, got, want)
	}
}
