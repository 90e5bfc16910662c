package weburl

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// forbiddenHost holds the forbidden domain code points of the WHATWG URL
// Standard, section 3.2, but the controls. It never changes.
var forbiddenHost = setOf(" #/:<>?@[\\]^|%")

// domainToASCII is UTS #46 ToASCII as WHATWG asks for it: non-transitional,
// CheckBidi, CheckJoiners, neither CheckHyphens, UseSTD3ASCIIRules nor
// VerifyDnsLength. A Profile is safe for concurrent use and never changes.
var domainToASCII = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.Transitional(false),
	idna.CheckJoiners(true),
	idna.CheckHyphens(false),
	idna.StrictDomainName(false),
	idna.VerifyDNSLength(false),
)

// appendHost appends the serialisation of a host that is not empty (WHATWG
// "host parser" and "host serializer") and notes its address, if it is one.
func (u *parsed) appendHost(host string) *Error {
	if host[0] == '[' {
		return u.appendIPv6(host)
	}
	start := len(u.text)
	if e := u.appendDomain(host); e != nil {
		return e
	}
	// Text that lasts only for the test: no address is kept of it.
	if domain := string(u.text[start:]); endsInNumber(domain) {
		addr, ok := parseIPv4(domain)
		if !ok {
			return errIPv4
		}
		u.addr = addr
		u.text = addr.AppendTo(u.text[:start])
	}
	return nil
}

func (u *parsed) appendIPv6(host string) *Error {
	inner, ok := strings.CutSuffix(host[1:], "]")
	if !ok || strings.Contains(inner, "%") || !strings.Contains(inner, ":") {
		return errIPv6
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil {
		return errIPv6
	}
	u.addr = addr
	u.text = append(u.text, '[')
	u.text = append(appendIPv6(u.text, addr), ']')
	return nil
}

// appendDomain appends host in ASCII and lower case. ASCII skips IDNA wholly,
// so "xn--" labels are not looked into, as the standard has it since 2026.
func (u *parsed) appendDomain(host string) *Error {
	if strings.Contains(host, "%") {
		host = unescape(host)
	}
	if !isASCII(host) {
		if !utf8.ValidString(host) {
			return errHostEscape
		}
		ascii, e := toASCII(host)
		if e != nil {
			return e
		}
		host = ascii
	}
	if host == "" {
		return errNoHost
	}
	for i := range len(host) {
		c := host[i]
		if c < 0x20 || c >= 0x7F || forbiddenHost.has(c) {
			return errHostChar
		}
		u.text = append(u.text, lower(c))
	}
	return nil
}

// toASCII is UTS #46 ToASCII with what the library lacks: Unicode 15.0 maps
// capital sharp s to "ss", which is another domain, where 15.1 and later have
// "ß" as for the small letter; some malformed labels pass (hasBadACE); and whether
// a domain is bidirectional is decided on the unmapped text, so the result is
// looked at once more. Names that DNS can't carry go no further than their
// length: the time that Punycode takes grows with its square.
func toASCII(host string) (string, *Error) {
	if len(host) > maxRawName {
		return "", errLongName
	}
	host = strings.ReplaceAll(host, "\u1E9E", "\u00DF")
	if len(host) > maxLabelBytes { // what is shorter takes no time to speak of
		if e := checkLength(host); e != nil {
			return "", e
		}
	}
	ascii, err := domainToASCII.ToASCII(host)
	if err != nil || hasBadACE(host) {
		return "", errIDNA
	}
	if _, err := domainToASCII.ToUnicode(ascii); err != nil {
		return "", errIDNA
	}
	return ascii, nil
}

// maxRawName is the longest international name that is looked at, in bytes
// before its mapping: 16 for each that DNS carries, which leaves room for what
// the mapping drops or joins.
const maxRawName = 16 * maxNameBytes

// checkLength refuses an international name that must be too long in ASCII,
// where each of its mapped characters takes a byte or more.
func checkLength(host string) *Error {
	mapped, _ := domainToASCII.ToUnicode(host) // what is wrong with it, ToASCII tells
	mapped = strings.TrimSuffix(mapped, ".")
	if utf8.RuneCountInString(mapped) > maxNameBytes {
		return errLongName
	}
	for label := range strings.SplitSeq(mapped, ".") {
		if utf8.RuneCountInString(label) > maxLabelBytes {
			return errLongLabel
		}
	}
	return nil
}

// hyphens are the characters that UTS #46 maps to '-'.
const hyphens = "-\uFE63\uFF0D"

// hasBadACE reports whether a label of host, once mapped, begins with "xn--"
// and is empty or not ASCII beyond it. UTS #46 refuses both; the library
// decodes them to nothing, or to a name that the label does not stand for.
func hasBadACE(host string) bool {
	if !strings.ContainsAny(host, hyphens) {
		return false
	}
	var mapped strings.Builder
	for _, r := range host {
		text, _ := domainToASCII.ToUnicode(string(r)) // what is wrong with r, ToASCII has told
		mapped.WriteString(text)
	}
	for label := range strings.SplitSeq(mapped.String(), ".") {
		encoded, ok := strings.CutPrefix(label, "xn--")
		if ok && (encoded == "" || !isASCII(encoded)) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// ParseHost returns the canonical form of a host that an operator wrote, as
// Host gives it for targets. It takes a domain (also international, any case,
// one trailing dot, single label) or an IP address (IPv6 with or without
// brackets), nothing more: a URL or a port is refused. The error is an *Error
// of reason BadHost.
func ParseHost(host string) (string, error) {
	if host == "" || hasControl(host) || strings.ContainsAny(host, `/\?#@ `) {
		return "", errHostOnly
	}
	if host[0] != '[' && strings.Count(host, ":") > 1 {
		host = "[" + host + "]"
	}
	if name, _ := splitPort(host); name != host {
		return "", errHostOnly
	}
	u := parsed{text: make([]byte, 0, len(host))}
	if e := u.appendHost(host); e != nil {
		return "", e
	}
	canonical := canonicalHost(string(u.text))
	if !u.addr.IsValid() {
		if e := checkName(canonical); e != nil {
			return "", e
		}
	}
	return canonical, nil
}

// Host returns the host of a target that Check returned, in the form host bans
// compare: lower-case ASCII, without port and trailing dot, IPv6 in brackets
// and compressed, IPv4-mapped IPv6 as the IPv4 address it reaches.
func Host(target string) string {
	_, rest, _ := strings.Cut(target, "://")
	authority, _, _ := strings.Cut(rest, "/")
	host, _ := splitPort(authority)
	return canonicalHost(host)
}

// canonicalHost makes one text of the serialised hosts that reach one machine.
func canonicalHost(host string) string {
	if strings.HasPrefix(host, "[::ffff:") {
		addr, err := netip.ParseAddr(host[1 : len(host)-1])
		if err == nil && addr.Is4In6() {
			return addr.Unmap().String()
		}
	}
	return strings.TrimSuffix(host, ".")
}
