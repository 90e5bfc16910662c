package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"curt/server"
)

// rewrite makes the tests of this file write what they would compare.
var rewrite = flag.Bool("rewrite", false, "write the generated files instead of comparing them")

// checkFile compares a file with what it should be.
func checkFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err == nil && bytes.Equal(got, want) {
		return
	}
	if !*rewrite {
		t.Fatalf("%s is stale: run `make generate` and look at the difference", path)
	}
	if err := os.WriteFile(path, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGeneratedCommands(t *testing.T) {
	var b bytes.Buffer
	if err := server.WriteCommandsMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	checkFile(t, "COMMANDS.md", b.Bytes())
}

// The README's table of options stands between two marks.
func TestGeneratedOptions(t *testing.T) {
	const begin, end = "<!-- options: `make generate` -->\n", "<!-- end of options -->"
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(readme), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("README.md lacks the marks %q and %q", begin, end)
	}
	checkFile(t, "README.md", []byte(before+begin+optionsTable()+end+after))
}

func optionsTable() string {
	var b strings.Builder
	b.WriteString("| Option | Default | Meaning |\n| --- | --- | --- |\n")
	cell := strings.NewReplacer("|", `\|`)
	for _, o := range serveOptions() {
		def := ""
		if o.def != "" {
			def = "`" + o.def + "`"
		}
		fmt.Fprintf(&b, "| `--%s %s` | %s | %s |\n", o.name, cell.Replace(o.value), def, cell.Replace(o.usage))
	}
	return b.String()
}
