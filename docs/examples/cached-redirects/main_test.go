package main

import (
	"context"
	"log/slog"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/redis/rueidis"

	"curt/server"
	"curt/server/link"
)

// TestRedirects runs the example against a server, and bans a link that it remembers.
func TestRedirects(t *testing.T) {
	curt, err := server.Open(server.Options{Dir: "data", FS: vfs.NewMem(), CacheBytes: 16 << 20, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer curt.Shutdown(context.Background())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go curt.Serve(ln)
	links := curt.Links()
	code, err := links.Shorten(context.Background(), &link.Request{URL: "https://go.dev/"})
	if err != nil {
		t.Fatal(err)
	}
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{ln.Addr().String()}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	get := func() (status int, location string) {
		w := httptest.NewRecorder()
		redirects(client)(w, httptest.NewRequest("GET", "/"+code, nil))
		return w.Code, w.Header().Get("Location")
	}
	for range 2 {
		if status, location := get(); status != 302 || location != "https://go.dev/" {
			t.Fatalf("%d to %q", status, location)
		}
	}
	if err := links.Ban(code, ""); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if status, _ := get(); status == 404 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("it does not hear of the ban")
		}
	}
}
