package tests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"curt/server"
)

// TestNoFreeCode: where every code that could be made is taken, a request tries a bounded number of times, says that there is none, and
// leaves nothing behind. INFO counts the tries.
func TestNoFreeCode(t *testing.T) { // C16
	n := start(t)
	const target = "https://example.com/hashed"
	ask := []string{"SHORTEN", target, "CODE", "HASH", "LENGTH", "4"}
	var taken []string
	for range 1000 {
		before := n.Info("curt_random_retries")
		r := n.Do(ask...)
		tries := n.Info("curt_random_retries") - before
		if r.isError() {
			n.WantError("EXHAUSTED ", ask...)
			if tries == 0 || tries > 1000 {
				t.Errorf("%d tries were counted before %s", tries, r)
			}
			break
		}
		if tries != int64(len(taken)) || slices.Contains(taken, r.text) {
			t.Fatalf("code %d is %s, after %d tries", len(taken), r, tries)
		}
		taken = append(taken, r.text)
		n.Must("RETARGET", r.text, fmt.Sprintf("https://example.com/%d", len(taken))) // the next request meets somebody else's link there
	}
	if len(taken) < 10 || len(taken) >= 1000 {
		t.Errorf("%d codes were tried", len(taken))
	}
	if links := n.Info("curt_links"); links != int64(len(taken)) {
		t.Errorf("%d links, %d were made", links, len(taken))
	}
	n.Must("SHORTEN", target) // another source still has codes
	n.Must("SHORTEN", target, "CODE", "HASH", "LENGTH", "5")
	n.Must("DEL", taken[3])
	if again := n.Must(ask...).text; again != taken[3] {
		t.Errorf("%s is free again, and %s was given", taken[3], again)
	}
}

// TestSafeCodes: codes for print hold no two characters that look alike, from whatever source.
func TestSafeCodes(t *testing.T) { // C19
	n := start(t, func(o *server.Options) { o.Codes.Alphabet = "safe" })
	var commands [][]string
	for i := range 300 {
		for _, source := range []string{"SEQUENCE", "RANDOM", "HASH"} {
			commands = append(commands, []string{"SHORTEN", fmt.Sprintf("https://example.com/%d", i), "CODE", source})
		}
	}
	for i, r := range n.Dial().Pipeline(commands...) {
		if r.isError() || r.text == "" || strings.ContainsAny(r.text, "01IOilo") {
			t.Fatalf("%q: %s", commands[i], r)
		}
	}
}

// TestHiddenTargets: who may not follow a link learns nothing of where it leads, on any way in: not of a banned one, nor one that has
// expired or was used up, nor another tenant's.
func TestHiddenTargets(t *testing.T) { // Z05
	n := start(t, func(o *server.Options) { o.BaseURL = "https://go.example" })
	const secret = "hidden-place"
	target := "https://" + secret + ".example/" + secret + "?" + secret
	n.Must("SHORTEN", target+"1", "AS", "banned", "TITLE", secret)
	n.Must("BAN", "banned", "REASON", secret)
	n.Must("SHORTEN", target+"2", "AS", "expired", "TITLE", secret, "PX", "1")
	n.Must("SHORTEN", target+"3", "AS", "used", "MAXVISITS", "1")
	n.Must("VISIT", "used")
	n.Advance(time.Second)
	n.Must("SHORTEN", "https://other."+secret+".example/", "AS", "host")
	n.Must("BANHOST", secret+".example")
	n.Advance(time.Second)
	for _, code := range []string{"banned", "expired", "used", "host"} {
		for _, path := range []string{"/" + code, "/" + code + "+", "/-/qr/" + code, "/-/qr/" + code + "?format=png", "/" + code + "/", "/" + code + "?x=1", "/%" + fmt.Sprintf("%02x", code[0]) + code[1:]} {
			for _, method := range []string{"GET", "HEAD", "POST"} {
				a := n.request(method, path)
				if a.status < 400 || a.location != "" || strings.Contains(a.body+fmt.Sprint(a.header), secret) {
					t.Errorf("%s %s: %d %v %s", method, path, a.status, a.header, a.body)
				}
			}
		}
		for _, command := range []string{"RESOLVE", "VISIT", "GET", "GETEX", "MGET", "MRESOLVE", "STRLEN"} {
			if r := n.Do(command, code); strings.Contains(r.String(), secret) {
				t.Errorf("%s %s: %s", command, code, r)
			}
		}
	}
	n.Must("ACL", "SETUSER", "acme", "on", ">pass", "~*", "&*", "tenant:acme", "+@all")
	live := "https://example.com/" + secret
	n.Must("SHORTEN", live, "AS", "live", "TAG", "tag")
	acme := n.Dial()
	if r := acme.Do("AUTH", "acme", "pass"); r.text != "OK" {
		t.Fatal(r)
	}
	for _, words := range [][]string{
		{"RESOLVE", "live"}, {"VISIT", "live"}, {"GET", "live"}, {"MGET", "live", "banned"}, {"MRESOLVE", "live", "banned"}, {"LINKINFO", "live"}, {"LINKINFO", "banned"},
		{"LINKS"}, {"LINKS", "TAG", "tag"}, {"SCAN", "0"}, {"BANS"}, {"CLICKS", "live"}, {"XRANGE", "clicks:used", "-", "+"}, {"XRANGE", "clicks", "-", "+"}, {"RANDOMKEY"}, {"KEYS", "*"},
		{"SHORTEN", live, "AS", "live"}, {"RETARGET", "live", "https://example.com/"}, {"DEBUG", "OBJECT", "live"}, {"OBJECT", "ENCODING", "live"}, {"SLOWLOG", "GET"}, {"MONITOR"},
	} {
		r := acme.Do(words...)
		if strings.Contains(r.String(), secret) {
			t.Errorf("a tenant's %q: %s", words, r)
		}
	}
	if r := acme.Do("SHORTEN", target+"4"); !r.isError() { // the host is banned: what it is told is its own word
		t.Errorf("a banned host: %s", r)
	}
}

// TestPagesEchoNothing: what visitors, and those who make links, say comes back on no page as anything but text.
func TestPagesEchoNothing(t *testing.T) { // Z01
	n := start(t, func(o *server.Options) { o.BaseURL = "https://go.example" })
	const evil = `"><script>alert(1)</script>`
	n.Must("SHORTEN", "https://example.com/?q="+evil, "AS", "live", "TITLE", evil, "TAG", evil)
	n.Must("SHORTEN", "https://example.com/banned", "AS", "banned")
	n.Must("BAN", "banned", "REASON", evil)
	for _, path := range []string{"/", "/live", "/live+", "/banned", "/banned+", "/nothing", "/-/qr/live", "/-/qr/banned", "/-/nothing", "/%22%3E%3Cscript%3E", "/" + evil, "/live?" + evil, "/robots.txt", "/healthz", "/favicon.ico"} {
		for _, method := range []string{"GET", "POST"} {
			a := sent(t, n.httpAddr, method+" "+strings.ReplaceAll(path, " ", "%20")+" HTTP/1.1\r\nHost: "+evil+"\r\nUser-Agent: "+evil+"\r\nReferer: https://evil.example/"+evil+"\r\nConnection: close\r\n\r\n")
			if strings.Contains(a, "<script") {
				t.Errorf("%s %s: %s", method, path, a)
			}
			head, _, _ := strings.Cut(a, "\r\n\r\n")
			if strings.Contains(head, "text/html") && !strings.Contains(head, "Content-Security-Policy: default-src 'none'") {
				t.Errorf("%s %s is a page without a policy: %s", method, path, head)
			}
		}
	}
}

// TestForwardedQueries: a link made with FORWARD passes the visitor's query on behind its own, byte for byte and before the fragment; any other
// leaves it out; nothing that a visitor says changes the host.
func TestForwardedQueries(t *testing.T) { // Q02, Q08, Q09, E03, E24
	n := start(t)
	n.Must("SHORTEN", "https://example.com/a%2fb?b=2&a=1&flag&x=%2B;y#part", "AS", "on", "FORWARD")
	n.Must("SHORTEN", "https://example.com/plain", "AS", "bare", "FORWARD")
	n.Must("SHORTEN", "https://example.com/?own=1#part", "AS", "off")
	for _, c := range [][2]string{
		{"/on?utm=1", "https://example.com/a%2fb?b=2&a=1&flag&x=%2B;y&utm=1#part"},
		{"/on", "https://example.com/a%2fb?b=2&a=1&flag&x=%2B;y#part"},
		{"/on?", "https://example.com/a%2fb?b=2&a=1&flag&x=%2B;y#part"},
		{"/on?a%20b=1&a=1;b=2&flag&q=%2B+x", "https://example.com/a%2fb?b=2&a=1&flag&x=%2B;y&a%20b=1&a=1;b=2&flag&q=%2B+x#part"},
		{"/bare?x=1", "https://example.com/plain?x=1"},
		{"/bare/?x=1", "https://example.com/plain?x=1"},
		{"/off?x=1", "https://example.com/?own=1#part"},
		{"/bare?redir_url=https://evil.example/", "https://example.com/plain?redir_url=https://evil.example/"},
		{"/bare?@evil.example/", "https://example.com/plain?@evil.example/"},
		{"/off?notrack=1&redir_url=https://evil.example/", "https://example.com/?own=1#part"},
	} {
		if a := n.Get(c[0]); a.status != 302 || a.location != c[1] {
			t.Errorf("%s leads to %d %s\nwant %s", c[0], a.status, a.location, c[1])
		}
	}
	all := start(t, func(o *server.Options) { o.HTTP.ForwardQuery = true })
	all.Must("SHORTEN", "https://example.com/?own=1#part", "AS", "off")
	if a := all.Get("/off?x=1"); a.location != "https://example.com/?own=1&x=1#part" {
		t.Errorf("with --forward-query: %s", a.location)
	}
}

// TestVisitorsAddresses: what X-Forwarded-For says counts from a trusted proxy alone, read from the right; no other header ever does.
func TestVisitorsAddresses(t *testing.T) { // P01, P03
	misses := func(n *node, headers func(i int) []string) (limited int) {
		for i := range 80 {
			if n.request("GET", "/nothing", headers(i)...).status == 429 {
				limited++
			}
		}
		return limited
	}
	spoof := func(int) []string { return []string{"X-Forwarded-For", "8.8.8.8"} }
	if got := misses(start(t), spoof); got != 0 {
		t.Errorf("nobody is trusted, and %d were limited by what they say", got)
	}
	trusted := start(t, behindProxy)
	if got := misses(trusted, spoof); got != 20 {
		t.Errorf("%d of 80 were limited behind a trusted proxy", got)
	}
	if got := misses(trusted, func(i int) []string { // the visitor's own inventions stand to the left of what the proxy saw
		return []string{"X-Forwarded-For", fmt.Sprintf("9.9.%d.9, 7.7.7.7", i)}
	}); got != 20 {
		t.Errorf("%d of 80 were limited who invent addresses", got)
	}
	if got := misses(trusted, func(i int) []string {
		return []string{"X-Real-IP", "6.6.6.6", "CF-Connecting-IP", "6.6.6.6", "Forwarded", "for=6.6.6.6"}
	}); got != 0 {
		t.Errorf("%d of 80 were limited by headers that are no proxy's", got)
	}
}
