package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	smallStore  = 10_000
	expiredRows = 1000
)

// imports measures what brings many links in, and what a store costs once it has many.
func (b *bench) imports(r *report) error {
	if !wanted("import and growth") || *rows == 0 {
		return nil
	}
	for _, dedup := range []struct {
		mode   string
		wanted int
	}{{"off", 100_000}, {"strict", 40_000}} {
		fmt.Fprintln(os.Stderr, "bench: import, dedup", dedup.mode)
		var memory [3]float64 // at most, with a tenth of the rows, half of them, all of them
		var all imported
		for i, n := range []int{*rows / 10, *rows / 2, *rows} {
			os.RemoveAll(all.dir)
			var err error
			if all, err = b.importRows(n, "--dedup", dedup.mode); err != nil {
				return err
			}
			memory[i] = all.mib
		}
		r.facts = append(r.facts, fmt.Sprintf("import of %d lines of CSV, dedup %s: %.0f/s (wanted: %d), %.1f µs of processor time a line; memory at most %.0f MiB, with half of the lines %.0f, with a tenth %.0f (wanted: flat)",
			*rows, dedup.mode, all.rate, dedup.wanted, all.cpu, memory[2], memory[1], memory[0]))
		if dedup.mode == "off" {
			os.RemoveAll(all.dir)
			continue
		}
		if err := b.growth(r, all); err != nil {
			return err
		}
	}
	return nil
}

// imported is a data folder with links and what it took to make it.
type imported struct {
	dir  string
	rows int
	rate float64 // rows a second
	mib  float64 // of memory, at most
	cpu  float64 // µs a row, of all processors
}

// importRows imports as many links with targets of 75 bytes into a new folder.
func (b *bench) importRows(n int, options ...string) (imported, error) {
	dir, err := b.folder()
	if err != nil {
		return imported{}, err
	}
	file := filepath.Join(dir, "links.csv")
	if err := writeRows(file, n); err != nil {
		return imported{}, err
	}
	defer os.Remove(file)
	in := imported{dir: filepath.Join(dir, "data"), rows: n}
	args := append([]string{"import", "--dir", in.dir, "--format", "csv", "--cache-bytes", "64MiB"}, options...)
	cmd := exec.Command(filepath.Join(b.dir, "curt"), append(args, file)...)
	began := time.Now()
	text, err := cmd.CombinedOutput()
	if err != nil {
		return in, fmt.Errorf("import: %w: %s", err, text)
	}
	if want := fmt.Sprintf("%d imported, 0 refused\n", n); !strings.HasSuffix(string(text), want) {
		return in, fmt.Errorf("import said %q", text)
	}
	in.rate = float64(n) / time.Since(began).Seconds()
	in.mib = float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) / 1024
	in.cpu = float64((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Microseconds()) / float64(n)
	return in, nil
}

// rowTarget is the target of a row: 75 bytes.
func rowTarget(i uint64) string {
	return fmt.Sprintf("https://www.example.com/articles/2026/11/%016x%05x?from=imports", i*0x9e3779b97f4a7c15, i&0xfffff)
}

func writeRows(file string, n int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, "url")
	for i := range n {
		fmt.Fprintln(w, rowTarget(uint64(i)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// growth compares a store of many links with one of 10,000.
func (b *bench) growth(r *report, large imported) error {
	fmt.Fprintln(os.Stderr, "bench: growth to", large.rows)
	small, err := b.importRows(smallStore)
	if err != nil {
		return err
	}
	size, err := folderSize(large.dir)
	if err != nil {
		return err
	}
	cold, err := b.coldReads(large.dir)
	if err != nil {
		return err
	}
	a, err := b.serve(small.dir)
	if err != nil {
		return err
	}
	z, err := b.serve(large.dir)
	if err != nil {
		return err
	}
	defer b.stopAll()
	time.Sleep(5 * time.Second) // for compactions
	for _, s := range []*server{a, z} {
		if err := s.filtersReady(); err != nil {
			return err
		}
	}
	var ratios, ofSmall, ofLarge []float64
	for i := range *rounds {
		prefix := fmt.Sprintf("https://example.com/growth/%d/", i)
		x, err := pipeline(a.port, 10_000, prefix, "")
		if err != nil {
			return err
		}
		y, err := pipeline(z.port, 10_000, prefix, "")
		if err != nil {
			return err
		}
		ofSmall, ofLarge, ratios = append(ofSmall, x), append(ofLarge, y), append(ratios, y/x)
	}
	r.lines = append(r.lines, line{fmt.Sprintf("SHORTEN with %d links, beside 10,000", large.rows), perSecond, median(ofLarge), median(ofSmall), median(ratios), 0.6, false})
	purge := [2]float64{}
	for i, s := range []*server{a, z} {
		if purge[i], err = s.purge(); err != nil {
			return err
		}
	}
	r.lines = append(r.lines, line{fmt.Sprintf("removal of 1,000 expired links among %d, beside 10,000", large.rows), cpuMicros, purge[1], purge[0], purge[1] / purge[0], 1.5, true})
	r.facts = append(r.facts,
		fmt.Sprintf("%d links with targets of 75 bytes: %.1f bytes a link on disk with its dedup entry (wanted: 90)", large.rows, float64(size)/float64(large.rows)),
		fmt.Sprintf("a cold RESOLVE among %d links reads %.2f blocks (wanted: one data and one index block at most)", large.rows, cold))
	return nil
}

// serve starts a server on a folder that ends links a second after they expired, and forgets them then.
func (b *bench) serve(dir string, options ...string) (*server, error) {
	return b.startCurt(append([]string{"--dir", dir, "--http", "", "--cache-bytes", "64MiB", "--expired-retention", "1s"}, options...)...)
}

// coldReads is how many blocks a RESOLVE takes of a link that no cache holds, tables being open.
func (b *bench) coldReads(dir string) (float64, error) {
	const reads = 2000
	small := []string{"--cache-bytes", "8MiB", "--link-cache-bytes", "1MiB"}
	random := rand.New(rand.NewPCG(1, 2))
	codes := make([]string, 2*reads)
	for i := range codes { // a target that is there gives its code
		codes[i] = "SHORTEN " + rowTarget(random.Uint64N(uint64(*rows)))
	}
	if _, err := b.askAll(dir, codes, small); err != nil {
		return 0, err
	}
	for i := range codes {
		codes[i] = "RESOLVE " + codes[i]
	}
	// The later half opens the tables, the earlier is measured.
	blocks, err := b.askAll(dir, append(codes[reads:], codes[:reads]...), small)
	return blocks / reads, err
}

// askAll starts a server and asks it; each command becomes its reply. It returns the blocks that were read for the later half.
func (b *bench) askAll(dir string, commands, options []string) (blocks float64, err error) {
	defer b.stopAll()
	s, err := b.serve(dir, options...)
	if err != nil {
		return 0, err
	}
	t, err := s.talk()
	if err != nil {
		return 0, err
	}
	defer t.Close()
	before := 0.0
	for i, c := range commands {
		if i == len(commands)/2 {
			if before, err = t.info("curt_block_reads"); err != nil {
				return 0, err
			}
		}
		if commands[i], err = t.ask(c); err != nil {
			return 0, err
		}
	}
	after, err := t.info("curt_block_reads")
	return after - before, err
}

// filtersReady waits until a server knows without the store what is not there.
func (s *server) filtersReady() error {
	t, err := s.talk()
	if err != nil {
		return err
	}
	defer t.Close()
	for range 10_000 {
		ready, err := t.info("curt_filters_ready")
		if err != nil || ready == 1 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return errors.New("the filters are not built")
}

// purge makes 1,000 links that expire at once, and returns the processor time that a server takes for each until they are gone.
func (s *server) purge() (float64, error) {
	t, err := s.talk()
	if err != nil {
		return 0, err
	}
	defer t.Close()
	links, err := t.info("curt_links")
	if err != nil {
		return 0, err
	}
	if _, err := pipeline(s.port, expiredRows, "https://example.com/expires/", " PX 1"); err != nil {
		return 0, err
	}
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	for range 1000 {
		left, err := t.info("curt_links")
		if err != nil {
			return 0, err
		}
		if left == links {
			after, err := s.cpu()
			return (after - before) / expiredRows * 1e6, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0, fmt.Errorf("the expired links are still there")
}

// talk is a connection on which one command follows the other.
type talk struct {
	net.Conn
	r *bufio.Reader
}

func (s *server) talk() (*talk, error) {
	c, err := net.Dial("tcp", addr(s.port))
	if err != nil {
		return nil, err
	}
	return &talk{c, bufio.NewReader(c)}, nil
}

// ask returns the reply to a command, which must be a bulk.
func (t *talk) ask(command string) (string, error) {
	if _, err := fmt.Fprintf(t, "%s\r\n", command); err != nil {
		return "", err
	}
	head, err := t.r.ReadString('\n')
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(strings.TrimSpace(head[1:]))
	if head[0] != '$' || err != nil || n < 0 {
		return "", fmt.Errorf("%.80s: %s", command, head)
	}
	text := make([]byte, n+2)
	_, err = io.ReadFull(t.r, text)
	return string(text[:n]), err
}

// info is a number of INFO.
func (t *talk) info(name string) (float64, error) {
	text, err := t.ask("INFO everything")
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(text, "\n"+name+":")
	number, _, _ := strings.Cut(rest, "\r")
	return strconv.ParseFloat(number, 64)
}
