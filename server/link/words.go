package link

import (
	"strings"
	"unicode/utf8"

	goaway "github.com/TwiN/go-away"
)

// wordList knows which words a made code must not hold, by their first byte. An id whose code holds one is left unused, so the list may
// change at any time: it says nothing about the codes that are out already.
type wordList [256][]string

// foldLookalikes maps letters and digits that people read as each other to one of them.
var foldLookalikes = strings.NewReplacer("0", "o", "1", "i", "l", "i", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "9", "g")

func foldWord(s string) string { return foldLookalikes.Replace(strings.ToLower(s)) }

// folded is foldWord of each letter and digit that a code may hold.
var folded = func() (table [utf8.RuneSelf]byte) {
	for c := range table {
		table[c] = foldWord(string(rune(c)))[0]
	}
	return table
}()

// newWordList folds words; nil means the public list of go-away, an empty list none.
func newWordList(words []string) *wordList {
	if words == nil {
		words = append(append(words, goaway.DefaultProfanities...), goaway.DefaultFalseNegatives...)
	}
	list := new(wordList)
	for _, w := range words {
		if w = foldWord(strings.TrimSpace(w)); w != "" {
			list[w[0]] = append(list[w[0]], w)
		}
	}
	return list
}

// in reports whether code holds a word of the list.
func (l *wordList) in(code string) bool {
	buf := make([]byte, 0, MaxLength)
	for i := range len(code) {
		buf = append(buf, folded[code[i]])
	}
	text := string(buf)
	for i := range len(text) {
		for _, w := range l[text[i]] {
			if strings.HasPrefix(text[i:], w) {
				return true
			}
		}
	}
	return false
}
