package storage

import (
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if what := os.Getenv("CURT_STORAGE_CHILD"); what != "" {
		runChild(what)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// open opens a store on fs and closes it when the test ends.
func open(t testing.TB, fs vfs.FS, mode SyncMode) *Store {
	t.Helper()
	s, err := Open(Options{Dir: "data", FS: fs, CacheBytes: minCacheBytes, Sync: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// update applies fn and fails the test when that fails.
func update(t testing.TB, s *Store, fn func(*Tx) error) uint64 {
	t.Helper()
	ticket, err := s.Update(fn)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func wait(t testing.TB, s *Store, ticket uint64) {
	t.Helper()
	if err := s.WaitSynced(ticket); err != nil {
		t.Fatal(err)
	}
}

// putLink returns an Update function that stores one more plain link.
func putLink(id uint64) func(*Tx) error {
	return func(tx *Tx) error {
		return tx.PutLink(nil, &Link{ID: id, Flags: Generated, Created: 1, Target: "https://example.com/"})
	}
}

func mustHave(t testing.TB, s *Store, id uint64) {
	t.Helper()
	if _, ok, err := s.Link(id); err != nil || !ok {
		t.Fatalf("link %d: found %v, %v", id, ok, err)
	}
}

// powerCut returns the file system as it may look after one: unsynced blocks survive with this chance in percent.
func powerCut(fs *vfs.MemFS, percent int, seed uint64) *vfs.MemFS {
	return fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rand.New(rand.NewPCG(seed, 1))})
}

// killed returns the file system as it is after kill -9: whatever reached the operating system is there.
func killed(fs *vfs.MemFS) *vfs.MemFS { return powerCut(fs, 100, 0) }

// seed prints the seed of a random test.
func seed(t testing.TB) uint64 {
	n := uint64(time.Now().UnixNano())
	t.Logf("seed %d", n)
	return n
}

// hookFS calls onSync before each sync of a file or folder and counts those of logs. With noWriteAt set, a write to a place fails.
type hookFS struct {
	vfs.FS
	onSync    func(name string)
	noWriteAt bool
	logSyncs  atomic.Int64
}

func (h *hookFS) Unwrap() vfs.FS { return h.FS }

func (h *hookFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := h.FS.Create(name, c)
	return h.wrap(name, f, err)
}

func (h *hookFS) ReuseForWrite(oldname, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := h.FS.ReuseForWrite(oldname, name, c)
	return h.wrap(name, f, err)
}

func (h *hookFS) OpenDir(name string) (vfs.File, error) {
	f, err := h.FS.OpenDir(name)
	return h.wrap(name, f, err)
}

func (h *hookFS) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &hookFile{f, name, h}, nil
}

type hookFile struct {
	vfs.File
	name string
	hook *hookFS
}

func (f *hookFile) before() {
	if strings.HasSuffix(f.name, ".log") {
		f.hook.logSyncs.Add(1)
	}
	if f.hook.onSync != nil {
		f.hook.onSync(f.name)
	}
}

func (f *hookFile) Sync() error     { f.before(); return f.File.Sync() }
func (f *hookFile) SyncData() error { f.before(); return f.File.SyncData() }

func (f *hookFile) WriteAt(p []byte, at int64) (int, error) {
	if f.hook.noWriteAt {
		return 0, errors.New("no space for the future")
	}
	return f.File.WriteAt(p, at)
}
