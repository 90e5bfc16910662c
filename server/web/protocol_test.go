package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"curt/server/link"
)

func TestRoutes(t *testing.T) {
	links := usual()
	healthy := true
	s := start(t, Options{Links: links, Health: func() error {
		if healthy {
			return nil
		}
		return errors.New("disk is full")
	}})
	const nothing = "default-src 'none'; frame-ancestors 'none'"
	for _, c := range []struct {
		path, mediaType, cache, csp, body string
		status                            int
	}{
		{"/healthz", "text/plain; charset=utf-8", "no-store", nothing, "ok\n", 200},
		{"/%68ealthz/", "text/plain; charset=utf-8", "no-store", nothing, "ok\n", 200},
		{"/healthz?x=y", "text/plain; charset=utf-8", "no-store", nothing, "ok\n", 200},
		{"/robots.txt", "text/plain; charset=utf-8", "public, max-age=86400", nothing, "User-agent: *\nDisallow: /-/\nDisallow: /*+$\nAllow: /\n", 200},
		{"/favicon.ico", "", "public, max-age=86400", "", "", 204},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			a := s.ask(t, method, c.path)
			equal(t, method+c.path, fmt.Sprint(a.status, a.get("Content-Type"), a.get("Cache-Control"), a.get("Content-Security-Policy")),
				fmt.Sprint(c.status, c.mediaType, c.cache, c.csp))
			if method == "GET" {
				equal(t, c.path, a.body, c.body)
			}
		}
	}
	equal(t, "204 has no length", s.get(t, "/favicon.ico").get("Content-Length"), "")
	want := s.get(t, "/nothing")
	before := links.lookups.Load()
	for _, path := range []string{"/sitemap.xml", "/.well-known/", "/.well-known/security.txt", "/.well-known/a/b?c", "/apple-touch-icon.png",
		"/apple-touch-icon-120x120-precomposed.png", "/-/metrics", "/-/qr/live", "/%2D/x"} {
		a := s.get(t, path)
		equal(t, path, a.head+a.body, want.head+want.body)
	}
	equal(t, "look-ups of own routes", links.lookups.Load()-before, 0)
	equal(t, "misses", s.Stats().Misses, 1)

	for _, path := range []string{"healthz", "robots.txt", "favicon.ico", "sitemap.xml", ".well-known", "apple-touch-icon.png"} {
		if !link.IsOwnRoute(path) { // a link with this name could not be reached
			t.Errorf("%s may be a name", path)
		}
	}

	healthy = false
	a := s.get(t, "/healthz")
	equal(t, "unhealthy", fmt.Sprint(a.status, a.body), "503unavailable\n")
}

// Z01: nothing a visitor sends comes back in a page.
func TestNoEcho(t *testing.T) {
	s := start(t, Options{Links: usual(), BaseURL: "https://s.test"})
	const evil = `"><script>alert(1)</script>`
	for _, target := range []string{"/" + strings.ReplaceAll(evil, " ", ""), "/%22%3E%3Cscript%3E", "/live+?" + evil, "/expired?" + evil, "/-/qr/live?size=" + evil, "/?" + evil, "/-/" + evil} {
		for _, method := range []string{"GET", "POST"} {
			a := s.ask(t, method, target, "User-Agent: "+evil, "Referer: "+evil, "Cookie: "+evil, "X-Forwarded-Host: "+evil)
			if strings.Contains(a.head+a.body, "script") {
				t.Errorf("%s %s: echoed in %s%s", method, target, a.head, a.body)
			}
		}
	}
}

func TestMethods(t *testing.T) {
	s := start(t, Options{Links: usual()})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "FOO"} {
		a := s.ask(t, method, "/live")
		equal(t, method, a.head, headOf(a, "405 Method Not Allowed", "Allow: GET, HEAD\n"))
	}
	equal(t, "OPTIONS *", s.ask(t, "OPTIONS", "*").status, 405)
	equal(t, "CONNECT authority", s.ask(t, "CONNECT", "h.test:443").status, 405)
	// Without a body the connection goes on.
	all := s.raw(t, "DELETE /live HTTP/1.1\r\nHost: s\r\n\r\nPOST /live HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\nGET /live HTTP/1.1\r\nHost: s\r\n\r\n")
	equal(t, "answers", statuses(all), "405 405 302")
}

// Requests that two readers could take for different ones are refused, and nothing after them is read.
func TestSmuggling(t *testing.T) {
	s := start(t, Options{Links: usual()})
	const next = "GET /live HTTP/1.1\r\nHost: s\r\n\r\n"
	for _, c := range []struct{ name, request, want string }{
		{"GET with a body", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello", "400 close"},
		{"GET with a body of one byte", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 1\r\n\r\nh", "400 close"},
		{"GET with a large body to come", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5000000000\r\n\r\n", "400 close"},
		{"HEAD with a body", "HEAD /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello", "400 close"},
		{"GET chunked", "GET /live HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "400 close"},
		{"GET chunked and empty", "GET /live HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 close"},
		{"CL and TE", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 close"},
		{"TE and CL", "GET /live HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n", "400 close"},
		{"CL zero and TE identity", "GET /live HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: identity\r\nContent-Length: 0\r\n\r\n", "302 close"},
		{"POST with CL and TE", "POST /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "405 close"},
		{"POST with a body", "POST /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\n\r\nhello", "405 close"},
		{"POST that waits for 100", "POST /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", "405 close"},
		{"GET that waits for 100", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", "400 close"},
		{"POST a form", "POST /live HTTP/1.1\r\nHost: s\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 9\r\n\r\n--x--\r\n\r\n", "405 close"},
		{"two lengths", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nhello", "400 close"},
		{"a list of lengths", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: 0, 0\r\n\r\n", "400 close"},
		{"a signed length", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: +0\r\n\r\n", "400 close"},
		{"a negative length", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length: -1\r\n\r\n", "400 close"},
		{"two codings", "GET /live HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n", "400 close"},
		{"an unknown coding", "GET /live HTTP/1.1\r\nHost: s\r\nTransfer-Encoding: xchunked\r\n\r\n", "400 close"},
		{"a coding in HTTP/1.0", "GET /live HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 close"},
		{"space before the colon", "GET /live HTTP/1.1\r\nHost: s\r\nContent-Length : 5\r\n\r\nhello", "400 close"},
		{"no colon", "GET /live HTTP/1.1\r\nHost: s\r\nfoo\r\n\r\n", "400 close"},
		{"a header that begins with space", "GET /live HTTP/1.1\r\n Host: s\r\n\r\n", "400 close"},
		{"bare LF", "GET /live HTTP/1.1\nHost: s\n\n", "400 close"},
		{"bare LF after the request line", "GET /live HTTP/1.1\nHost: s\r\n\r\n", "400 close"},
		{"bare LF in the headers", "GET /live HTTP/1.1\r\nHost: s\nX: y\r\n\r\n", "400 close"},
		{"bare LF ends the headers", "GET /live HTTP/1.1\r\nHost: s\r\n\n", "400 close"},
		{"bare LF hides a request", "GET /live HTTP/1.1\r\nHost: s\n\nGET /live HTTP/1.1\r\nHost: s\r\n\r\n", "400 close"},
		{"bare CR", "GET /live HTTP/1.1\r\nHost: s\r\nX: a\rb\r\n\r\n", "400 close"},
		{"NUL", "GET /live HTTP/1.1\r\nHost: s\r\nX: a\x00b\r\n\r\n", "400 close"},
		{"NUL in the path", "GET /live\x00 HTTP/1.1\r\nHost: s\r\n\r\n", "400 close"},
		{"space in the path", "GET /live x HTTP/1.1\r\nHost: s\r\n\r\n", "400 close"},
		{"no host", "GET /live HTTP/1.1\r\n\r\n", "400 close"},
		{"two hosts", "GET /live HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400 close"},
		{"HTTP/0.9", "GET /live\r\n\r\n", "400 close"},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400 close"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400 close"},
		{"Redis", "*1\r\n$4\r\nPING\r\n", "400 close"},
		{"a relative path", "GET live HTTP/1.1\r\nHost: s\r\n\r\n", "400 close"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := s.raw(t, c.request+next, strings.Fields(c.request)[0])
			if len(all) != 1 {
				t.Fatalf("%d answers: %s", len(all), statuses(all))
			}
			got := fmt.Sprint(all[0].status)
			if all[0].closed {
				got += " close"
			}
			equal(t, "answer", got, c.want)
			if all[0].status != 302 && all[0].get("Cache-Control") != "no-store" {
				t.Errorf("Cache-Control: %q", all[0].get("Cache-Control"))
			}
		})
	}
}

// Good requests on one connection are answered in order, also those before a bad one, and those that arrive in pieces.
func TestPipeline(t *testing.T) {
	s := start(t, Options{Links: usual()})
	const get, head = "GET /live HTTP/1.1\r\nHost: s\r\n\r\n", "HEAD /nothing HTTP/1.1\r\nHost: s\r\n\r\n"
	equal(t, "pipeline", statuses(s.raw(t, strings.Repeat(get+head, 50), strings.Fields(strings.Repeat("GET HEAD ", 50))...)), strings.TrimSpace(strings.Repeat("302 404 ", 50)))
	equal(t, "then bad", statuses(s.raw(t, get+get+"GET /live HTTP/1.1\nHost: s\n\n"+get)), "302 302 400")
	equal(t, "HTTP/1.0", statuses(s.raw(t, "GET /live HTTP/1.0\r\n\r\n"+get)), "302")
	equal(t, "HTTP/1.0 kept alive", statuses(s.raw(t, "GET /live HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"+get)), "302 302")
	equal(t, "empty lines first", statuses(s.raw(t, "\r\n\r\n"+get)), "302")

	c := s.dial(t)
	for _, b := range []byte(get + "GET /expired HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n") {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, "byte by byte", statuses(readAll(t, c)), "302 410")
	for _, b := range []string{"GET /live HTTP/1.1\r", "\nHost: s\r\n\r", "\n", get} {
		c = s.dial(t)
		_, _ = io.WriteString(c, b)
	}
}

func TestHeaderLimits(t *testing.T) {
	s := start(t, Options{Links: usual()})
	request := func(target string, headers string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: s\r\nConnection: close\r\n" + headers + "\r\n"
	}
	pad := func(n int) string { return strings.Repeat("a", n) }
	fits := request("/live?", "")
	equal(t, "8192 bytes", statuses(s.raw(t, request("/live?"+pad(8192-len(fits)), ""))), "302")
	equal(t, "8192 bytes of headers", statuses(s.raw(t, request("/live?", "X: "+pad(8192-len(fits)-5)+"\r\n"))), "302")
	for _, c := range []struct {
		name, request string
		status        int
	}{
		{"one more", request("/live?", "X: "+pad(8193-len(fits)-5)+"\r\n"), 431},
		{"one large header", request("/live?", "Cookie: "+pad(9000)+"\r\n"), 431},
		{"many headers", request("/live", strings.Repeat("X: y\r\n", 3000)), 431},
		{"long path", request("/"+pad(9000), ""), 414},
		{"very long path", request("/"+pad(300_000), ""), 414},
		{"long query and header", request("/live?"+pad(5000), "X: "+pad(5000)+"\r\n"), 431},
	} {
		all := s.raw(t, c.request)
		if len(all) != 1 || all[0].status != c.status || !all[0].closed || all[0].get("Cache-Control") != "no-store" {
			t.Errorf("%s: %s, want %d", c.name, statuses(all), c.status)
		}
	}
	equal(t, "after good ones", statuses(s.raw(t, "GET /live HTTP/1.1\r\nHost: s\r\n\r\n"+request("/"+pad(9000), ""))), "302 414")
}

// A client that does not finish its request is told so; one that says nothing at all is left without a word, as a
// browser would take it for the answer to a request to come.
func TestReadTimeout(t *testing.T) {
	s := start(t, Options{Links: usual(), ReadTimeout: 50 * time.Millisecond, IdleTimeout: 50 * time.Millisecond})
	slow, mute, idle := s.dial(t), s.dial(t), s.dial(t)
	_, _ = io.WriteString(slow, "GET /live HT")
	_, _ = io.WriteString(idle, "GET /live HTTP/1.1\r\nHost: s\r\n\r\n")
	equal(t, "slow", statuses(readAll(t, slow)), "408")
	equal(t, "mute", statuses(readAll(t, mute)), "")
	equal(t, "idle", statuses(readAll(t, idle)), "302")
}

func TestServerHeader(t *testing.T) {
	s := start(t, Options{Links: usual()})
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: s\r\n\r\n", "GET /live HTTP/1.1\r\nHost: s\r\n\r\n", "garbage\r\n\r\n"} {
		for _, a := range s.raw(t, request) {
			equal(t, "Server", a.get("Server"), "")
		}
	}
}

func statuses(all []*answer) string {
	var list []string
	for _, a := range all {
		list = append(list, fmt.Sprint(a.status))
	}
	return strings.Join(list, " ")
}

// A connection is not closed while the client keeps it and says good things.
func TestKeepAlive(t *testing.T) {
	s := start(t, Options{Links: usual()})
	c := s.dial(t)
	r := bufio.NewReader(c)
	for i := range 100 {
		path, want := "/live", 302
		if i%3 == 0 {
			path, want = "/nothing", 404
		}
		_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: s\r\n\r\n")
		a := read(t, r, "GET")
		if a.status != want || a.closed {
			t.Fatalf("request %d: %s", i, a.head)
		}
	}
	equal(t, "connections", s.Stats().Conns, 1)
}
