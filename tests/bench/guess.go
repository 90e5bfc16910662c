package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"
)

const scanBatch = 64 // guesses that are sent at once

// The measurement of a scanner starts itself as one.
var (
	guessPort = flag.Int("guess-port", 0, "do nothing but guess codes at this port of this machine, as fast as it answers")
	guessMany = flag.Int("guess-many", 1000, "how many")
)

// common are paths that scanners ask every server for.
var common = strings.Fields(`admin login wp-login.php wp-admin xmlrpc.php .env .git/config config.php index.php phpmyadmin api v1 graphql backup.zip
	shell cgi-bin server-status actuator/health metrics console solr jenkins owa ecp autodiscover setup.php info.php static assets upload old new dev
	test tmp db.sql .ssh/id_rsa .aws/credentials docker-compose.yml swagger.json debug trace`)

// scan lets a process of its own guess n codes, and returns how long that took. It runs only where nothing else wants to (SCHED_IDLE): a scanner has a machine of its own,
// so what it takes to make up guesses and to read the answers must not come off what the server and its visitors have. What the
// server does for it has the server's priority.
func (s *server) scan(n int) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	out, err := exec.Command("chrt", "-i", "0", self, fmt.Sprintf("-guess-port=%d", s.http), fmt.Sprintf("-guess-many=%d", n)).CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("the scanner: %w: %s", err, out)
	}
	return time.Since(began), nil
}

// guessAll is what the process of scan does.
func guessAll() error {
	c, err := net.Dial("tcp", addr(*guessPort))
	if err != nil {
		return err
	}
	defer c.Close()
	in := bufio.NewReaderSize(c, 256<<10)
	var batch []byte
	for sent := 0; sent < *guessMany; sent += scanBatch {
		batch = batch[:0]
		for i := range scanBatch {
			batch = fmt.Appendf(batch, "GET /%s HTTP/1.1\r\nHost: s\r\nX-Forwarded-For: %d.%d.%d.1\r\n\r\n", guess(i), 30+rand.IntN(90), rand.IntN(256), rand.IntN(256))
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
				return err
			}
		}
	}
	return nil
}

// guess is a path that a scanner tries as the i-th of a batch: the first is a common one, the others look like codes.
func guess(i int) string {
	if i == 0 {
		return common[rand.IntN(len(common))]
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	var code [7]byte
	for i := range code {
		code[i] = digits[rand.IntN(len(digits))]
	}
	return string(code[:])
}
