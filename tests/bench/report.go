package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

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
	fmt.Fprintf(&b, "Measured on %s, %d rounds of %d s. Machine: %s. Versions: %s.\n\n", time.Now().UTC().Format(time.DateOnly), *rounds, *seconds, machine(), strings.Join(versions(), ", "))
	b.WriteString("| What | Unit | Curt | Beside it | Ratio | Wanted |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, l := range r.lines {
		sign := "≥"
		if l.less {
			sign = "≤"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.2f | %s %.2f |\n", l.name, l.unit, figure(l.curt), figure(l.peer), l.ratio, sign, l.bound)
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

// figure has two decimals only where they mean something.
func figure(v float64) string {
	if v >= 1000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// marks of the table in docs/BENCHMARKS.md. What stands around them is written by hand.
const reportBegin, reportEnd = "<!-- measured: `make bench` -->\n", "<!-- end of measured -->"

// write puts the report where the file has its marks.
func (r *report) write(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, begin := strings.Cut(string(text), reportBegin)
	_, after, end := strings.Cut(rest, reportEnd)
	if !begin || !end {
		return fmt.Errorf("%s lacks the marks %q and %q", path, reportBegin, reportEnd)
	}
	return os.WriteFile(path, []byte(before+reportBegin+r.String()+reportEnd+after), 0o644)
}

// machine says what the figures depend on, and not whose machine it is.
func machine() string {
	read := func(path, pattern string) string {
		text, _ := os.ReadFile(path)
		if m := regexp.MustCompile(pattern).FindSubmatch(text); m != nil {
			return string(m[1])
		}
		return "?"
	}
	kib, _ := strconv.ParseFloat(read("/proc/meminfo", `MemTotal:\s+(\d+)`), 64)
	return fmt.Sprintf("%s, %d processors, %.0f GiB of memory, %s %s, %s", read("/proc/cpuinfo", `model name\s*: (.+)`), runtime.NumCPU(), kib/(1<<20),
		runtime.GOOS, read("/proc/sys/kernel/osrelease", `(\d+\.\d+)`), runtime.GOARCH)
}

// versions are those of the programs that are here.
func versions() []string {
	list := []string{runtime.Version()}
	for _, c := range []struct{ name, flag, pattern string }{
		{"redis-server", "--version", `v=([0-9.]+)`},
		{"nginx", "-v", `nginx/([0-9.]+)`},
		{"mariadbd", "--version", `Ver ([0-9.]+)`},
		{"wrk", "-v", `wrk \D*([0-9.]+)`},
	} {
		out, _ := exec.Command(c.name, c.flag).CombinedOutput()
		if m := regexp.MustCompile(c.pattern).FindSubmatch(out); m != nil {
			list = append(list, c.name+" "+string(m[1]))
		}
	}
	return list
}
