package storage

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var backupTime = time.Date(2030, 1, 2, 3, 4, 5, 678e6, time.UTC)

// A backup holds what was there, survives a power cut, opens only by way of Restore, and Restore leaves the backup as it is.
func TestBackup(t *testing.T) {
	for _, mode := range []SyncMode{SyncAlways, SyncEverySec, SyncNo} {
		mem := vfs.NewCrashableMem()
		s := open(t, mem, mode)
		update(t, s, putLink(1))
		path, err := s.Backup("backups", backupTime, 0)
		if err != nil || path != "backups/20300102T030405.678Z" {
			t.Fatal(path, err)
		}
		update(t, s, putLink(2))
		if path, err := s.Backup("backups", backupTime, 0); err != nil || path != "backups/20300102T030405.678Z-2" {
			t.Error(path, err)
		}
		after := powerCut(mem, 0, 0)
		o := Options{Dir: path, FS: after, CacheBytes: minCacheBytes}
		if _, err := Open(o); !errors.Is(err, ErrBackup) {
			t.Errorf("a backup opened as a store: %v", err)
		}
		for _, dir := range []string{"one", "two"} {
			o.Dir = dir
			var done, all int64
			if err := Restore(o, path, func(d, a int64) { done, all = d, a }, func(s *Store) error { update(t, s, putLink(3)); return nil }); err != nil {
				t.Fatal(err)
			}
			if done != all || done == 0 {
				t.Errorf("%d of %d bytes were copied", done, all)
			}
			restored, err := Open(o)
			if err != nil {
				t.Fatal(err)
			}
			mustHave(t, restored, 1)
			mustHave(t, restored, 3)
			if restored.Links() != 2 || restored.New() {
				t.Errorf("mode %s: %d links, new %v", mode, restored.Links(), restored.New())
			}
			if err := restored.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The newest are kept, what was left unfinished goes, and what is somebody else's stays.
func TestBackupsKept(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem, SyncAlways)
	for _, dir := range []string{"backups/20290101T000000.000Z.tmp", "backups/20290101T000000.000Z", "backups/mine"} {
		if err := mem.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 4 {
		if _, err := s.Backup("backups", backupTime.Add(time.Duration(i)*time.Hour), 2); err != nil {
			t.Fatal(err)
		}
	}
	names, err := mem.List("backups")
	slices.Sort(names)
	if want := "20290101T000000.000Z 20300102T050405.678Z 20300102T060405.678Z mine"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("%q, %v, want %s", names, err, want)
	}
}

// After a clock was ahead the new backup has not the latest name, and stays all the same.
func TestBackupAfterAClockWasAhead(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem, SyncAlways)
	for _, step := range []struct {
		hours int
		want  string
	}{
		{2, "20300102T050405.678Z"},
		{3, "20300102T050405.678Z 20300102T060405.678Z"},
		{0, "20300102T030405.678Z 20300102T060405.678Z"},
		{1, "20300102T040405.678Z 20300102T060405.678Z"},
	} {
		path, err := s.Backup("backups", backupTime.Add(time.Duration(step.hours)*time.Hour), 2)
		if err != nil || isBackup(mem, path) != nil {
			t.Errorf("%s: %v", path, err)
		}
		names, err := mem.List("backups")
		if slices.Sort(names); err != nil || strings.Join(names, " ") != step.want {
			t.Errorf("%q, %v, want %s", names, err, step.want)
		}
	}
}

// Restore refuses what is no backup, a folder in use, and leaves nothing behind when it fails.
func TestRestoreRefuses(t *testing.T) {
	mem := vfs.NewMem()
	s := open(t, mem, SyncAlways)
	update(t, s, putLink(1))
	path, err := s.Backup("backups", backupTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	trouble := errors.New("trouble")
	nothing := func(*Store) error { return nil }
	f := func(dir, from string, advance func(*Store) error, want string) {
		t.Helper()
		err := Restore(Options{Dir: dir, FS: mem, CacheBytes: minCacheBytes}, from, nil, advance)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if exists(mem, "new") || exists(mem, "new.restoring") {
			t.Error("something was left behind")
		}
	}
	f("new", "data", nothing, "no finished backup")
	f("new", "backups", nothing, "no finished backup")
	f("new", "nowhere", nothing, "no finished backup")
	f("data", path, nothing, "data is not empty")
	f("new", path, func(*Store) error { return trouble }, "trouble")

	// What lies beside the new folder is removed only when a restore has left it.
	beside := "other.restoring"
	if err := s.checkpoint(beside); err != nil {
		t.Fatal(err)
	}
	f("other", path, nothing, "other.restoring is in the way: it is a backup")
	f("other", beside, nothing, "other.restoring is in the way: it is a backup")
	if err := isBackup(mem, beside); err != nil {
		t.Error(err)
	}
	if err := mem.Rename(mem.PathJoin(beside, markerFile), mem.PathJoin(beside, "thesis.txt")); err != nil {
		t.Fatal(err)
	}
	f("other", path, nothing, `other.restoring is in the way: it has "thesis.txt"`)
	if err := mem.Remove(mem.PathJoin(beside, "thesis.txt")); err != nil {
		t.Fatal(err)
	}
	if err := Restore(Options{Dir: "other", FS: mem, CacheBytes: minCacheBytes}, path, nil, nothing); err != nil || exists(mem, beside) {
		t.Errorf("over what a restore has left: %v", err)
	}
	if err := mark(mem, path, backupText+"1"); err != nil {
		t.Fatal(err)
	}
	f("new", path, nothing, "it has 11, this version knows 1")
}
