package web

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"curt/codec/weburl"
	"curt/server/link"
)

// Links says what a code leads to now. *link.Service is one. The code is valid only during the call, and
// the error is a fault of the store. Calls are concurrent.
type Links interface {
	Lookup(code []byte) (*link.Target, link.State, error)
}

// Options configure a Server. The zero value works: it knows no link.
type Options struct {
	Links Links // nil: every code is unknown

	// Visit is told of each GET that is about to be redirected, once, with no lock held, and has the last word:
	// any state but link.Live is answered as that state instead, an error as trouble of the store. HEAD requests, previews, QR codes and the
	// fallbacks HomeURL and NotFoundURL are not visits. Calls are concurrent. nil: nobody counts.
	Visit func(*Visit) (link.State, error)

	Health func() error     // what /healthz asks: nil is 200, an error 503. nil: always healthy
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: slog.Default. Gets faults only, at most one a second

	RedirectStatus int           // 302 or 307, also of the fallbacks; 0: 302
	RedirectMaxAge time.Duration // how long a browser may keep a redirect, whole seconds, at most 24 h; 0: not at all
	GoneStatus     int           // 410: expired and used-up links are 410 and banned ones 451; 404: all are as if unknown; 0: 410

	BaseURL     string // where the codes are reached, as in a QR code; "": no QR codes
	HomeURL     string // where GET / leads; "": a short page
	NotFoundURL string // where whatever would be 404 leads; "": a short page

	ForwardQuery bool // every link gets the visitor's query appended, as if it had the flag storage.Forward
	MaxURLBytes  int  // longest Location that a forwarded query may make, bytes; 0: 2048

	TrustedProxies []netip.Prefix // peers whose X-Forwarded-For is believed; empty: nobody's

	MissBurst     int     // misses that one network (IPv4 /24, IPv6 /56) may make at once; 0: 60, negative: no limit
	MissPerSecond float64 // misses a second that it may make after that; 0: 1
	QRPerSecond   float64 // QR codes drawn a second for everybody, five seconds' worth at once; 0: 20

	MaxConns       int           // open connections; one more is answered 503; 0: 10,000
	MaxHeaderBytes int           // request line and headers, bytes; 0: 8192
	ReadTimeout    time.Duration // for a whole request, from its first byte or a new connection's start; 0: 10 s
	WriteTimeout   time.Duration // for a whole answer; 0: 30 s
	IdleTimeout    time.Duration // between the requests of a connection; 0: 60 s

	TLS              *tls.Config   // nil: plain HTTP
	HandshakeTimeout time.Duration // for a TLS handshake; 0: 10 s
}

const (
	maxRedirectAge = 24 * time.Hour
	qrBurstSeconds = 5
	minHeaderBytes = 256
	maxBaseURL     = 1024
)

// Validate reports everything that is wrong with the options at once.
func (o *Options) Validate() error {
	var errs []error
	complain := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	complain(o.RedirectStatus != 0 && o.RedirectStatus != 302 && o.RedirectStatus != 307,
		"redirect status %d: must be 302 or 307, browsers keep the permanent ones for ever", o.RedirectStatus)
	complain(o.RedirectMaxAge < 0 || o.RedirectMaxAge > maxRedirectAge || o.RedirectMaxAge%time.Second != 0,
		"redirect max-age %v: must be whole seconds from 0 to %v", o.RedirectMaxAge, maxRedirectAge)
	complain(o.GoneStatus != 0 && o.GoneStatus != 410 && o.GoneStatus != 404, "gone status %d: must be 410 or 404", o.GoneStatus)
	for _, u := range []struct{ name, url string }{{"base", o.BaseURL}, {"home", o.HomeURL}, {"not-found", o.NotFoundURL}} {
		complain(u.url != "" && !absolute(u.url), "%s URL: must be an absolute http or https URL of visible ASCII characters, with a host and a port that can be", u.name)
	}
	complain(len(o.BaseURL) > maxBaseURL, "base URL: must be at most %d bytes, or no QR code could hold it", maxBaseURL)
	complain(strings.ContainsAny(o.BaseURL, "?#"), "base URL: must have neither query nor fragment")
	for _, p := range o.TrustedProxies {
		complain(!p.IsValid(), "trusted proxies: an invalid prefix")
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"max URL bytes", o.MaxURLBytes}, {"max connections", o.MaxConns}, {"read timeout", int(o.ReadTimeout)},
		{"write timeout", int(o.WriteTimeout)}, {"idle timeout", int(o.IdleTimeout)}, {"handshake timeout", int(o.HandshakeTimeout)}} {
		complain(n.n < 0, "%s: must not be negative", n.name)
	}
	complain(o.MaxHeaderBytes != 0 && o.MaxHeaderBytes < minHeaderBytes, "max header bytes %d: must be at least %d", o.MaxHeaderBytes, minHeaderBytes)
	complain(o.MissBurst > 1e6, "miss burst %d: must be at most 1,000,000", o.MissBurst)
	complain(o.MissPerSecond != 0 && !inRate(o.MissPerSecond), "misses a second: must be from 0.001 to 1,000,000")
	complain(o.QRPerSecond != 0 && !inRate(o.QRPerSecond), "QR codes a second: must be from 0.001 to 1,000,000")
	return errors.Join(errs...)
}

// withDefaults fills in what the zero values stand for.
func (o Options) withDefaults() Options {
	if o.Links == nil {
		o.Links = noLinks{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.BaseURL = strings.TrimRight(o.BaseURL, "/")
	o.RedirectStatus = cmp.Or(o.RedirectStatus, 302)
	o.GoneStatus = cmp.Or(o.GoneStatus, 410)
	o.MaxURLBytes = cmp.Or(o.MaxURLBytes, 2048)
	o.MissBurst = cmp.Or(o.MissBurst, 60)
	o.MissPerSecond = cmp.Or(o.MissPerSecond, 1)
	o.QRPerSecond = cmp.Or(o.QRPerSecond, 20)
	o.MaxConns = cmp.Or(o.MaxConns, 10_000)
	o.MaxHeaderBytes = cmp.Or(o.MaxHeaderBytes, 8192)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 10*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 30*time.Second)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, 60*time.Second)
	o.HandshakeTimeout = cmp.Or(o.HandshakeTimeout, 10*time.Second)
	return o
}

// inRate reports whether a rate can be kept; a NaN can't.
func inRate(r float64) bool { return r >= 0.001 && r <= 1e6 }

// absolute reports whether a configured URL may stand in a Location as it is. Its host is one that browsers and the check of targets
// know: else links could lead back to a base URL.
func absolute(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return false
		}
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false
		}
	}
	_, err = weburl.ParseHost(u.Hostname())
	return err == nil
}

type noLinks struct{}

func (noLinks) Lookup([]byte) (*link.Target, link.State, error) { return nil, link.Absent, nil }
