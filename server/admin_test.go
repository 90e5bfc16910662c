package server

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func openServer(t *testing.T, o Options) *Server {
	t.Helper()
	o.Dir, o.FS, o.CacheBytes, o.Logger = "data", vfs.NewCrashableMem(), 16<<20, slog.New(slog.DiscardHandler)
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

// serveOn runs serve on a free port of the loopback interface and returns its address.
func serveOn(t *testing.T, serve func(net.Listener) error) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go serve(ln) // ends with the server
	return ln.Addr().String()
}

func getBody(t *testing.T, url string) (int, string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestAdminListener(t *testing.T) {
	s := openServer(t, Options{})
	at := "http://" + serveOn(t, s.ServeAdmin)
	for !s.links.FilterReady() {
		time.Sleep(time.Millisecond)
	}
	for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ok", "/debug/pprof/cmdline": ""} {
		if code, body := getBody(t, at+path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %q", path, code, body)
		}
	}
	_, body := getBody(t, at+"/metrics")
	for _, want := range []string{"curt_links 0", "curt_ready 1", `curt_commands_total{command="client|setname"} 0`, `curt_http_responses_total{kind="redirect"} 0`,
		`curt_redirect_seconds_bucket{le="0.001"} 0`, "go_goroutines", "process_cpu_seconds_total"} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q among the metrics", want)
		}
	}
	http.DefaultClient.CloseIdleConnections()
}

// While the last requests are answered nobody new is let in, and /readyz says so.
func TestNotReadyWhileDraining(t *testing.T) {
	s := openServer(t, Options{})
	at, web := "http://"+serveOn(t, s.ServeAdmin)+"/readyz", serveOn(t, s.ServeHTTP)
	for !s.links.FilterReady() {
		time.Sleep(time.Millisecond)
	}
	half, err := net.Dial("tcp", web)
	if err != nil {
		t.Fatal(err)
	}
	defer half.Close()
	io.WriteString(half, "GET /healthz HTTP/1.1\r\nHost: s\r\n\r\nGET /healthz HTT")
	if _, err := http.ReadResponse(bufio.NewReader(half), nil); err != nil { // by now the next request has begun
		t.Fatal(err)
	}
	if code, body := getBody(t, at); code != 200 {
		t.Errorf("before: %d %q", code, body)
	}
	done := make(chan error)
	go func() { done <- s.Shutdown(context.Background()) }()
	<-s.drain
	if code, body := getBody(t, at); code != 503 || body != "the server is stopping\n" {
		t.Errorf("while it stops: %d %q", code, body)
	}
	http.DefaultClient.CloseIdleConnections()
	io.WriteString(half, "P/1.0\r\n\r\n")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// writeCertificate makes a self-signed certificate for a name.
func writeCertificate(t *testing.T, dir, name string) TLSFiles {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotAfter: time.Now().Add(time.Hour), NotBefore: time.Now().Add(-time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	f := TLSFiles{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for path, block := range map[string]*pem.Block{f.Cert: {Type: "CERTIFICATE", Bytes: der}, f.Key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// Both listeners speak TLS, and a new certificate serves the next connection once it is reloaded.
func TestCertificatesReload(t *testing.T) {
	dir := t.TempDir()
	files := writeCertificate(t, dir, "first.example")
	s := openServer(t, Options{RespTLS: files, HTTPTLS: files})
	resp, web := serveOn(t, s.Serve), serveOn(t, s.ServeHTTP)
	nameAt := func(addr string) string {
		t.Helper()
		c, err := tls.Dial("tcp", addr, &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	for _, addr := range []string{resp, web} {
		if name := nameAt(addr); name != "first.example" {
			t.Errorf("%s is %s", addr, name)
		}
	}
	writeCertificate(t, dir, "second.example")
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{resp, web} {
		if name := nameAt(addr); name != "second.example" {
			t.Errorf("%s is %s", addr, name)
		}
	}
	if err := os.WriteFile(files.Cert, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Reload(); err == nil {
		t.Error("nonsense was loaded")
	}
	if name := nameAt(resp); name != "second.example" {
		t.Errorf("after a failed reload: %s", name)
	}
}
