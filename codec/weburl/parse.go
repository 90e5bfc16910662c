package weburl

import (
	"net/netip"
	"strings"
)

// parsed is a URL as the WHATWG URL Standard (section 4.4, basic URL parser)
// reads it. The parser writes the serialisation as it goes; the rest says what
// was met on the way.
type parsed struct {
	text        []byte     // the serialisation
	hostStart   int        // text[hostStart:hostEnd] is the host
	hostEnd     int        //
	addr        netip.Addr // the host's address, invalid for a name
	port        uint16     // as written or the scheme's default
	credentials bool       // user or password is not empty
}

// parse reads a URL without control characters and outer blanks.
func (u *parsed) parse(raw string) *Error {
	rest, ok := cutScheme(raw)
	if !ok {
		return errScheme
	}
	u.text = make([]byte, 0, len(raw)+8) // room for "//", "/" and a few escapes
	u.port = 80
	u.text = append(u.text, "http://"...)
	if len(raw)-len(rest) == len("https:") {
		u.port = 443
		u.text = append(u.text[:0], "https://"...)
	}
	// Browsers take any run of slashes of either kind, also none.
	rest = strings.TrimLeft(rest, `/\`)
	authority := rest
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		authority = rest[:i]
	}
	if e := u.parseAuthority(authority); e != nil {
		return e
	}
	rest = rest[len(authority):]
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	u.appendPath(path)
	if hasQuery {
		u.text = appendEscaped(append(u.text, '?'), query, querySet)
	}
	if hasFragment {
		u.text = appendEscaped(append(u.text, '#'), fragment, fragmentSet)
	}
	return nil
}

// cutScheme removes a leading "http:" or "https:" in any case.
func cutScheme(raw string) (rest string, ok bool) {
	for _, scheme := range [...]string{"https:", "http:"} {
		if len(raw) >= len(scheme) && strings.EqualFold(raw[:len(scheme)], scheme) {
			return raw[len(scheme):], true
		}
	}
	return raw, false
}

// parseAuthority reads [userinfo@]host[:port]. Everything before the last '@'
// is user information, and the first ':' outside brackets begins the port.
func (u *parsed) parseAuthority(authority string) *Error {
	hostport := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		u.appendUserinfo(authority[:at])
		hostport = authority[at+1:]
	}
	host, port := splitPort(hostport)
	if host == "" {
		return errNoHost
	}
	u.hostStart = len(u.text)
	if e := u.appendHost(host); e != nil {
		return e
	}
	u.hostEnd = len(u.text)
	return u.appendPort(port)
}

// splitPort cuts "host:port" at the first colon outside brackets.
func splitPort(hostport string) (host, port string) {
	bracketed := false
	for i := range len(hostport) {
		switch hostport[i] {
		case '[':
			bracketed = true
		case ']':
			bracketed = false
		case ':':
			if !bracketed {
				return hostport[:i], hostport[i+1:]
			}
		}
	}
	return hostport, ""
}

func (u *parsed) appendUserinfo(userinfo string) {
	user, password, _ := strings.Cut(userinfo, ":")
	if user == "" && password == "" {
		return
	}
	u.credentials = true
	u.text = appendEscaped(u.text, user, userinfoSet)
	if password != "" {
		u.text = appendEscaped(append(u.text, ':'), password, userinfoSet)
	}
	u.text = append(u.text, '@')
}

// appendPort drops an empty port and the default one of the scheme.
func (u *parsed) appendPort(digits string) *Error {
	if digits == "" {
		return nil
	}
	n := 0
	for i := range len(digits) {
		c := digits[i]
		if c < '0' || c > '9' {
			return errPort
		}
		if n = n*10 + int(c-'0'); n > 65535 {
			return errPort
		}
	}
	if uint16(n) == u.port {
		return nil
	}
	u.port = uint16(n)
	u.text = appendUint(append(u.text, ':'), uint64(n))
	return nil
}

// appendPath writes the path with its dot segments resolved (WHATWG "path
// state"). A backslash separates as a slash does; empty segments stay.
func (u *parsed) appendPath(path string) {
	pathStart := len(u.text)
	u.text = append(u.text, '/')
	if path != "" {
		path = path[1:] // the separator that ended the authority
	}
	for {
		segment, rest, more := cutSegment(path)
		switch {
		case isDoubleDot(segment):
			u.popSegment(pathStart)
		case isSingleDot(segment):
		default:
			u.text = appendEscaped(u.text, segment, pathSet)
			if more {
				u.text = append(u.text, '/')
			}
		}
		if !more {
			return
		}
		path = rest
	}
}

func cutSegment(path string) (segment, rest string, more bool) {
	for i := range len(path) {
		if path[i] == '/' || path[i] == '\\' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

// popSegment removes the last segment of a path that ends in a slash and
// leaves one that ends in a slash.
func (u *parsed) popSegment(pathStart int) {
	end := len(u.text) - 1
	for end > pathStart && u.text[end-1] != '/' {
		end--
	}
	u.text = u.text[:max(end, pathStart+1)]
}

func isSingleDot(segment string) bool {
	rest, ok := cutDot(segment)
	return ok && rest == ""
}

func isDoubleDot(segment string) bool {
	rest, ok := cutDot(segment)
	return ok && isSingleDot(rest)
}

// cutDot removes a leading ".", "%2e" or "%2E".
func cutDot(s string) (rest string, ok bool) {
	if strings.HasPrefix(s, ".") {
		return s[1:], true
	}
	if len(s) >= 3 && s[0] == '%' && s[1] == '2' && s[2]|0x20 == 'e' {
		return s[3:], true
	}
	return s, false
}
