package tests

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"curt/server"
	"curt/server/link"
)

// Variables that make the test binary a server on a disk that fails: its folder, the kind of call, and which of them fails.
const (
	childEnv      = "CURT_TEST_CHILD_DIR"
	childKindEnv  = "CURT_TEST_CHILD_KIND"
	childIndexEnv = "CURT_TEST_CHILD_INDEX"
	childLogEnv   = "CURT_TEST_CHILD_LOG" // set: only calls on the log count
)

// faultyCalls are the calls to the file system that can fail, with the names that people know them by.
var faultyCalls = []faultyCall{
	{"write the log", errorfs.OpFileWrite, true},
	{"fdatasync the log", errorfs.OpFileSyncData, true},
	{"create a file", errorfs.OpCreate, false},
	{"open", errorfs.OpOpen, false},
	{"open a folder", errorfs.OpOpenDir, false},
	{"mkdir", errorfs.OpMkdirAll, false},
	{"lock", errorfs.OpLock, false},
	{"list a folder", errorfs.OpList, false},
	{"stat", errorfs.OpStat, false},
	{"statfs", errorfs.OpGetDiskUsage, false},
	{"link", errorfs.OpLink, false},
	{"rename", errorfs.OpRename, false},
	{"reuse a file", errorfs.OpReuseForWrite, false},
	{"unlink", errorfs.OpRemove, false},
	{"fallocate", errorfs.OpFilePreallocate, false},
	{"read", errorfs.OpFileRead, false},
	{"pread", errorfs.OpFileReadAt, false},
	{"write", errorfs.OpFileWrite, false},
	{"pwrite", errorfs.OpFileWriteAt, false},
	{"fstat", errorfs.OpFileStat, false},
	{"fsync", errorfs.OpFileSync, false},
	{"fdatasync", errorfs.OpFileSyncData, false},
	{"sync_file_range", errorfs.OpFileSyncTo, false},
	{"close", errorfs.OpFileClose, false},
}

type faultyCall struct {
	name string
	kind errorfs.OpKind
	log  bool // on the log only
}

// failOnce fails one call of a kind, and counts those of every kind.
type failOnce struct {
	kind  errorfs.OpKind
	index int64
	log   bool                // count only calls on the log
	seen  [2][64]atomic.Int64 // of all, of those on the log
}

func (f *failOnce) String() string { return "failOnce" }

func (f *failOnce) MaybeError(op errorfs.Op) error {
	n, log := f.seen[0][op.Kind].Add(1)-1, strings.HasSuffix(op.Path, ".log")
	if log {
		onLog := f.seen[1][op.Kind].Add(1) - 1
		if f.log {
			n = onLog
		}
	}
	if op.Kind == f.kind && n == f.index && (log || !f.log) {
		fmt.Fprintf(os.Stderr, "fails: %s\n", op.Path)
		return errorfs.ErrInjected
	}
	return nil
}

// runChild is `curt serve` on a disk on which one call fails. It never returns.
func runChild() {
	kind, _ := strconv.Atoi(os.Getenv(childKindEnv))
	index, _ := strconv.ParseInt(os.Getenv(childIndexEnv), 10, 64)
	inject := &failOnce{kind: errorfs.OpKind(kind), index: index, log: os.Getenv(childLogEnv) != ""}
	err := serveOnFaulty(inject)
	for kind := range inject.seen[0] {
		fmt.Printf("calls %d %d %d\n", kind, inject.seen[0][kind].Load(), inject.seen[1][kind].Load())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ended:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveOnFaulty(inject errorfs.Injector) error {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	s, err := server.Open(server.Options{
		Dir: os.Getenv(childEnv), FS: errorfs.Wrap(vfs.Default, inject), CacheBytes: 8 << 20, LinkCache: 1 << 20,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Codes: link.CodeOptions{Ring: testRing()},
	})
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go s.Serve(ln)
	fmt.Printf("ready %s\n", ln.Addr())
	<-term
	return s.Shutdown(context.Background())
}

// startChild starts the server of runChild on dir and waits until it is ready, or has ended.
func startChild(tb testing.TB, dir string, call faultyCall, index int) (p *process, out *logBuffer, ready bool) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+dir, fmt.Sprintf("%s=%d", childKindEnv, call.kind), fmt.Sprintf("%s=%d", childIndexEnv, index))
	if call.log {
		cmd.Env = append(cmd.Env, childLogEnv+"=1")
	}
	p = begin(tb, cmd)
	said := regexp.MustCompile(`ready (\S+)\n`)
	eventually(tb, "the server is ready or has ended", func() bool {
		if m := said.FindStringSubmatch(p.stdout.String()); m != nil {
			p.respAddr, ready = m[1], true
			return true
		}
		return p.hasEnded()
	})
	return p, p.stdout, ready
}

// outcome is how a server took a failed call.
type outcome struct {
	refused, crashed, ended, errors, unnoticed int // runs
	calls                                      int // that failed, one a run
}

// String says it in words.
func (o outcome) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		text string
	}{{o.refused, "does not start, exit code 1 and the cause"}, {o.crashed, "does not start, exit code 2: a compaction of Pebble runs into its clean-up"},
		{o.ended, "the process ends with exit code 1, connections close, what was under way is not acknowledged"},
		{o.errors, "an error reply to the command that met it"}, {o.unnoticed, "nothing: it is tried again or not needed"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %d: %s", p.n, o.calls, p.text))
		}
	}
	return strings.Join(parts, "; ")
}

// TestFaultEverySyscall: each kind of call to the file system fails once, at several moments of a server's life from its start to its
// clean stop: 2 with -short, 10, or 1,000 with -long. What was acknowledged is there at the next start.
func TestFaultEverySyscall(t *testing.T) {
	base := t.TempDir()
	known := newLedger()
	p, _, ready := startChild(t, base, faultyCall{}, -1)
	if !ready {
		t.Fatal(p.stderr)
	}
	workOn(t, p, known, "base")
	p.kill() // so that the next start has a log to replay
	counted := t.TempDir()
	copyDir(t, base, counted)
	p, out, _ := startChild(t, counted, faultyCall{}, -1)
	workOn(t, p, known.copy(), "work")
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Fatalf("without a fault: exit code %d: %s", code, p.stderr)
	}
	for _, call := range faultyCalls {
		total := callsOf(t, out.String(), call)
		if total == 0 {
			continue // it is never made
		}
		t.Run(call.name, func(t *testing.T) {
			if underRace && !call.log {
				t.Skip("a life costs seconds under the race detector: it watches those that end a server, .ci/run takes the others without it")
			}
			var o outcome
			for _, index := range spread(total, scale(2, 10, 1000)) {
				dir := t.TempDir()
				copyDir(t, base, dir)
				o.add(meetFault(t, dir, known.copy(), call, index))
				if t.Failed() {
					t.Fatalf("call %d of %d to %s", index, total, call.name)
				}
				os.RemoveAll(dir)
			}
			if o.calls == 0 {
				t.Fatalf("no call to %s failed", call.name)
			}
			survived(t, fmt.Sprintf("`%s` fails once, at %d of its %d calls from start to stop", call.name, o.calls, total), o.String())
		})
	}
}

// spread picks up to n of total indexes, the first and the last among them.
func spread(total, n int) (list []int) {
	n = min(n, total)
	for i := range n {
		list = append(list, i*(total-1)/max(n-1, 1))
	}
	return list
}

func callsOf(t *testing.T, out string, call faultyCall) int {
	t.Helper()
	m := regexp.MustCompile(fmt.Sprintf(`calls %d (\d+) (\d+)\n`, call.kind)).FindStringSubmatch(out)
	if m == nil {
		t.Fatalf("no count of calls: %s", out)
	}
	n, _ := strconv.Atoi(m[1])
	if call.log {
		n, _ = strconv.Atoi(m[2])
	}
	return n
}

func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func (o *outcome) add(p outcome) {
	o.refused, o.crashed, o.ended, o.errors, o.unnoticed, o.calls =
		o.refused+p.refused, o.crashed+p.crashed, o.ended+p.ended, o.errors+p.errors, o.unnoticed+p.unnoticed, o.calls+p.calls
}

var failedPath = regexp.MustCompile(`(?m)^fails: (.*)$`)

// meetFault runs a server whose call fails, and checks the store afterwards.
func meetFault(t *testing.T, dir string, l *ledger, call faultyCall, index int) (o outcome) {
	t.Helper()
	p, _, ready := startChild(t, dir, call, index)
	failures := 0
	if ready {
		failures = workOn(t, p, l, "work")
	}
	code := p.stop(syscall.SIGTERM)
	log := p.stderr.String()
	hit := failedPath.FindStringSubmatch(log)
	if hit == nil {
		return outcome{} // this life made fewer such calls than the one that was counted
	}
	o.calls = 1
	if call.log && code != 1 {
		t.Errorf("the log could not be written or synced, and the server went on: %s", log)
	}
	switch {
	case !ready && code == 2 && strings.Contains(log, "pebble/v2.(*tableCompaction)"):
		o.crashed = 1
	case code != 0 && code != 1 || strings.Contains(log, "goroutine "):
		t.Errorf("exit code %d: %s", code, log)
	case !ready:
		o.refused = 1
	case code == 1:
		o.ended = 1
	case failures > 0:
		o.errors = 1
	default:
		o.unnoticed = 1
	}
	if code == 1 && !strings.Contains(log, "injected error") && !strings.Contains(log, "a call to the file system failed") {
		t.Errorf("it ends and does not say why: %s", log)
	}
	n := newNode(t)
	n.memory, n.options.Dir = nil, dir
	n.up()
	l.check(t, n.Dial())
	n.down()
	return o
}

// workOn makes, changes and removes links until the server ends or enough has happened for tables to be written. It returns how many
// commands got an error.
func workOn(t *testing.T, p *process, l *ledger, label string) (failures int) {
	t.Helper()
	c, err := tryDial(t, p.respAddr)
	if err != nil {
		return 0 // it has ended
	}
	defer c.conn.Close()
	var names []string
	for round := range 14 {
		var batch []byte
		for i := range 100 {
			name := fmt.Sprintf("%s-%d-%d", label, round, i)
			names = append(names, name)
			l.doubt(name)
			batch = appendCommand(batch, "SHORTEN", longURL(name), "AS", name)
		}
		if _, err := c.conn.Write(batch); err != nil {
			return failures
		}
		for _, name := range names[round*100:] {
			r, err := c.receive()
			if err != nil {
				return failures
			}
			if r.isError() {
				failures++ // whether it was done is in doubt
				continue
			}
			l.issued(t, name, longURL(name))
			l.settle(name, longURL(name))
		}
		for _, words := range [][]string{{"DEL", names[round*100]}, {"RETARGET", names[round*100+1], "https://example.org/"}, {"BAN", names[round*100+2]}} {
			l.doubt(words[1])
			r, err := c.try(words...)
			if err != nil {
				return failures
			}
			if r.isError() {
				failures++
				continue
			}
			l.settle(words[1], map[string]string{"DEL": "", "RETARGET": "https://example.org/", "BAN": ""}[words[0]])
		}
	}
	return failures
}

func longURL(name string) string {
	return "https://example.com/" + name + "/" + strings.Repeat("x", 900)
}

// copy is clone for a ledger that nobody else writes to.
func (l *ledger) copy() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.clone()
}
