package server

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
		switch {
		case p[i] == '\\' && i+1 < len(p):
			ok = ok || p[i+1] == c
			i += 2
		case i+2 < len(p) && p[i+1] == '-':
			low, high := min(p[i], p[i+2]), max(p[i], p[i+2])
			ok = ok || low <= c && c <= high
			i += 3
		default:
			ok = ok || p[i] == c
			i++
		}
	}
	return min(i+1, len(p)), ok != not
}
