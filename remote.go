package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// target is a running server that a subcommand works on instead of a data folder.
type target struct {
	addr     string // host:port or unix:PATH; empty: none
	user     string
	password string
	tls      bool
	ca       string // file; empty: the system's
}

// remote speaks to it.
type remote struct{ *redis.Client }

// Do implements transfer.Remote.
func (r remote) Do(ctx context.Context, words ...any) (any, error) {
	return r.Client.Do(ctx, words...).Result()
}

// passwordVariable holds a password for another server where no flag does.
const passwordVariable = "CURT_PASSWORD"

// silence keeps the library from writing to stderr what it also returns.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

// dial connects and logs in. Close what it returns.
func (t *target) dial(ctx context.Context) (remote, error) {
	o := &redis.Options{Addr: t.addr, Username: t.user, Password: t.password, ReadTimeout: time.Minute, PoolSize: 1, MaxRetries: -1, DialerRetries: 1}
	if o.Password == "" {
		o.Password = os.Getenv(passwordVariable)
	}
	if path, ok := strings.CutPrefix(t.addr, "unix:"); ok {
		o.Network, o.Addr = "unix", path
	}
	if t.tls || t.ca != "" {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if t.ca != "" {
		pem, err := os.ReadFile(t.ca)
		if err != nil {
			return remote{}, fmt.Errorf("tls-ca: %w", err)
		}
		o.TLSConfig.RootCAs = x509.NewCertPool()
		if !o.TLSConfig.RootCAs.AppendCertsFromPEM(pem) {
			return remote{}, fmt.Errorf("tls-ca: %s holds no certificate (PEM)", t.ca)
		}
	}
	redis.SetLogger(silence{})
	c := redis.NewClient(o)
	if err := c.Ping(ctx).Err(); err != nil {
		c.Close()
		return remote{}, fmt.Errorf("%s: %w", t.addr, err)
	}
	return remote{c}, nil
}
