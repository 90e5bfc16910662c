package web

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"
)

// Header names and values, as fasthttp takes them without looking at them again.
var (
	hLocation       = []byte("Location")
	hCacheControl   = []byte("Cache-Control")
	hAllow          = []byte("Allow")
	hRetryAfter     = []byte("Retry-After")
	hNoSniff        = []byte("X-Content-Type-Options")
	hCSP            = []byte("Content-Security-Policy")
	hReferrerPolicy = []byte("Referrer-Policy")

	vNoStore    = []byte("no-store")
	vNoSniff    = []byte("nosniff")
	vNoReferrer = []byte("no-referrer")
	vMethods    = []byte("GET, HEAD")
	vNothing    = []byte("default-src 'none'; frame-ancestors 'none'")
)

const style = `body{font:1.1em/1.5 system-ui,sans-serif;margin:15vh auto;max-width:40em;padding:0 1em;color:#222;background:#fff}` +
	`h1{font-size:1.4em}code{overflow-wrap:anywhere}@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}a{color:#8bf}}`

// policy allows a page its own style and nothing else.
var policy = func() []byte {
	sum := sha256.Sum256([]byte(style))
	return []byte("default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
}()

// pageTexts are the words for each status that is answered with a page of its own.
var pageTexts = map[int][2]string{
	200: {"Short links", "This server leads short links to where they belong."},
	400: {"Bad request", "The request was not understood."},
	404: {"Not found", "There is no such link. Is it complete, and are capital letters right?"},
	405: {"Method not allowed", "Links can only be followed."},
	408: {"Request timeout", "The request took too long to arrive."},
	410: {"Gone", "This link is no longer valid."},
	414: {"Address too long", "The address is longer than this server reads."},
	429: {"Too many requests", "Too many links that do not exist were asked for from your network. Try again in a moment."},
	431: {"Headers too large", "The headers of the request are larger than this server reads."},
	451: {"Not available", "This link was taken down."},
	500: {"Internal error", "Something went wrong here. Try again in a moment."},
	503: {"Unavailable", "The server can't answer right now. Try again in a moment."},
}

// answers are the pages that never change, by status.
type answers struct {
	pages map[int][]byte
	full  []byte // a whole answer for a connection that can't be served
}

func makeAnswers() answers {
	a := answers{pages: make(map[int][]byte, len(pageTexts))}
	for status, text := range pageTexts {
		a.pages[status] = []byte(pageHead(text[0]) + "<p>" + text[1] + "</p></main></body></html>\n")
	}
	body := a.pages[503]
	a.full = fmt.Appendf(nil, "HTTP/1.1 503 %s\r\nConnection: close\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n"+
		"Cache-Control: %s\r\nX-Content-Type-Options: %s\r\nContent-Security-Policy: %s\r\nReferrer-Policy: %s\r\nRetry-After: 1\r\n\r\n%s",
		http.StatusText(http.StatusServiceUnavailable), len(body), vNoStore, vNoSniff, policy, vNoReferrer, body)
	return a
}

// pageHead begins a page; title is fixed text of ours.
func pageHead(title string) string {
	return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
		`<meta name="robots" content="noindex"><title>` + title + `</title><style>` + style + `</style></head><body><main><h1>` + title + `</h1>`
}

// page answers with the fixed page of a status.
func (s *Server) page(ctx *fasthttp.RequestCtx, status int) {
	s.html(ctx, status, s.fallback.pages[status])
}

// html answers with a page that no cache keeps. body must not change afterwards.
func (s *Server) html(ctx *fasthttp.RequestCtx, status int, body []byte) {
	content(ctx, status, "text/html; charset=utf-8", vNoStore, policy, body)
}

// content answers with a body that no browser takes for anything else than it is.
func content(ctx *fasthttp.RequestCtx, status int, mediaType string, cache, csp, body []byte) {
	ctx.SetStatusCode(status)
	ctx.SetContentType(mediaType)
	h := &ctx.Response.Header
	h.SetCanonical(hCacheControl, cache)
	h.SetCanonical(hNoSniff, vNoSniff)
	h.SetCanonical(hCSP, csp)
	h.SetCanonical(hReferrerPolicy, vNoReferrer)
	ctx.Response.SetBodyRaw(body)
}

// cacheControl is the header of a redirect that may be kept for age.
func cacheControl(age time.Duration) []byte {
	if age < time.Second {
		return []byte("no-cache, no-store, max-age=0")
	}
	return fmt.Appendf(nil, "private, max-age=%d", age/time.Second)
}
