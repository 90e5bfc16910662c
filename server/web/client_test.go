package web

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// P01, P03: which address is the client's.
func TestForwardedFor(t *testing.T) {
	const proxy = "10.0.0.1"
	f := func(trusted, peer string, want string, lines ...string) {
		t.Helper()
		var raw [][]byte
		for _, l := range lines {
			raw = append(raw, []byte(l))
		}
		p := newProxies(prefixes(strings.Fields(trusted)...))
		got := netip.MustParseAddr(peer).Unmap()
		if p.trusts(got) {
			got = p.client(got, raw)
		}
		equal(t, fmt.Sprintf("%s from %s: %q", trusted, peer, lines), got.String(), want)
	}
	f("", proxy, proxy, "1.1.1.1")
	f("10.0.0.0/8", "9.9.9.9", "9.9.9.9", "1.1.1.1")
	f("10.0.0.0/8", proxy, proxy)
	f("10.0.0.0/8", proxy, "1.1.1.1", "1.1.1.1")
	f("10.0.0.0/8", proxy, "1.1.1.1", "1.1.1.1, 10.0.0.2")
	f("10.0.0.0/8", proxy, "1.1.1.1", "6.6.6.6, 1.1.1.1, 10.0.0.2, 10.0.0.3")
	f("10.0.0.0/8", proxy, "1.1.1.1", "6.6.6.6", "1.1.1.1,10.0.0.2", "\t10.0.0.3 ")
	f("10.0.0.0/8", proxy, "172.16.0.1", "1.1.1.1, 172.16.0.1, 10.0.0.2") // a proxy that is not trusted
	f("10.0.0.0/8", proxy, "10.0.0.9", "10.0.0.9, 10.0.0.2")              // all trusted: the farthest
	f("10.0.0.0/8 1.1.1.0/24", proxy, "2.2.2.2", "2.2.2.2, 1.1.1.77")
	f("10.0.0.0/8", proxy, "1.1.1.1", "1.1.1.1:4711")
	f("10.0.0.0/8", proxy, "2001:db8::1", "2001:db8::1")
	f("10.0.0.0/8", proxy, "2001:db8::1", "[2001:db8::1]")
	f("10.0.0.0/8", proxy, "2001:db8::1", "[2001:db8::1]:443")
	f("10.0.0.0/8", proxy, "1.1.1.1", "::ffff:1.1.1.1")
	f("10.0.0.0/8", proxy, "1.1.1.1", "1.1.1.1, ::ffff:10.0.0.2")
	f("10.0.0.0/8", "::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1")
	f("::ffff:10.0.0.0/104", proxy, "1.1.1.1", "1.1.1.1")
	f("2001:db8::/32", "2001:db8::99", "1.1.1.1", "1.1.1.1")
	f("10.1.2.3/8", proxy, "1.1.1.1", "1.1.1.1") // host bits don't matter
	for _, garbage := range []string{"unknown", "", ",", "1.1.1", "1.1.1.1.1", "01.1.1.1", "1.1.1.1:99999", "[1.1.1.1]", "[2001:db8::1", "2001:db8::1]",
		"fe80::1%eth0", "_hidden", "for=1.1.1.1", `"1.1.1.1"`, "1.1.1.1;2.2.2.2", "1.1.1.1 2.2.2.2", "\x00", strings.Repeat("9", 5000)} {
		f("10.0.0.0/8", proxy, proxy, garbage)
		f("10.0.0.0/8", proxy, "10.0.0.2", "1.1.1.1, "+garbage+", 10.0.0.2")
		f("10.0.0.0/8", proxy, "1.1.1.1", garbage+", 1.1.1.1")
	}
}

func TestNetworks(t *testing.T) {
	same := func(a, b string, want bool) {
		t.Helper()
		x, y := networkOf(netip.MustParseAddr(a)), networkOf(netip.MustParseAddr(b))
		equal(t, a+" and "+b, x == y && x != 0, want)
	}
	same("8.8.8.8", "8.8.8.255", true)
	same("8.8.8.8", "8.8.9.8", false)
	same("8.8.8.8", "8.9.8.8", false)
	same("2001:db8:1:200::1", "2001:db8:1:2ff:ffff::", true)
	same("2001:db8:1:200::1", "2001:db8:1:300::1", false)
	same("2001:db8:1:200::1", "2001:db9:1:200::1", false)
	same("0.0.8.8", "::808", false)
	for _, a := range []string{"127.0.0.1", "::1", "10.1.2.3", "192.168.1.1", "172.16.0.1", "fd00::1", "fe80::1", "169.254.1.1"} {
		equal(t, a, networkOf(netip.MustParseAddr(a)), 0)
	}
	equal(t, "no address", networkOf(netip.Addr{}), 0)
}

func TestMissLimiter(t *testing.T) {
	l := newMissLimiter(3, 0.5)
	n := networkOf(netip.MustParseAddr("8.8.8.8"))
	now := 10 * time.Second
	expect := func(what string, want time.Duration) {
		t.Helper()
		equal(t, what, l.wait(n, now), want)
	}
	expect("new", 0)
	for range 3 {
		expect("tokens left", 0)
		l.take(n, now)
	}
	expect("empty", 2*time.Second)
	l.take(n, now) // those under way at once take no more than there is
	l.take(n, now)
	expect("still empty", 2*time.Second)
	now += 1500 * time.Millisecond
	expect("nearly", 500*time.Millisecond)
	now += 500 * time.Millisecond
	expect("one back", 0)
	l.take(n, now)
	expect("empty again", 2*time.Second)
	now -= 8 * time.Second
	expect("the clock went back", 2*time.Second)
	l.take(n, now)
	now += 7 * time.Hour
	expect("full", 0)
	for range 3 {
		l.take(n, now)
	}
	expect("but not fuller", 2*time.Second)
	l.take(0, now)
	equal(t, "no network", l.wait(0, now), 0)

	off := newMissLimiter(-1, 1)
	for range 100 {
		off.take(n, now)
	}
	equal(t, "off", off.wait(n, now), 0)
}

// However many networks come, the memory stays, nobody pays for another, and who misses most is kept longest.
func TestMissLimiterIsBounded(t *testing.T) {
	l := newMissLimiter(60, 1)
	now := time.Second
	attacker := networkOf(netip.MustParseAddr("2001:db8::"))
	for range 60 {
		l.take(attacker, now)
	}
	limited := 0
	for i := range 100_000 {
		n := network6 | network(i+1)<<20
		l.take(n, now)
		if l.wait(n, now) > 0 {
			limited++
		}
	}
	equal(t, "networks limited after one miss", limited, 0)
	if l.wait(attacker, now) == 0 {
		t.Error("the attacker was forgotten")
	}
	held := 0
	for i := range l.sets {
		for w := range l.sets[i].networks {
			if l.sets[i].networks[w].Load() != 0 {
				held++
			}
		}
	}
	if held > 65_536 || held < 50_000 {
		t.Errorf("%d networks are held", held)
	}
}

func TestMissLimiterAllocatesNothing(t *testing.T) {
	l := newMissLimiter(60, 1)
	i := 0
	equal(t, "allocations", testing.AllocsPerRun(1000, func() {
		i++
		l.wait(network4|network(i), 0)
		l.take(network4|network(i), 0)
	}), 0)
}

// P07 and the scanner: its network is refused, hits too; its neighbours are not, nor is anybody behind a proxy that
// was not configured.
func TestScanner(t *testing.T) {
	s := start(t, Options{Links: usual(), TrustedProxies: prefixes("127.0.0.1/32"), BaseURL: "https://s.test"})
	from := func(ip, target string) *answer { return s.get(t, target, "X-Forwarded-For: "+ip) }
	for i := range 60 {
		equal(t, "miss", from(fmt.Sprintf("8.8.8.%d", i), fmt.Sprintf("/guess%d", i)).status, 404)
	}
	for _, target := range []string{"/guess", "/live", "/live+", "/-/qr/live", "/banned"} {
		a := from("8.8.8.200", target)
		equal(t, target, a.head, headOf(a, "429 Too Many Requests", "Retry-After: 1\n"))
	}
	for _, target := range []string{"/", "/healthz", "/robots.txt", "/favicon.ico"} {
		if a := from("8.8.8.200", target); a.status >= 400 {
			t.Errorf("%s: %d", target, a.status)
		}
	}
	equal(t, "limited", s.Stats().MissesLimited, 5)
	for _, ip := range []string{"8.8.9.8", "8.8.7.8", "2001:db8::1", "10.0.0.5"} {
		equal(t, "neighbour "+ip, from(ip, "/live").status, 302)
	}
	s.clock.advance(time.Second)
	equal(t, "a hit is free", from("8.8.8.1", "/live").status, 302)
	equal(t, "a hit is free", from("8.8.8.2", "/expired").status, 410)
	equal(t, "one miss a second", from("8.8.8.3", "/guess").status, 404)
	equal(t, "limited again", from("8.8.8.4", "/live").status, 429)
	s.clock.advance(time.Minute)
	equal(t, "a minute later", from("8.8.8.4", "/live").status, 302)
	for range 200 {
		equal(t, "private", from("192.168.7.7", "/guess").status, 404)
		equal(t, "the proxy itself", s.get(t, "/guess").status, 404)
	}

	s = start(t, Options{Links: usual()})
	for i := range 200 { // a proxy that is not configured: whatever it says, nobody is limited
		equal(t, "untrusted", s.get(t, "/guess", fmt.Sprintf("X-Forwarded-For: 8.8.8.%d", i)).status, 404)
	}
	equal(t, "untrusted hit", s.get(t, "/live", "X-Forwarded-For: 8.8.8.8").status, 302)
}

func TestScannerOfIPv6(t *testing.T) {
	s := start(t, Options{Links: usual(), TrustedProxies: prefixes("127.0.0.1/32"), MissBurst: 2, MissPerSecond: 0.1})
	from := func(ip string) int { return s.get(t, "/guess", "X-Forwarded-For: "+ip).status }
	equal(t, "1", from("2001:db8:1:200::1"), 404)
	equal(t, "2", from("2001:db8:1:277::1"), 404)
	a := s.get(t, "/live", "X-Forwarded-For: 2001:db8:1:2ff::9")
	equal(t, "3", a.status, 429)
	equal(t, "Retry-After", a.get("Retry-After"), "10")
	equal(t, "other /56", from("2001:db8:1:300::1"), 404)
}

func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"1.1.1.1", "1.1.1.1, 10.0.0.2", "[::1]:80,unknown", "::ffff:1.2.3.4", ",,", "[", "]:", "1:2", "%"} {
		f.Add(seed)
	}
	p := newProxies(prefixes("10.0.0.0/8", "fd00::/8"))
	peer := netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, line string) {
		got := p.client(peer, [][]byte{[]byte(line)})
		if !got.IsValid() || got.Zone() != "" || got.Is4In6() {
			t.Fatalf("%q: %v", line, got)
		}
		if got != peer && !p.trusts(got) && !strings.Contains(line, "::") && !strings.Contains(line, got.String()) && got.Is4() {
			t.Fatalf("%q: %v is not in it", line, got)
		}
		// What stands to the left of an address that no proxy wrote changes nothing.
		equal(t, line, p.client(peer, [][]byte{[]byte(line + ", 9.9.9.9 , 10.1.1.1")}), netip.MustParseAddr("9.9.9.9"))
	})
}
