package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/peterbourgon/ff/v3"

	"curt/codec"
)

// parse reads options: all of serve, or those that names list, for a subcommand that takes only some. A flag goes before the
// environment, the environment before the file, the file before the default. A variable that is empty is as if unset. The
// configuration file may hold serve's other options too. Those of dataOptions are flags only.
func parse(args []string, names ...string) (*settings, error) {
	s := &settings{}
	shared, own := optionsOf(names)
	fs := newFlags(s, append(slices.Clone(shared), own...))
	if err := fs.Parse(args); err != nil {
		return nil, plainly(err)
	}
	s.args = fs.Args()
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })

	left := newFlags(s, slices.DeleteFunc(slices.Clone(shared), func(o option) bool { return given[o.name] }))
	readFile := func(r io.Reader, set func(name, value string) error) error {
		return parseFile(s.config, r, func(name, value string) error {
			if left.Lookup(name) == nil && isServeOption(name) {
				return nil
			}
			return set(name, value)
		})
	}
	err := ff.Parse(left, nil, ff.WithEnvVarPrefix("CURT"), ff.WithConfigFileVia(&s.config), ff.WithConfigFileParser(readFile))
	if err != nil {
		return nil, plainly(err)
	}
	left.Visit(func(f *flag.Flag) { given[f.Name] = true })
	return s, s.finish(append(shared, own...), given)
}

// optionsOf picks options by name: those of serve, and the others. nil is all of serve.
func optionsOf(names []string) (shared, own []option) {
	if names == nil {
		return serveOptions(), nil
	}
	pick := func(list []option) []option {
		return slices.DeleteFunc(list, func(o option) bool { return !slices.Contains(names, o.name) })
	}
	own = pick(dataOptions())
	shared = slices.DeleteFunc(pick(serveOptions()), func(o option) bool {
		return slices.ContainsFunc(own, func(other option) bool { return other.name == o.name })
	})
	return shared, own
}

func isServeOption(name string) bool {
	return slices.ContainsFunc(serveOptions(), func(o option) bool { return o.name == name })
}

func newFlags(s *settings, options []option) *flag.FlagSet {
	fs := flag.NewFlagSet("curt", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.Usage = func() {}
	for _, o := range options {
		set := func(v string) error { return o.set(s, v) }
		if o.value == "" {
			fs.BoolFunc(o.name, o.usage, set)
		} else {
			fs.Func(o.name, o.usage, set)
		}
	}
	return fs
}

// plainly drops what ff says before an error of its own accord. A file's error begins with its line.
func plainly(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return flag.ErrHelp
	}
	text := err.Error()
	for _, words := range []string{"error parsing commandline arguments: ", "error parsing environment variables: "} {
		text = strings.TrimPrefix(text, words)
	}
	return errors.New(text)
}

// finish sets what was not given, reads the key file and checks the whole.
func (s *settings) finish(options []option, given map[string]bool) error {
	for _, o := range options {
		if given[o.name] || o.def == "" {
			continue
		}
		if err := o.set(s, o.def); err != nil {
			panic(fmt.Sprintf("the default of %s: %v", o.name, err))
		}
	}
	if err := s.Validate(); err != nil {
		return err
	}
	return s.readKeys()
}

// readKeys loads the key file. One that others than its owner may read is no secret, and is refused.
func (s *settings) readKeys() error {
	if s.keyFile == "" {
		return nil
	}
	f, err := os.Open(s.keyFile)
	if err != nil {
		return fmt.Errorf("key-file: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("key-file: %w", err)
	}
	if info.IsDir() {
		return fmt.Errorf("key-file: %s is a folder", s.keyFile)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("key-file: %s has mode %04o, group or others may use it: chmod 600 %s", s.keyFile, perm, s.keyFile)
	}
	ring, err := codec.ParseKeyring(f)
	if err != nil {
		return fmt.Errorf("%s: %w", s.keyFile, err)
	}
	s.Codes.Ring = &ring
	return nil
}

// parseFile reads a configuration file: a `name value` a line, as redis.conf. A line that begins with # is a comment. A value in
// double quotes is a Go string: it may hold blanks at its ends, or be empty.
func parseFile(path string, r io.Reader, set func(name, value string) error) error {
	lines := bufio.NewScanner(r)
	n := 0
	fail := func(err error) error { return fmt.Errorf("%s line %d: %w", path, n, err) }
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value := line, ""
		if i := strings.IndexAny(line, " \t"); i >= 0 {
			name, value = line[:i], strings.TrimSpace(line[i:])
		}
		switch {
		case name == "config":
			return fail(errors.New("config can't be set in the file itself"))
		case value == "":
			return fail(fmt.Errorf("%s has no value (\"\" is the empty one)", name))
		case value[0] == '"':
			unquoted, err := strconv.Unquote(value)
			if err != nil {
				return fail(fmt.Errorf("%s has a bad quoted value", name))
			}
			value = unquoted
		}
		if err := set(name, value); err != nil {
			return fail(err)
		}
	}
	if err := lines.Err(); err != nil {
		n++
		return fail(err)
	}
	return nil
}
