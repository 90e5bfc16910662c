package web

import (
	"encoding/xml"
	"fmt"
	"html"
	"image/png"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/skip2/go-qrcode"

	"curt/server/link"
)

// Z01, Z05, C14, E21: a preview shows the bytes of the target and nothing that a browser would run.
func TestPreview(t *testing.T) {
	hostile := []string{
		"https://example.com/a?b=c&d=e#f", `https://h.test/"><script>alert(1)</script>`, `https://h.test/' onmouseover='x`, "https://h.test/&amp;&lt;",
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,<script>x</script>", "https://h.test/\"\n<img src=x onerror=y>", "mailto:a@b.test",
		"https://<b>.test/", "viber://pa?x=1", "https://h.test/%22%3E", "https://h.test/wiki/2+2_(TV)[x]|^{}", "</code></p></main><script>",
	}
	links := usual()
	for i, target := range hostile {
		links.links[fmt.Sprint("h", i)] = entry{Target: &link.Target{URL: target, MaxVisits: 1}, state: link.Live}
	}
	visits := 0
	s := start(t, Options{Links: links, ForwardQuery: true, Visit: func(*Visit) (link.State, error) { visits++; return link.Live, nil }})
	href := regexp.MustCompile(`<a href="([^"]*)" rel="noreferrer noopener nofollow">`)
	code := regexp.MustCompile(`(?s)<code>([^<]*)</code>`)
	for i, target := range hostile {
		a := s.get(t, fmt.Sprintf("/h%d+?x=y", i))
		equal(t, target, a.head, headOf(a, "200 OK", ""))
		equal(t, "HEAD", s.ask(t, "HEAD", fmt.Sprintf("/h%d+", i)).head, a.head)
		for _, tag := range regexp.MustCompile(`</?([^ >]*)`).FindAllStringSubmatch(a.body, -1) {
			if !strings.Contains(" !doctype html head meta title style body main h1 p strong code a ", " "+tag[1]+" ") {
				t.Errorf("%s: tag %q", target, tag[0])
			}
		}
		shown := code.FindStringSubmatch(a.body)
		if shown == nil {
			t.Fatalf("%s: no target in %s", target, a.body)
		}
		equal(t, "shown", html.UnescapeString(shown[1]), target)
		linked := href.FindStringSubmatch(a.body)
		if web := strings.HasPrefix(target, "https://"); web != (linked != nil) {
			t.Errorf("%s: linked %v", target, !web)
		} else if web {
			equal(t, "linked", html.UnescapeString(linked[1]), target)
		}
	}
	for path, want := range map[string]string{"/banned+": "/banned", "/expired+": "/expired", "/used+": "/used", "/reserved+": "/nothing", "/nothing+": "/nothing"} {
		p, l := s.get(t, path), s.get(t, want)
		equal(t, path, p.head+p.body, l.head+l.body)
	}
	for _, path := range []string{"/live+/", "/live%2B", "/%6Cive%2b/"} {
		equal(t, path, s.get(t, path).status, 200)
	}
	equal(t, "visits", visits, 0)
	equal(t, "previews", s.Stats().Previews, uint64(2*len(hostile)+3))
}

// A preview names the host, whatever stands behind it: a path that net/url can't read must not hide where a link leads.
func TestPreviewNamesTheHost(t *testing.T) {
	links := usual()
	s := start(t, Options{Links: links})
	f := func(target, host string) {
		t.Helper()
		links.mu.Lock()
		links.links["p"] = entry{Target: &link.Target{URL: target}, state: link.Live}
		links.mu.Unlock()
		_, rest, _ := strings.Cut(s.get(t, "/p+").body, "<p>This link leads to <strong>")
		got, _, _ := strings.Cut(rest, "</strong>")
		equal(t, target, got, host)
	}
	f("https://example.com/", "example.com")
	f("https://example.com:8443/%/https://bank.test/", "example.com")
	f("https://example.com/100%", "example.com")
	f("https://example.com/?%zz#%", "example.com")
	f("https://xn--bcher-kva.example/[%]", "xn--bcher-kva.example")
	f("http://8.8.8.8/%", "8.8.8.8")
	f("http://[2606:4700::1]:8080/%", "[2606:4700::1]")
}

func TestQR(t *testing.T) {
	links := usual()
	visits := 0
	s := start(t, Options{Links: links, BaseURL: "https://s.test/x/", QRPerSecond: 1e6, Visit: func(*Visit) (link.State, error) { visits++; return link.Live, nil }})
	want, err := qrcode.New("https://s.test/x/live", qrcode.Medium)
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{0, 64, 100, 256, 1024} {
		query := ""
		if size != 0 {
			query = fmt.Sprint("&size=", size)
		} else {
			size = 256
		}
		picture := s.get(t, "/-/qr/live?format=png"+query)
		equal(t, "png", picture.get("Content-Type"), "image/png")
		img, err := png.Decode(strings.NewReader(picture.body))
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "size", fmt.Sprint(img.Bounds()), fmt.Sprintf("(0,0)-(%d,%d)", size, size))
		drawing := s.get(t, "/-/qr/live?format=svg"+query)
		equal(t, "svg", drawing.get("Content-Type"), "image/svg+xml")
		if !strings.Contains(drawing.body, fmt.Sprintf(`width="%d" height="%d"`, size, size)) {
			t.Errorf("svg of size %d: %.150s", size, drawing.body)
		}
		equal(t, "modules", pixels(t, drawing.body), fmt.Sprint(want.Bitmap()))
		bitmap := want.Bitmap()
		for y, row := range bitmap {
			for x, black := range row {
				r, _, _, _ := img.At((2*x+1)*size/(2*len(bitmap)), (2*y+1)*size/(2*len(bitmap))).RGBA()
				if (r == 0) != black {
					t.Fatalf("size %d: module %d,%d", size, x, y)
				}
			}
		}
	}
	a := s.get(t, "/-/qr/live")
	equal(t, "head", a.head, fmt.Sprintf("HTTP/1.1 200 OK\nContent-Type: image/svg+xml\nContent-Length: %d\nCache-Control: public, max-age=86400\n"+
		"X-Content-Type-Options: nosniff\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\nReferrer-Policy: no-referrer\nConnection: close\n", len(a.body)))
	equal(t, "HEAD", s.ask(t, "HEAD", "/-/qr/live").head, a.head)
	for path, status := range map[string]int{
		"/-/qr/nothing": 404, "/-/qr/": 404, "/-/qr": 404, "/-/qr/reserved": 404, "/-/qr/banned": 451, "/-/qr/expired": 410, "/-/qr/broken": 503, "/-/qr/live/x": 404,
		"/-/qr/live/": 200, "/-/qr/l%69ve": 200, "/-/qr/live?size=63": 400, "/-/qr/live?size=1025": 400, "/-/qr/live?size=": 400, "/-/qr/live?size=1e3": 400,
		"/-/qr/live?size=-64": 400, "/-/qr/live?size=99999999999999999999": 400, "/-/qr/live?format=gif": 400, "/-/qr/live?format=": 400, "/-/qr/live?x=y": 200,
	} {
		equal(t, path, s.get(t, path).status, status)
	}
	equal(t, "visits", visits, 0)
}

// pixels reads the runs of a drawing back into modules.
func pixels(t *testing.T, svg string) string {
	t.Helper()
	if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
		t.Fatalf("%v in %s", err, svg)
	}
	side, _ := strconv.Atoi(regexp.MustCompile(`viewBox="0 0 (\d+) `).FindStringSubmatch(svg)[1])
	modules := make([][]bool, side)
	for i := range modules {
		modules[i] = make([]bool, side)
	}
	_, path, _ := strings.Cut(svg, `/><path d="`)
	for _, run := range regexp.MustCompile(`M(\d+) (\d+)h(\d+)v1H(\d+)z`).FindAllStringSubmatch(path, -1) {
		x, _ := strconv.Atoi(run[1])
		y, _ := strconv.Atoi(run[2])
		n, _ := strconv.Atoi(run[3])
		equal(t, "back to", run[4], run[1])
		for i := range n {
			modules[y][x+i] = true
		}
	}
	return fmt.Sprint(modules)
}

// Drawing costs what it costs for everybody together.
func TestQRLimit(t *testing.T) {
	s := start(t, Options{Links: usual(), BaseURL: "https://s.test", QRPerSecond: 2})
	for range 10 {
		equal(t, "within the burst", s.get(t, "/-/qr/live").status, 200)
	}
	a := s.get(t, "/-/qr/live")
	equal(t, "over", a.head, headOf(a, "503 Service Unavailable", "Retry-After: 1\n"))
	equal(t, "redirects go on", s.get(t, "/live").status, 302)
	s.clock.advance(500 * time.Millisecond)
	equal(t, "later", s.get(t, "/-/qr/live").status, 200)
	equal(t, "drawn, refused", fmt.Sprint(s.Stats().QRCodes, s.Stats().QRLimited), "11 1")
}

// The longest base URL and name still make a picture.
func TestQRLengths(t *testing.T) {
	name := strings.Repeat("n", 128)
	links := &table{links: map[string]entry{name: {Target: &link.Target{URL: "https://h.test/"}, state: link.Live}}}
	s := start(t, Options{Links: links, BaseURL: "https://s.test/" + strings.Repeat("b", maxBaseURL-len("https://s.test/"))})
	a := s.get(t, "/-/qr/"+name+"?format=png&size=64")
	equal(t, "status", a.status, 200)
	if _, err := png.Decode(strings.NewReader(a.body)); err != nil {
		t.Error(err)
	}
}
