package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"curt/server/link"
)

const getLive = "GET /live HTTP/1.1\r\nHost: s\r\n\r\n"

func TestZeroOptions(t *testing.T) {
	s := start(t, Options{Now: time.Now})
	equal(t, "home", s.get(t, "/").status, 200)
	equal(t, "health", s.get(t, "/healthz").status, 200)
	equal(t, "code", s.get(t, "/abc").status, 404)
	equal(t, "QR", s.get(t, "/-/qr/abc").status, 404)
}

func TestValidate(t *testing.T) {
	all := Options{RedirectStatus: 301, RedirectMaxAge: 25 * time.Hour, GoneStatus: 200, BaseURL: "s.test?x", HomeURL: "javascript:alert(1)",
		NotFoundURL: "https://h.test/\r\nX: y", MaxURLBytes: -1, TrustedProxies: []netip.Prefix{{}}, MissBurst: 2e6, MissPerSecond: math.NaN(),
		QRPerSecond: -1, MaxConns: -1, MaxHeaderBytes: 255, ReadTimeout: -1, WriteTimeout: -1, IdleTimeout: -1}
	_, err := New(all)
	if err == nil {
		t.Fatal("no error")
	}
	equal(t, "complaints", len(strings.Split(err.Error(), "\n")), 17)
	for _, bad := range []Options{{RedirectStatus: 308}, {RedirectStatus: 200}, {RedirectMaxAge: time.Millisecond}, {RedirectMaxAge: -time.Second}, {GoneStatus: 451},
		{HomeURL: "/x"}, {HomeURL: "//h.test/"}, {HomeURL: "https:///x"}, {HomeURL: "https://h.test/é"}, {HomeURL: "https://h.test:65536/"}, {NotFoundURL: "https://h..test/"}, {BaseURL: "https://s!.test"}, {HomeURL: "http://256.1.1.1/"}, {BaseURL: "http://[fe80::1%25eth0]"}, {BaseURL: "https://s.test/#"}, {BaseURL: "https://s.test/" + strings.Repeat("b", 1024)}} {
		if _, err := New(bad); err == nil {
			t.Errorf("%+v passed", bad)
		}
	}
	for _, good := range []Options{{}, {RedirectStatus: 307, RedirectMaxAge: 24 * time.Hour, GoneStatus: 404, BaseURL: "http://s.test:8080/x/", HomeURL: "https://h.test?x#y",
		NotFoundURL: "http://[::1]:65535/", MissBurst: -1, MissPerSecond: 0.001, MaxHeaderBytes: 256}} {
		if err := good.Validate(); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
}

// Requests that have begun are answered, connections that wait are closed at once, and nothing is served afterwards.
func TestShutdownDrains(t *testing.T) {
	inHook, goOn := make(chan bool), make(chan bool)
	s := start(t, Options{Links: usual(), Visit: func(v *Visit) (link.State, error) {
		inHook <- true
		<-goOn
		return link.Live, nil
	}})
	silent, idle, half, busy := s.dial(t), s.dial(t), s.dial(t), s.dial(t)
	_, _ = io.WriteString(idle, "GET /expired HTTP/1.1\r\nHost: s\r\n\r\n")
	idleReader := bufio.NewReader(idle)
	equal(t, "idle", read(t, idleReader, "GET").status, 410)
	waitFor(t, func() bool { return busyConns(s.Server) == 0 })
	_, _ = io.WriteString(busy, getLive+getLive)
	<-inHook
	_, _ = io.WriteString(half, "GET /expired HTT")
	waitFor(t, func() bool { return busyConns(s.Server) == 2 && s.Stats().Conns == 4 })

	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	equal(t, "silent", statuses(readAll(t, silent)), "")
	if _, err := idleReader.ReadByte(); err != io.EOF {
		t.Errorf("idle: %v", err)
	}
	_, _ = io.WriteString(half, "P/1.1\r\nHost: s\r\n\r\n")
	equal(t, "half", statuses(readAll(t, half)), "410")
	select {
	case err := <-done:
		t.Fatalf("shutdown did not wait: %v", err)
	default:
	}
	goOn <- true
	all := readAll(t, busy)
	equal(t, "busy", statuses(all), "302")
	equal(t, "closes", all[0].closed, true)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", s.addr); err == nil {
		c.Close()
		t.Error("still listening")
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(ln); !errors.Is(err, ErrClosed) {
		t.Errorf("serve after shutdown: %v", err)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener was left: %v", err)
	}
}

// A client that never finishes does not hold up the end.
func TestShutdownCuts(t *testing.T) {
	s := start(t, Options{Links: usual()})
	half := s.dial(t)
	_, _ = io.WriteString(half, "GET /live HTT")
	waitFor(t, func() bool { return busyConns(s.Server) == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	equal(t, "connections", s.Stats().Conns, 0)
}

// Shutdown under load: whoever got an answer got a whole one.
func TestShutdownUnderLoad(t *testing.T) {
	s := start(t, Options{Links: usual()})
	var clients sync.WaitGroup
	for range 20 {
		c := s.dial(t)
		clients.Go(func() {
			r := bufio.NewReader(c)
			for {
				if _, err := io.WriteString(c, getLive); err != nil {
					return
				}
				if _, err := r.Peek(1); err != nil {
					return
				}
				if a := read(t, r, "GET"); a.status != 302 {
					t.Errorf("status %d", a.status)
				}
			}
		})
	}
	waitFor(t, func() bool { return s.Stats().Redirects > 1000 })
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	clients.Wait()
}

func TestMaxConns(t *testing.T) {
	s := start(t, Options{Links: usual(), MaxConns: 2})
	one, two := s.dial(t), s.dial(t)
	waitFor(t, func() bool { return s.Stats().Conns == 2 })
	third := s.dial(t)
	all := readAll(t, third)
	equal(t, "third", statuses(all), "503")
	for _, line := range strings.Split(strings.TrimSpace(headOf(all[0], "503 Service Unavailable", "Retry-After: 1\n")), "\n") {
		if !strings.Contains(all[0].head, line+"\n") {
			t.Errorf("no %q in %s", line, all[0].head)
		}
	}
	equal(t, "cache", all[0].get("Cache-Control"), "no-store")
	equal(t, "closed", all[0].closed, true)
	_, _ = io.WriteString(one, getLive)
	equal(t, "first", read(t, bufio.NewReader(one), "GET").status, 302)
	two.Close()
	waitFor(t, func() bool { return s.Stats().Conns == 1 })
	equal(t, "room again", s.get(t, "/live").status, 302)
	equal(t, "refused", s.Stats().ConnsRefused, 1)
}

// What the store says is for the log, at most once a second, and never for a client.
func TestFaultsAreMasked(t *testing.T) {
	var log bytes.Buffer
	s := start(t, Options{Links: usual(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 5 {
		a := s.get(t, "/broken?q=private")
		if a.status != 503 || strings.Contains(a.body+a.head, "secret") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	s.clock.advance(time.Second)
	s.get(t, "/broken")
	equal(t, "faults", s.Stats().Faults, 6)
	if err := s.Shutdown(context.Background()); err != nil { // nobody writes to log any more
		t.Fatal(err)
	}
	equal(t, "lines", strings.Count(log.String(), "\n"), 2)
	if !strings.Contains(log.String(), "input/output error") || strings.Contains(log.String(), "private") {
		t.Errorf("log: %s", log.String())
	}
}

func TestTLS(t *testing.T) {
	cert, roots := certificate(t)
	config := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return cert, nil }}
	s := start(t, Options{Links: usual(), TLS: config, MaxConns: 20})
	// Clients that never shake hands hold up nobody.
	for range 10 {
		s.dial(t)
	}
	plain := s.dial(t)
	_, _ = io.WriteString(plain, getLive)
	waitFor(t, func() bool { return s.Stats().HandshakesFailed == 1 })

	c := tls.Client(s.dial(t), &tls.Config{RootCAs: roots, ServerName: "s.test"})
	_, err := io.WriteString(c, getLive+"GET /x HTTP/1.1\nbare: lf\n\n"+getLive)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "answers", statuses(readAll(t, c)), "302 400")
	if config.NextProtos != nil {
		t.Error("the configuration was changed")
	}
}

// A client that never shakes hands is let go when its time is over.
func TestHandshakeDeadline(t *testing.T) {
	cert, _ := certificate(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := startOn(t, hasty{ln}, Options{TLS: &tls.Config{Certificates: []tls.Certificate{*cert}}})
	c := s.dial(t)
	equal(t, "answers", statuses(readAll(t, c)), "")
	waitFor(t, func() bool { st := s.Stats(); return st.HandshakesFailed == 1 && st.Conns == 0 })
}

// hasty is a listener whose connections run out of time as soon as they have a deadline.
type hasty struct{ net.Listener }

type hastyConn struct{ net.Conn }

func (h hasty) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	return hastyConn{c}, err
}

func (h hastyConn) SetDeadline(d time.Time) error {
	if d.IsZero() {
		return h.Conn.SetDeadline(d)
	}
	return h.Conn.SetDeadline(time.Now())
}

// An accept that fails for want of files is tried again; one that fails for good ends Serve.
func TestAcceptErrors(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	ln := &failing{errs: []error{&net.OpError{Op: "accept", Err: syscall.EMFILE}, syscall.ECONNABORTED, errors.New("gone")}}
	if err := s.Serve(ln); err == nil || err.Error() != "accept: gone" {
		t.Errorf("serve: %v", err)
	}
	equal(t, "closed", ln.closed, true)
}

type failing struct {
	net.Listener
	errs   []error
	closed bool
}

func (f *failing) Accept() (net.Conn, error) {
	err := f.errs[0]
	f.errs = f.errs[1:]
	return nil, err
}

func (f *failing) Close() error { f.closed = true; return nil }

// A connection that is no Internet socket has no address, and its misses are nobody's.
func TestUnixSocket(t *testing.T) {
	ln, err := net.Listen("unix", t.TempDir()+"/s")
	if err != nil {
		t.Skip(err)
	}
	var client netip.Addr
	startOn(t, ln, Options{Links: usual(), MissBurst: 1, Visit: func(v *Visit) (link.State, error) { client = v.Client; return link.Live, nil }})
	c, err := net.Dial("unix", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, strings.Repeat("GET /nothing HTTP/1.1\r\nHost: s\r\n\r\n", 3)+"GET /live HTTP/1.0\r\n\r\n")
	equal(t, "answers", statuses(readAll(t, c)), "404 404 404 302")
	equal(t, "client", client.IsValid(), false)
}

func TestStats(t *testing.T) {
	s := start(t, Options{Links: usual()})
	for _, path := range []string{"/live", "/live", "/nothing", "/expired", "/used", "/banned", "/live+", "/broken", "/favicon.ico"} {
		s.get(t, path)
	}
	s.ask(t, "HEAD", "/live")
	s.ask(t, "POST", "/live")
	s.raw(t, "nonsense\r\n\r\n")
	st := s.Stats()
	equal(t, "stats", fmt.Sprint(st.Redirects, st.Misses, st.Gone, st.Banned, st.Previews, st.Faults, st.BadRequests), "3 1 2 1 1 1 2")
	equal(t, "p50", st.RedirectTime.Quantile(0.5), 128) // the clock stands still
}

func FuzzPaths(f *testing.F) {
	for _, seed := range []string{"/live", "/live+", "//", "/%6cive?x", "http://h/live", "/-/qr/live?size=64", "/%", "*", "/live\r\nX: y", "/a\x00", "/apple-touch-icon", "?", "/\xff"} {
		f.Add(seed)
	}
	links := usual()
	s := start(f, Options{Links: links, ForwardQuery: true, BaseURL: "https://s.test", NotFoundURL: "https://lost.test/"})
	f.Fuzz(func(t *testing.T, target string) {
		if strings.ContainsAny(target, "\n") {
			return // more than one request
		}
		all := s.raw(t, "GET "+target+" HTTP/1.0\r\n\r\n")
		if len(all) != 1 {
			t.Fatalf("%d answers", len(all))
		}
		to := all[0].get("Location")
		if (all[0].status == 302) != (to != "") || to != "" && !strings.HasPrefix(to, "https://example.com/") && to != "https://lost.test/" {
			t.Fatalf("%q leads to %q (%d)", target, to, all[0].status)
		}
		if len(sorted(all[0].header)) > 9 {
			t.Fatalf("%q: %s", target, all[0].head)
		}
		if st := s.Stats(); st.Panics > 0 {
			t.Fatalf("%q: panic", target)
		}
	})
}

// busyConns is the number of connections with a request under way.
func busyConns(s *Server) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.busy.Load() {
			n++
		}
	}
	return n
}

func waitFor(t *testing.T, ready func() bool) {
	t.Helper()
	for range 5000 {
		if ready() {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
	t.Fatal("it never happened")
}

func certificate(t *testing.T) (*tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"s.test"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
