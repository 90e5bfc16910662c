package web

import (
	"strconv"
	"strings"

	"github.com/skip2/go-qrcode"
	"github.com/valyala/fasthttp"

	"curt/server/link"
)

const (
	qrSize    = 256 // pixels a side
	qrMinSize = 64
	qrMaxSize = 1024
)

// qr answers /-/qr/{code}?size=PIXELS&format=svg|png with a picture of the base URL and the code, for links that
// are live. It is drawn afresh each time, at most QRPerSecond, so it is meant to be kept: for a day, by anybody.
// The size is from 64 to 1024 pixels a side (256), or a pixel for each module where that is more.
func (s *Server) qr(ctx *fasthttp.RequestCtx, c *conn, code []byte) {
	if s.opts.BaseURL == "" {
		s.page(ctx, 404)
		return
	}
	size, format, ok := qrArgs(ctx.QueryArgs())
	if !ok {
		s.bad(ctx, 400, &s.counters.badRequests)
		return
	}
	now := s.opts.Now()
	_, network := s.client(ctx, c)
	_, state, ok := s.lookup(ctx, code, network, now)
	if !ok {
		return
	}
	if state != link.Live {
		s.refuse(ctx, c, state, network, now)
		return
	}
	if !s.drawings.AllowN(now, 1) {
		s.counters.qrLimited.Add(1)
		s.page(ctx, 503)
		ctx.Response.Header.SetCanonical(hRetryAfter, []byte("1"))
		return
	}
	s.draw(ctx, s.opts.BaseURL+"/"+string(code), size, format)
}

// draw answers with the picture of a text.
func (s *Server) draw(ctx *fasthttp.RequestCtx, text string, size int, format string) {
	code, err := qrcode.New(text, qrcode.Medium)
	if err != nil { // the base URL does not fit
		s.fault(ctx, err)
		return
	}
	mediaType, body := "image/svg+xml", qrSVG(code.Bitmap(), size)
	if format == "png" {
		mediaType = "image/png"
		if body, err = code.PNG(size); err != nil {
			s.fault(ctx, err)
			return
		}
	}
	s.counters.qrCodes.Add(1)
	content(ctx, 200, mediaType, vOneDay, vNothing, body)
}

// qrArgs reads the query of a QR code's address.
func qrArgs(args *fasthttp.Args) (size int, format string, ok bool) {
	size, format = qrSize, "svg"
	if args.Has("size") {
		n, err := strconv.Atoi(string(args.Peek("size")))
		if err != nil || n < qrMinSize || n > qrMaxSize {
			return 0, "", false
		}
		size = n
	}
	if args.Has("format") {
		format = string(args.Peek("format"))
	}
	return size, format, format == "svg" || format == "png"
}

// qrSVG draws modules, true for black, as one path of horizontal runs.
func qrSVG(modules [][]bool, size int) []byte {
	side := strconv.Itoa(len(modules))
	px := strconv.Itoa(size)
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="` + px + `" height="` + px + `" viewBox="0 0 ` + side + ` ` + side +
		`" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h` + side + `v` + side + `H0z"/><path d="`)
	for y, row := range modules {
		for x := 0; x < len(row); x++ {
			run := x
			for run < len(row) && row[run] {
				run++
			}
			if run > x {
				b.WriteString("M" + strconv.Itoa(x) + " " + strconv.Itoa(y) + "h" + strconv.Itoa(run-x) + "v1H" + strconv.Itoa(x) + "z")
				x = run
			}
		}
	}
	b.WriteString(`"/></svg>` + "\n")
	return []byte(b.String())
}
