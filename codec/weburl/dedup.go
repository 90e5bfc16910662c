package weburl

import (
	"slices"
	"strings"
)

// StrictKey is the dedup key text of a target that Check returned: the target
// itself. Two URLs have it in common exactly when browsers take them for one.
func StrictKey(target string) string { return target }

// LooseKey is the dedup key text that brings together what people mostly take
// for one page. It drops utm_* and click ids, empty pairs, an empty query and
// an empty fragment; it sorts the pairs by name, keeping the order of equal
// names; it trims one trailing slash of the path and the trailing dot of the
// host; it writes escapes in their RFC 3986 section 6.2.2 form. A fragment
// stays, being an address or a key to many pages. A query that seems to be
// signed stays as it is.
//
// It works on the text of the pairs, never on decoded ones: "x" and "x=", '+'
// and "%20" remain different. A loose key can still join pages that differ, so
// it is for those who ask for it. It is a key, not a URL to send. The loose
// key of a loose key is itself.
func LooseKey(target string) string {
	rest, fragment, _ := strings.Cut(target, "#")
	rest, query, _ := strings.Cut(rest, "?")
	scheme, rest, _ := strings.Cut(rest, "://")
	authority, path, _ := strings.Cut(rest, "/")
	host, port := splitPort(authority)
	var key strings.Builder
	key.Grow(len(target))
	key.WriteString(scheme)
	key.WriteString("://")
	key.WriteString(strings.TrimSuffix(host, "."))
	if port != "" {
		key.WriteByte(':')
		key.WriteString(port)
	}
	key.WriteByte('/')
	key.WriteString(trimSlash(plainEscapes(path)))
	if pairs := looseQuery(query); pairs != "" {
		key.WriteByte('?')
		key.WriteString(pairs)
	}
	if fragment != "" {
		key.WriteByte('#')
		key.WriteString(fragment)
	}
	return key.String()
}

// trimSlash removes the slash at the end of a path without its first slash, but
// neither the root's nor the last of several: an empty segment is not nothing.
func trimSlash(path string) string {
	if path == "/" || strings.HasSuffix(path, "//") {
		return path
	}
	return strings.TrimSuffix(path, "/")
}

func looseQuery(query string) string {
	if query == "" {
		return ""
	}
	pairs := strings.Split(plainEscapes(query), "&")
	if slices.ContainsFunc(pairs, isSignature) {
		return query
	}
	pairs = slices.DeleteFunc(pairs, func(pair string) bool { return pair == "" || isTracking(pair) })
	slices.SortStableFunc(pairs, func(a, b string) int { return strings.Compare(pairName(a), pairName(b)) })
	return strings.Join(pairs, "&")
}

func pairName(pair string) string {
	name, _, _ := strings.Cut(pair, "=")
	return name
}

// isTracking knows the parameters that say how a reader came, not where to.
func isTracking(pair string) bool {
	name := pairName(pair)
	switch name {
	case "gclid", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "twclid", "yclid", "mc_eid":
		return true
	}
	return strings.HasPrefix(name, "utm_")
}

// isSignature knows the parameters that sign the others (S3, Azure, Google and
// CloudFront among them), in which case every byte counts. A token alone is
// not one of them: mostly it names a session or a document, not the query.
func isSignature(pair string) bool {
	name := strings.ToLower(pairName(pair))
	if strings.HasPrefix(name, "x-amz-") || strings.HasPrefix(name, "x-goog-") {
		return true
	}
	switch name[strings.LastIndexAny(name, "-_")+1:] {
	case "sig", "signature", "hmac", "expires", "policy":
		return true
	}
	return false
}

// plainEscapes decodes escapes of unreserved characters and writes the others
// in upper case. Text with a stray '%' is left alone: decoding beside it could
// make an escape that was none.
func plainEscapes(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		c, ok := escapeAt(s, i)
		if !ok {
			return s
		}
		i += 2
		if isUnreserved(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return string(b)
}

// isUnreserved is RFC 3986 section 2.3.
func isUnreserved(c byte) bool {
	return 'a' <= lower(c) && lower(c) <= 'z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
