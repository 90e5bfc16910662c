package storage

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// TestSmallCacheHasRoom: memtables never take more than a quarter of the cache.
func TestSmallCacheHasRoom(t *testing.T) {
	for _, cache := range []int64{1, minCacheBytes, 64 << 20, 256 << 20, 4 << 30} {
		o, err := Options{Dir: "x", CacheBytes: cache}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		if all := memtables * o.MemtableBytes; all > o.CacheBytes/4 || all < 1<<20 {
			t.Errorf("cache %d: memtables take %d of %d", cache, all, o.CacheBytes)
		}
	}
}

func TestStats(t *testing.T) {
	mem := vfs.NewMem()
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 5, TotalBytes: 9})
	s := open(t, mem, SyncAlways)
	wait(t, s, update(t, s, putLink(1)))
	mustHave(t, s, 1)
	got := s.Stats()
	if got.StoreReads != 1 || got.Fsyncs != 1 || got.Stalled || got.BackgroundErrors != 0 || got.DiskBytes == 0 || got.MemtableBytes == 0 {
		t.Errorf("%+v", got)
	}
	if free, size, err := s.DiskSpace(); free != 5 || size != 9 || err != nil {
		t.Errorf("%d of %d free, %v", free, size, err)
	}
}

func TestStallAndErrorsShow(t *testing.T) {
	var out bytes.Buffer
	now := time.UnixMilli(1_000_000)
	w := &watch{log: slog.New(slog.NewTextHandler(&out, nil)), now: func() time.Time { return now }}
	l := w.listener()
	l.WriteStallBegin(pebble.WriteStallBeginInfo{Reason: "memtable count limit reached"})
	if !w.stalled.Load() {
		t.Error("a stall does not show")
	}
	l.WriteStallEnd()
	if w.stalled.Load() {
		t.Error("the end of a stall does not show")
	}
	for range 100 {
		l.BackgroundError(errors.New("disk on fire"))
	}
	now = now.Add(time.Second)
	l.BackgroundError(errors.New("disk on fire"))
	now = now.Add(-time.Hour) // a clock that steps back must not silence it
	l.BackgroundError(errors.New("disk on fire"))
	if n := strings.Count(out.String(), "disk on fire"); n != 3 || w.errors.Load() != 102 {
		t.Errorf("%d lines for %d errors:\n%s", n, w.errors.Load(), out.String())
	}
}

// TestFailedFlush: a disk that takes no tables is an error that shows; acknowledged links stay, and when the disk
// is well again the store goes on.
func TestFailedFlush(t *testing.T) {
	full := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpCreate && strings.HasSuffix(op.Path, ".sst") {
			return errorfs.ErrInjected
		}
		return nil
	})}
	s := open(t, errorfs.Wrap(vfs.NewMem(), full), SyncAlways)
	full.On()
	wait(t, s, update(t, s, putLink(1)))
	done, err := s.db.AsyncFlush()
	if err != nil {
		t.Fatal(err)
	}
	for s.BackgroundErrors() == 0 {
		time.Sleep(time.Millisecond)
	}
	mustHave(t, s, 1)
	wait(t, s, update(t, s, putLink(2)))
	full.Off()
	<-done
	mustHave(t, s, 1)
	mustHave(t, s, 2)
}

func TestDiskLow(t *testing.T) {
	mem := vfs.NewMem()
	now := time.UnixMilli(1_000_000)
	s, err := Open(Options{Dir: "data", FS: mem, CacheBytes: minCacheBytes, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f := func(free, size uint64, later time.Duration, want bool) {
		t.Helper()
		mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: free, TotalBytes: size})
		now = now.Add(later)
		if got := s.DiskLow(); got != want {
			t.Errorf("%d of %d free: low %v", free, size, got)
		}
	}
	f(0, 0, 0, false) // the file system can't tell
	f(256<<20-1, 1<<30, time.Second, true)
	f(256<<20, 1<<30, time.Second, false)
	f(19<<30, 1000<<30, time.Second, true)
	f(21<<30, 1000<<30, 999*time.Millisecond, true) // looked less than a second ago
	f(21<<30, 1000<<30, time.Millisecond, false)
}

// TestFailuresArePaced: after each failure the next table waits twice as long, up to a second, and not at all when one went well.
func TestFailuresArePaced(t *testing.T) {
	w := &watch{log: slog.New(slog.DiscardHandler), now: time.Now, fatal: func(error) { t.Error("fatal") }}
	l := w.listener()
	if d := w.pause(); d != 0 {
		t.Errorf("pause of %v without a failure", d)
	}
	for _, want := range []time.Duration{10, 20, 40, 80, 160, 320, 640, 1000, 1000} {
		l.FlushEnd(pebble.FlushInfo{Err: errors.New("disk on fire")})
		l.BackgroundError(errors.New("disk on fire"))
		if d := w.pause(); d != want*time.Millisecond {
			t.Errorf("pause of %v, want %d ms", d, want)
		}
	}
	l.FlushEnd(pebble.FlushInfo{})
	if d := w.pause(); d != 0 {
		t.Errorf("pause of %v after a success", d)
	}
}
