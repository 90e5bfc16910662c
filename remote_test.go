package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned writes a certificate for this machine and its key.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, 0o600, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		file(t, 0o600, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
}

// A running server exports what its folder would, and takes what its folder would.
func TestTransferWithARunningServer(t *testing.T) {
	t.Parallel()
	dir, keys := t.TempDir(), file(t, 0o600, keyA)
	p := start(t, dir, "--key-file", keys)
	at := []string{"--resp", p.resp[0]}
	csv := file(t, 0o600, "url,alias,created,visits,title\r\nhttps://example.com/1,one,2020-01-02,5,\"a\r\nb\"\r\nftp://example.com/,two,,,\r\nhttps://example.com/3,,,,\r\nhttps://example.com/4,one,,,\r\n")
	got := curtOK(t, append(append([]string{"import"}, at...), "--format", "csv", csv)...)
	if got.stdout != "2 imported, 2 refused\n" || got.stderr != "line 4: BADURL bad_scheme: the URL must begin with http:// or https://\nline 6: EXISTS the name is taken\n" {
		t.Errorf("%+v", got)
	}
	got = curtOK(t, append(append([]string{"import"}, at...), "--format", "csv", csv)...)
	if got.stdout != "2 were there already.\n0 imported, 2 refused\n" {
		t.Errorf("%+v", got)
	}
	for i := range 1500 { // more than a page
		if p.do("SHORTEN", "https://example.com/many/"+strings.Repeat("x", i)) == "" {
			t.Fatal("no code")
		}
	}
	p.do("BAN", "one", "REASON", "spam")
	p.do("BANHOST", "evil.example")
	running := curtOK(t, append([]string{"export"}, at...)...)
	checkFault(t, "not asked what it would do", nil, append(append([]string{"import"}, at...), "--dry-run", csv)...)
	p.stop()
	if stopped := curtOK(t, "export", "--dir", dir, "--key-file", keys); running.stdout != stopped.stdout || running.stderr != "" {
		t.Errorf("running: %d bytes, stopped: %d bytes; %s", len(running.stdout), len(stopped.stdout), running.stderr)
	}
	if got := curtOK(t, "check", "--dir", dir, "--key-file", keys); got.stdout != "1502 links, no problem\n" {
		t.Errorf("%+v", got)
	}

	export := file(t, 0o600, running.stdout)
	other := start(t, t.TempDir(), "--key-file", file(t, 0o600, strings.Replace(keyA, "0", "1", 9)))
	got = curtOK(t, "import", "--resp", other.resp[0], export)
	// the target of the banned link was banned with it
	if !strings.HasSuffix(got.stdout, "1501 generated codes came in as names.\n1 were there already.\n1503 imported, 0 refused\n") {
		t.Errorf("%+v", got)
	}
	got = curtOK(t, "import", "--resp", other.resp[0], export)
	if !strings.HasSuffix(got.stdout, "1504 were there already.\n0 imported, 0 refused\n") {
		t.Errorf("%+v", got)
	}
	other.stop()
}

// Who connects to a server shows a certificate's owner, a user and a password.
func TestTransferOverTLS(t *testing.T) {
	t.Parallel()
	cert, key := selfSigned(t)
	acl := file(t, 0o600, "user default off\nuser mover on >a-long-secret ~* &* +@all\nuser reader on >a-long-secret ~* +@read -@dangerous\n")
	p := start(t, t.TempDir(), "--resp-tls-cert", cert, "--resp-tls-key", key, "--acl-file", acl, "--resp", "127.0.0.1:0", "--resp", "unix:"+filepath.Join(t.TempDir(), "s"))
	tcp, unix := p.resp[0], p.resp[1]
	secret := []string{"CURT_PASSWORD=a-long-secret"}
	got := runToEnd(t, secret, "export", "--resp", tcp, "--tls-ca", cert, "--user", "mover")
	if got.code != 0 || !strings.HasPrefix(got.stdout, `{"type":"curt-export"`) {
		t.Errorf("%+v", got)
	}
	if got := runToEnd(t, nil, "export", "--resp", unix, "--user", "mover", "--password", "a-long-secret"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	checkFault(t, "certificate", secret, "export", "--resp", tcp, "--tls", "--user", "mover")
	checkFault(t, "WRONGPASS", []string{"CURT_PASSWORD=wrong"}, "export", "--resp", tcp, "--tls-ca", cert, "--user", "mover")
	checkFault(t, "NOPERM", secret, "export", "--resp", tcp, "--tls-ca", cert, "--user", "reader")
	checkFault(t, "no such file", secret, "export", "--resp", tcp, "--tls-ca", "nowhere")
	checkFault(t, "holds no certificate", secret, "export", "--resp", tcp, "--tls-ca", key)
	checkFault(t, "refused", nil, "export", "--resp", "127.0.0.1:1")
	p.stop()
}
