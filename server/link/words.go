package link

import (
	"strings"

	goaway "github.com/TwiN/go-away"
)

// wordList knows which words a made code must not hold. An id whose code holds one is left unused, so the list may change at any
// time: it says nothing about the codes that are out already.
type wordList []string

// foldLookalikes maps letters and digits that people read as each other to one of them.
var foldLookalikes = strings.NewReplacer("0", "o", "1", "i", "l", "i", "3", "e", "4", "a", "5", "s", "7", "t", "8", "b", "9", "g")

func foldWord(s string) string { return foldLookalikes.Replace(strings.ToLower(s)) }

// newWordList folds words; nil means the public list of go-away, an empty list none.
func newWordList(words []string) wordList {
	if words == nil {
		words = append(append(words, goaway.DefaultProfanities...), goaway.DefaultFalseNegatives...)
	}
	var list wordList
	for _, w := range words {
		if w = foldWord(strings.TrimSpace(w)); w != "" {
			list = append(list, w)
		}
	}
	return list
}

// in reports whether code holds a word of the list.
func (l wordList) in(code string) bool {
	folded := foldWord(code)
	for _, w := range l {
		if strings.Contains(folded, w) {
			return true
		}
	}
	return false
}
