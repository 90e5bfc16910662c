package tests

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"github.com/redis/go-redis/v9"

	"curt/server"
)

// visits are the first two numbers of CLICKS.
func visits(tb testing.TB, r reply) (people, programs int64) {
	tb.Helper()
	if len(r.list) != 3 {
		tb.Fatalf("CLICKS: %s", r)
	}
	for i, n := range []*int64{&people, &programs} {
		v, err := strconv.ParseInt(r.list[i].text, 10, 64)
		if err != nil {
			tb.Fatal(err)
		}
		*n = v
	}
	return people, programs
}

// hits follows a code a number of times on one connection and returns how many redirects it got. It stops when the server goes.
func hits(addr, code string, n int) (led int) {
	b := browser(true)
	defer b.CloseIdleConnections()
	for range n {
		a, err := fetch(b, "GET", addr, "/"+code)
		if err != nil {
			return led
		}
		if a.status == http.StatusFound {
			led++
		}
	}
	return led
}

// burst follows a code a number of times on one connection, many requests in flight, and returns how many redirects it got.
func burst(tb testing.TB, addr, code string, n int) (led int) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		tb.Error(err)
		return 0
	}
	defer conn.Close()
	one := "GET /" + code + " HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: " + somebody + "\r\n\r\n"
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() {
		for sent := 0; sent < n; {
			some := min(100, n-sent)
			if _, err := io.WriteString(conn, strings.Repeat(one, some)); err != nil {
				tb.Error(err)
				return
			}
			sent += some
		}
	})
	for in, answered := bufio.NewScanner(conn), 0; answered < n && in.Scan(); { // a redirect has no body
		switch line := in.Bytes(); {
		case bytes.HasPrefix(line, []byte("HTTP/1.1 302 ")):
			led++
		case len(line) == 0:
			answered++
		}
	}
	return led
}

// S13: what was followed is what was counted, exactly, whoever did it and however it is asked for: 25,000 visits with -short, else 100,000.
func TestEveryHitCounts(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Clicks.Interval = 20 * time.Millisecond })
	code := n.Must("SHORTEN", "https://example.com/").text
	const clients = 50
	each := scale(500, 2000, 2000)
	var wait sync.WaitGroup
	for range clients {
		wait.Go(func() {
			if led := burst(t, n.httpAddr, code, each); led != each {
				t.Errorf("%d of %d led on", led, each)
			}
		})
	}
	wait.Wait()
	want := int64(clients * each)
	if got, bots := visits(t, n.Must("CLICKS", code)); got != want || bots != 0 {
		t.Errorf("%d visits and %d bots, want %d", got, bots, want)
	}
	for _, words := range [][]string{{"BY", "HOUR"}, {"BY", "DAY"}, {"BY", "MONTH"}, {"TOP", "BROWSER"}, {"TOP", "REFERRER"}} {
		var sum int64
		for _, row := range n.Must(append([]string{"CLICKS", code}, words...)...).list {
			v, err := strconv.ParseInt(row.list[1].text, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
		if sum != want {
			t.Errorf("%v adds up to %d", words, sum)
		}
	}
	n.Want(fmt.Sprintf("(integer) %d", want), "XLEN", "clicks:"+code)
	if total, buckets := n.Info("curt_visits_total"), n.Info("curt_visits_in_buckets"); total != want || buckets != want {
		t.Errorf("INFO has %d in all and %d in buckets", total, buckets)
	}
	if p := n.Info("curt_clicks_pending"); p != 0 {
		t.Errorf("%d pending", p)
	}
}

// A stop under load loses nothing that was answered.
func TestStopKeepsEveryVisit(t *testing.T) {
	data := t.TempDir()
	p := run(t, nil, "--dir", data)
	c := dial(t, p.respAddr)
	code := c.Do("SHORTEN", "https://example.com/").text
	var led atomic.Int64
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() { led.Add(int64(hits(p.httpAddr, code, 1<<30))) })
	}
	eventually(t, "some are counted", func() bool { got, _ := visits(t, c.Do("CLICKS", code)); return got > 500 })
	if exit := p.stop(syscall.SIGTERM); exit != 0 {
		t.Fatalf("exit code %d", exit)
	}
	wait.Wait()
	q := run(t, nil, "--dir", data)
	got, _ := visits(t, dial(t, q.respAddr).Do("CLICKS", code))
	if n := led.Load(); got < n || got > n+8 { // of each connection one answer may have been lost on its way
		t.Errorf("%d redirects, %d visits", n, got)
	}
	q.stop(syscall.SIGTERM)
}

// kill -9 under load: what was flushed is there, and what was counted adds up.
func TestKillKeepsTheSums(t *testing.T) {
	data := t.TempDir()
	p := run(t, nil, "--dir", data)
	c := dial(t, p.respAddr)
	code := c.Do("SHORTEN", "https://example.com/").text
	few := c.Do("SHORTEN", "https://example.com/few", "AS", "few", "MAXVISITS", "10")
	var fewLed atomic.Int64
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { hits(p.httpAddr, code, 1<<30) })
		wait.Go(func() { fewLed.Add(int64(hits(p.httpAddr, "few", 3))) })
	}
	var seen int64
	eventually(t, "some are counted", func() bool { seen, _ = visits(t, c.Do("CLICKS", code)); return seen > 500 })
	p.kill()
	wait.Wait()
	q := run(t, nil, "--dir", data)
	c = dial(t, q.respAddr)
	if got, _ := visits(t, c.Do("CLICKS", code)); got < seen { // what was told is durable
		t.Errorf("%d visits after %d were seen", got, seen)
	}
	fewLed.Add(int64(hits(q.httpAddr, few.text, 20)))
	if n := fewLed.Load(); n > 10 {
		t.Errorf("MAXVISITS 10 led on %d times", n)
	}
	info := c.Do("INFO", "curt").text
	if total, buckets := infoNumber(t, info, "curt_visits_total"), infoNumber(t, info, "curt_visits_in_buckets"); total != buckets {
		t.Errorf("%d in all, %d in buckets", total, buckets)
	}
	q.stop(syscall.SIGTERM)
	check, out := launch(t, nil, "check", "--dir", data)
	if exit := check.exit(); exit != 0 {
		t.Errorf("check: exit code %d: %s%s", exit, out, check.stderr)
	}
}

// X06 over HTTP.
func TestMaxVisitsOverHTTP(t *testing.T) {
	n := start(t)
	n.Must("SHORTEN", "https://example.com/", "AS", "few", "MAXVISITS", "10")
	var led atomic.Int64
	var wait sync.WaitGroup
	for range 200 {
		wait.Go(func() { led.Add(int64(hits(n.httpAddr, "few", 1))) })
	}
	wait.Wait()
	if led.Load() != 10 {
		t.Errorf("%d led on", led.Load())
	}
	if a := n.Get("/few"); a.status != http.StatusGone {
		t.Errorf("status %d", a.status)
	}
}

// A reader that goes on from the last id it saw misses nothing and sees nothing twice: with many writers, a clock that steps back, restarts,
// power cuts.
func TestReaderMissesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	n := start(t, func(o *server.Options) { o.Clicks.Interval = 3 * time.Millisecond })
	const writers = 8
	each := scale(30, 100, 1000)
	last, seen := "0", map[string]int{}
	read := func(c *client) int {
		r := c.Do("XREAD", "COUNT", "97", "BLOCK", "100", "STREAMS", "clicks", last)
		if len(r.list) == 0 {
			return 0
		}
		entries := r.list[0].list[1].list
		for _, e := range entries {
			if !less(last, e.list[0].text) {
				t.Fatalf("%s came after %s", e.list[0].text, last)
			}
			last = e.list[0].text
			seen[e.list[1].list[1].text]++
		}
		return len(entries)
	}
	for round := range 3 {
		for w := range writers {
			n.Must("SHORTEN", "https://example.com/", "AS", fmt.Sprintf("w%d-%d", round, w))
		}
		done := make(chan struct{})
		var wait sync.WaitGroup
		for w := range writers {
			c := n.Dial()
			wait.Go(func() {
				for i := range each {
					if r := c.Do("VISIT", fmt.Sprintf("w%d-%d", round, w)); r.isError() {
						t.Errorf("VISIT: %s", r)
					}
					if i%7 == 0 {
						n.Advance(time.Duration(i%5-2) * time.Minute) // forth and back
					}
				}
			})
		}
		go func() { wait.Wait(); close(done) }()
		reader := n.Dial()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			read(reader)
		}
		for read(reader) > 0 {
		}
		for w := range writers {
			if code := fmt.Sprintf("w%d-%d", round, w); seen[code] != each {
				t.Errorf("round %d: %s was seen %d times, want %d", round, code, seen[code], each)
			}
		}
		n.Advance(-24 * time.Hour)
		if round == 0 {
			n.Crash(50, seed) // all that was read is still there
		} else {
			n.Restart()
		}
		var stay int64
		for id := "-"; ; {
			list := n.Must("XRANGE", "clicks", id, "+", "COUNT", "1000").list
			if len(list) == 0 {
				break
			}
			stay += int64(len(list))
			id = "(" + list[len(list)-1].list[0].text
		}
		if want := int64((round + 1) * writers * each); stay != want {
			t.Errorf("round %d: %d entries, want %d", round, stay, want)
		}
	}
}

// less compares two ids of a stream.
func less(a, b string) bool {
	split := func(id string) (ms, seq uint64) {
		left, right, _ := strings.Cut(id, "-")
		ms, _ = strconv.ParseUint(left, 10, 64)
		seq, _ = strconv.ParseUint(right, 10, 64)
		return ms, seq
	}
	ams, aseq := split(a)
	bms, bseq := split(b)
	return ams < bms || ams == bms && aseq < bseq
}

// Readers that wait are woken by a click, and leave nothing behind when their peers vanish: TestMain looks for goroutines.
func TestBlockedReaders(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Clicks.Interval = 3 * time.Millisecond })
	n.Must("SHORTEN", "https://example.com/", "AS", "a")
	n.Must("SHORTEN", "https://example.com/b", "AS", "b")
	const readers = 100
	clients := make([]*client, readers)
	for i := range clients {
		clients[i] = n.Dial()
		clients[i].Send("XREAD", "BLOCK", "0", "STREAMS", []string{"clicks", "clicks:a"}[i%2], "$")
	}
	eventually(t, "they wait", func() bool { return n.Info("blocked_clients") == readers })
	other := n.Dial()
	other.Send("XREAD", "BLOCK", "0", "STREAMS", "clicks:b", "$")
	eventually(t, "it waits too", func() bool { return n.Info("blocked_clients") == readers+1 })
	n.Must("VISIT", "a")
	for _, c := range clients {
		if r := c.Receive(); len(r.list) != 1 || r.list[0].list[1].list[0].list[1].list[1].text != "a" {
			t.Fatalf("woken with %s", r)
		}
	}
	for _, c := range clients {
		c.Send("XREAD", "BLOCK", "0", "STREAMS", "clicks:b", "$")
	}
	eventually(t, "they wait again", func() bool { return n.Info("blocked_clients") == readers+1 })
	for _, c := range clients {
		c.conn.Close()
	}
	eventually(t, "they are noticed", func() bool { return n.Info("blocked_clients") == 1 })
	n.Must("VISIT", "b")
	if r := other.Receive(); len(r.list) != 1 {
		t.Errorf("woken with %s", r)
	}
	other.Send("XREAD", "BLOCK", "0", "STREAMS", "clicks", "$")
	eventually(t, "it waits when the server stops", func() bool { return n.Info("blocked_clients") == 1 })
	n.down()
	if _, err := other.in.ReadByte(); err != io.EOF && err == nil {
		t.Error("a reply after the end")
	}
}

// TestBlockedReaderOfALaterLink: who waits for clicks at a code that leads nowhere yet is woken by those of the link that is made then, also
// when it is made anew.
func TestBlockedReaderOfALaterLink(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Clicks.Interval = 3 * time.Millisecond })
	c := n.Dial()
	wake := func(between ...string) {
		t.Helper()
		c.Send("XREAD", "BLOCK", "0", "STREAMS", "clicks:later", "$")
		eventually(t, "it waits", func() bool { return n.Info("blocked_clients") == 1 })
		if between != nil {
			n.Do(between...)
		}
		n.Must("SHORTEN", "https://example.com/", "AS", "later")
		n.Must("VISIT", "later")
		if r := c.Receive(); len(r.list) != 1 || r.list[0].list[0].text != "clicks:later" || len(r.list[0].list[1].list) != 1 {
			t.Errorf("woken with %s", r)
		}
	}
	wake()
	wake("DEL", "later")
}

// go-redis reads the streams.
func TestGoRedisConsumer(t *testing.T) {
	n := start(t)
	n.Must("SHORTEN", "https://example.com/", "AS", "a")
	for _, proto := range []int{2, 3} {
		c := redis.NewClient(&redis.Options{Addr: n.respAddr, Protocol: proto})
		defer c.Close()
		before, err := c.XLen(t.Context(), "clicks:a").Result()
		if err != nil {
			t.Fatal(err)
		}
		n.Must("VISIT", "a", "UA", somebody, "REFERER", "https://news.example/")
		streams, err := c.XRead(t.Context(), &redis.XReadArgs{Streams: []string{"clicks", "clicks:a", "0", "0"}, Count: 10, Block: -1}).Result()
		if err != nil || len(streams) != 2 || streams[0].Stream != "clicks" || int64(len(streams[1].Messages)) != before+1 {
			t.Fatalf("protocol %d: %+v, %v", proto, streams, err)
		}
		last := streams[1].Messages[before]
		if last.Values["code"] != "a" || last.Values["referrer"] != "news.example" || last.Values["browser"] != "Firefox" || last.Values["bot"] != "0" {
			t.Errorf("protocol %d: %+v", proto, last)
		}
		if _, err := c.XRead(t.Context(), &redis.XReadArgs{Streams: []string{"clicks", last.ID}, Block: time.Millisecond}).Result(); err != redis.Nil {
			t.Errorf("protocol %d: nothing new is %v", proto, err)
		}
		messages, err := c.XRevRangeN(t.Context(), "clicks", "+", "-", 1).Result()
		if err != nil || len(messages) != 1 || messages[0].ID != last.ID {
			t.Errorf("protocol %d: %+v, %v", proto, messages, err)
		}
		info, err := c.XInfoStream(t.Context(), "clicks").Result()
		if err != nil || info.Length != before+1 || info.LastGeneratedID != last.ID || info.FirstEntry.Values["code"] != "a" {
			t.Errorf("protocol %d: %+v, %v", proto, info, err)
		}
	}
}

// ioredis follows the stream, blocked as often as not, while people click and the target changes.
func TestIoredisConsumer(t *testing.T) {
	requireProgram(t, "node", "npm")
	n := start(t, func(o *server.Options) { o.Clicks.Interval = 3 * time.Millisecond })
	n.Must("SHORTEN", "https://example.com/0", "AS", "a")
	const visits, perTarget = 60, 20
	command := nodeScript("xread.mjs")(t)
	host, port, _ := strings.Cut(n.respAddr, ":")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1], host, port, strconv.Itoa(visits))
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it waits", func() bool { return n.Info("blocked_clients") == 1 })
	var want []string
	for i := range visits {
		if i > 0 && i%perTarget == 0 {
			n.Must("RETARGET", "a", fmt.Sprint("https://example.com/", i))
		}
		want = append(want, fmt.Sprintf("%q", n.Must("VISIT", "a", "UA", somebody).text))
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &complaints)
	}
	if got, want := strings.TrimSpace(out.String()), "["+strings.Join(want, ",")+"]"; got != want {
		t.Errorf("\n got: %s\nwant: %s", got, want)
	}
}

// writeCountry writes a MaxMind-format file in which 198.51.100.0/24 and 2001:db8::/32 are in a country.
func writeCountry(t *testing.T, file, country string) {
	t.Helper()
	w, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Test-Country", IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, cidr := range []string{"198.51.100.0/24", "2001:db8::/32"} {
		_, network, err := net.ParseCIDR(cidr)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Insert(network, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String(country)}}); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// SIGHUP reads the file of --geoip again; one that can't be read leaves the old one, and says so. Countries are told of the visitor behind a
// trusted proxy.
func TestCountriesAndSIGHUP(t *testing.T) {
	file := t.TempDir() + "/country.mmdb"
	p, _ := launch(t, nil, "serve", "--dir", t.TempDir(), "--resp", "127.0.0.1:0", "--http", "", "--geoip", file)
	if exit := p.exit(); exit == 0 || !strings.Contains(p.stderr.String(), file) {
		t.Errorf("without the file: exit code %d, %s", exit, p.stderr)
	}
	writeCountry(t, file, "NZ")
	p = run(t, nil, "--dir", t.TempDir(), "--geoip", file, "--trusted-proxy", "127.0.0.1")
	c := dial(t, p.respAddr)
	c.Do("SHORTEN", "https://example.com/", "AS", "a")
	top := func() string { return c.Do("CLICKS", "a", "TOP", "country").String() }
	b := browser(true)
	defer b.CloseIdleConnections()
	for _, addr := range []string{"198.51.100.7", "2001:db8::7", "203.0.113.1"} { // the last is in no country
		if a, err := fetch(b, "GET", p.httpAddr, "/a", "X-Forwarded-For", addr); err != nil || a.status != http.StatusFound {
			t.Fatal(a.status, err)
		}
	}
	if got, want := top(), "1) 1) \"NZ\"\n   2) (integer) 2"; got != want {
		t.Errorf("countries:\n%s", got)
	}
	hangup := func() {
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	}
	writeCountry(t, file, "FJ")
	hangup()
	eventually(t, "the new file is read", func() bool {
		c.Do("VISIT", "a", "IP", "198.51.100.8")
		return strings.Contains(top(), `"FJ"`)
	})
	if err := os.WriteFile(file, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangup()
	eventually(t, "it says that the file can't be read", func() bool { return strings.Contains(p.stderr.String(), "geoip: read") })
	c.Do("VISIT", "a", "IP", "198.51.100.9")
	entry := c.Do("XREVRANGE", "clicks:a", "+", "-", "COUNT", "1").String()
	if !strings.Contains(entry, `"FJ"`) {
		t.Errorf("the last click: %s", entry)
	}
	if exit := p.stop(syscall.SIGTERM); exit != 0 {
		t.Errorf("exit code %d", exit)
	}
}
