// Command bench measures Curt beside the programs it is compared with, on this machine, in one run: redis-server for commands, nginx for
// redirects, MariaDB for durable inserts. Rounds alternate between the two, and what is compared is the servers' own processor time for
// an operation, as the kernel accounts it: it is steadier than a rate on a machine that does other things too. The table is Markdown.
//
//	go run ./tests/bench [-rounds 5] [-seconds 2] [-only REGEXP] [-links 1000000] [-clicks 1000000] [-rows 5000000] [-out docs/BENCHMARKS.md]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
)

var (
	rounds  = flag.Int("rounds", 5, "rounds of each comparison")
	seconds = flag.Int("seconds", 2, "seconds of load in a round")
	only    = flag.String("only", "", "run the measurements whose names match this expression")
	links   = flag.Int("links", 1_000_000, "links of the idle measurement; 0 leaves it out")
	rows    = flag.Int("rows", 5_000_000, "lines of the import, after which growth is measured; 0 leaves both out")
	clicked = flag.Int("clicks", 1_000_000, "clicks of the measurement of their space")
	out     = flag.String("out", "", "write the table between the marks of this file too")
)

func main() {
	flag.Parse()
	task := run
	if *guessPort != 0 {
		task = guessAll
	}
	if err := task(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	if _, err := regexp.Compile(*only); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "curt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir}
	if out, err := exec.Command("go", "build", "-o", dir+"/curt", ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	r := &report{}
	err = b.measure(r)
	b.stopAll()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, b.said)
	}
	fmt.Print(r)
	if *out != "" {
		return r.write(*out)
	}
	return nil
}

// measure does what is wanted.
func (b *bench) measure(r *report) error {
	for _, c := range slices.Concat(comparisons, clickComparisons()) {
		if !wanted(c.name) {
			continue
		}
		if missing := c.missing(); missing != "" {
			r.skipped = append(r.skipped, c.name+": missing program: "+missing)
			continue
		}
		fmt.Fprintln(os.Stderr, "bench:", c.name)
		err := b.compare(c, r)
		b.stopAll()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if err := b.own(r); err != nil {
		return err
	}
	if err := b.clicks(r); err != nil {
		return err
	}
	if err := b.scanner(r); err != nil {
		return err
	}
	return b.imports(r)
}

// wanted tells whether -only leaves a measurement in.
func wanted(name string) bool {
	match, err := regexp.MatchString(*only, name)
	return match && err == nil
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
