package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func wordsOf(list []explained) []string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = e.word
	}
	return words
}

// Every command has all that COMMANDS.md shows, and every error word in it is explained.
func TestCommandsMarkdown(t *testing.T) {
	var b strings.Builder
	if err := WriteCommandsMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	explainedWords := wordsOf(errorWords())
	if sorted := slices.Sorted(slices.Values(explainedWords)); len(slices.Compact(sorted)) != len(explainedWords) {
		t.Errorf("a word stands twice in %v", explainedWords)
	}
	word := regexp.MustCompile(`-([A-Z]{3,})\b`)
	for _, c := range newTable(families()...).each() {
		name := strings.ToUpper(strings.ReplaceAll(c.fullName(), "|", " "))
		if strings.Count(text, "\n### "+name+"\n") != 1 {
			t.Errorf("%s does not stand once", name)
		}
		if c.summary == "" || strings.HasSuffix(c.summary, ".") || c.since == "" || c.group == "" || c.complexity == "" || c.run != nil && c.reply == "" {
			t.Errorf("%s: give it summary (without a full stop), group, since, complexity and reply", name)
		}
		for _, m := range word.FindAllStringSubmatch(c.reply, -1) {
			if !slices.Contains(explainedWords, m[1]) {
				t.Errorf("%s answers -%s: explain the word in errorWords", name, m[1])
			}
		}
	}
	for _, k := range known {
		if first, _, _ := strings.Cut(string(k.text), " "); !slices.Contains(explainedWords, first) {
			t.Errorf("%q: explain its word in errorWords", k.text)
		}
	}
}

// Every text of an error in the source begins with an explained word.
func TestErrorWordsExplained(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`replyError(?:\(| += )(?:fmt\.Sprintf\()?"([A-Z]+)[ "]`).FindAllSubmatch(source, -1) {
			texts++
			if !slices.Contains(wordsOf(errorWords()), string(m[1])) {
				t.Errorf("%s answers -%s: explain the word in errorWords", path, m[1])
			}
		}
	}
	if texts < 20 {
		t.Errorf("only %d error texts were found: has their form changed?", texts)
	}
}

// The URL rules' own cases know no other reason than those explained.
func TestURLReasonsExplained(t *testing.T) {
	cases, err := os.ReadFile("../codec/weburl/testdata/url-cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, w := range regexp.MustCompile(`(?m)\trefuse\t(\w+)\t`).FindAllStringSubmatch(string(cases), -1) {
		found[w[1]] = true
	}
	if len(found) < 5 {
		t.Fatalf("found only %v in the cases", found)
	}
	for reason := range found {
		if !slices.Contains(wordsOf(urlReasons()), reason) {
			t.Errorf("%s: explain it in urlReasons", reason)
		}
	}
}
