package link

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A picture is a disk as it would be found after the process, or the machine, had ended at one moment, and the links that were
// acknowledged by then.
type picture struct {
	moment string
	disk   *vfs.MemFS
	links  map[string]string
}

// watched is a disk in memory that takes two pictures before and after everything that is written to it, while it is on: one
// without what was never synced, as after a power cut, one with all of it, as after kill -9.
type watched struct {
	vfs.FS
	memory *vfs.MemFS

	mu       sync.Mutex // guards the fields below
	on       bool
	links    map[string]string
	pictures []picture
}

func (w *watched) take(moment string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.on {
		return
	}
	for kept, how := range map[int]string{0: "power cut", 100: "kill -9"} {
		disk := w.memory.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(1, 1))})
		w.pictures = append(w.pictures, picture{fmt.Sprintf("%s %s (picture %d)", how, moment, len(w.pictures)), disk, maps.Clone(w.links)})
	}
}

func (w *watched) around(what string, fn func()) {
	w.take("before " + what)
	fn()
	w.take("after " + what)
}

func (w *watched) Unwrap() vfs.FS { return w.FS }

func (w *watched) Create(name string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	w.around("create "+name, func() { f, err = w.FS.Create(name, c) })
	return w.wrap(name, f, err)
}

func (w *watched) ReuseForWrite(oldname, name string, c vfs.DiskWriteCategory) (f vfs.File, err error) {
	w.around("reuse "+name, func() { f, err = w.FS.ReuseForWrite(oldname, name, c) })
	return w.wrap(name, f, err)
}

func (w *watched) OpenDir(name string) (vfs.File, error) {
	f, err := w.FS.OpenDir(name)
	return w.wrap(name, f, err)
}

func (w *watched) Rename(oldname, newname string) (err error) {
	w.around("rename "+newname, func() { err = w.FS.Rename(oldname, newname) })
	return err
}

func (w *watched) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return f, err
	}
	return &watchedFile{f, name, w}, nil
}

type watchedFile struct {
	vfs.File
	name string
	disk *watched
}

func (f *watchedFile) Write(p []byte) (n int, err error) {
	f.disk.around("write "+f.name, func() { n, err = f.File.Write(p) })
	return n, err
}

func (f *watchedFile) Sync() (err error) {
	f.disk.around("sync "+f.name, func() { err = f.File.Sync() })
	return err
}

func (f *watchedFile) SyncData() (err error) {
	f.disk.around("sync "+f.name, func() { err = f.File.SyncData() })
	return err
}

// TestEveryWriteOfAnOpeningEpoch ends the process, and cuts the power, before and after every single write while an epoch opens. Each
// time what was acknowledged is there and leads where it did, no code comes twice, and the epoch is opened once.
func TestEveryWriteOfAnOpeningEpoch(t *testing.T) {
	change := func(to CodeOptions) func(*Options) { return func(o *Options) { o.Codes = to } }
	for _, c := range []struct {
		name   string
		first  CodeOptions
		before int // links made before; none: the store is new
		then   func(*Options)
		epochs int // in the end
	}{
		{"the first", CodeOptions{}, 0, nil, 1},
		{"a key", CodeOptions{Ring: ring("k1", "k1")}, 50, change(CodeOptions{Ring: ring("k2", "k1", "k2")}), 2},
		{"a length", CodeOptions{Length: 4, Density: 1}, 50, change(CodeOptions{Length: 5, Density: 1}), 2},
		{"an alphabet", CodeOptions{Alphabet: "base62"}, 50, change(CodeOptions{Alphabet: "safe"}), 2},
		{"growth", CodeOptions{Length: 4, Density: 0.0001}, 50, nil, 2}, // 1,477 of 62^4: the second block does not fit
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, Options{Codes: c.first})
			seen := map[string]string{}
			if c.before > 0 {
				issueMany(b, c.before, seen)
			} else {
				b.fs = vfs.NewCrashableMem()
			}
			b.close()
			if c.then != nil {
				c.then(&b.opts)
			}
			disk := &watched{FS: b.fs, memory: b.fs, on: true, links: seen}
			b.disk = disk
			b.open()
			code, err := b.Shorten(context.Background(), &Request{URL: "https://example.com/new", Dedup: DedupOff})
			if err != nil {
				t.Fatal(err)
			}
			if err := b.store.WaitSynced(b.Ticket()); err != nil {
				t.Fatal(err)
			}
			disk.mu.Lock()
			disk.links = maps.Clone(seen)
			disk.links[code] = "https://example.com/new"
			disk.mu.Unlock()
			disk.take("at rest")
			disk.mu.Lock()
			disk.on = false
			disk.mu.Unlock()
			if got := len(b.Epochs()); got != c.epochs {
				t.Fatalf("%d epochs: nothing was opened", got)
			}
			t.Logf("%d pictures", len(disk.pictures))
			step := 1
			if testing.Short() || raceEnabled {
				step = 7
			}
			for i := 0; i < len(disk.pictures); i += step {
				wantPicture(b, disk.pictures[i], c.epochs)
			}
		})
	}
}

// wantPicture starts from a picture.
func wantPicture(b *bench, p picture, epochs int) {
	b.t.Helper()
	b.close()
	b.fs, b.disk = p.disk, nil
	b.open()
	wantAll(b, p.links)
	if got := len(b.Epochs()); got > epochs {
		b.t.Errorf("%s: %d epochs", p.moment, got)
	}
	links := maps.Clone(p.links)
	issueMany(b, 20, links)
	if got := len(b.Epochs()); got != epochs {
		b.t.Errorf("%s: %d epochs after the next links, want %d", p.moment, got, epochs)
	}
	wantAll(b, links)
	if b.t.Failed() {
		b.t.Fatal(p.moment)
	}
}
