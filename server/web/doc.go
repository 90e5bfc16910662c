// Package web answers browsers: redirects, previews, QR codes and the few routes of its own.
//
// A Server takes connections from a listener, lets fasthttp read and write HTTP/1, and asks one
// question for each code: what does it lead to now (Links). It keeps no link, knows no rule of
// the product and looks nothing up for a request that cannot name a link. Everything a visitor
// sends is data: no path is cleaned, no input is echoed, and no answer but a Location holds more
// than fixed text.
//
// # Reading order
//
// options.go says what can be set, server.go and conn.go take connections and let go of them, handler.go
// splits a request line and picks the route, redirect.go answers it. client.go and limiter.go say who asks
// and how often, forward.go, preview.go and qr.go are the extras, pages.go the bodies, stats.go the counters.
package web
