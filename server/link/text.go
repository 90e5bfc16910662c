package link

import (
	"fmt"
	"unicode"
	"unicode/utf8"
)

// checkText refuses free text that is too long, is not UTF-8, or holds control characters.
func checkText(what, text string, limit int) error {
	switch {
	case len(text) > limit:
		return &ArgError{fmt.Sprintf("%s is longer than %d bytes", what, limit)}
	case !utf8.ValidString(text):
		return &ArgError{what + " is not valid UTF-8"}
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return &ArgError{what + " holds a control character"}
		}
	}
	return nil
}
