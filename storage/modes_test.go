package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestKilledLosesNothing: in every mode the bytes are with the operating system when WaitSynced returns.
func TestKilledLosesNothing(t *testing.T) {
	for _, mode := range []SyncMode{SyncAlways, SyncEverySec, SyncNo} {
		t.Run(string(mode), func(t *testing.T) {
			mem := vfs.NewCrashableMem()
			s := open(t, mem, mode)
			for id := uint64(1); id <= 200; id++ {
				wait(t, s, update(t, s, putLink(id)))
				if id%40 != 0 {
					continue
				}
				after := openOnce(t, killed(mem), mode)
				for old := uint64(1); old <= id; old++ {
					mustHave(t, after, old)
				}
				if n := after.Links(); n != int64(id) {
					t.Errorf("%d links, want %d", n, id)
				}
				if err := after.Close(); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// TestModeNoDoesNotSync: no real sync of the log until Close, then one that keeps everything.
func TestModeNoDoesNotSync(t *testing.T) {
	mem := vfs.NewCrashableMem()
	fs := &hookFS{FS: mem}
	s := openOnce(t, fs, SyncNo)
	before, counted := fs.logSyncs.Load(), s.Stats().Fsyncs
	for id := uint64(1); id <= 100; id++ {
		wait(t, s, update(t, s, putLink(id)))
	}
	if n := fs.logSyncs.Load() - before; n != 0 || s.Stats().Fsyncs != counted {
		t.Errorf("%d real syncs, %d counted", n, s.Stats().Fsyncs-counted)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	cut := powerCut(mem, 0, 0)
	if exists(cut, "data/"+unsyncedFile) {
		t.Error("the mark is still there after a clean close")
	}
	mustHave(t, open(t, cut, SyncNo), 100)
}

// TestHoleInLog cuts the power in a weaker mode so that the log has holes. Pebble alone refuses some of these logs,
// the store opens them all, without what was not synced.
func TestHoleInLog(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem, SyncEverySec)
	const synced = 500
	for id := uint64(1); id <= 4*synced; id++ {
		ticket := update(t, s, putLink(id))
		if id%20 == 0 {
			wait(t, s, ticket)
		}
		if id == synced {
			s.files.syncAll()
		}
	}
	refused := 0
	start := seed(t)
	for n := range uint64(20) {
		if pebbleRefuses(t, powerCut(mem, 85, start+n)) {
			refused++
		}
		cut := powerCut(mem, 85, start+n)
		after := openOnce(t, cut, SyncMode([]SyncMode{SyncAlways, SyncEverySec}[n%2]))
		for id := uint64(1); id <= synced; id++ {
			mustHave(t, after, id)
		}
		count := int64(0)
		err := after.EachLink(0, false, func(l *Link) bool { count++; return l.ID == uint64(count) })
		if err != nil || count != after.Links() {
			t.Errorf("%d links without a gap, %d counted, %v", count, after.Links(), err)
		}
		if marked := exists(cut, "data/"+unsyncedFile); marked != (n%2 == 1) {
			t.Errorf("mark left: %v", marked)
		}
		if err := after.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Error("no cut made a hole that needs the repair")
	}
	t.Logf("%d of 20 needed the repair", refused)
}

func pebbleRefuses(t *testing.T, fs vfs.FS) bool {
	t.Helper()
	o, err := Options{Dir: "data", CacheBytes: minCacheBytes}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	p := pebbleOptions(o, &watch{log: o.Logger, now: o.Now, fatal: func(err error) { panic(err) }})
	p.FS = fs
	db, err := pebble.Open("data", p)
	if err != nil {
		return pebble.IsCorruptionError(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return false
}

// TestDamagedLogIsRefused: in mode always a hole among synced records is no power cut, and links are missing.
func TestDamagedLogIsRefused(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := open(t, mem, SyncAlways)
	for id := uint64(1); id <= 2000; id++ {
		ticket := update(t, s, putLink(id))
		if id%20 == 0 {
			wait(t, s, ticket)
		}
	}
	cut := powerCut(mem, 0, 0)
	damage(t, cut, ".log", 40<<10, 4<<10)
	if _, err := Open(Options{Dir: "data", FS: cut}); !pebble.IsCorruptionError(err) {
		t.Errorf("open: %v", err)
	}
}

// damage overwrites bytes of the largest file with this suffix.
func damage(t *testing.T, fs *vfs.MemFS, suffix string, from, n int) {
	t.Helper()
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	var largest []byte
	for _, name := range names {
		if !strings.HasSuffix(name, suffix) {
			continue
		}
		b, err := fs.UnsafeGetFileDataBuffer("data/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > len(largest) {
			largest = b
		}
	}
	if len(largest) < from+n {
		t.Fatalf("no %s of %d bytes in %v", suffix, from+n, names)
	}
	for i := range n {
		largest[from+i] ^= 0x5a
	}
}

// TestDamagedTable: a read of a damaged block is an error; the rest of the store goes on.
func TestDamagedTable(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openOnce(t, mem, SyncAlways)
	for id := uint64(1); id <= 5000; id++ {
		update(t, s, func(tx *Tx) error {
			return tx.PutLink(nil, &Link{ID: id, Created: 1, Target: fmt.Sprintf("https://example.com/%x", id*0x9e3779b97f4a7c15)})
		})
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, mem, ".sst", 20<<10, 100)
	s = open(t, mem, SyncAlways)
	bad := 0
	for id := uint64(1); id <= 5000; id += 20 { // Pebble looks for the flipped bit at each damaged read: slow
		l, ok, err := s.Link(id)
		if err != nil {
			bad++
		} else if !ok || l.ID != id {
			t.Fatalf("link %d: %+v, %v", id, l, ok)
		}
	}
	if bad == 0 || bad > 50 {
		t.Errorf("%d of 250 links can't be read", bad)
	}
	mustWork(t, s)
}
