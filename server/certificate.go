package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
)

// TLSFiles name a certificate chain and its private key, PEM each. Both empty: no TLS.
type TLSFiles struct{ Cert, Key string }

func (f TLSFiles) on() bool { return f.Cert != "" || f.Key != "" }

// certificate is a listener's certificate, which can be read anew while connections come in.
type certificate struct {
	files   TLSFiles
	current atomic.Pointer[tls.Certificate]
}

// newCertificate reads the files; nil when none are named.
func newCertificate(f TLSFiles) (*certificate, error) {
	if !f.on() {
		return nil, nil
	}
	c := &certificate{files: f}
	return c, c.reload()
}

// reload reads the files again. When that fails the certificate stays as it was.
func (c *certificate) reload() error {
	if c == nil {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(c.files.Cert, c.files.Key)
	if err != nil {
		return fmt.Errorf("certificate %s: %w", c.files.Cert, err)
	}
	c.current.Store(&pair)
	return nil
}

// config is what a listener needs: TLS 1.2 or later, and the certificate as it is at each handshake. nil without a certificate.
func (c *certificate) config() *tls.Config {
	if c == nil {
		return nil
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.current.Load(), nil },
	}
}

// Reload reads the certificates and the file with countries again, as SIGHUP asks for. What cannot be read stays as it was.
func (s *Server) Reload() error {
	return errors.Join(s.respCert.reload(), s.httpCert.reload(), s.links.Counter().ReloadGeoIP())
}
