package storage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
)

// child runs this test binary again as another process and returns what it wrote and its exit code.
func child(t *testing.T, what, dir string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^$")
	cmd.Env = childEnv(what, dir)
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

func childEnv(what, dir string) []string {
	return append(os.Environ(), "CURT_STORAGE_CHILD="+what, "CURT_STORAGE_DIR="+dir)
}

// runChild is the other process.
func runChild(what string) {
	if what == "open" {
		s, err := openDisk(os.Getenv("CURT_STORAGE_DIR"))
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		_ = s.Close()
		return
	}
	if mode, ok := strings.CutPrefix(what, "load-"); ok {
		runLoad(SyncMode(mode))
	}
	if number, ok := strings.CutPrefix(what, "folder-"); ok {
		runFolder(number)
	}
	failures[what].run()
}

// runFolder opens a store whose log fills some tables, while one sync of its folder fails.
func runFolder(number string) {
	mem := vfs.NewCrashableMem()
	o := Options{Dir: "data", FS: mem, CacheBytes: minCacheBytes, Logger: slog.New(slog.NewTextHandler(os.Stdout, nil))}
	s, err := Open(o)
	for id := uint64(1); id < 200 && err == nil; id++ {
		_, err = s.Update(func(tx *Tx) error {
			return tx.PutLink(nil, &Link{ID: id, Flags: Generated, Created: 1, Target: "https://example.com/" + strings.Repeat("x", 10_000)})
		})
	}
	if err == nil {
		err = s.WaitSynced(s.Ticket())
	}
	syncs := 0
	o.FS = errorfs.Wrap(killed(mem), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind != errorfs.OpFileSync || op.Path != "data" {
			return nil
		}
		if syncs++; fmt.Sprint(syncs) == number {
			return errorfs.ErrInjected
		}
		return nil
	}))
	if err == nil {
		_, err = Open(o)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("opened after", syncs, "syncs")
	os.Exit(0)
}

// runLoad prints each id that is acknowledged, until it is killed.
func runLoad(mode SyncMode) {
	s, err := Open(Options{Dir: os.Getenv("CURT_STORAGE_DIR"), CacheBytes: minCacheBytes, Sync: mode})
	for id := uint64(1); err == nil; id++ {
		var ticket uint64
		if ticket, err = s.Update(putLink(id)); err == nil {
			err = s.WaitSynced(ticket)
		}
		fmt.Println(id)
	}
	fmt.Println(err)
	os.Exit(1)
}

// failure is something the log can do that must end the process.
type failure struct {
	mode SyncMode
	ops  []errorfs.OpKind
	work func(*Store) // what meets it; "acknowledged" must not be printed
}

var failures = map[string]failure{
	"sync": {SyncAlways, []errorfs.OpKind{errorfs.OpFileSyncData}, func(s *Store) {
		ticket, _ := s.Update(putLink(1))
		_ = s.WaitSynced(ticket)
	}},
	"write": {SyncAlways, []errorfs.OpKind{errorfs.OpFileWrite}, func(s *Store) {
		ticket, _ := s.Update(putLink(1))
		_ = s.WaitSynced(ticket)
	}},
	"write-lazy": {SyncNo, []errorfs.OpKind{errorfs.OpFileWrite}, func(s *Store) {
		ticket, _ := s.Update(putLink(1))
		_ = s.WaitSynced(ticket)
	}},
	"create": {SyncAlways, []errorfs.OpKind{errorfs.OpCreate, errorfs.OpReuseForWrite}, func(s *Store) {
		defer func() { _ = recover() }() // as a server does around its handlers
		for id := uint64(1); ; id++ {
			if _, err := s.Update(putLink(id)); err != nil {
				return
			}
		}
	}},
	"late-sync": {SyncEverySec, []errorfs.OpKind{errorfs.OpFileSyncData}, func(s *Store) {
		ticket, _ := s.Update(putLink(1))
		_ = s.WaitSynced(ticket)
		time.Sleep(20 * time.Second) // the sync is due in one
	}},
}

func (f failure) run() {
	fail := &errorfs.Toggle{Injector: errorfs.InjectorFunc(func(op errorfs.Op) error {
		if slices.Contains(f.ops, op.Kind) && strings.HasSuffix(op.Path, ".log") {
			return errorfs.ErrInjected
		}
		return nil
	})}
	s, err := Open(Options{
		Dir: "data", FS: errorfs.Wrap(vfs.NewMem(), fail), CacheBytes: minCacheBytes, Sync: f.mode,
		Logger: slog.New(slog.NewTextHandler(os.Stdout, nil)),
	})
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	fail.On()
	f.work(s)
	fmt.Println("acknowledged")
}

func TestLogErrorEndsProcess(t *testing.T) {
	for name := range failures {
		t.Run(name, func(t *testing.T) {
			out, code := child(t, name, "")
			if code != 1 || !strings.Contains(out, "injected error") || strings.Contains(out, "acknowledged") {
				t.Errorf("exit code %d:\n%s", code, out)
			}
		})
	}
}

// TestFolderErrorAtOpen: whichever sync of the folder fails while a store is opened, the process says so and ends, or opens it without.
func TestFolderErrorAtOpen(t *testing.T) {
	met := 0
	for n := 1; ; n++ {
		out, code := child(t, fmt.Sprintf("folder-%d", n), "")
		var syncs int
		if _, err := fmt.Sscanf(out[max(strings.LastIndex(out, "opened"), 0):], "opened after %d syncs", &syncs); err == nil && code == 0 {
			if syncs < n {
				break // there were not so many
			}
			continue
		}
		if met++; code != 1 || !strings.Contains(out, "injected error") || strings.Contains(out, "goroutine ") {
			t.Errorf("sync %d: exit code %d:\n%s", n, code, out)
		}
	}
	if met == 0 {
		t.Error("no sync failed")
	}
}

// TestEverySecond: the real sync comes by itself.
func TestEverySecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := vfs.NewCrashableMem()
		s := openOnce(t, mem, SyncEverySec)
		wait(t, s, update(t, s, putLink(1)))
		before := powerCut(mem, 0, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		after := powerCut(mem, 0, 0)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		for i, fs := range []*vfs.MemFS{before, after} {
			s := openOnce(t, fs, SyncEverySec)
			if _, ok, err := s.Link(1); ok != (i == 1) || err != nil {
				t.Errorf("cut %d: found %v, %v", i, ok, err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestKill9 kills a real process on a real disk in the middle of its work.
func TestKill9(t *testing.T) {
	for _, mode := range []SyncMode{SyncAlways, SyncEverySec, SyncNo} {
		t.Run(string(mode), func(t *testing.T) {
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
			cmd.Env = childEnv("load-"+string(mode), dir)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			acked := uint64(0)
			for lines := bufio.NewScanner(out); lines.Scan(); acked++ {
				if lines.Text() != fmt.Sprint(acked+1) {
					t.Errorf("after %d: %s", acked, lines.Text())
				}
				if acked == 300 {
					_ = cmd.Process.Kill() // what it still printed is read below
				}
			}
			_ = cmd.Wait()
			s, err := Open(Options{Dir: dir, CacheBytes: minCacheBytes, Sync: mode})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for id := uint64(1); id <= acked; id++ {
				mustHave(t, s, id)
			}
			if n := uint64(s.Links()); acked < 300 || n < acked || n > acked+1 {
				t.Errorf("%d links after %d were acknowledged", n, acked)
			}
		})
	}
}
