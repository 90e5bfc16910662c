package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// noTranscript are error texts that no session of a few lines can bring about, by their beginning, with the test that does, or why
// there is none.
var noTranscript = map[string]string{
	"ERR internal error": "TestReadErrors",
	"MISCONF ":           "TestAFullDisk",
	"OVERLOADED ":        "needs a store that stalls; the tests of server/link",
	"EXHAUSTED ":         "needs a hundred misses in a row; the tests of server/link",
	"THROTTLED ":         "the tests of server/link",
	"DENIED ":            "TestProtectedMode",
	"NOPERM No permissions to access a channel":      "TestRoles and the tests of server/acl",
	"ERR There was an error trying to save the ACLs": "needs a folder that takes no file; the tests of server/acl",

	"ERR Background save already in progress": "TestBackupTrouble",
	"ERR the backup failed":                   "TestBackupTrouble",

	"ERR at most 10000 codes":                                "TestLongCommands",
	"ERR more than 1000000 codes fit":                        "a limit for memory's sake",
	"ERR a connection may have at most 100000 subscriptions": "a limit for memory's sake",
	"ERR a connection may watch at most 100000 codes":        "a limit for memory's sake",
	"ERR the transaction is too large":                       "a limit for memory's sake",
	"ERR the replies of the transaction are too large":       "TestTransactionWithLargeReplies",
	"ERR the transaction took longer than 5 seconds":         "TestLongTransaction",
	"ERR a client may have at most 1000 prefixes":            "TestManyPrefixes",
	"ERR Errors trying to SHUTDOWN":                          "needs a server that can't stop",
}

// errorLiteral is what an error text of the server looks like in its source.
var errorLiteral = regexp.MustCompile(`^(ERR|BADURL|BADNAME|EXISTS|RESERVED|GONE|BANNED|EXHAUSTED|OVERLOADED|THROTTLED|DENIED|MISCONF|NOAUTH|WRONGPASS|NOPERM|NOPROTO|EXECABORT|WRONGTYPE) [^ ]`)

// TestEveryErrorTextIsShown: clients match on texts, so each that the source of the server has stands in a transcript, where a change
// of it is seen. Add a line to testdata/errors.txt for a new one.
func TestEveryErrorTextIsShown(t *testing.T) {
	shown := shownErrors(t)
	files, err := filepath.Glob("../server/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	found := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil || !errorLiteral.MatchString(text) || strings.HasSuffix(text, " ") {
				return true
			}
			found++
			if !isShown(text, shown) {
				t.Errorf("%s: %q stands in no transcript: add a line to testdata/errors.txt that brings it about", file, text)
			}
			return true
		})
	}
	if found < 20 {
		t.Errorf("only %d error texts were found in the source: this test looks in the wrong place", found)
	}
}

// shownErrors are the errors in the transcripts.
func shownErrors(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, e, ok := strings.Cut(line, "(error) "); ok {
				b.WriteString(e)
			}
		}
	}
	return b.String()
}

// isShown looks for a text, or for a line with all parts of a format.
func isShown(text, shown string) bool {
	for beginning := range noTranscript {
		if strings.HasPrefix(text, beginning) {
			return true
		}
	}
	parts := regexp.MustCompile(`%[a-z]`).Split(strings.TrimSuffix(text, " '"), -1)
	for line := range strings.Lines(shown) {
		rest, ok := strings.CutPrefix(line, parts[0])
		for _, part := range parts[1:] {
			_, rest, _ = strings.Cut(rest, part)
			ok = ok && strings.Contains(line, part)
		}
		if ok {
			return true
		}
	}
	return false
}
