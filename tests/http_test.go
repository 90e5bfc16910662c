package tests

import (
	"crypto/tls"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answer is what a browser gets for one request.
type answer struct {
	status   int
	location string
	header   http.Header
	body     string
}

// Get asks for a path as it stands, follows nothing, and keeps no connection.
func (n *node) Get(path string) answer {
	n.tb.Helper()
	return n.request("GET", path)
}

// request asks for a path. headers are names and values in turn.
func (n *node) request(method, path string, headers ...string) answer {
	n.tb.Helper()
	b := browser(false)
	if n.options.HTTPTLS.Cert != "" {
		b.TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	}
	a, err := fetch(b, method, n.httpAddr, path, headers...)
	if err != nil {
		n.tb.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

// browser is what sends HTTP requests, one by one: a client would follow, and read each Location.
func browser(keepAlive bool) *http.Transport {
	return &http.Transport{DisableKeepAlives: !keepAlive, DisableCompression: true, ResponseHeaderTimeout: patience}
}

// somebody is the User-Agent of a person.
const somebody = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

func fetch(b *http.Transport, method, addr, path string, headers ...string) (answer, error) {
	scheme := "http://"
	if c := b.TLSClientConfig; c != nil && (c.RootCAs != nil || c.InsecureSkipVerify) { // net/http sets one of its own, too
		scheme = "https://"
	}
	req, err := http.NewRequest(method, scheme+addr+"/", nil)
	if err != nil {
		return answer{}, err
	}
	req.URL.Opaque = "//" + addr + path // sent as it is
	req.Header.Set("User-Agent", somebody)
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := b.RoundTrip(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	return answer{res.StatusCode, res.Header.Get("Location"), res.Header, string(body)}, err
}

// infoNumber is a number in the text of INFO.
func infoNumber(tb testing.TB, text, name string) int64 {
	tb.Helper()
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			return n
		}
	}
	tb.Fatalf("INFO has no %s", name)
	return 0
}

// eventually waits until ok holds.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("never happened: %s", what)
		}
	}
}
