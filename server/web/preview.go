package web

import (
	"html"
	"strings"

	"github.com/valyala/fasthttp"

	"curt/codec/weburl"
	"curt/server/link"
)

// showPreview answers /{code}+: a page that says where a live link leads, without going there and without being
// counted. What is refused is refused as by the link itself, with no word of its target.
func (s *Server) showPreview(ctx *fasthttp.RequestCtx, c *conn, code []byte) {
	now := s.opts.Now()
	_, network := s.client(ctx, c)
	t, state, ok := s.lookup(ctx, code, network, now)
	switch {
	case !ok:
	case state != link.Live:
		s.refuse(ctx, c, state, network, now)
	default:
		s.counters.previews.Add(1)
		s.html(ctx, 200, previewPage(t.URL))
	}
}

// previewPage shows a target's bytes, and leads there when it is a web page.
func previewPage(target string) []byte {
	text := html.EscapeString(target)
	var b strings.Builder
	b.WriteString(pageHead("Preview"))
	if host := weburl.Host(target); host != "" {
		b.WriteString("<p>This link leads to <strong>" + html.EscapeString(host) + "</strong>:</p>")
	} else {
		b.WriteString("<p>This link leads to:</p>")
	}
	b.WriteString("<p><code>" + text + "</code></p>")
	if strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "http://") {
		b.WriteString(`<p><a href="` + text + `" rel="noreferrer noopener nofollow">Go there</a></p>`)
	}
	b.WriteString("</main></body></html>\n")
	return []byte(b.String())
}
