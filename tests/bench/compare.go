package main

import (
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
)

// comparison is one row: the same load on Curt and on a peer.
type comparison struct {
	name     string
	unit     string
	bound    float64
	less     bool // the ratio should stay below the bound
	needs    []string
	prepare  func(b *bench) (curt, peer *server, err error)
	curtLoad func(s *server) (ops float64, rate float64, err error)
	peerLoad func(s *server) (ops float64, rate float64, err error)
}

func (c *comparison) missing() string {
	for _, name := range c.needs {
		if _, err := exec.LookPath(name); err != nil {
			return name
		}
	}
	return ""
}

// compare runs the rounds in turn and takes medians. For a rate it also says what processor time an operation took.
func (b *bench) compare(c *comparison, r *report) error {
	curt, peer, err := c.prepare(b)
	if err != nil {
		return err
	}
	var ours, theirs, ratios, ourCPU, theirCPU []float64
	for range *rounds {
		x, xCPU, err := c.measure(curt, c.curtLoad)
		if err != nil {
			return err
		}
		y, yCPU, err := c.measure(peer, c.peerLoad)
		if err != nil {
			return err
		}
		ours, theirs, ratios = append(ours, x), append(theirs, y), append(ratios, x/y)
		ourCPU, theirCPU = append(ourCPU, xCPU), append(theirCPU, yCPU)
	}
	r.lines = append(r.lines, line{c.name, c.unit, median(ours), median(theirs), median(ratios), c.bound, c.less})
	if c.unit == perSecond {
		r.facts = append(r.facts, fmt.Sprintf("%s: %.0f and %.0f µs of the servers' processor time an operation", c.name, median(ourCPU), median(theirCPU)))
	}
	return nil
}

// measure is one round: what the comparison is of, and microseconds of the server's processor time an operation.
func (c *comparison) measure(s *server, load func(*server) (float64, float64, error)) (value, micros float64, err error) {
	before, err := s.cpu()
	if err != nil {
		return 0, 0, err
	}
	ops, rate, err := load(s)
	if err != nil {
		return 0, 0, err
	}
	after, err := s.cpu()
	micros = (after - before) / ops * 1e6
	if c.unit == perSecond {
		return rate, micros, err
	}
	return micros, micros, err
}

const (
	cpuMicros = "µs CPU"
	perSecond = "1/s"
)

const target = "https://example.com/some/landing/page?with=a&query=string"

var comparisons = []*comparison{
	resolveBeside(1, 55_000, 1.6), resolveBeside(16, 600_000, 1.7), resolveBeside(64, 1_250_000, 1.5),
	{
		name: "counted redirect, raw clicks off, beside nginx return 302", unit: cpuMicros, bound: 1.6, less: true, needs: []string{"nginx", "wrk"},
		prepare: func(b *bench) (*server, *server, error) {
			curt, err := b.withLink("--click-stream", "no")
			if err != nil {
				return nil, nil, err
			}
			nginx, err := b.nginx()
			return curt, nginx, err
		},
		curtLoad: func(s *server) (float64, float64, error) { return wrk(s, "/hot") },
		peerLoad: func(s *server) (float64, float64, error) { return wrk(s, "/hot") },
	}, {
		name: "unknown code, beside a hot redirect", unit: cpuMicros, bound: 1.1, less: true, needs: []string{"wrk"},
		prepare: func(b *bench) (*server, *server, error) {
			curt, err := b.withLink()
			return curt, curt, err
		},
		curtLoad: func(s *server) (float64, float64, error) { return wrk(s, "/aaaaaaa") },
		peerLoad: func(s *server) (float64, float64, error) { return wrk(s, "/hot") },
	}, {
		name: "SHORTEN by 50 connections, beside Redis SET with appendfsync always", unit: perSecond, bound: 1, needs: []string{"redis-server", "redis-benchmark"},
		prepare: func(b *bench) (*server, *server, error) {
			curt, err := b.curt()
			if err != nil {
				return nil, nil, err
			}
			redis, err := b.redis("--appendonly", "yes", "--appendfsync", "always")
			return curt, redis, err
		},
		curtLoad: shortenBy50,
		peerLoad: func(s *server) (float64, float64, error) {
			return redisBenchmark(s, 10_000, "-c", "50", "-r", "1000000000", "SET", "key:__rand_int__", target)
		},
	}, {
		name: "SHORTEN by 50 connections, beside a durable MariaDB insert", unit: perSecond, bound: 4, needs: []string{"mariadbd", "mariadb-install-db", "mariadb-slap", "redis-benchmark"},
		prepare: func(b *bench) (*server, *server, error) {
			curt, err := b.curt()
			if err != nil {
				return nil, nil, err
			}
			mariadb, err := b.mariadb()
			return curt, mariadb, err
		},
		curtLoad: shortenBy50,
		peerLoad: insertBy50,
	},
}

func shortenBy50(s *server) (float64, float64, error) {
	return redisBenchmark(s, 10_000, "-c", "50", "-r", "1000000000", "SHORTEN", target+"__rand_int__")
}

// resolveBeside sends per commands for each second of a round: so many that two seconds cost either server one of processor time, which the
// kernel tells in ticks of 10 ms.
func resolveBeside(pipeline, per int, bound float64) *comparison {
	p := strconv.Itoa(pipeline)
	return &comparison{
		name: "RESOLVE hot, 50 connections, pipeline " + p + ", beside Redis GET", unit: cpuMicros, bound: bound, less: true, needs: []string{"redis-server", "redis-benchmark"},
		prepare: func(b *bench) (*server, *server, error) {
			curt, err := b.withLink()
			if err != nil {
				return nil, nil, err
			}
			redis, err := b.redis()
			if err == nil {
				err = redisCLI(redis, "SET", "hot", target)
			}
			return curt, redis, err
		},
		curtLoad: func(s *server) (float64, float64, error) {
			return redisBenchmark(s, per, "-c", "50", "-P", p, "RESOLVE", "hot")
		},
		peerLoad: func(s *server) (float64, float64, error) {
			return redisBenchmark(s, per, "-c", "50", "-P", p, "GET", "hot")
		},
	}
}

func (b *bench) withLink(args ...string) (*server, error) {
	s, err := b.curt(args...)
	if err != nil {
		return nil, err
	}
	return s, redisCLI(s, "SHORTEN", target, "AS", "hot")
}

func redisCLI(s *server, args ...string) error {
	out, err := exec.Command("redis-cli", append([]string{"-e", "-p", strconv.Itoa(s.port)}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("redis-cli %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

var benchmarkRate = regexp.MustCompile(`([0-9.]+) requests per second`)

// redisBenchmark sends about perSecond*seconds commands and returns how many, and the rate.
func redisBenchmark(s *server, perSecond int, args ...string) (float64, float64, error) {
	n := perSecond * *seconds
	out, err := exec.Command("redis-benchmark", append([]string{"-p", strconv.Itoa(s.port), "-q", "-n", strconv.Itoa(n)}, args...)...).CombinedOutput()
	m := benchmarkRate.FindAllSubmatch(out, -1)
	if err != nil || m == nil {
		return 0, 0, fmt.Errorf("redis-benchmark: %w: %s", err, out)
	}
	rate, err := strconv.ParseFloat(string(m[len(m)-1][1]), 64)
	return float64(n), rate, err
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in`)
	wrkRate     = regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`)
)

func wrk(s *server, path string, options ...string) (float64, float64, error) {
	out, err := exec.Command("wrk", append(options, "-t1", "-c50", fmt.Sprintf("-d%ds", *seconds), "http://"+addr(s.http)+path)...).CombinedOutput()
	n, rate := wrkRequests.FindSubmatch(out), wrkRate.FindSubmatch(out)
	if err != nil || n == nil || rate == nil {
		return 0, 0, fmt.Errorf("wrk: %w: %s", err, out)
	}
	ops, _ := strconv.ParseFloat(string(n[1]), 64)
	r, _ := strconv.ParseFloat(string(rate[1]), 64)
	return ops, r, nil
}
