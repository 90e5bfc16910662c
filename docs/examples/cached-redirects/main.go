// Command cached-redirects is an application that answers redirects from its own memory and hears at once when one of them changes.
//
//	go run ./docs/examples/cached-redirects --curt 127.0.0.1:6380 --listen 127.0.0.1:8081
//	curl -i localhost:8081/CODE        # asks Curt, and remembers
//	curl -i localhost:8081/CODE        # asks nobody
//	redis-cli -p 6380 BAN CODE
//	curl -i localhost:8081/CODE        # knows: Curt has told it
//
// The client library does the work: GET with a time to live is answered from memory until Curt says that the code has changed, was banned,
// deleted or has expired. What does not exist is remembered too, until it does.
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/redis/rueidis"
)

func main() {
	curt := flag.String("curt", "127.0.0.1:6380", "Curt's RESP address")
	listen := flag.String("listen", "127.0.0.1:8081", "address to answer browsers on")
	flag.Parse()
	if err := run(*curt, *listen); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(curt, listen string) error {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{curt}})
	if err != nil {
		return fmt.Errorf("connect to Curt: %w", err)
	}
	defer client.Close()
	fmt.Println("redirects on http://" + listen)
	return http.ListenAndServe(listen, redirects(client)) //nolint:gosec // an example: a server for the Internet sets its timeouts
}

// keep is how long a redirect may be answered from memory if Curt says nothing.
const keep = time.Hour

func redirects(client rueidis.Client) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		code := r.URL.Path[1:]
		reply := client.DoCache(r.Context(), client.B().Get().Key(code).Cache(), keep)
		target, err := reply.ToString()
		fmt.Printf("%s: from memory %v\n", code, reply.IsCacheHit())
		switch {
		case rueidis.IsRedisNil(err):
			http.NotFound(w, r)
		case err != nil:
			http.Error(w, "try again later", http.StatusServiceUnavailable)
		default:
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, target, http.StatusFound)
		}
	}
}
