package weburl

import "strconv"

const upperHex = "0123456789ABCDEF"

// An asciiSet is a set of ASCII characters.
type asciiSet [2]uint64

func setOf(chars string) (s asciiSet) {
	for i := range len(chars) {
		s[chars[i]>>6] |= 1 << (chars[i] & 63)
	}
	return s
}

func (s asciiSet) has(c byte) bool { return c < 0x80 && s[c>>6]&(1<<(c&63)) != 0 }

// escapes reports whether c is percent-encoded under set s: every set includes
// the controls and all bytes above ASCII. '%' is in none, so what came escaped,
// well or badly, stays as it came.
func (s asciiSet) escapes(c byte) bool { return c < 0x20 || c >= 0x7F || s[c>>6]&(1<<(c&63)) != 0 }

// The percent-encode sets of the WHATWG URL Standard, section 1.3, for special
// schemes. They never change.
var (
	fragmentSet = setOf(" \"<>`")
	querySet    = setOf(" \"#<>'")
	pathSet     = setOf(" \"#<>?^`{}")
	userinfoSet = setOf(" \"#<>?^`{}/:;=@[\\]|")
)

// appendEscaped appends s, percent-encoding the bytes of set.
func appendEscaped(dst []byte, s string, set asciiSet) []byte {
	start := 0
	for i := range len(s) {
		c := s[i]
		if !set.escapes(c) {
			continue
		}
		dst = append(dst, s[start:i]...)
		dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		start = i + 1
	}
	return append(dst, s[start:]...)
}

// unescape decodes every well-formed escape of s once (WHATWG "percent-decode").
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c, ok := escapeAt(s, i); ok {
			b = append(b, c)
			i += 2
		} else {
			b = append(b, s[i])
		}
	}
	return string(b)
}

// escapeAt reads the escape "%XX" at s[i:], if there is one.
func escapeAt(s string, i int) (c byte, ok bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	hi, okHi := hexValue(s[i+1])
	lo, okLo := hexValue(s[i+2])
	return hi<<4 | lo, okHi && okLo
}

func hexValue(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

func appendUint(dst []byte, n uint64) []byte { return strconv.AppendUint(dst, n, 10) }
