package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

const (
	visitors    = 8
	visitorRate = 250 // requests a second and visitor
)

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

// visit lets visitors follow links at a steady pace, each over a connection of its own and from a network of its own, until meanwhile returns, and
// returns the 99th percentile of what they waited, in µs.
func visit(port int, codes []string, meanwhile func() error) (float64, error) {
	var done atomic.Bool
	waited := make([][]float64, visitors)
	failed := make(chan error, visitors+1)
	began := time.Now()
	var wg sync.WaitGroup
	for v := range visitors {
		wg.Go(func() {
			var err error
			if waited[v], err = visitor(port, v, codes, began, &done); err != nil {
				failed <- err
			}
		})
	}
	if err := meanwhile(); err != nil {
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

// visitor follows links until done. What it waited counts from when it asked, or should have while it still waited for an answer: so a slow one
// counts for those behind it too. The visitors take turns.
func visitor(port, number int, codes []string, due time.Time, done *atomic.Bool) (waited []float64, err error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	const period = time.Second / visitorRate
	due = due.Add(period * time.Duration(number) / visitors)
	for i := number; !done.Load(); i++ {
		due = due.Add(period)
		began := due
		if early := time.Until(due); early > 0 {
			time.Sleep(early)
			began = time.Now() // how late the machine wakes a visitor is not the server's
		}
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
