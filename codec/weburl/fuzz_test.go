package weburl

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func seed(f *testing.F) {
	for _, row := range rows(f, "url-cases.tsv", 4) {
		f.Add(unquote(f, row[0]))
	}
	for _, row := range rows(f, "url-dedup-pairs.tsv", 7) {
		f.Add(row[0])
		f.Add(row[1])
	}
	f.Add("http://x\u00adn－－bcéher-kva.example/%%37E?%26&utm_a#")
}

func FuzzCheck(f *testing.F) {
	seed(f)
	p := &Policy{Self: []string{"sho.rt"}}
	f.Fuzz(func(t *testing.T, raw string) {
		target, err := p.Check(raw)
		if err != nil {
			checkError(t, target, err)
			return
		}
		if again, err := p.Check(target); err != nil || again != target {
			t.Fatalf("%q becomes %q, %v", target, again, err)
		}
		if len(target) > DefaultMaxBytes || strings.Trim(target, printable()) != "" || strings.Contains(target, " ") {
			t.Fatalf("not short printable ASCII: %q", target)
		}
		checkPublic(t, Host(target))
	})
}

func checkError(t *testing.T, target string, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || target != "" || e.Reason == "" || strings.ContainsAny(err.Error(), "\r\n") {
		t.Fatalf("%q, %v", target, err)
	}
}

func printable() string {
	var b strings.Builder
	for c := byte(0x21); c < 0x7F; c++ {
		b.WriteByte(c)
	}
	return b.String()
}

// checkPublic judges a host by other means than Check does.
func checkPublic(t *testing.T, host string) {
	t.Helper()
	if canonical, err := ParseHost(host); err != nil || canonical != host {
		t.Fatalf("host %q is read as %q, %v", host, canonical, err)
	}
	if addr, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
		if !addr.IsGlobalUnicast() || addr.IsPrivate() || addr.Is4In6() {
			t.Fatalf("address %s", addr)
		}
		return
	}
	if !strings.Contains(host, ".") || host != strings.ToLower(host) || host == "sho.rt" ||
		strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".internal") {
		t.Fatalf("name %q", host)
	}
}

func FuzzLooseKey(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, raw string) {
		LooseKey(raw) // whatever it is given, it returns
		target, err := (&Policy{}).Check(raw)
		if err != nil {
			return
		}
		key := LooseKey(target)
		if again := LooseKey(key); again != key {
			t.Fatalf("%q of %q becomes %q", key, target, again)
		}
		if Host(key) != Host(target) {
			t.Fatalf("%q is at another host than %q", key, target)
		}
		_, fragment, _ := strings.Cut(target, "#")
		if _, kept, _ := strings.Cut(key, "#"); kept != fragment {
			t.Fatalf("fragment %q of %q", kept, target)
		}
	})
}

func FuzzParseHost(f *testing.F) {
	for _, host := range []string{"example.com", "::1", "[::ffff:1.2.3.4]", "0x7f.1", "bücher.example.", "a:80"} {
		f.Add(host)
	}
	f.Fuzz(func(t *testing.T, host string) {
		canonical, err := ParseHost(host)
		if err != nil {
			return
		}
		if again, err := ParseHost(canonical); err != nil || again != canonical {
			t.Fatalf("%q becomes %q, %v", canonical, again, err)
		}
		if Host("http://"+canonical+":8080/a") != canonical {
			t.Fatalf("Host of %q", canonical)
		}
	})
}
