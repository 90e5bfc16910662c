package weburl

import (
	"iter"
	"net/netip"
	"strings"
)

// Suffixes yields what a ban on which would hit host, a result of Host or
// ParseHost: host itself, then each parent domain, "a.b.c", "b.c", "c". An IP
// address has no parents. It allocates nothing.
func Suffixes(host string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if endsInNumber(host) || strings.HasPrefix(host, "[") {
			yield(host)
			return
		}
		for yield(host) {
			_, parent, ok := strings.Cut(host, ".")
			if !ok {
				return
			}
			host = parent
		}
	}
}

// Allowed is one entry of the operator's allow-list: a network, a name with
// all names under it, or only the names under a suffix.
type Allowed struct {
	network   netip.Prefix // valid for networks and addresses
	name      string       // canonical, for names
	underOnly bool         // the name itself is not meant
}

// ParseAllowed reads an entry of the allow-list: "intranet.example" or "wiki"
// (the name and all names under it), ".corp" (only names under it),
// "10.0.0.0/8" (a network; bits beyond its length are ignored) or "10.1.2.3"
// (an address).
func ParseAllowed(s string) (Allowed, error) {
	if strings.Contains(s, "/") {
		network, err := netip.ParsePrefix(s)
		if err != nil {
			return Allowed{}, errAllowed
		}
		return Allowed{network: unmapPrefix(network.Masked())}, nil
	}
	name, underOnly := strings.CutPrefix(s, ".")
	host, err := ParseHost(name)
	if err != nil {
		return Allowed{}, err
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if underOnly {
			return Allowed{}, errAllowed
		}
		return Allowed{network: netip.PrefixFrom(addr, addr.BitLen())}, nil
	}
	return Allowed{name: host, underOnly: underOnly}, nil
}

// unmapPrefix writes a network of IPv4-mapped addresses as the IPv4 network it
// is, since addresses are compared unmapped.
func unmapPrefix(network netip.Prefix) netip.Prefix {
	if network.Addr().Is4In6() && network.Bits() >= 96 {
		return netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network
}

func (p *Policy) allowsAddr(addr netip.Addr) bool {
	for _, a := range p.Allow {
		if a.network.Contains(addr) {
			return true
		}
	}
	return false
}

func (p *Policy) allowsName(name string) bool {
	for _, a := range p.Allow {
		if a.name == "" {
			continue
		}
		under, ok := strings.CutSuffix(name, a.name)
		if ok && (strings.HasSuffix(under, ".") || under == "" && !a.underOnly) {
			return true
		}
	}
	return false
}
