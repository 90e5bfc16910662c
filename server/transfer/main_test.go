package transfer

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/codec"
	"curt/server/link"
	"curt/storage"
)

var quiet = slog.New(slog.DiscardHandler)

// bench is a data folder in memory. Only one of store and service is open at a time.
type bench struct {
	t    testing.TB
	fs   vfs.FS
	opts link.Options
	now  atomic.Int64 // unix ms
}

func newBench(t testing.TB, ring *codec.Ring) *bench {
	b := &bench{t: t, fs: vfs.NewMem()}
	b.now.Store(1_800_000_000_000)
	b.opts = link.Options{Logger: quiet, Codes: link.CodeOptions{Ring: ring}, Now: func() time.Time { return time.UnixMilli(b.now.Load()) }}
	return b
}

func ring(ids ...string) *codec.Ring {
	r := &codec.Ring{Keys: map[string]codec.Key{}, Active: ids[len(ids)-1]}
	for _, id := range ids {
		var k codec.Key
		copy(k[:], id)
		r.Keys[id] = k
	}
	return r
}

// withStore opens the store for fn.
func (b *bench) withStore(fn func(*storage.Store)) {
	b.t.Helper()
	store, err := storage.Open(storage.Options{Dir: "data", FS: b.fs, CacheBytes: 16 << 20, Logger: quiet, Now: b.opts.Now})
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() {
		if err := store.Close(); err != nil {
			b.t.Error(err)
		}
	}()
	fn(store)
}

// withLinks opens the service for fn.
func (b *bench) withLinks(fn func(*link.Service)) {
	b.t.Helper()
	b.withStore(func(store *storage.Store) {
		links, err := link.Open(store, b.opts)
		if err != nil {
			b.t.Fatal(err)
		}
		defer links.Close()
		fn(links)
	})
}

func (b *bench) export() string {
	b.t.Helper()
	var out bytes.Buffer
	b.withStore(func(store *storage.Store) {
		if err := Export(store, b.opts.Codes.Ring, &out, nil); err != nil {
			b.t.Fatal(err)
		}
	})
	return out.String()
}

// result is what an import said.
type result struct {
	Summary
	refused []string
}

func (b *bench) importFrom(text string, o ImportOptions) result {
	b.t.Helper()
	r, err := b.tryImport(text, o)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bench) tryImport(text string, o ImportOptions) (r result, err error) {
	b.t.Helper()
	o.Now = b.opts.Now
	o.Refused = func(f Refusal) { r.refused = append(r.refused, f.Place+": "+f.Err.Error()) }
	b.withStore(func(store *storage.Store) {
		r.Summary, err = Import(context.Background(), store, b.opts, strings.NewReader(text), o)
	})
	return r, err
}

// wantSound has the store checked.
func (b *bench) wantSound() {
	b.t.Helper()
	b.withStore(func(store *storage.Store) {
		err := link.Check(store, b.opts.Codes.Ring, func(text string) bool { b.t.Error("check: " + text); return true })
		if err != nil {
			b.t.Error(err)
		}
	})
}

// wantTarget says where a code should lead.
func (b *bench) wantTarget(links *link.Service, code, want string) {
	b.t.Helper()
	got, err := links.Resolve([]byte(code))
	if err != nil {
		got = err.Error()
	}
	if got != want {
		b.t.Errorf("%s leads to %q, want %q", code, got, want)
	}
}

// visit is one redirect of a link.
func (b *bench) visit(links *link.Service, code, agent string) {
	b.t.Helper()
	target, state, err := links.Lookup([]byte(code))
	if err != nil || state != link.Live {
		b.t.Fatal(code, state, err)
	}
	state, err = links.Visit(&link.Visit{Target: target, Client: netip.MustParseAddr("192.0.2.1"), UserAgent: []byte(agent),
		Referer: []byte("https://news.example/"), Time: time.UnixMilli(b.now.Load())})
	if err != nil || state != link.Live {
		b.t.Fatal(code, state, err)
	}
}

func url(i int) string { return fmt.Sprintf("https://example.com/%d", i) }
