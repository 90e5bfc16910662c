package weburl

import (
	"net/netip"
	"strconv"
	"strings"
)

// endsInNumber is the WHATWG "ends in a number checker": such a host is an
// IPv4 address or an error, never a name.
func endsInNumber(host string) bool {
	last := strings.TrimSuffix(host, ".")
	last = last[strings.LastIndexByte(last, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, ok := parseIPv4Number(last)
	return ok
}

// parseIPv4 is the WHATWG "IPv4 parser": one to four parts, each decimal,
// octal (0...) or hexadecimal (0x...); the last one fills the bytes that are left.
func parseIPv4(host string) (netip.Addr, bool) {
	host = strings.TrimSuffix(host, ".")
	last := strings.Count(host, ".")
	if last > 3 {
		return netip.Addr{}, false
	}
	var ip uint64
	i := 0
	for part := range strings.SplitSeq(host, ".") {
		n, ok := parseIPv4Number(part)
		limit, shift := uint64(256), 8*(3-i)
		if i == last {
			limit, shift = 1<<(8*(4-i)), 0
		}
		if !ok || n >= limit {
			return netip.Addr{}, false
		}
		ip |= n << shift
		i++
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}), true
}

// parseIPv4Number is the WHATWG "IPv4 number parser". A number too large for
// any part is returned as one that is too large.
func parseIPv4Number(s string) (uint64, bool) {
	if s == "" {
		return 0, false
	}
	base := uint64(10)
	switch {
	case strings.HasPrefix(s, "0x"):
		base, s = 16, s[2:]
	case s[0] == '0' && len(s) > 1:
		base, s = 8, s[1:]
	}
	var n uint64
	for i := range len(s) {
		digit, ok := hexValue(s[i])
		if !ok || uint64(digit) >= base {
			return 0, false
		}
		n = min(n*base+uint64(digit), 1<<32)
	}
	return n, true
}

// appendIPv6 is the WHATWG "IPv6 serializer": the first longest run of two or
// more zero pieces is left out, and no dotted quad is ever written.
func appendIPv6(dst []byte, addr netip.Addr) []byte {
	b := addr.As16()
	piece := func(i int) uint64 { return uint64(b[2*i])<<8 | uint64(b[2*i+1]) }
	gap, gapLen := 0, 1
	for i := 0; i < 8; {
		n := 0
		for i+n < 8 && piece(i+n) == 0 {
			n++
		}
		if n > gapLen {
			gap, gapLen = i, n
		}
		i += max(n, 1)
	}
	for i := 0; i < 8; i++ {
		if gapLen > 1 && i == gap {
			dst = append(dst, "::"...)
			i += gapLen - 1
			continue
		}
		if i > 0 && dst[len(dst)-1] != ':' {
			dst = append(dst, ':')
		}
		dst = strconv.AppendUint(dst, piece(i), 16)
	}
	return dst
}
