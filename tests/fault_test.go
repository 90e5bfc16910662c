package tests

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/server"
)

// small is a server whose tables are written often.
func small(o *server.Options) { o.CacheBytes, o.LinkCache = 8<<20, 1<<20 }

// pipelined makes links of a kilobyte each and notes those that are acknowledged. It returns the error replies.
func pipelined(tb testing.TB, c *client, l *ledger, label string, links int) (refusals []string) {
	tb.Helper()
	for at := 0; at < links; at += 100 {
		var batch [][]string
		for i := at; i < min(at+100, links); i++ {
			name := fmt.Sprintf("%s-%d", label, i)
			batch = append(batch, []string{"SHORTEN", longURL(name), "AS", name})
		}
		for i, r := range c.Pipeline(batch...) {
			if r.isError() {
				refusals = append(refusals, r.text)
			} else {
				l.issued(tb, batch[i][3], batch[i][1])
			}
		}
	}
	return refusals
}

// TestFaultFlush: tables can't be written for a while. The log takes what comes, the error is counted and logged once a second, and
// when the disk is well the store catches up.
func TestFaultFlush(t *testing.T) {
	n, l := start(t, small), newLedger()
	broken := errors.New("no space left on device, on purpose")
	fail := func() error { return broken }
	n.disk.onTable.Store(&fail)
	if refusals := pipelined(t, n.Dial(), l, "a", 700); refusals != nil {
		t.Errorf("refused: %q", refusals)
	}
	eventually(t, "flushes have failed", func() bool { return n.Info("curt_store_errors") >= 6 })
	if lines := strings.Count(n.log.String(), broken.Error()); lines == 0 || lines > 5 { // the clock stands still
		t.Errorf("%d lines of log for %d errors", lines, n.Info("curt_store_errors"))
	}
	l.check(t, n.Dial())
	failures := n.Info("curt_store_errors")
	n.disk.onTable.Store(nil)
	if refusals := pipelined(t, n.Dial(), l, "b", 700); refusals != nil {
		t.Errorf("refused: %q", refusals)
	}
	n.Crash(0, 1)
	l.check(t, n.Dial())
	survived(t, "tables can't be written (flushes fail) while 700 links of 1 KB are made", fmt.Sprintf("nothing; `curt_store_errors` counted %d: it is tried again after 10 ms, then ever later up to a second; the log has a line a second", failures))
}

// TestFaultStall: the disk takes no tables, so that the store must hold writers back. They are told so within a second or so, and
// readers notice nothing.
func TestFaultStall(t *testing.T) {
	n, l := start(t, small), newLedger()
	if refusals := pipelined(t, n.Dial(), l, "before", 100); refusals != nil {
		t.Fatal(refusals)
	}
	gate := make(chan struct{})
	hold := func() error { <-gate; return nil }
	n.disk.onTable.Store(&hold)
	c := n.Dial()
	filled := make(chan []string, 1)
	go func() { filled <- pipelined(t, c, l, "fill", 4000) }()
	eventually(t, "the store stalls", func() bool { return n.Info("curt_store_stalled") == 1 })
	n.WantError("OVERLOADED ", "SHORTEN", "https://example.com/new")
	n.WantError("OVERLOADED ", "SHORTEN", "https://example.com/new", "AS", "new")
	n.Want(quote(longURL("before-7")), "RESOLVE", "before-7")
	n.wantTarget("before-7", longURL("before-7"))
	n.Want("(nil)", "GET", "new")
	close(gate)
	n.disk.onTable.Store(nil)
	refusals := <-filled
	for _, r := range refusals {
		if !strings.HasPrefix(r, "OVERLOADED ") {
			t.Errorf("a writer is told %s", r)
		}
	}
	n.Want(`"new"`, "SHORTEN", "https://example.com/new", "AS", "new")
	n.Crash(0, 1)
	l.check(t, n.Dial())
	n.wantTarget("new", "https://example.com/new")
	survived(t, "the disk takes no tables until writes stall", "writes: OVERLOADED, nothing changed, or a reply once the disk is back; reads and redirects go on")
}

// TestFaultTornLog: the last record of the log is cut at each of its bytes in turn, as a power cut may leave it.
func TestFaultTornLog(t *testing.T) {
	n, l := start(t), newLedger()
	for i := range 5 {
		url := fmt.Sprintf("https://example.com/%d", i)
		l.issued(t, n.Must("SHORTEN", url).text, url)
	}
	synced := logSize(t, n.powerCut(0, 1))
	release := n.disk.hold() // the record is in the log and not synced: its reply never comes
	n.cli.Send("SHORTEN", "https://example.com/torn", "AS", "torn")
	var whole *vfs.MemFS
	eventually(t, "the record is in the log", func() bool { // which is written a moment after readers see the link
		whole = n.powerCut(100, 1)
		return logSize(t, whole) > synced
	})
	rng := newRand(1)
	release()
	n.down()
	size := logSize(t, whole)
	cuts, lost := 0, 0
	for at := synced; at < size; at += int64(scale(7, 1, 1)) {
		disk := whole.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rng})
		cutLog(t, disk, at)
		n.memory = disk
		n.up()
		l.check(t, n.Dial())
		switch r := n.Do("GET", "torn"); {
		case r.isNull():
			lost++
		case r.text != "https://example.com/torn":
			t.Errorf("cut at %d of %d: torn leads to %s", at, size, r)
		}
		n.Want(`"torn"`, "SHORTEN", "https://example.com/torn", "AS", "torn")
		n.down()
		cuts++
	}
	if lost == 0 {
		t.Error("no cut went through the record: this test would see nothing")
	}
	survived(t, fmt.Sprintf("the log ends in a torn record, cut at %d places", cuts), fmt.Sprintf("nothing but the restart; the command whose record is torn (%d times, never acknowledged) is as if not sent", lost))
}

// newestLog is the path of the log that is written to.
func newestLog(t *testing.T, disk vfs.FS) string {
	t.Helper()
	list, err := disk.List("data")
	if err != nil {
		t.Fatal(err)
	}
	newest := ""
	for _, name := range list {
		if strings.HasSuffix(name, ".log") {
			newest = max(newest, name)
		}
	}
	return disk.PathJoin("data", newest)
}

// logSize is where the last record of the newest log ends: zeros follow, which the log grew by before its bytes came.
func logSize(t *testing.T, disk vfs.FS) int64 {
	t.Helper()
	return int64(len(bytes.TrimRight(readFile(t, disk, newestLog(t, disk)), "\x00")))
}

// cutLog leaves zeros of what is behind a place.
func cutLog(t *testing.T, disk vfs.FS, at int64) {
	t.Helper()
	rewriteFile(t, disk, newestLog(t, disk), func(b []byte) []byte { clear(b[at:]); return b })
}

func readFile(t *testing.T, disk vfs.FS, path string) []byte {
	t.Helper()
	f, err := disk.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

// rewriteFile changes what a file holds.
func rewriteFile(t *testing.T, disk vfs.FS, path string, change func([]byte) []byte) {
	t.Helper()
	b := readFile(t, disk, path)
	to, err := disk.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = to.Write(change(bytes.Clone(b)))
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestFaultCorruptBlock: a bit of a table has turned. Links of that block are an error, never another target; all others work.
func TestFaultCorruptBlock(t *testing.T) {
	n, l := start(t, small), newLedger()
	if refusals := pipelined(t, n.Dial(), l, "n", 2000); refusals != nil {
		t.Fatal(refusals)
	}
	n.Restart() // so that all is in tables
	n.down()
	path, size := largestTable(t, n.memory)
	rewriteFile(t, n.memory, path, func(b []byte) []byte { b[size/2] ^= 1; return b })
	n.up()
	good, bad := 0, 0
	for i := range 2000 {
		name := fmt.Sprintf("n-%d", i)
		switch r := n.Do("RESOLVE", name); {
		case r.text == longURL(name):
			good++
		case r.isError() && strings.HasPrefix(r.text, "ERR internal error"):
			if bad++; bad == 1 {
				if a := n.Get("/" + name); a.status != 503 {
					t.Errorf("HTTP answers %d %q", a.status, a.location)
				}
			}
		default:
			t.Errorf("%s leads to %s", name, r)
		}
	}
	if bad == 0 || good < 1900 {
		t.Errorf("%d links work, %d do not", good, bad)
	}
	n.Want(`"new"`, "SHORTEN", "https://example.com/new", "AS", "new")
	if !strings.Contains(n.log.String(), filepath.Base(path)) {
		t.Errorf("the log does not name %s", path)
	}
	suffered(t, "a bit of a table turns", fmt.Sprintf("`ERR internal error` and 503 for the links of its block, never a wrong target; the %d others work; the log names the file", good),
		fmt.Sprintf("the %d links of the block: only a backup has them", bad))
}

// TestSweepPastACorruptBlock: links whose record can't be read do not keep others from being announced as expired, nor from being removed.
func TestSweepPastACorruptBlock(t *testing.T) {
	const links, day = 900, 24 * time.Hour
	n := start(t, small)
	for i := range links {
		name := fmt.Sprintf("n-%d", i)
		n.Must("SHORTEN", longURL(name), "AS", name, "EX", "3600")
	}
	n.Restart() // so that all is in tables
	n.down()
	path, size := largestTable(t, n.memory)
	rewriteFile(t, n.memory, path, func(b []byte) []byte { b[size/2] ^= 1; return b })
	n.up()
	bad := int64(0)
	for i := range links {
		if n.Do("RESOLVE", fmt.Sprintf("n-%d", i)).isError() {
			bad++
		}
	}
	if bad == 0 || bad > links/2 {
		t.Fatalf("%d links can't be read", bad)
	}
	n.Advance(day)
	eventually(t, "the others have expired", func() bool { return n.Info("expired_keys") == links-bad })
	n.Advance(31 * day)
	eventually(t, "the others are gone", func() bool { return n.Info("curt_links") == bad })
}

func largestTable(t *testing.T, disk vfs.FS) (path string, size int64) {
	t.Helper()
	list, err := disk.List("data")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range list {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		info, err := disk.Stat(disk.PathJoin("data", name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > size {
			path, size = disk.PathJoin("data", name), info.Size()
		}
	}
	return path, size
}

// TestFaultClock: the clock jumps years ahead and back, also across a restart. Codes stay unique, what has expired stays so.
func TestFaultClock(t *testing.T) {
	n, l := start(t), newLedger()
	make10 := func(label string) {
		t.Helper()
		for i := range 10 {
			url := fmt.Sprintf("https://example.com/%s/%d", label, i)
			l.issued(t, n.Must("SHORTEN", url).text, url)
			l.issued(t, n.Must("SHORTEN", url, "CODE", "RANDOM").text, url)
		}
	}
	n.Must("SHORTEN", "https://example.com/over", "AS", "over", "EX", "60")
	n.Must("SHORTEN", "https://example.com/far", "AS", "far", "EX", "2000000000")
	const year = 365 * 24 * time.Hour
	for i, jump := range []time.Duration{time.Hour, -2 * time.Hour, 10 * year, -14 * year, time.Second, 11 * year} {
		n.Advance(jump)
		make10(fmt.Sprint(i))
		n.Must("NEXTID", "TAG", "tickets")
		if r := n.Do("NEXTID", "SNOWFLAKE"); r.isError() && !strings.Contains(r.text, "clock") {
			t.Errorf("after %v: %s", jump, r.text)
		}
		n.Want(`"https://example.com/far"`, "RESOLVE", "far")
		if i%2 == 1 {
			n.Restart()
		}
		l.check(t, n.Dial())
	}
	n.WantError("GONE expired", "RESOLVE", "over")
	survived(t, "the clock jumps by hours and years, ahead and back, also across restarts", "links expire by the clock as it is; snowflake ids are refused while it stands behind those given out; codes stay unique")
}
