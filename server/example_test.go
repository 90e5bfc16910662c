package server_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"time"

	"curt/server"
	"curt/server/link"
)

// A program makes and resolves links without a network, and serves browsers from the same store.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "links")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	srv, err := server.Open(server.Options{Dir: dir})
	if err != nil {
		log.Fatal(err)
	}
	defer srv.Shutdown(context.Background())
	links := srv.Links()

	code, err := links.Shorten(context.Background(), &link.Request{URL: "https://go.dev/doc/"})
	if err != nil {
		log.Fatal(err)
	}
	if err := srv.Durable(); err != nil { // before anybody is told
		log.Fatal(err)
	}
	target, err := links.Resolve([]byte(code))
	fmt.Println(len(code), target, err)

	browsers, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go srv.ServeHTTP(browsers) // until Shutdown

	t, state, err := links.Lookup([]byte(code)) // a redirect of the program's own
	if err != nil {
		log.Fatal(err)
	}
	if state == link.Live {
		state, err = links.Visit(&link.Visit{Target: t, Time: time.Now()}) // counts it, and has the last word
	}
	fmt.Println(t.URL, state, err)

	fmt.Println(links.Ban(code, "phishing"))
	_, err = links.Resolve([]byte(code))
	fmt.Println(errors.Is(err, link.ErrBanned))
	// Output:
	// 7 https://go.dev/doc/ <nil>
	// https://go.dev/doc/ live <nil>
	// <nil>
	// true
}
