// Command bench measures Curt beside the programs it is compared with, on this machine, in one run: redis-server for commands, nginx for
// redirects. Rounds alternate between the two, and what is compared is the servers' own processor time for an operation, as the
// kernel accounts it: it is steadier than a rate on a machine that does other things too. The table is Markdown.
//
//	go run ./tests/bench [-rounds 5] [-seconds 2] [-only NAME] [-links 1000000] [-clicks 1000000] [-rows 5000000] [-out FILE]
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"
)

var (
	rounds  = flag.Int("rounds", 5, "rounds of each comparison")
	seconds = flag.Int("seconds", 2, "seconds of load in a round")
	only    = flag.String("only", "", "run the comparisons whose names hold this")
	links   = flag.Int("links", 1_000_000, "links of the idle measurement; 0 leaves it out")
	rows    = flag.Int("rows", 5_000_000, "lines of the import, after which growth is measured; 0 leaves both out")
	clicked = flag.Int("clicks", 1_000_000, "clicks of the measurement of their space")
	out     = flag.String("out", "", "write the table to this file too")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "curt-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir}
	defer b.stopAll()
	if out, err := exec.Command("go", "build", "-o", dir+"/curt", ".").CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	r := &report{}
	for _, c := range slices.Concat(comparisons, clickComparisons()) {
		if !strings.Contains(c.name, *only) {
			continue
		}
		if missing := c.missing(); missing != "" {
			r.skipped = append(r.skipped, c.name+": missing program: "+missing)
			continue
		}
		fmt.Fprintln(os.Stderr, "bench:", c.name)
		line, err := b.compare(c)
		b.stopAll()
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.lines = append(r.lines, line)
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
	if err := b.imports(r); err != nil {
		return err
	}
	fmt.Print(r)
	if *out != "" {
		return os.WriteFile(*out, []byte(r.String()), 0o644)
	}
	return nil
}

// line is a row of the table.
type line struct {
	name, unit   string
	curt, peer   float64 // medians
	ratio, bound float64
	less         bool // the ratio should be at most the bound, else at least
}

// report is the table with what is around it.
type report struct {
	lines   []line
	facts   []string
	skipped []string
}

func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured on %s, %s/%s, %d processors, %s. Versions: %s.\n\n", time.Now().Format("2006-01-02"), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version(), strings.Join(versions(), ", "))
	b.WriteString("Medians of alternating rounds; \"CPU\" is the server's own processor time for one operation.\n\n")
	b.WriteString("| what | unit | Curt | beside it | ratio | wanted |\n|---|---|---|---|---|---|\n")
	for _, l := range r.lines {
		sign := "≥"
		if l.less {
			sign = "≤"
		}
		fmt.Fprintf(&b, "| %s | %s | %.2f | %.2f | %.2f | %s %.2f |\n", l.name, l.unit, l.curt, l.peer, l.ratio, sign, l.bound)
	}
	b.WriteString("\n")
	for _, f := range r.facts {
		b.WriteString("- " + f + "\n")
	}
	for _, s := range r.skipped {
		b.WriteString("- left out: " + s + "\n")
	}
	return b.String()
}

func versions() []string {
	var list []string
	for _, c := range [][]string{{"redis-server", "--version"}, {"nginx", "-v"}, {"wrk", "-v"}} {
		out, _ := exec.Command(c[0], c[1:]...).CombinedOutput()
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		if words := strings.Fields(first); len(words) > 2 {
			list = append(list, strings.Join(words[:3], " "))
		}
	}
	return list
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
