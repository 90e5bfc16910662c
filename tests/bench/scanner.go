package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	guesses   = 1_000_000 // random codes in the whole run
	liveLinks = 1000
)

// scanner measures what visitors notice of somebody who guesses at full speed: their p99 in rounds with and without it, the reads of the store that
// guesses cost, and who is limited. The guesses come from a network of their own each, as those of a botnet do, so that each is looked up;
// a second scanner, from one network, must be limited.
func (b *bench) scanner(r *report) error {
	if !wanted("scanner") {
		return nil
	}
	fmt.Fprintln(os.Stderr, "bench: scanner")
	defer b.stopAll()
	s, err := b.curt("--trusted-proxy", "127.0.0.1")
	if err != nil {
		return err
	}
	codes, err := shortenMany(s.port, liveLinks)
	if err != nil {
		return err
	}
	if err := warm(s.http, codes); err != nil {
		return err
	}
	reads, err := infoFigure(s.port, "curt_store_reads")
	if err != nil {
		return err
	}
	var alone, guessed, ratios []float64
	var took time.Duration
	for range *rounds {
		x, err := visit(s.http, codes, func() error {
			d, err := s.scan(guesses / *rounds)
			took += d
			return err
		})
		if err != nil {
			return err
		}
		y, err := visit(s.http, codes, func() error { time.Sleep(time.Duration(*seconds) * time.Second); return nil })
		if err != nil {
			return err
		}
		guessed, alone, ratios = append(guessed, x), append(alone, y), append(ratios, x/y)
	}
	limited, err := oneNetwork(s.http)
	if err != nil {
		return err
	}
	after, err := infoFigure(s.port, "curt_store_reads")
	if err != nil {
		return err
	}
	if after != reads {
		return fmt.Errorf("the guesses cost %d reads of the store", after-reads)
	}
	r.lines = append(r.lines, line{"hits while a scanner guesses, beside hits alone", "µs p99", median(guessed), median(alone), median(ratios), 2, true})
	r.facts = append(r.facts, fmt.Sprintf("a scanner asked for %d random codes and common paths at %.0f/s: 0 reads of the store; %s", guesses, guesses/took.Seconds(), limited))
	return nil
}

// oneNetwork scans from one /24, and says who is limited: that network, after its burst, and nobody beside it.
func oneNetwork(port int) (string, error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return "", err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	count := func(network string, n int) (limited int, err error) {
		for i := range n {
			status, err := ask(c, in, "guess"+strconv.Itoa(i), network+strconv.Itoa(i%256))
			if err != nil {
				return 0, err
			}
			if status == "429" {
				limited++
			}
		}
		return limited, nil
	}
	own, err := count("203.0.113.", 1000)
	if err != nil {
		return "", err
	}
	below, err := count("203.0.112.", 50)
	if err != nil {
		return "", err
	}
	above, err := count("203.0.114.", 50)
	if err != nil {
		return "", err
	}
	if own < 900 || below+above != 0 {
		return "", fmt.Errorf("%d of 1,000 guesses of one network were limited, and %d of its neighbours' 100", own, below+above)
	}
	return fmt.Sprintf("from one /24, %d of 1,000 got 429, and none of the neighbouring networks", own), nil
}

// shortenMany makes links and returns their codes.
func shortenMany(port, n int) (codes []string, err error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for i := range n {
		if _, err := fmt.Fprintf(c, "SHORTEN https://example.com/%d\r\n", i); err != nil {
			return nil, err
		}
		for range 2 {
			line, err := in.ReadString('\n')
			if err != nil {
				return nil, err
			}
			if line[0] != '$' {
				codes = append(codes, strings.TrimSpace(line))
			}
		}
	}
	return codes, nil
}

// infoFigure is a number of INFO.
func infoFigure(port int, name string) (int64, error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return 0, err
	}
	defer c.Close()
	if _, err := io.WriteString(c, "INFO everything\r\nQUIT\r\n"); err != nil {
		return 0, err
	}
	text, err := io.ReadAll(c)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
	return 0, fmt.Errorf("INFO has no %s", name)
}
