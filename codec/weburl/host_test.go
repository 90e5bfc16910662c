package weburl

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// testHost expects the host of http://HOST/ to be written as want, whether or
// not it may be a target.
func testHost(t *testing.T, host, want string) {
	t.Helper()
	var u parsed
	if e := u.parse("http://" + host + "/"); e != nil || string(u.text[u.hostStart:u.hostEnd]) != want {
		t.Errorf("host %q: %q, %v; want %q", host, u.text, e, want)
	}
}

func TestIPv4Forms(t *testing.T) {
	for _, host := range []string{"127.1", "127.0.1", "0x7f.1", "0177.0.0.01", "2130706433", "0x7F000001", "017700000001",
		"127.0.0.1.", "%31%32%37.1", "１２７。１", "127.0x000000000000000001"} {
		testHost(t, host, "127.0.0.1")
		refuse(t, PrivateAddress, "http://"+host+"/")
	}
	testHost(t, "0x", "0.0.0.0")
	testHost(t, "0x.0x.0", "0.0.0.0")
	testHost(t, "1.2.65535", "1.2.255.255")
	testHost(t, "4294967295", "255.255.255.255")
	refuse(t, BadHost, "http://4294967296/", "http://256.1/", "http://1.256.1.1/", "http://1.2.3.256/", "http://1.2.65536/",
		"http://1.2.3.4.5/", "http://1..2/", "http://08/", "http://1.0x1g.1/", "http://x.1/", "http://99999999999999999999999/", "http://.1/")
	testHost(t, "1.example", "1.example")
	testHost(t, "0x1g", "0x1g")
}

func TestIPv6Forms(t *testing.T) {
	testHost(t, "[::]", "[::]")
	testHost(t, "[0:0:0:0:0:0:0:1]", "[::1]")
	testHost(t, "[2001:DB8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]")
	testHost(t, "[1:0:0:2:0:0:0:3]", "[1:0:0:2::3]")
	testHost(t, "[1:0:1:0:1:0:1:0]", "[1:0:1:0:1:0:1:0]")
	testHost(t, "[1:2:3:4:5:6:7::]", "[1:2:3:4:5:6:7:0]")
	testHost(t, "[1::]", "[1::]")
	testHost(t, "[::ffff:127.0.0.1]", "[::ffff:7f00:1]")
	refuse(t, BadHost, "http://[]/", "http://[::1/", "http://::1]/", "http://[::1]x/", "http://[1.2.3.4]/", "http://[::1%25a]/",
		"http://[fe80::1%a]/", "http://[::12345]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[[::1]]/", "http://[x]/", "http://[::1.2.3]/",
		"http://[::01.2.3.4]/", "http://%5B::1]/")
}

// The edges of each block of classes.go.
func TestAddressClasses(t *testing.T) {
	public := func(addr string, want bool) {
		t.Helper()
		if got := isPublic(netip.MustParseAddr(addr).Unmap()); got != want {
			t.Errorf("isPublic(%s) = %v", addr, got)
		}
	}
	for _, block := range slices.Concat(notPublic4, notPublic6) {
		public(block.Addr().String(), false)
		public(lastOf(block).String(), false)
	}
	for _, addr := range []string{"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
		"128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.167.255.255", "198.17.255.255",
		"198.20.0.0", "223.255.255.255", "168.63.129.15", "168.63.129.17", "::ffff:8.8.8.8", "2000::", "2001:200::", "2001:db7::",
		"2001:db9::", "2003::", "2606:4700::1", "3ffe::1", "3fff:1000::"} {
		public(addr, true)
	}
	for _, addr := range []string{"::", "::1", "::8.8.8.8", "::ffff:10.0.0.1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1",
		"1fff::1", "4000::", "5f00::1", "fc00::1", "fdff::1", "fe80::1", "fec0::1", "ff02::1", "2002:808:808::1", "2001::1"} {
		public(addr, false)
	}
}

func lastOf(p netip.Prefix) netip.Addr {
	b := p.Addr().AsSlice()
	for i := p.Bits(); i < len(b)*8; i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

func TestNames(t *testing.T) {
	label := strings.Repeat("a", 63)
	keep(t, "http://"+label+".example/", "http://a_b-c.example/", "http://-a-.example/", "http://xn--a.example/", "http://example.com./")
	refuse(t, BadHost, "http://"+label+"a.example/", "http://"+strings.Repeat(label+".", 4)+"example/", "http://a..example/",
		"http://.example.com/", "http://example.com../", "http://./", "http://a+b.example/", "http://a~b.example/", "http://*.example/",
		"http://a%00b.example/", "http://a%20b.example/", "http://a%25b.example/", "http://\u00ad/", "http://a|b.example/")
	refuse(t, LocalName, "http://localhost/", "http://LOCALHOST./", "http://a.localhost/", "http://local/", "http://printer.local/",
		"http://metadata.google.internal/", "http://x.home.arpa/", "http://1.0.0.127.in-addr.arpa/", "http://x.test/", "http://x.onion/",
		"http://10.0.0.1.nip.io/", "http://app.localtest.me/", "http://ⓛocalhost/")
	refuse(t, SingleLabel, "http://wiki/", "http://wiki./", "http://com/", "http://xn--p1ai/")
	keep(t, "http://localhost.example/", "http://notlocal.example/", "http://arpa.example/", "http://mylan.example/", "http://x.arpa/")
}

func TestInternationalNames(t *testing.T) {
	testHost(t, "BÜCHER.example", "xn--bcher-kva.example")
	testHost(t, "faß.de", "xn--fa-hia.de")
	testHost(t, "FAẞ.de", "xn--fa-hia.de") // not fass.de
	testHost(t, "例え。テスト", "xn--r8jz45g.xn--zckzah")
	testHost(t, "é.xn--bcher-kva", "xn--9ca.xn--bcher-kva")
	// "xn--" labels that stand for nothing, or not for what they decode to.
	refuse(t, BadHost, "http://é.xn--/", "http://é.com.xn--", "http://xn--.é/", "http://xn--bcéher-kva.example/",
		"http://ｘn--bcéher-kva.example/", "http://x\u00adn－－bcéher-kva.example/", "http://é.xn--abc-/", "http://é.xn--zzzzzzzz99999/")
	// Right-to-left only after mapping.
	refuse(t, BadHost, "http://aℵb.com/", "http://aאb.com/", "http://a\u200db.com/", "http://\u0300a.com/", "http://a\ufffdb.com/")
}

// What can't be a name in DNS is refused by its length, in time that grows no faster than it does.
func TestLongInternationalNames(t *testing.T) {
	distinct := func(n int) string {
		var b strings.Builder
		for r := range rune(n) {
			b.WriteRune('가' + r)
		}
		return b.String()
	}
	f := func(host string, want *Error) {
		t.Helper()
		if e := new(parsed).parse("http://" + host + "/"); e != want {
			t.Errorf("host %.50q of %d bytes: %v, want %v", host, len(host), e, want)
		}
	}
	label := strings.Repeat("é", 63)
	f(label+".example", nil)
	f(label+"é.example", errLongLabel)
	f(strings.Repeat(label+".", 3)+strings.Repeat("é", 61)+".", nil)
	f(strings.Repeat(label+"。", 3)+strings.Repeat("é", 62)+"。", errLongName)
	f("é.xn--"+strings.Repeat("zz", 1900)+".example", errLongName)
	f("é"+strings.Repeat("\u00ad", 2000)+".example", nil)
	f("é"+strings.Repeat("\u00ad", 2100)+".example", errLongName)
	f(distinct(240)+".example", errLongLabel)
	f(distinct(11000), errLongName)
	f("é.xn--"+strings.Repeat("zz", 1<<19), errLongName)
	if _, err := ParseHost(strings.Repeat(distinct(11000), 30)); !errors.Is(err, errLongName) {
		t.Errorf("ParseHost: %v", err)
	}
}

// hasBadACE looks for labels only where one of these characters occurs.
func TestHyphensAreComplete(t *testing.T) {
	for r := rune(0x80); r <= 0x10FFFF; r++ {
		mapped, _ := domainToASCII.ToUnicode(string(r))
		if strings.Contains(mapped, "-") && !strings.ContainsRune(hyphens, r) {
			t.Errorf("%U maps to %q", r, mapped)
		}
	}
}

func TestParseHost(t *testing.T) {
	f := func(host, want string) {
		t.Helper()
		got, err := ParseHost(host)
		if err != nil || got != want {
			t.Errorf("ParseHost(%q) = %q, %v; want %q", host, got, err, want)
			return
		}
		if again, err := ParseHost(got); err != nil || again != got {
			t.Errorf("ParseHost(%q) = %q, %v; want it unchanged", got, again, err)
		}
	}
	f("Example.COM", "example.com")
	f("example.com.", "example.com")
	f("bücher.example", "xn--bcher-kva.example")
	f("bücher。example。", "xn--bcher-kva.example")
	f("com", "com")
	f("localhost", "localhost")
	f("10.0.0.1", "10.0.0.1")
	f("0x0a.1", "10.0.0.1")
	f("::1", "[::1]")
	f("[2606:4700:0:0::1]", "[2606:4700::1]")
	f("::ffff:10.0.0.1", "10.0.0.1")
	f("[::ffff:a00:1]", "10.0.0.1")

	bad := func(hosts ...string) {
		t.Helper()
		for _, host := range hosts {
			if got, err := ParseHost(host); err == nil || got != "" {
				t.Errorf("ParseHost(%q) = %q, %v; want an error", host, got, err)
			}
		}
	}
	bad("", " ", ".", "https://example.com", "https://example.com/", "example.com/", "example.com:80", "example.com:", ":80", "u@example.com",
		"example.com?", "example.com#", `example.com\`, " example.com", "example.com ", "exa mple.com", "exa\nmple.com", ".example.com",
		"*.example.com", "a..b", "example.com..", "[::1]:80", "[::1", "fe80::1%eth0", "1.2.3.4.5", "\xff.com", "a,b")
}

func TestHost(t *testing.T) {
	f := func(url, want string) {
		t.Helper()
		target, err := (&Policy{Allow: []Allowed{mustAllow(t, "0.0.0.0/0")}}).Check(url)
		if err != nil || Host(target) != want {
			t.Errorf("Host(%q) = %q, %v; want %q", url, Host(target), err, want)
		}
	}
	f("https://Example.COM:8443/a:b@c", "example.com")
	f("https://example.com.", "example.com")
	f("https://example.com.:8080/?x", "example.com")
	f("https://bücher.example", "xn--bcher-kva.example")
	f("http://0x7f.1:8080/", "127.0.0.1")
	f("http://[2606:4700::1]:8080/", "[2606:4700::1]")
	f("http://[::ffff:8.8.8.8]/", "8.8.8.8")

	for _, odd := range []string{"", "x", "http://", "http://[", "http://[::ffff:", "://[::ffff:]"} {
		Host(odd) // must not panic
	}
}

func TestSuffixes(t *testing.T) {
	f := func(host string, want ...string) {
		t.Helper()
		if got := slices.Collect(Suffixes(host)); !slices.Equal(got, want) {
			t.Errorf("Suffixes(%q) = %q, want %q", host, got, want)
		}
	}
	f("a.b.c", "a.b.c", "b.c", "c")
	f("c", "c")
	f("1.2.3.4", "1.2.3.4")
	f("[2606:4700::1]", "[2606:4700::1]")
	f("1.example", "1.example", "example")

	banned := map[string]bool{"evil.example": true}
	n := testing.AllocsPerRun(100, func() {
		for suffix := range Suffixes("a.b.c.d.example.com") {
			if banned[suffix] {
				t.Error("banned")
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func mustAllow(t testing.TB, entry string) Allowed {
	t.Helper()
	allowed, err := ParseAllowed(entry)
	if err != nil {
		t.Fatal(err)
	}
	return allowed
}

func TestAllowList(t *testing.T) {
	allow := func(entry, url string) {
		t.Helper()
		testTarget(t, &Policy{Allow: []Allowed{mustAllow(t, "unrelated.lan"), mustAllow(t, entry)}}, url, url)
	}
	deny := func(entry, url string, want Reason) {
		t.Helper()
		testRefused(t, &Policy{Allow: []Allowed{mustAllow(t, entry)}}, url, want)
	}
	allow("intranet.test", "http://intranet.test/")
	allow("Intranet.TEST.", "http://a.intranet.test./")
	allow(".corp", "http://wiki.corp/")
	allow("ly-eodgw", "http://ly-eodgw:3402/app")
	allow("localhost", "http://localhost:8080/")
	allow("10.0.0.0/8", "http://10.255.0.1/")
	allow("10.9.9.9/8", "http://10.255.0.1/")
	allow("10.1.2.3", "http://10.1.2.3/")
	allow("10.1.2.3", "http://[::ffff:a01:203]/")
	allow("::ffff:10.0.0.0/104", "http://10.1.2.3/")
	allow("fd00::/8", "http://[fd12::1]/")
	allow("[::1]", "http://[::1]/")
	allow("größe.test", "http://xn--gre-6ka8i.test/")

	deny("intranet.test", "http://notintranet.test/", LocalName)
	deny("intranet.test", "http://intranet.test.corp/", LocalName)
	deny(".corp", "http://corp/", LocalName)
	deny("10.1.2.3", "http://10.1.2.4/", PrivateAddress)
	deny("10.0.0.0/8", "http://11.0.0.1:22/", UnsafePort)
	deny("10.0.0.0/8", "http://127.0.0.1/", PrivateAddress)
	deny("10.0.0.0/8", "http://[fd12::1]/", PrivateAddress)
	deny("localhost", "http://localhost:22/", UnsafePort)
	deny("wiki", "http://u@wiki/", Credentials)

	p := &Policy{Self: []string{"sho.lan"}, Allow: []Allowed{mustAllow(t, "lan")}}
	testRefused(t, p, "http://sho.lan/", Self)

	for _, entry := range []string{"", ".", "/", "10.0.0.0/33", "http://x.example/", "10.0.0.1/", ".10.0.0.1", "..corp", "*.corp", "a b", "x:80"} {
		if _, err := ParseAllowed(entry); err == nil {
			t.Errorf("ParseAllowed(%q) passes", entry)
		}
	}
}
