package weburl

import "net/netip"

// notPublic4 lists the IPv4 blocks that are not the public Internet (IANA
// IPv4 Special-Purpose Address Registry), and one public address by which
// Azure serves instance metadata. It never changes.
var notPublic4 = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16",
	"172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24",
	"192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",
	"240.0.0.0/4", "168.63.129.16/32",
)

// unicast6 is all IPv6 that is given out (RFC 4291 section 2.4); what lies
// outside (loopback, NAT64, unique local, link local, multicast, ...) is refused
// without a list. notPublic6 are the blocks within that are not public (IANA
// IPv6 Special-Purpose Address Registry: Teredo and its kin, documentation,
// 6to4, AS112). They never change.
var (
	unicast6   = netip.MustParsePrefix("2000::/3")
	notPublic6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// isPublic reports whether an unmapped address is on the public Internet.
func isPublic(addr netip.Addr) bool {
	if addr.Is4() {
		return !inAny(notPublic4, addr)
	}
	return unicast6.Contains(addr) && !inAny(notPublic6, addr)
}

func inAny(list []netip.Prefix, addr netip.Addr) bool {
	for _, prefix := range list {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// checkName holds a name without trailing dot to what DNS can carry; the URL
// standard allows more.
func checkName(name string) *Error {
	if len(name) > maxNameBytes {
		return errLongName
	}
	label := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.' && label == 0:
			return errEmptyLabel
		case c == '.':
			label = 0
			continue
		case !isNameChar(c):
			return errNameChar
		}
		if label++; label > maxLabelBytes {
			return errLongLabel
		}
	}
	if label == 0 {
		return errEmptyLabel
	}
	return nil
}

func isNameChar(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// isLocal reports whether name lies under a suffix that never is a public site.
func isLocal(name string) bool {
	for suffix := range Suffixes(name) {
		if isLocalSuffix(suffix) {
			return true
		}
	}
	return false
}

func isLocalSuffix(name string) bool {
	switch name {
	case "localhost", "local", "localdomain", "internal", "intranet", "lan", "home",
		"corp", "private", "home.arpa", "in-addr.arpa", "ip6.arpa", "test", "invalid",
		"onion", "alt":
		return true
	// Public names whose records point where their text says, or to loopback.
	case "nip.io", "sslip.io", "xip.io", "localtest.me", "lvh.me", "lacolhost.com",
		"1u.ms", "rbndr.us", "traefik.me":
		return true
	}
	return false
}

// isBadPort lists the "bad ports" of the WHATWG Fetch Standard, section 2.9:
// browsers do not open them, so such a link works for nobody.
func isBadPort(port uint16) bool {
	switch port {
	case 0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77,
		79, 87, 95, 101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135,
		137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531,
		532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720,
		1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
		6669, 6679, 6697, 10080:
		return true
	}
	return false
}
