// Command curt is a short-link server that speaks the Redis protocol.
//
// This package turns words into a running server: options.go is the table of what can be set, parse.go reads it from flags,
// environment and file, listen.go binds the sockets, serve.go runs until a signal comes. Each subcommand is one entry of the
// table below. Everything else is in package server and under it.
package main

//go:generate go test -count=1 -run ^TestGenerated . -rewrite

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"curt/server"
)

// subcommand is one thing the program can do.
type subcommand struct {
	name    string
	words   string // what follows the options
	summary string
	options []string // those that it knows, by name; nil: serve's
	run     func(s *settings, out io.Writer) error
}

// subcommands is all the program can do. The first is what it does when none is named.
func subcommands() []subcommand {
	place := []string{"config", "dir", "key-file"}
	either := append(slices.Clone(place), "resp", "user", "password", "tls", "tls-ca")
	importNames := append(slices.Clone(either), "format", "dry-run", "dedup", "base-url", "max-url-bytes", "allow-host", "alphabet", "code-length", "density-limit", "blocked-words",
		"expired-retention", "never-ban", "cache-bytes")
	return []subcommand{
		{"serve", "", "answer RESP and HTTP until SIGTERM or SIGINT (the default)", nil, serve},
		{"rotate-key", "", "add a random key to the ring in the store", place, rotateKey},
		{"epochs", "", "print the table of epochs: keys, lengths and alphabets of codes", place, printEpochs},
		{"export", "", "write all links to the standard output, as JSON lines", either, export},
		{"import", "FILE|-", "bring links in, from an export or from what another shortener exports", importNames, importLinks},
		{"restore", "BACKUP", "make a data folder of a backup, such that no code and no id is given out again", append(slices.Clone(place), "ahead", "code-length", "density-limit", "snowflake-epoch"), restore},
		{"check", "", "compare every link with every index, and back; exit code 1 and a list of what does not fit", place, check},
		{"version", "", "print the version", []string{}, printVersion},
		{"help", "[COMMAND]", "print this text, or a command's options", []string{}, printHelp},
	}
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "curt: "+oneLine(err))
		os.Exit(1)
	}
}

// run carries out the subcommand that the first word names.
func run(args []string, out io.Writer) error {
	list := subcommands()
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return list[0].call(args, out)
	}
	for _, c := range list {
		if c.name == args[0] {
			return c.call(args[1:], out)
		}
	}
	return fmt.Errorf("unknown command %q: `curt help` lists them", args[0])
}

// call reads the words of a subcommand and runs it.
func (c *subcommand) call(args []string, out io.Writer) error {
	s, err := parse(args, c.options...)
	if errors.Is(err, flag.ErrHelp) {
		return c.help(out)
	}
	if err != nil {
		return err
	}
	if c.words == "" && len(s.args) > 0 {
		return fmt.Errorf("unexpected argument %q", s.args[0])
	}
	return c.run(s, out)
}

// oneLine is an error's text without line breaks, as joined errors have them.
func oneLine(err error) string {
	return strings.ReplaceAll(err.Error(), "\n", "; ")
}

func printVersion(_ *settings, out io.Writer) error {
	_, err := fmt.Fprintf(out, "curt %s%s %s %s/%s\n", server.Version, revision(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// revision is the commit that the program was built from, when Go knows it.
func revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return " (" + s.Value[:min(12, len(s.Value))] + ")"
		}
	}
	return ""
}
