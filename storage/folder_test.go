package storage

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func openDisk(dir string) (*Store, error) {
	return Open(Options{Dir: dir, CacheBytes: minCacheBytes})
}

func mustRefuse(t *testing.T, dir string, want error) {
	t.Helper()
	s, err := openDisk(dir)
	if err == nil {
		_ = s.Close()
	}
	if !errors.Is(err, want) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open: %v, want %v and the folder's name", err, want)
	}
}

func TestFolderIsPrivate(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a", "data")
	s, err := openDisk(root)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	backup, err := s.Backup(filepath.Join(root, "..", "backups"), time.Now(), 0)
	if err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, backup, ErrBackup)
	for _, dir := range []string{root, backup, filepath.Dir(backup)} {
		if i, err := os.Stat(dir); err != nil || i.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", dir, i.Mode(), err)
		}
	}
}

func TestMustExist(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	open := func() error {
		s, err := Open(Options{Dir: dir, CacheBytes: minCacheBytes, MustExist: true})
		if err == nil {
			return s.Close()
		}
		return err
	}
	if err := open(); !errors.Is(err, ErrNoStore) || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := open(); !errors.Is(err, ErrNoStore) {
		t.Error(err)
	}
	if names, _ := os.ReadDir(dir); len(names) > 0 {
		t.Errorf("an empty folder was filled: %v", names)
	}
	s, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(); !errors.Is(err, ErrNoStore) {
		t.Errorf("a folder in which nothing was written: %v", err)
	}
	if s, err = openDisk(dir); err != nil {
		t.Fatal(err)
	}
	update(t, s, putLink(1))
	if err := errors.Join(s.Close(), open()); err != nil {
		t.Error(err)
	}
}

// TestLostManifest: without the file that names the manifest Pebble would take the folder for a new one, and remove what is in it.
func TestLostManifest(t *testing.T) {
	for _, mode := range []string{"log", "table"} {
		dir := t.TempDir()
		s, err := openDisk(dir)
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, putLink(1))
		if mode == "table" {
			err = s.db.Flush()
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		lost, err := filepath.Glob(filepath.Join(dir, manifestMarker+"*"))
		if err != nil || len(lost) != 1 {
			t.Fatal(lost, err)
		}
		kept := filepath.Join(t.TempDir(), "kept")
		if err := os.Rename(lost[0], kept); err != nil {
			t.Fatal(err)
		}
		mustRefuse(t, dir, ErrIncomplete)
		if err := os.Rename(kept, lost[0]); err != nil {
			t.Fatal(err)
		}
		if s, err = openDisk(dir); err != nil {
			t.Fatal(err)
		}
		mustHave(t, s, 1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestForeignFolder(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, ErrForeign)
	if names, _ := os.ReadDir(dir); len(names) != 1 {
		t.Errorf("a foreign folder was changed: %v", names)
	}

	if err := os.Rename(file, filepath.Join(dir, markerFile)); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, ErrForeign)
}

func TestNewerFormat(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, markerFile), []byte(markerText+"2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, ErrFormat)
}

func TestNewerRows(t *testing.T) {
	fs := vfs.NewMem()
	s := openOnce(t, fs, SyncAlways)
	update(t, s, putLink(1))
	update(t, s, func(tx *Tx) error {
		tx.setMeta(metaVersion, "", appendUint(nil, formatVersion+1))
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: "data", FS: fs}); !errors.Is(err, ErrFormat) {
		t.Errorf("open: %v", err)
	}
}

func TestLocked(t *testing.T) {
	dir := t.TempDir()
	s, err := openDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	mustRefuse(t, dir, ErrLocked)
	out, _ := child(t, "open", dir)
	if !strings.Contains(out, ErrLocked.Error()) {
		t.Errorf("another process: %s", out)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if out, code := child(t, "open", dir); code != 0 {
		t.Errorf("after Close: %s", out)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{}, {Dir: "x", FS: vfs.NewMem(), Sync: "sometimes"}} {
		if s, err := Open(o); err == nil {
			_ = s.Close()
			t.Errorf("%+v was taken", o)
		}
	}
}

// TestNewUntilFirstBatch cuts the power at every sync from the first Open to the first durable batch: the store
// is either still new, or has the whole batch.
func TestNewUntilFirstBatch(t *testing.T) {
	mem := vfs.NewCrashableMem()
	start := seed(t)
	var mu sync.Mutex
	var cuts []*vfs.MemFS
	fs := &hookFS{FS: mem, onSync: func(string) {
		mu.Lock()
		defer mu.Unlock()
		cuts = append(cuts, powerCut(mem, 0, 0))
		for _, percent := range []int{30, 50, 70} {
			cuts = append(cuts, powerCut(mem, percent, start+uint64(len(cuts))))
		}
	}}
	s := open(t, fs, SyncAlways)
	if !s.New() {
		t.Fatal("a new store is not new")
	}
	ticket := update(t, s, func(tx *Tx) error {
		tx.PutEpoch(0, []byte("row"))
		tx.PutKey("k1", [32]byte{1})
		tx.PutSetting("length", "7")
		tx.SetCounter("x", 1000)
		return nil
	})
	wait(t, s, ticket)
	cuts = append(cuts, powerCut(mem, 0, 0))
	var news int
	for i, cut := range cuts {
		after := openOnce(t, cut, SyncAlways)
		rows, err := after.Epochs()
		ring, err2 := after.Keys()
		length, _, err3 := after.Setting("length")
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		whole := len(rows) == 1 && len(ring) == 1 && ring["k1"] == [32]byte{1} && length == "7"
		none := len(rows) == 0 && len(ring) == 0 && length == ""
		if after.New() && !none || !after.New() && !whole {
			t.Errorf("cut %d: new %v with %d rows, %d keys, length %q", i, after.New(), len(rows), len(ring), length)
		}
		if after.New() {
			news++
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if news == 0 || news == len(cuts) {
		t.Errorf("%d of %d cuts left a new store", news, len(cuts))
	}
}

// TestNewParentsSurvive: the folders above a new data folder are on the disk too.
func TestNewParentsSurvive(t *testing.T) {
	mem := vfs.NewCrashableMem()
	o := Options{Dir: "/srv/curt/data", FS: mem, CacheBytes: minCacheBytes}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, s, update(t, s, putLink(1)))
	o.FS = powerCut(mem, 0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	mustHave(t, after, 1)
	if err := after.Close(); err != nil {
		t.Fatal(err)
	}
}
