package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
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
	if len(shared)+len(own) > 0 {
		if err := unknownVariables(os.Environ()); err != nil {
			return nil, err
		}
	}

	left := newFlags(s, slices.DeleteFunc(slices.Clone(shared), func(o option) bool { return given[o.name] }))
	readFile := func(r io.Reader, set func(name, value string) error) error {
		return parseFile(s.config, r, func(name, value string) error {
			switch {
			case !isServeOption(name):
				return fmt.Errorf("unknown option %q", name)
			case left.Lookup(name) == nil:
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

var (
	aboutParsing = regexp.MustCompile(`^error parsing (?:commandline arguments|environment variables): `)
	aboutSetting = regexp.MustCompile(`error setting flag "([^"]*)" from (?:config file|environment variable "([^"]*)")`)
)

// plainly drops what ff says around an error of its own accord: what is left begins with the variable's name, or with the file, its line and
// the option's name.
func plainly(err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return flag.ErrHelp
	}
	text := aboutParsing.ReplaceAllString(err.Error(), "")
	return errors.New(aboutSetting.ReplaceAllStringFunc(text, func(words string) string {
		m := aboutSetting.FindStringSubmatch(words)
		return cmp.Or(m[2], m[1])
	}))
}

// ofServices are the variables that Kubernetes sets in every container for a service named curt or curt-something.
var ofServices = regexp.MustCompile(`^CURT_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?)$`)

// unknownVariables is the error for those of environ that look as if they set an option, which does not exist. An empty one is as if unset.
func unknownVariables(environ []string) error {
	known := []string{passwordVariable}
	for _, o := range serveOptions() {
		known = append(known, o.variable())
	}
	var unknown []string
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "CURT_") && value != "" && !slices.Contains(known, name) && !ofServices.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return fmt.Errorf("no option has the variable %s: `curt help serve` lists the options", strings.Join(unknown, ", "))
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
