package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	guesses     = 1_000_000 // random codes in the whole run
	scanBatch   = 64        // requests that the scanner sends at once
	visitors    = 8
	visitorRate = 250 // requests a second and visitor
	liveLinks   = 1000
)

// common are paths that scanners ask every server for.
var common = strings.Fields(`admin login wp-login.php wp-admin xmlrpc.php .env .git/config config.php index.php phpmyadmin api v1 graphql backup.zip
	shell cgi-bin server-status actuator/health metrics console solr jenkins owa ecp autodiscover setup.php info.php static assets upload old new dev
	test tmp db.sql .ssh/id_rsa .aws/credentials docker-compose.yml swagger.json debug trace`)

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
	var alone, beside []float64
	var took time.Duration
	reads, err := infoFigure(s.port, "curt_store_reads")
	if err != nil {
		return err
	}
	for range *rounds {
		p99, err := visit(s.http, codes, time.Duration(*seconds)*time.Second, nil)
		if err != nil {
			return err
		}
		alone = append(alone, p99)
		p99, err = visit(s.http, codes, 0, func() error {
			began := time.Now()
			defer func() { took += time.Since(began) }()
			return guess(s.http, guesses / *rounds)
		})
		if err != nil {
			return err
		}
		beside = append(beside, p99)
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
	with, without := median(beside), median(alone)
	r.lines = append(r.lines, line{name: "hits while a scanner guesses, beside hits alone", unit: "µs p99", curt: with, peer: without, ratio: with / without, bound: 2, less: true})
	r.facts = append(r.facts, fmt.Sprintf("a scanner asked for %d random codes and common paths at %.0f/s: 0 reads of the store; %s", guesses, guesses/took.Seconds(), limited))
	return nil
}

// warm asks for every code once, so that no visitor's request reads the store.
func warm(port int, codes []string) error {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	for _, code := range codes {
		if _, err := ask(c, in, code, "20.1.1.1"); err != nil {
			return err
		}
	}
	return nil
}

// visit lets visitors follow links at a steady pace, each over a connection of its own and from a network of its own, until meanwhile returns, or for
// a time, and returns the 99th percentile of what they waited, in µs.
func visit(port int, codes []string, span time.Duration, meanwhile func() error) (float64, error) {
	var done atomic.Bool
	waited := make([][]float64, visitors)
	failed := make(chan error, visitors+1)
	var wg sync.WaitGroup
	for v := range visitors {
		wg.Go(func() {
			var err error
			if waited[v], err = visitor(port, v, codes, &done); err != nil {
				failed <- err
			}
		})
	}
	if meanwhile == nil {
		time.Sleep(span)
	} else if err := meanwhile(); err != nil {
		failed <- err
	}
	done.Store(true)
	wg.Wait()
	close(failed)
	if err := <-failed; err != nil {
		return 0, err
	}
	all := slices.Sorted(slices.Values(slices.Concat(waited...)))
	return all[len(all)*99/100], nil
}

func visitor(port, number int, codes []string, done *atomic.Bool) (waited []float64, err error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	tick := time.NewTicker(time.Second / visitorRate)
	defer tick.Stop()
	for i := number; !done.Load(); i++ {
		<-tick.C
		began := time.Now()
		status, err := ask(c, in, codes[i%len(codes)], fmt.Sprintf("20.1.%d.1", number))
		if err == nil && status != "302" {
			err = errors.New("status " + status)
		}
		if err != nil {
			return nil, fmt.Errorf("a visitor: %w", err)
		}
		waited = append(waited, float64(time.Since(began).Nanoseconds())/1e3)
	}
	return waited, nil
}

// ask sends one request from an address, and returns the status.
func ask(c net.Conn, in *bufio.Reader, path, from string) (status string, err error) {
	if _, err := fmt.Fprintf(c, "GET /%s HTTP/1.1\r\nHost: s\r\nX-Forwarded-For: %s\r\n\r\n", path, from); err != nil {
		return "", err
	}
	return answer(in)
}

// answer reads one answer.
func answer(in *bufio.Reader) (status string, err error) {
	head, err := in.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	if len(head) < 12 {
		return "", fmt.Errorf("answer %q", head)
	}
	status = string(head[9:12])
	length := 0
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		if len(line) == 2 {
			_, err = in.Discard(length)
			return status, err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return "", err
			}
		}
	}
}

// guess asks for n codes, one in each batch a common path, as fast as the server answers.
func guess(port, n int) error {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 256<<10)
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var batch []byte
	for sent := 0; sent < n; sent += scanBatch {
		batch = batch[:0]
		for i := range scanBatch {
			batch = append(batch, "GET /"...)
			if i == 0 {
				batch = append(batch, common[rand.IntN(len(common))]...)
			} else {
				for range 7 {
					batch = append(batch, digits[rand.IntN(len(digits))])
				}
			}
			batch = fmt.Appendf(batch, " HTTP/1.1\r\nHost: s\r\nX-Forwarded-For: %d.%d.%d.1\r\n\r\n", 30+rand.IntN(90), rand.IntN(256), rand.IntN(256))
		}
		if _, err := c.Write(batch); err != nil {
			return err
		}
		for range scanBatch {
			status, err := answer(in)
			if err == nil && status != "404" && status != "429" {
				err = errors.New("status " + status)
			}
			if err != nil {
				return fmt.Errorf("a guess: %w", err)
			}
		}
	}
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
