package web

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"unsafe"
)

// proxies are the peers whose X-Forwarded-For is believed. Other headers that name a client (X-Real-IP, Forwarded,
// CF-Connecting-IP) never are: nothing says who wrote them.
type proxies []netip.Prefix

func newProxies(list []netip.Prefix) proxies {
	p := make(proxies, len(list))
	for i, prefix := range list {
		if prefix.Addr().Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-96)
		}
		p[i] = prefix.Masked()
	}
	return p
}

func (p proxies) trusts(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// client walks the lines of X-Forwarded-For from right to left, from the trusted peer that wrote the last
// entry to the first address that is no trusted proxy. An entry that is no address ends the walk at the
// proxy that wrote it; when all are trusted the farthest is the client.
func (p proxies) client(peer netip.Addr, lines [][]byte) netip.Addr {
	for i := len(lines) - 1; i >= 0; i-- {
		for rest, more := lines[i], true; more; {
			var hop []byte
			if comma := bytes.LastIndexByte(rest, ','); comma >= 0 {
				rest, hop = rest[:comma], rest[comma+1:]
			} else {
				hop, more = rest, false
			}
			a, ok := parseHop(bytes.Trim(hop, " \t"))
			if !ok {
				return peer
			}
			if peer = a; !p.trusts(a) {
				return a
			}
		}
	}
	return peer
}

// parseHop reads `1.2.3.4`, `1.2.3.4:5`, `2001:db8::1`, `[2001:db8::1]` or `[2001:db8::1]:5`.
func parseHop(hop []byte) (netip.Addr, bool) {
	const longest = len("[ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255]:65535")
	if len(hop) == 0 || len(hop) > longest || bytes.IndexByte(hop, '%') >= 0 {
		return netip.Addr{}, false
	}
	text := stringOf(hop)
	if hop[0] == '[' || bytes.Count(hop, []byte{':'}) == 1 {
		if hop[len(hop)-1] == ']' {
			a, err := netip.ParseAddr(text[1 : len(text)-1])
			return a.Unmap(), err == nil && hop[0] == '[' && a.Is6()
		}
		ap, err := netip.ParseAddrPort(text)
		return ap.Addr().Unmap(), err == nil
	}
	a, err := netip.ParseAddr(text)
	return a.Unmap(), err == nil
}

// network is the part of an address that one client is taken to own: the /24 of IPv4, the /56 of IPv6. Zero
// stands for addresses whose misses don't count.
type network uint64

const (
	network4 network = 1 << 63
	network6 network = 1 << 62
)

// networkOf returns the network of an address that was unmapped. Loopback, private and link-local addresses, and
// peers that are no Internet socket, have none: behind them may be everybody, through a proxy that is
// not configured.
func networkOf(a netip.Addr) network {
	switch {
	case !a.IsValid() || a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast():
		return 0
	case a.Is4():
		b := a.As4()
		return network4 | network(binary.BigEndian.Uint32(b[:])>>8)
	default:
		b := a.As16()
		return network6 | network(binary.BigEndian.Uint64(b[:8])>>8)
	}
}

// stringOf views bytes as a string for the length of a call.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf views a string as bytes that nobody writes.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
