package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// own measures what has no peer: one deep pipeline, and what a million links cost.
func (b *bench) own(r *report) error {
	if !wanted("own") {
		return nil
	}
	fmt.Fprintln(os.Stderr, "bench: own")
	defer b.stopAll()
	s, err := b.curt()
	if err != nil {
		return err
	}
	var rates []float64
	for i := range *rounds {
		rate, err := pipeline(s.port, 1000, fmt.Sprintf("https://example.com/%d/", i), "")
		if err != nil {
			return err
		}
		rates = append(rates, rate)
	}
	fsync, err := fsyncMicros(b.dir)
	if err != nil {
		return err
	}
	r.facts = append(r.facts, fmt.Sprintf("1,000 pipelined SHORTENs on one connection: %.0f/s; one fsync of this disk takes %.0f µs (wanted: 30,000/s at 1 ms)", median(rates), fsync))
	if *links == 0 {
		return nil
	}
	return b.million(r)
}

// million loads links, restarts, and reads the idle server's memory.
func (b *bench) million(r *report) error {
	b.stopAll()
	dir, err := b.folder()
	if err != nil {
		return err
	}
	start := func() (*server, error) {
		return b.startCurt("--dir", filepath.Join(dir, "data"), "--http", "")
	}
	s, err := start()
	if err != nil {
		return err
	}
	began := time.Now()
	for done := 0; done < *links; done += 10_000 {
		if _, err := pipeline(s.port, 10_000, fmt.Sprintf("https://example.com/some/longer/path/to/be/like/others/%d/", done), " DEDUP OFF"); err != nil {
			return err
		}
	}
	rate := float64(*links) / time.Since(began).Seconds()
	b.stopAll()
	if s, err = start(); err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	mib, err := s.resident()
	if err != nil {
		return err
	}
	size, err := folderSize(filepath.Join(dir, "data"))
	r.facts = append(r.facts, fmt.Sprintf("%d links loaded at %.0f/s; idle after a restart: %.0f MiB resident (wanted: 350 for a million), %.0f bytes a link on disk", *links, rate, mib, float64(size)/float64(*links)))
	return err
}

func folderSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}

// pipeline sends n SHORTENs at once on one connection and returns the rate until the last reply.
func pipeline(port, n int, prefix, options string) (float64, error) {
	return commands(port, n, func(i int) string { return fmt.Sprintf("SHORTEN %s%d%s", prefix, i, options) })
}

// commands sends n commands at once on one connection, whose replies are strings, and returns the rate until the last reply.
func commands(port, n int, command func(i int) string) (float64, error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	var b strings.Builder
	for i := range n {
		b.WriteString(command(i) + "\r\n")
	}
	start := time.Now()
	failed := make(chan error, 1)
	go func() { _, err := c.Write([]byte(b.String())); failed <- err }()
	r := bufio.NewReader(c)
	for range n {
		head, err := r.ReadString('\n')
		if err != nil {
			return 0, err
		}
		if head[0] != '$' {
			return 0, fmt.Errorf("reply %q", head)
		}
		if _, err := r.ReadString('\n'); err != nil {
			return 0, err
		}
	}
	return float64(n) / time.Since(start).Seconds(), <-failed
}

// fsyncMicros is what an append and fsync cost in dir.
func fsyncMicros(dir string) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var took []float64
	for range 50 {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return 0, err
		}
		start := time.Now()
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, float64(time.Since(start).Microseconds()))
	}
	return median(took), nil
}
