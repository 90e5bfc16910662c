package link

import "strings"

// MaxName is the longest name, in bytes.
const MaxName = 128

// nameByte has true for each byte that a name may hold: RFC 3986's unreserved characters, so that a name
// stands in a path as it is.
var nameByte = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~") {
		t[c] = true
	}
	return t
}()

// ValidName reports whether text can be a name: 1 to MaxName unreserved characters that are not dots only (a browser
// would remove those from a path).
func ValidName[T ~string | ~[]byte](text T) bool {
	if len(text) == 0 || len(text) > MaxName {
		return false
	}
	dots := true
	for i := 0; i < len(text); i++ {
		if !nameByte[text[i]] {
			return false
		}
		dots = dots && text[i] == '.'
	}
	return !dots
}

// ownRoutes are the paths that the HTTP listener keeps for itself, and the key of the click stream, closed for ever. Every route that comes later
// begins with `/-/`, where no name can stand.
var ownRoutes = []string{"healthz", "robots.txt", "favicon.ico", "sitemap.xml", ".well-known", StreamKey}

// touchIcons is the beginning of the names that browsers ask for by themselves.
const touchIcons = "apple-touch-icon"

// IsOwnRoute reports whether text, in any case, is one of the server's own routes.
func IsOwnRoute(text string) bool {
	if len(text) >= len(touchIcons) && strings.EqualFold(text[:len(touchIcons)], touchIcons) {
		return true
	}
	for _, r := range ownRoutes {
		if strings.EqualFold(text, r) {
			return true
		}
	}
	return false
}
