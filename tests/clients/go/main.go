// Command go drives a Curt server with one of Go's Redis libraries:
//
//	go go-redis|rueidis|redigo HOST PORT
//
// What each of them does is said in the README of the folder above.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"strings"
	"time"
)

func main() {
	libraries := map[string]struct {
		run    func(addr string)
		module string
	}{
		"go-redis": {goRedis, "github.com/redis/go-redis/v9"},
		"rueidis":  {rueidisClient, "github.com/redis/rueidis"},
		"redigo":   {redigo, "github.com/gomodule/redigo"},
	}
	if len(os.Args) != 4 || libraries[os.Args[1]].run == nil {
		die("call it with go-redis, rueidis or redigo, host and port")
	}
	l := libraries[os.Args[1]]
	l.run(net.JoinHostPort(os.Args[2], os.Args[3]))
	fmt.Println("done", os.Args[1], version(l.module))
}

// version is that of a module in this program.
func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return strings.TrimPrefix(m.Version, "v")
		}
	}
	return "?"
}

func target(n any) string { return fmt.Sprint("https://example.com/go/", os.Args[1], "/", n) }

func ok(step string) { fmt.Println("ok", step) }

func die(what ...any) {
	fmt.Fprintln(os.Stderr, what...)
	os.Exit(1)
}

// must ends the program when a call failed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// check ends the program when a call failed that returns nothing else.
func check(err error) { must(0, err) }

// equal ends the program unless got is want.
func equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %#v, want %#v", got, want))
	}
}

// fails ends the program unless err begins with word.
func fails(err error, word string) {
	if err == nil || !strings.HasPrefix(err.Error(), word) {
		panic(fmt.Sprintf("got the error %v, want %s", err, word))
	}
}

// different ends the program unless there are n different codes.
func different(codes []string, n int) {
	seen := map[string]bool{}
	for _, c := range codes {
		seen[c] = true
	}
	equal(len(seen), n)
}

// banned ends the program unless a message says that a link was banned.
func banned(message string) {
	var event struct{ Event string }
	check(json.Unmarshal([]byte(message), &event))
	equal(event.Event, "banned")
}

// enough ends the program unless SCAN gave each of the links that are there, and code.
func enough(seen map[string]bool, code string) {
	if len(seen) < 10_000 || !seen[code] {
		panic(fmt.Sprintf("SCAN gave %d links", len(seen)))
	}
}

// restart asks for a new server, and returns when it is there.
func restart() {
	fmt.Println("restart")
	must(bufio.NewReader(os.Stdin).ReadString('\n'))
}

// again calls fn until it gives want, for 20 seconds.
func again(want string, fn func() (string, error)) {
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got, err := fn()
		if err == nil && got == want {
			return
		}
		if time.Now().After(end) {
			panic(fmt.Sprintf("got %q, %v, want %q", got, err, want))
		}
	}
}
