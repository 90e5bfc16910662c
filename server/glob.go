package server

import "strings"

// globMatch reports whether s fits Redis's glob pattern: * any run, ? one byte, [a-c] [^a-c] one of a class, \ the next byte
// itself (stringmatchlen in Redis's util.c). Only the last * is ever tried again, so the work is at most len(p) * len(s).
func globMatch(p, s string) bool {
	star, mark := -1, 0
	pi, si := 0, 0
	for si < len(s) {
		if pi < len(p) {
			if p[pi] == '*' {
				star, mark = pi, si
				pi++
				continue
			}
			if width, ok := globByte(p[pi:], s[si]); ok {
				pi += width
				si++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		pi, si = star+1, mark
	}
	for pi < len(p) && p[pi] == '*' {
		pi++
	}
	return pi == len(p)
}

// globByte matches one byte with the element that p begins with, and returns that element's width.
func globByte(p string, c byte) (width int, ok bool) {
	switch {
	case p[0] == '?':
		return 1, true
	case p[0] == '[':
		return globClass(p, c)
	case p[0] == '\\' && len(p) > 1:
		return 2, p[1] == c
	}
	return 1, p[0] == c
}

// globClass matches a byte with a class. One that is not closed ends with the pattern.
func globClass(p string, c byte) (width int, ok bool) {
	i := 1
	not := i < len(p) && p[i] == '^'
	if not {
		i++
	}
	for i < len(p) && p[i] != ']' {
		low, high, width := globRange(p[i:])
		ok = ok || low <= c && c <= high
		i += width
	}
	return min(i+1, len(p)), ok != not
}

// globRange reads what a class has next: a range, or one byte.
func globRange(p string) (low, high byte, width int) {
	switch {
	case p[0] == '\\' && len(p) > 1:
		return p[1], p[1], 2
	case len(p) > 2 && p[1] == '-':
		return min(p[0], p[2]), max(p[0], p[2]), 3
	}
	return p[0], p[0], 1
}

// shortGlob returns a pattern that fits the same and whose length costs nothing: of a row of stars it has one, and each class is short. A match
// takes about len(s)² then, however long the pattern is. It is for patterns that are matched with much.
func shortGlob(p string) string {
	if !strings.Contains(p, "**") && !strings.Contains(p, "[") {
		return p
	}
	b := make([]byte, 0, len(p))
	for len(p) > 0 {
		width := 1
		switch {
		case p[0] == '*':
			width = len(p) - len(strings.TrimLeft(p, "*"))
			b = append(b, '*')
		case p[0] == '\\' && len(p) > 1:
			width = 2
			b = append(b, p[:width]...)
		case p[0] == '[':
			width, _ = globClass(p, 0)
			b = appendClass(b, p[:width])
		default:
			b = append(b, p[0])
		}
		p = p[width:]
	}
	return string(b)
}

const shortClass = 64 // bytes of a class that stays as it is

// appendClass appends a class; of a long one, every byte once.
func appendClass(b []byte, class string) []byte {
	if len(class) <= shortClass {
		return append(b, class...)
	}
	var in [256]bool
	rest := class[1:]
	not := rest[0] == '^'
	if not {
		rest = rest[1:]
	}
	for rest != "" && rest[0] != ']' {
		low, high, width := globRange(rest)
		for c := int(low); c <= int(high); c++ {
			in[c] = true
		}
		rest = rest[width:]
	}
	b = append(b, '[')
	for c := 0; c < len(in); c++ {
		if in[c] == not {
			continue
		}
		if isClassSign(c) {
			b = append(b, '\\', byte(c))
			continue
		}
		last := c
		for last+1 < len(in) && in[last+1] != not && !isClassSign(last+1) {
			last++
		}
		if last < c+2 {
			last = c
			b = append(b, byte(c))
		} else {
			b = append(b, byte(c), '-', byte(last))
		}
		c = last
	}
	return append(b, ']')
}

// isClassSign reports that a byte may mean more than itself in a class.
func isClassSign(c int) bool { return c == ']' || c == '\\' || c == '^' || c == '-' }
