// Package tests is the program seen from outside: a real server on real sockets, its store on a disk that can lose power.
//
// harness_test.go starts, restarts and crashes one; client_test.go speaks RESP to it; disk_test.go is the disk. Transcripts in
// testdata are redis-cli sessions, run by transcript_test.go and rewritten by `go test ./tests -run Transcripts -rewrite`. Files
// are named after the kind of fault they look for; a comment such as E05 names the kind's row in the list of faults that
// users of other shorteners met. Flag -long makes the random tests run as long as a night allows, -model 10m the model test for ten minutes.
// Tests named TestFault break something under the server on purpose; `make faults` writes what they saw into docs/FAULTS.md.
package tests

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

var long = flag.Bool("long", false, "run the random, crash and load tests at full length")

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		runChild()
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"), // one a process, for ever
		goleak.Cleanup(func(code int) {
			removeProgram()
			if *faultsFile != "" && code == 0 {
				if err := faults.write(*faultsFile); err != nil {
					fmt.Fprintln(os.Stderr, err)
					code = 1
				}
			}
			os.Exit(code)
		}))
}

// scale picks how much of something a test does: little with -short or -race, the usual amount, or all with -long.
func scale(short, usual, all int) int {
	switch {
	case *long:
		return all
	case testing.Short() || underRace:
		return short
	}
	return usual
}
