package web

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"curt/server/link"
)

const pageHeaders = `Content-Type: text/html; charset=utf-8
Content-Length: %d
Cache-Control: no-store
X-Content-Type-Options: nosniff
Content-Security-Policy: default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
Referrer-Policy: no-referrer
`

// headOf is the exact head of a fixed page.
func headOf(a *answer, status string, extra string) string {
	_, hash, _ := strings.Cut(a.get("Content-Security-Policy"), "'sha256-")
	hash, _, _ = strings.Cut(hash, "'")
	return "HTTP/1.1 " + status + "\n" + fmt.Sprintf(pageHeaders, len(a.body), hash) + extra + "Connection: close\n"
}

// S02, H06, X04: every status has exactly these headers, and HEAD has those of GET without the body.
func TestHeaders(t *testing.T) {
	s := start(t, Options{Links: usual()})
	for _, c := range []struct{ path, status, extra string }{
		{"/", "200 OK", ""},
		{"/nothing", "404 Not Found", ""},
		{"/reserved", "404 Not Found", ""},
		{"/expired", "410 Gone", ""},
		{"/used", "410 Gone", ""},
		{"/banned", "451 Unavailable For Legal Reasons", ""},
		{"/broken", "503 Service Unavailable", "Retry-After: 1\n"},
	} {
		get := s.get(t, c.path)
		equal(t, c.path, get.head, headOf(get, c.status, c.extra))
		if !strings.HasPrefix(get.body, "<!doctype html>") {
			t.Errorf("%s: body %q", c.path, get.body)
		}
		if strings.Contains(get.body, "hidden.test") || strings.Contains(get.body, "secret") {
			t.Errorf("%s: the body tells too much: %q", c.path, get.body)
		}
		equal(t, "HEAD "+c.path, s.ask(t, "HEAD", c.path).head, get.head)
	}
	get := s.get(t, "/live")
	equal(t, "/live", get.head, "HTTP/1.1 302 Found\nContent-Length: 0\nLocation: https://example.com/a?b=c#d\n"+
		"Cache-Control: no-cache, no-store, max-age=0\nConnection: close\n")
	equal(t, "HEAD /live", s.ask(t, "HEAD", "/live").head, get.head)
	equal(t, "body", get.body, "")
}

// The same 404 for what never was, what waits and, when asked for, what is over: nobody learns which.
func TestGoneStatus(t *testing.T) {
	s := start(t, Options{Links: usual(), GoneStatus: 404})
	want := s.get(t, "/nothing")
	for _, path := range []string{"/expired", "/used", "/banned", "/reserved", "/a/b", "/%zz", "/banned+", "/expired+"} {
		got := s.get(t, path)
		equal(t, path, got.head+got.body, want.head+want.body)
	}
}

// H04, H08, S15: one policy for all redirects; never permanent; kept by browsers only for a bounded time.
func TestRedirectOptions(t *testing.T) {
	links := usual()
	links.links["ends"] = entry{Target: &link.Target{URL: "https://example.com/", Expires: newClock().now().Add(90*time.Second + 500*time.Millisecond).UnixMilli()}, state: link.Live}
	links.links["ending"] = entry{Target: &link.Target{URL: "https://example.com/", Expires: newClock().now().Add(900 * time.Millisecond).UnixMilli()}, state: link.Live}
	links.links["far"] = entry{Target: &link.Target{URL: "https://example.com/", Expires: newClock().now().AddDate(400, 0, 0).UnixMilli()}, state: link.Live}
	links.links["last"] = entry{Target: &link.Target{URL: "https://example.com/", Expires: math.MaxInt64}, state: link.Live}
	links.links["numbered"] = entry{Target: &link.Target{URL: "https://example.com/", MaxVisits: 3}, state: link.Live}
	s := start(t, Options{Links: links, RedirectStatus: 307, RedirectMaxAge: time.Hour, HomeURL: "https://home.test/x?y", NotFoundURL: "https://lost.test/"})
	for _, c := range []struct {
		path, location, cache string
	}{
		{"/live", "https://example.com/a?b=c#d", "private, max-age=3600"},
		{"/ends", "https://example.com/", "private, max-age=90"},
		{"/ending", "https://example.com/", "no-cache, no-store, max-age=0"},
		{"/far", "https://example.com/", "private, max-age=3600"},
		{"/last", "https://example.com/", "private, max-age=3600"},
		{"/numbered", "https://example.com/", "no-cache, no-store, max-age=0"},
		{"/", "https://home.test/x?y", "no-store"},
		{"/?a=b", "https://home.test/x?y", "no-store"},
		{"/nothing", "https://lost.test/", "no-store"},
		{"/reserved", "https://lost.test/", "no-store"},
		{"/nothing+", "https://lost.test/", "no-store"},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.ask(t, method, c.path)
			equal(t, c.path, a.head, "HTTP/1.1 307 Temporary Redirect\nContent-Length: 0\nLocation: "+c.location+"\nCache-Control: "+c.cache+"\nConnection: close\n")
		}
	}
	equal(t, "expired", s.get(t, "/expired").status, 410)
	equal(t, "banned", s.get(t, "/banned").status, 451)
	equal(t, "own route", s.get(t, "/sitemap.xml").status, 404)

	s = start(t, Options{Links: links, GoneStatus: 404, NotFoundURL: "https://lost.test/"})
	for _, path := range []string{"/expired", "/used", "/banned", "/nothing"} {
		equal(t, path, s.get(t, path).get("Location"), "https://lost.test/")
	}
}

// E rows: what is stored is what is sent, byte for byte.
func TestLocationBytes(t *testing.T) {
	targets := []string{
		"https://g.test/?abc#123", "https://g.test/?123=foo", "https://x.test/?abc+123", "https://x.test/wiki/2+2_(TV)",
		"https://x.test/?sig=%2B%2F%3D%2b%2f", "https://x.test/issues?q=%22%F0%9F%99%8B%22", "https://x.test/bad%20space/",
		"https://x.test/?ued=https%3A%2F%2Fa%2F%3Fq%3Dx%2520y", "https://x.test/?cct=%24+1%0Ar+2", "https://x.test/%D9%85%D9%82",
		"https://x.test/#150/155", `https://x.test/?q=a\b#[[0,1,"a\"b"]]`, "https://x.test/?f[gh]=1", "http://[2606:4700::1]:100/",
		"http://h.test/foo%2f/bar", "http://h.test//a//./../b/", "http://h.test/a;b=1?a=1;b=2", "https://h.test/?", "https://h.test/#",
		"http://User:PWd@example.com/?User:PWd", "https://h.test/" + strings.Repeat("x", 60_000),
	}
	links := &table{links: map[string]entry{}}
	for i, target := range targets {
		links.links[fmt.Sprint(i)] = entry{Target: &link.Target{URL: target}, state: link.Live}
	}
	s := start(t, Options{Links: links})
	for i, target := range targets {
		equal(t, "Location", s.get(t, fmt.Sprintf("/%d", i)).get("Location"), target)
		equal(t, "with a query", s.get(t, fmt.Sprintf("/%d?a=b", i)).get("Location"), target)
	}
}

// Z02: whatever a store might hold by mistake, it makes no second header.
func TestLocationSplitsNothing(t *testing.T) {
	links := &table{links: map[string]entry{"x": {Target: &link.Target{URL: "https://h.test/\r\nSet-Cookie: a=b\r\n\r\n<p>"}, state: link.Live}}}
	a := start(t, Options{Links: links}).get(t, "/x")
	equal(t, "headers", fmt.Sprint(sorted(a.header)), "[Cache-Control Connection Content-Length Date Location]")
}

// Q04, Q07, U05: the path is decoded once and never cleaned; one trailing slash is ignored.
func TestPaths(t *testing.T) {
	links := usual()
	s := start(t, Options{Links: links})
	for _, c := range []struct {
		target string
		status int
	}{
		{"/live", 302}, {"/live/", 302}, {"/live//", 404}, {"//live", 404}, {"/./live", 404}, {"/x/../live", 404}, {"/live/.", 404},
		{"/%6Cive", 302}, {"/%6cive", 302}, {"/live%2F", 404}, {"/%2Flive", 404}, {"/%256Cive", 404}, {"/live%", 404}, {"/live%4", 404},
		{"/live%zz", 404}, {"/live%00", 404}, {"/live%0a", 404}, {"/live%20", 404}, {"/Live", 404}, {"/live?", 302}, {"/live/?x", 302},
		{"/live?/x", 302}, {"/live/x", 404}, {"/live/http://bbc.test/", 404}, {"/live%2Fx", 404}, {"/live;x", 404}, {"/live#x", 404},
		{"/%ED%94%84", 404}, {"/\xed\x94\x84", 404}, {"/a-b.c_d~e", 302}, {"/a%2Db%2Ec%5Fd%7Ee", 302}, {"/..", 404}, {"/%2e%2e", 404},
		{"http://s.test/live", 302}, {"http://s.test/live?x", 302}, {"https://other.test/live/", 302}, {"http://s.test", 200}, {"http://s.test?x", 200},
		{"/" + strings.Repeat("a", 128), 404}, {"/" + strings.Repeat("%61", 1000), 404}, {"/" + strings.Repeat("a", 7000), 404},
		{"/" + strings.Repeat("/", 100), 404}, {"/?", 200}, {"/+", 404}, {"/++", 404}, {"/live++", 404},
	} {
		a := s.get(t, c.target)
		if a.status != c.status {
			t.Errorf("%.40s: status %d, want %d", c.target, a.status, c.status)
		}
		if strings.HasPrefix(a.get("Location"), "/") {
			t.Errorf("%s: cleaned to %s", c.target, a.get("Location"))
		}
	}
}

// The hook hears of GETs that lead somewhere, once, with what the visitor sent, and can say no.
func TestVisit(t *testing.T) {
	var visits []string
	var answer atomic.Int64
	answer.Store(int64(link.Live))
	s := start(t, Options{Links: usual(), TrustedProxies: prefixes("127.0.0.0/8"), BaseURL: "https://s.test", Visit: func(v *Visit) (link.State, error) {
		visits = append(visits, fmt.Sprintf("%s %s %s ua=%s ref=%s purpose=%s %d", v.Code, v.Target.URL, v.Client, v.UserAgent, v.Referer, v.Purpose, v.Time.Unix()))
		return link.State(answer.Load()), nil
	}})
	now := s.clock.now().Unix()
	s.get(t, "/live/?x=y", "User-Agent: Mozilla/5.0", "Referer: https://r.test/p", "X-Forwarded-For: 9.9.9.9", "Sec-Purpose: prefetch;prerender", "Purpose: prefetch")
	s.get(t, "/%6cive", "Purpose: prefetch")
	for _, silent := range []string{"/nothing", "/expired", "/banned", "/live+", "/-/qr/live", "/", "/robots.txt"} {
		s.get(t, silent)
	}
	s.ask(t, "HEAD", "/live") // S01
	s.ask(t, "POST", "/live")
	for state, status := range map[link.State]int{link.UsedUp: 410, link.Banned: 451, link.Absent: 404, link.Expired: 410} {
		answer.Store(int64(state))
		a := s.get(t, "/live")
		equal(t, "refused as "+state.String(), a.status, status)
		equal(t, "location", a.get("Location"), "")
	}
	equal(t, "visits", len(visits), 6)
	equal(t, "first", visits[0], fmt.Sprintf("live https://example.com/a?b=c#d 9.9.9.9 ua=Mozilla/5.0 ref=https://r.test/p purpose=prefetch;prerender %d", now))
	equal(t, "second", visits[1], fmt.Sprintf("live https://example.com/a?b=c#d 127.0.0.1 ua= ref= purpose=prefetch %d", now))
}

// A panic in a hook is one 500, and the server goes on.
func TestPanic(t *testing.T) {
	s := start(t, Options{Links: usual(), Visit: func(*Visit) (link.State, error) { panic("oops") }})
	a := s.get(t, "/live")
	equal(t, "head", a.head, headOf(a, "500 Internal Server Error", ""))
	equal(t, "next", s.get(t, "/expired").status, 410)
	equal(t, "panics", s.Stats().Panics, 1)
}

// H01, H02, X01: a real store behind it; what was changed holds for the very next request.
func TestRealLinks(t *testing.T) {
	clock := newClock()
	links := service(t, clock.now)
	s := start(t, Options{Links: links, Now: clock.now})
	code, err := links.Shorten(context.Background(), &link.Request{URL: "https://example.com/1"})
	if err != nil {
		t.Fatal(err)
	}
	expect := func(what, code string, status int, location string) {
		t.Helper()
		a := s.get(t, "/"+code)
		equal(t, what, fmt.Sprint(a.status, a.get("Location")), fmt.Sprint(status, location))
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	expect("made", code, 302, "https://example.com/1")
	must(links.Retarget(code, "https://example.com/2"))
	expect("retargeted", code, 302, "https://example.com/2")
	must(links.Ban(code, "phishing"))
	expect("banned", code, 451, "")
	must(links.Unban(code))
	expect("unbanned", code, 302, "https://example.com/2")
	_, err = links.BanHost("example.com", "")
	must(err)
	expect("host banned", code, 451, "")
	_, err = links.UnbanHost("example.com")
	must(err)
	expect("host unbanned", code, 302, "https://example.com/2")
	alias, err := links.Shorten(context.Background(), &link.Request{URL: "https://example.com/3", Alias: "MyLink", HasAlias: true,
		Expires: clock.now().Add(time.Minute).UnixMilli(), Forward: true})
	must(err)
	expect("alias", alias+"?x=1", 302, "https://example.com/3?x=1")
	expect("other case", "mylink", 404, "")
	clock.advance(time.Minute)
	expect("expired", alias, 410, "")
	_, err = links.Delete(code)
	must(err)
	expect("deleted", code, 404, "")
}

// F10: a guess costs no store read, and nothing once its network has no tokens left.
func TestMissesDoNotReachTheStore(t *testing.T) {
	links := usual()
	s := start(t, Options{Links: links, TrustedProxies: prefixes("127.0.0.1/32")})
	for range 100 {
		s.get(t, "/wp-login.php", "X-Forwarded-For: 8.8.8.8")
	}
	equal(t, "look-ups", links.lookups.Load(), 60)
}

func TestClientOfVisit(t *testing.T) {
	var got netip.Addr
	s := start(t, Options{Links: usual(), Visit: func(v *Visit) (link.State, error) { got = v.Client; return link.Live, nil }})
	s.get(t, "/live", "X-Forwarded-For: 9.9.9.9", "X-Real-IP: 9.9.9.9", "CF-Connecting-IP: 9.9.9.9", "Forwarded: for=9.9.9.9") // P03
	equal(t, "client", got, netip.MustParseAddr("127.0.0.1"))
}
