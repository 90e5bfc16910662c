package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"curt/server"
	"curt/server/link"
)

// TestChangedWords: a list of words that no code may hold counts for codes to come. Those that are out stay as they are.
func TestChangedWords(t *testing.T) {
	n := start(t, func(o *server.Options) { o.BlockedWords = []string{} })
	url := func(i int) string { return fmt.Sprintf("https://example.com/%d", i) }
	old := map[string]string{}
	holding := 0
	for i := range 300 {
		code := n.Must("SHORTEN", url(i)).text
		old[code] = url(i)
		if strings.ContainsAny(code, "aA4eE3") {
			holding++
		}
	}
	if holding < 100 {
		t.Fatalf("only %d of 300 codes hold what is about to be blocked", holding)
	}
	n.options.BlockedWords = []string{"a", "e"}
	n.Restart()
	for code, target := range old {
		n.wantTarget(code, target)
	}
	if again := n.Must("SHORTEN", url(0)).text; old[again] != url(0) {
		t.Errorf("the same target has the code %s now", again)
	}
	for i := range 100 {
		for _, source := range []string{"SEQUENCE", "RANDOM", "HASH"} {
			code := n.Must("SHORTEN", url(1000+i), "CODE", source).text
			if strings.ContainsAny(code, "aA4eE3") {
				t.Errorf("a new code, of %s, is %s", source, code)
			}
			old[code] = url(1000 + i)
		}
	}
	n.options.BlockedWords = nil
	n.Restart()
	for code, target := range old {
		n.wantTarget(code, target)
	}
}

// TestCodeSource: --code-source is what a SHORTEN gets that does not say.
func TestCodeSource(t *testing.T) {
	for _, c := range []struct {
		kind   link.CodeKind
		length int
		same   bool // twice the same target without dedup has one code
	}{
		{link.CodeSequence, 7, false}, {link.CodeRandom, 10, false}, {link.CodeHash, 10, true}, {link.CodeSnowflake, 11, false},
	} {
		n := start(t, func(o *server.Options) { o.CodeSource = c.kind })
		first := n.Must("SHORTEN", "https://example.com/", "DEDUP", "OFF").text
		second := n.Must("SHORTEN", "https://example.com/", "DEDUP", "OFF").text
		if len(first) != c.length || (first == second) != c.same {
			t.Errorf("source %v gives %s and %s", c.kind, first, second)
		}
		if other := n.Must("SHORTEN", "https://example.com/", "CODE", "SEQUENCE", "DEDUP", "OFF").text; len(other) != 7 {
			t.Errorf("source %v, asked for another: %s", c.kind, other)
		}
		n.wantTarget(first, "https://example.com/")
	}
}

// TestEpochsAreShown: INFO lists every epoch, the ones that growth opened too.
func TestEpochsAreShown(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Codes.Length, o.Codes.Density = 4, 0.0001 })
	lines := func() (list []string) {
		for line := range strings.Lines(n.Must("INFO", "curt").text) {
			if strings.HasPrefix(line, "curt_epoch") {
				list = append(list, strings.TrimSpace(line))
			}
		}
		return list
	}
	n.Must("SHORTEN", "https://example.com/first")
	want := []string{"curt_epochs:1", "curt_epoch_0:first=1,key=test,length=4,alphabet=base62"}
	if got := lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	n.Must("RESERVE", "1000") // takes the block's half, and the next one does not fit
	n.Must("RESERVE", "1000")
	want = []string{"curt_epochs:2", want[1], "curt_epoch_1:first=1001,key=test,length=5,alphabet=base62"}
	if got := lines(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	n.options.Codes.Length, n.options.Codes.Density = 0, 0
	n.Restart()
	n.Must("SHORTEN", "https://example.com/")
	if got := lines(); !slices.Equal(got, want) {
		t.Errorf("after a restart without flags: %q, want %q", got, want)
	}
}
