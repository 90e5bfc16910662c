package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	curt "curt/server"
)

const (
	browserAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	manyLinks    = 100_000
)

// clickComparisons are about what counting costs. A redirect that is not counted is the answer to HEAD.
func clickComparisons() []*comparison {
	counted := func(stream string, bound float64) *comparison {
		return &comparison{
			name: "counted redirect with the click stream " + stream + ", beside one that is not counted", unit: cpuMicros, bound: bound, less: true, needs: []string{"wrk"},
			prepare: func(b *bench) (*server, *server, error) {
				s, err := b.withLink(clickStream(stream)...)
				return s, s, err
			},
			curtLoad: func(s *server) (float64, float64, error) { return script(s, `wrk.path = "/hot"`) },
			peerLoad: func(s *server) (float64, float64, error) { return script(s, `wrk.path = "/hot" wrk.method = "HEAD"`) },
		}
	}
	walk := func(s *server, over int) (float64, float64, error) {
		return script(s, fmt.Sprintf(`local n = 0; request = function() n = n + 1; return wrk.format("GET", "/n" .. (n * 7919 %% %d)) end`, over))
	}
	evenly := func(stream string) *comparison {
		return &comparison{
			name: "redirects of 100,000 links in turn with the click stream " + stream + ", beside those of one", unit: cpuMicros, bound: 1.3, less: true, needs: []string{"wrk"},
			prepare: func(b *bench) (many, one *server, err error) {
				if many, err = b.withLinks(manyLinks, clickStream(stream)...); err != nil {
					return nil, nil, err
				}
				one, err = b.withLinks(1, clickStream(stream)...)
				return many, one, err
			},
			curtLoad: func(s *server) (float64, float64, error) { return walk(s, manyLinks) },
			peerLoad: func(s *server) (float64, float64, error) { return walk(s, 1) },
		}
	}
	return []*comparison{counted("off", 1.15), counted("on", 1.5), evenly("off"), evenly("on")}
}

func clickStream(onOff string) []string {
	return []string{"--click-stream", map[string]string{"on": "yes", "off": "no"}[onOff]}
}

// withLinks starts Curt with links n0, n1, ... in its cache.
func (b *bench) withLinks(n int, args ...string) (*server, error) {
	s, err := b.curt(args...)
	for _, command := range []string{"SHORTEN " + target + " AS n", "RESOLVE n"} {
		for done := 0; err == nil && done < n; done += 10_000 {
			_, err = commands(s.port, min(10_000, n-done), func(i int) string { return command + strconv.Itoa(done+i) })
		}
	}
	return s, err
}

// script is wrk with a script, as a browser that comes from somewhere. It returns when the last clicks have been written.
func script(s *server, text string) (float64, float64, error) {
	f, err := os.CreateTemp(s.cmd.Dir, "*.lua")
	if err != nil {
		return 0, 0, err
	}
	defer os.Remove(f.Name())
	if _, err := f.WriteString(text); err != nil {
		return 0, 0, err
	}
	if err := f.Close(); err != nil {
		return 0, 0, err
	}
	defer time.Sleep(1500 * time.Millisecond)
	return wrk(s, "/", "-s", f.Name(), "-H", "User-Agent: "+browserAgent, "-H", "Referer: https://news.example/story")
}

// clicks measures how fast much clicked links answer, and what clicks take on the disk.
func (b *bench) clicks(r *report) error {
	if !wanted("clicks") {
		return nil
	}
	fmt.Fprintln(os.Stderr, "bench: clicks")
	if err := b.manyClicks(r); err != nil {
		return err
	}
	return b.clickSpace(r)
}

// manyClicks asks a link with 10 million clicks, in three years, for its counts.
func (b *bench) manyClicks(r *report) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "links.jsonl")
	if err := os.WriteFile(file, []byte(clickedLink(time.Now().UTC())), 0o600); err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if out, err := exec.Command(filepath.Join(b.dir, "curt"), "import", "--dir", data, "--format", "jsonl", file).CombinedOutput(); err != nil {
		return fmt.Errorf("import: %w: %s", err, out)
	}
	s, err := b.curtIn(data)
	if err != nil {
		return err
	}
	defer b.stopAll()
	var slowest float64
	var which string
	rows := 0
	for _, words := range []string{"", " BY HOUR", " BY DAY", " BY MONTH", " TOP REFERRER", " TOP DEVICE"} {
		took, lines, err := latency(s.port, "CLICKS busy"+words)
		if err != nil {
			return err
		}
		if rows = max(rows, lines); took > slowest {
			slowest, which = took, "CLICKS busy"+words
		}
	}
	r.facts = append(r.facts, fmt.Sprintf("a link with 10 million clicks: the slowest answer, to %s, takes %.2f ms (wanted: 10); the longest has %d lines", which, slowest, rows))
	return nil
}

// clickedLink is an exported link with three years of clicks, the last 90 days by the hour.
func clickedLink(now time.Time) string {
	const all, days = 10_000_000, 3 * 365
	var hours, rolled, months []string
	seen := map[string]bool{}
	left := all
	for d := range days {
		day := now.Truncate(24*time.Hour).AddDate(0, 0, d-days)
		n := all / days
		if d == days-1 {
			n = left
		}
		left -= n
		if days-d > 90 {
			rolled = append(rolled, fmt.Sprintf("[%d,%d,0,%d]", day.UnixMilli(), n, day.UnixMilli()))
		} else {
			for h := range 24 {
				hour, some := day.Add(time.Duration(h)*time.Hour), n/24
				if h == 23 {
					some = n - 23*(n/24)
				}
				hours = append(hours, fmt.Sprintf("[%d,%d,0,%d]", hour.UnixMilli(), some, hour.UnixMilli()))
			}
		}
		if month := day.Format("2006-01"); !seen[month] {
			seen[month] = true
			var top []string
			for i := range 64 {
				top = append(top, fmt.Sprintf(`{"value":"site%d.example","visits":%d}`, i, 1000-i))
			}
			months = append(months, fmt.Sprintf(`"%s":{"referrer":[%s],"device":[{"value":"mobile","visits":100000},{"value":"desktop","visits":100000}]}`, month, strings.Join(top, ",")))
		}
	}
	return fmt.Sprintf(`{"alias":"busy","url":"%s","visits":%d,"lastvisit":%d,"hours":[%s],"days":[%s],"months":{%s}}`+"\n",
		target, all, now.UnixMilli(), strings.Join(hours, ","), strings.Join(rolled, ","), strings.Join(months, ","))
}

// latency is the median time of a command in ms, and the lines of its reply.
func latency(port int, command string) (ms float64, lines int, err error) {
	c, err := net.Dial("tcp", addr(port))
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	in := bufio.NewReader(c)
	var took []float64
	for range 50 {
		start := time.Now()
		if _, err := io.WriteString(c, command+"\r\n"); err != nil {
			return 0, 0, err
		}
		if lines, err = skipReply(in); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", command, err)
		}
		took = append(took, time.Since(start).Seconds()*1000)
	}
	return median(took), lines, nil
}

// skipReply reads one RESP2 reply and returns how many lines it has.
func skipReply(in *bufio.Reader) (lines int, err error) {
	for left := 1; left > 0; left-- {
		head, err := in.ReadString('\n')
		if err != nil {
			return lines, err
		}
		lines++
		n, _ := strconv.Atoi(strings.TrimSpace(head[1:]))
		switch {
		case head[0] == '-':
			return lines, fmt.Errorf("reply %q", head)
		case head[0] == '*':
			left += max(n, 0)
		case head[0] == '$' && n >= 0:
			if _, err := in.Discard(n + 2); err != nil {
				return lines, err
			}
		}
	}
	return lines, nil
}

// clickSpace counts many clicks, and says what they take on the disk, and what is left when their day is dropped.
func (b *bench) clickSpace(r *report) error {
	dir, err := b.folder()
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	const links, per = 1000, 20_000
	s, err := b.curtIn(data)
	if err != nil {
		return err
	}
	if _, err := commands(s.port, links, func(i int) string { return fmt.Sprintf("SHORTEN %s%d AS n%d", target, i, i) }); err != nil {
		return err
	}
	empty, err := b.atRest(data)
	if err != nil {
		return err
	}
	if s, err = b.curtIn(data); err != nil {
		return err
	}
	for done := 0; done < *clicked; done += per {
		_, err := commands(s.port, per, func(i int) string {
			n := done + i
			return fmt.Sprintf(`VISIT n%d UA "%s" REFERER https://site%d.example/`, n*7919%links, strings.ReplaceAll(browserAgent, "140", strconv.Itoa(100+n%41)), n*31%997)
		})
		if err != nil {
			return err
		}
	}
	full, err := b.atRest(data)
	if err != nil {
		return err
	}
	began := time.Now()
	dropped, err := afterRetention(data, full)
	if err != nil {
		return err
	}
	r.facts = append(r.facts, fmt.Sprintf("%d clicks on %d links take %.1f bytes each on the disk (wanted: 60), with their counts; %.1f when their day was dropped and its space was free %.0f s later",
		*clicked, links, float64(full-empty)/float64(*clicked), float64(dropped-empty)/float64(*clicked), time.Since(began).Seconds()))
	return nil
}

// atRest stops the server, opens the store once more so that its log is worked in, and returns the size of the folder.
func (b *bench) atRest(data string) (int64, error) {
	b.stopAll()
	if _, err := b.curtIn(data); err != nil {
		return 0, err
	}
	time.Sleep(5 * time.Second) // for compactions
	b.stopAll()
	return folderSize(data)
}

// afterRetention runs a server whose clock is ahead, so that all clicks are too old, and returns the size of the folder once it is smaller.
func afterRetention(data string, full int64) (size int64, err error) {
	s, err := curt.Open(curt.Options{Dir: data, Now: func() time.Time { return time.Now().AddDate(0, 0, 100) }})
	if err != nil {
		return 0, err
	}
	for range 60 {
		if size, err = folderSize(data); err != nil || size < full/2 {
			break
		}
		time.Sleep(time.Second)
	}
	if stopErr := s.Shutdown(context.Background()); err == nil {
		err = stopErr
	}
	return size, err
}
