package server

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// words walks the options of a command. The first complaint sticks in err; what is read after it does not matter.
type words struct {
	list [][]byte
	err  error
	seen map[string]bool
}

func (w *words) next() (word []byte, ok bool) {
	if w.err != nil || len(w.list) == 0 {
		return nil, false
	}
	word, w.list = w.list[0], w.list[1:]
	return word, true
}

// options goes through the words that are left, in lower case; a body takes the value of its option with value or integer. It
// ends with an error, too.
func (w *words) options() iter.Seq[string] {
	return func(yield func(string) bool) {
		for {
			word, ok := w.next()
			if !ok || !yield(strings.ToLower(string(word))) {
				return
			}
		}
	}
}

// once refuses an option that is repeated, or that clashes with one of the same group.
func (w *words) once(group string) {
	if w.seen[group] {
		w.err = errSyntax
	}
	if w.seen == nil {
		w.seen = map[string]bool{}
	}
	w.seen[group] = true
}

// value is the word after an option.
func (w *words) value() []byte {
	v, ok := w.next()
	if !ok && w.err == nil {
		w.err = errSyntax
	}
	return v
}

// integer is the number after an option, from low to high.
func (w *words) integer(low, high int64) int64 {
	v := w.value()
	if w.err != nil {
		return 0
	}
	n, err := parseInt(v)
	if err == nil && (n < low || n > high) {
		err = errNotInteger
	}
	w.err = err
	return n
}

func (w *words) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// parseInt reads an integer as strictly as Redis: no plus sign, no leading zeros, no spaces.
func parseInt(b []byte) (int64, error) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != string(b) {
		return 0, errNotInteger
	}
	return n, nil
}

// expiryUnits are the options that give an expiry: whether their number is relative to now, and its unit.
var expiryUnits = map[string]struct {
	relative bool
	unit     time.Duration
}{
	"ex": {true, time.Second}, "px": {true, time.Millisecond}, "exat": {false, time.Second}, "pxat": {false, time.Millisecond},
}

// expiry turns the number n of an option into unix milliseconds, or complains as Redis does.
func expiry(option string, n int64, now time.Time, command string) (int64, error) {
	u := expiryUnits[option]
	perUnit := u.unit.Milliseconds()
	if n <= 0 || n > math.MaxInt64/perUnit {
		return 0, errExpireTime(command)
	}
	at := n * perUnit
	if u.relative {
		if at > math.MaxInt64-now.UnixMilli() {
			return 0, errExpireTime(command)
		}
		at += now.UnixMilli()
	}
	return at, nil
}
