package tests

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestTheNextRequestSeesAChange: on a link that every cache knows.
func TestTheNextRequestSeesAChange(t *testing.T) { // H01, H02
	n := start(t)
	for _, c := range []struct {
		name    string
		change  []string
		status  int
		target  string
		resolve string // how RESOLVE's reply begins
	}{
		{"BAN", []string{"BAN", "CODE"}, 451, "", "(error) BANNED"},
		{"DEL", []string{"DEL", "CODE"}, 404, "", "(nil)"},
		{"UNLINK", []string{"UNLINK", "CODE"}, 404, "", "(nil)"},
		{"RETARGET", []string{"RETARGET", "CODE", "https://example.com/new"}, 302, "https://example.com/new", `"https://example.com/new"`},
		{"SET", []string{"SET", "CODE", "https://example.com/new"}, 302, "https://example.com/new", `"https://example.com/new"`},
		{"EXPIRE in the past", []string{"EXPIRE", "CODE", "-1"}, 410, "", "(error) GONE expired"},
		{"RENAME of a name", []string{"RENAME", "CODE", "elsewhere"}, 404, "", "(nil)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, kind := range []string{"name", "generated"} {
				code := n.freshName()
				if kind == "generated" {
					if strings.HasPrefix(c.name, "RENAME") {
						continue // its code keeps working
					}
					code = n.Must("SHORTEN", "https://example.com/old", "DEDUP", "OFF").text
				} else {
					n.Must("SHORTEN", "https://example.com/old", "AS", code)
				}
				for range 3 {
					n.wantTarget(code, "https://example.com/old")
				}
				words := strings.Split(strings.ReplaceAll(strings.Join(c.change, "\x00"), "CODE", code), "\x00")
				n.Must(words...)
				for _, method := range []string{"GET", "HEAD"} {
					if a := n.request(method, "/"+code); a.status != c.status || a.location != c.target {
						t.Errorf("%s of the %s after %s: %d %q", method, kind, c.name, a.status, a.location)
					}
				}
				if r := n.Do("RESOLVE", code).String(); !strings.HasPrefix(r, c.resolve) {
					t.Errorf("RESOLVE of the %s after %s: %s", kind, c.name, r)
				}
				n.Do("UNBAN", code) // the target is the same for all
			}
		})
	}
}

// TestMissesThatBecomeLinks: a code that was asked for in vain leads somewhere as soon as it is made.
func TestMissesThatBecomeLinks(t *testing.T) {
	n := start(t)
	for range 3 {
		n.Want("(nil)", "GET", "soon")
		if a := n.Get("/soon"); a.status != 404 {
			t.Fatalf("GET answers %d", a.status)
		}
	}
	n.Must("SHORTEN", "https://example.com/soon", "AS", "soon")
	n.wantTarget("soon", "https://example.com/soon")
	n.Must("DEL", "soon")
	n.Want("(nil)", "GET", "soon")
	n.Must("SET", "soon", "https://example.com/again")
	n.wantTarget("soon", "https://example.com/again")
}

// TestCacheHeaders: whatever the answer, no cache keeps it beyond a change.
func TestCacheHeaders(t *testing.T) { // H06
	n := start(t)
	n.Must("SHORTEN", "https://example.com/live", "AS", "live")
	n.Must("SHORTEN", "https://example.com/over", "AS", "over", "PX", "1")
	n.Must("SHORTEN", "https://example.com/shut", "AS", "shut")
	n.Must("BAN", "shut")
	n.Advance(time.Second)
	for path, status := range map[string]int{"/live": 302, "/over": 410, "/shut": 451, "/nothere": 404, "/live+": 200, "/": 200, "/healthz": 200, "/a/b/c": 404} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"} {
			a := n.request(method, path)
			want := status
			if method != "GET" && method != "HEAD" {
				want = 405
			}
			if a.status != want {
				t.Errorf("%s %s answers %d, want %d", method, path, a.status, want)
			}
			if cc := a.header.Get("Cache-Control"); !strings.Contains(cc, "no-store") {
				t.Errorf("%s %s: Cache-Control %q", method, path, cc)
			}
			checkHeaders(t, method+" "+path, a)
		}
	}
}

// checkHeaders looks at what every answer must have.
func checkHeaders(t *testing.T, what string, a answer) {
	t.Helper()
	for name, values := range a.header {
		if len(values) != 1 {
			t.Errorf("%s: %s comes %d times", what, name, len(values))
		}
	}
	if a.status == 302 {
		return
	}
	csp := a.header.Get("Content-Security-Policy")
	if !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") {
		t.Errorf("%s: Content-Security-Policy %q", what, csp)
	}
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Location") != "" || a.header.Get("Server") != "" {
		t.Errorf("%s: headers %v", what, a.header)
	}
}

// TestBrowsersCanChangeNothing: HTTP has no verb that changes a link, and no browser can talk to the Redis port.
func TestBrowsersCanChangeNothing(t *testing.T) { // Z07
	n := start(t)
	n.Must("SHORTEN", "https://example.com/", "AS", "name")
	before := n.Do("LINKINFO", "name").String()
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "SHORTEN", "DEL"} {
		for _, path := range []string{"/name", "/", "/new", "/-/x"} {
			if method == "CONNECT" && path != "/name" {
				continue
			}
			if a := n.request(method, path); a.status != 405 {
				t.Errorf("%s %s answers %d", method, path, a.status)
			}
		}
	}
	for _, request := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\nDEL name\r\nDEL name\r\n",
		"POST /name HTTP/1.1\r\n\r\nDEL name\r\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\nDEL name\r\n",
		"PUT / HTTP/1.1\r\nHost: x\r\n\r\nDEL name\r\n",
		"Host: x\r\nDEL name\r\n",
		"post / HTTP/1.1\r\nDEL name\r\n",
	} {
		c := n.Dial()
		c.SendRaw(request)
		for {
			if _, err := c.receive(); err != nil {
				break // the connection was closed, which is what should happen
			}
		}
	}
	if after := n.Do("LINKINFO", "name").String(); after != before {
		t.Errorf("a browser changed a link to %s", after)
	}
}

// TestNoStaleValueComesBack hammers a few codes with readers while they change. A reader that asks after a change was acknowledged
// sees it, or a later one: never an earlier one, by whatever way it reads. While nothing changes it sees exactly the last.
func TestNoStaleValueComesBack(t *testing.T) { // H03
	n := start(t)
	const codes, readers = 4, 8
	changes := scale(50, 100, 5000)
	var phase [codes]atomic.Int64 // twice the revision that was acknowledged last, one more while it is being changed
	name := func(i int) string { return fmt.Sprintf("hot-%d", i) }
	target := func(i, rev int) string { return fmt.Sprintf("https://%d.example.com/%d", i, rev) } // a ban of one is none of another
	for i := range codes {
		n.Must("SHORTEN", target(i, 0), "AS", name(i))
	}
	stop := make(chan struct{})
	var reading, writing sync.WaitGroup
	for r := range readers {
		c, b := n.Dial(), browser(true)
		defer b.CloseIdleConnections()
		reading.Go(func() {
			for k := r; ; k++ {
				select {
				case <-stop:
					return
				default:
				}
				i := k % codes
				before := phase[i].Load()
				got, ok := readRevision(t, c, b, n.httpAddr, name(i), k/codes%4)
				if !ok {
					return
				}
				if got < before/2 {
					t.Errorf("%s: revision %d was read after %d was acknowledged", name(i), got, before/2)
					return
				}
				if before%2 == 0 && before == phase[i].Load() && got != before/2 {
					t.Errorf("%s: revision %d was read while %d stood", name(i), got, before/2)
					return
				}
			}
		})
	}
	for i := range codes {
		c := n.Dial()
		writing.Go(func() {
			for rev := 1; rev <= changes; rev++ {
				phase[i].Add(1)
				c.changeTo(rev, name(i), target(i, rev), rev == changes)
				phase[i].Add(1)
			}
		})
	}
	writing.Wait()
	close(stop)
	reading.Wait()
}

// changeTo makes the next revision of a link: by a new target, by a ban, or by deleting and making it anew. A reader sees the
// revision in the target; no target is no revision.
func (c *client) changeTo(rev int, name, target string, last bool) {
	c.tb.Helper()
	must := func(words ...string) {
		if r := c.Do(words...); r.isError() {
			c.tb.Errorf("%q: %s", words, r.text)
		}
	}
	switch {
	case last || rev%4 == 1:
		must("RETARGET", name, target)
	case rev%4 == 2:
		must("SET", name, target)
	case rev%4 == 3:
		must("BAN", name)
		must("UNBAN", name)
		must("RETARGET", name, target)
	default:
		must("DEL", name)
		must("SHORTEN", target, "AS", name)
	}
}

// readRevision reads the revision of a link; a link that is not live has the highest.
func readRevision(t *testing.T, c *client, b *http.Transport, addr, name string, way int) (rev int64, ok bool) {
	t.Helper()
	var target string
	switch way {
	case 0:
		a, err := fetch(b, "GET", addr, "/"+name)
		if err != nil {
			t.Error(err)
			return 0, false
		}
		target = a.location
	case 1:
		target = c.Do("GET", name).text
	case 2:
		target = c.Do("MGET", name).list[0].text
	default:
		if r := c.Do("RESOLVE", name); !r.isError() {
			target = r.text
		}
	}
	if target == "" {
		return 1 << 62, true
	}
	_, digits, _ := strings.Cut(target, ".example.com/")
	rev, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return rev, err == nil
}
