package web

import "strings"

// forward appends to dst the target with the visitor's query added before the fragment, and says whether it did:
// not when there is no query, or when the result would be longer than limit. The target's own bytes stay
// as they are, and so do the query's, except those that a browser never sends bare (the query percent-encode
// set of the WHATWG URL standard): they are escaped. A visitor can so add parameters but never change where
// the link leads.
func forward(dst []byte, target string, query []byte, limit int) ([]byte, bool) {
	if len(query) == 0 || len(target)+len(query) > limit {
		return dst, false
	}
	start := len(dst)
	fragment := ""
	if i := strings.IndexByte(target, '#'); i >= 0 {
		target, fragment = target[:i], target[i:]
	}
	dst = append(dst, target...)
	switch mark := strings.IndexByte(target, '?'); {
	case mark < 0:
		dst = append(dst, '?')
	case mark < len(target)-1 && !strings.HasSuffix(target, "&"):
		dst = append(dst, '&')
	}
	for _, c := range query {
		if bareInQuery(c) {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	dst = append(dst, fragment...)
	if len(dst)-start > limit {
		return dst[:start], false
	}
	return dst, true
}

const upperHex = "0123456789ABCDEF"

func bareInQuery(c byte) bool {
	return c > ' ' && c < 0x7f && c != '"' && c != '#' && c != '<' && c != '>'
}
