package storage

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// files is the file system as Pebble sees it. Folders are private, and an error of a log, or of a folder's entries, ends
// the process here, by name: Pebble would end it too, at times with nothing but a stack.
//
// With lazy set, a sync of the log returns at once: by then Pebble has written the bytes out, so they are with
// the operating system and kill -9 can't lose them. The real sync comes from syncAll, and when Pebble closes
// the log: a log is on the disk as a whole before the next one begins.
type files struct {
	vfs.FS
	lazy  bool
	fatal func(error)
	pause func()       // before a table is made
	open  atomic.Bool  // errors are fatal from now on; before, they are Open's
	begun atomic.Bool  // Pebble has begun to open: errors of a folder are fatal from now on
	syncs atomic.Int64 // real syncs of lazy logs

	mu   sync.Mutex // guards logs
	logs map[*logFile]struct{}
}

// walCategory is what Pebble calls its logs when it creates them.
const walCategory vfs.DiskWriteCategory = "pebble-wal"

func newFiles(fs vfs.FS, lazy bool, fatal func(error), pause func()) *files {
	return &files{FS: fs, lazy: lazy, fatal: fatal, pause: pause, logs: map[*logFile]struct{}{}}
}

// Unwrap implements vfs.FS.
func (f *files) Unwrap() vfs.FS { return f.FS }

// MkdirAll creates folders for their owner only, whatever Pebble asks for.
func (f *files) MkdirAll(dir string, _ os.FileMode) error { return f.FS.MkdirAll(dir, 0o700) }

// Create implements vfs.FS. The folder's entry of a manifest is made durable at once: Pebble syncs the folder
// only with the marker that names the manifest, and a file system that keeps the second entry and loses the
// first would leave a store that does not open.
func (f *files) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasSuffix(name, ".sst") {
		f.pause()
	}
	file, err := f.FS.Create(name, c)
	if err == nil && strings.HasPrefix(f.PathBase(name), "MANIFEST-") {
		if err := syncFolder(f.FS, f.PathDir(name)); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return f.wrap(name, file, c, err)
}

// ReuseForWrite implements vfs.FS.
func (f *files) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(oldname, newname, c)
	return f.wrap(newname, file, c, err)
}

func (f *files) wrap(name string, file vfs.File, c vfs.DiskWriteCategory, err error) (vfs.File, error) {
	if c != walCategory {
		return file, err
	}
	if err != nil {
		return nil, f.check("create log", name, err)
	}
	log := &logFile{File: file, name: name, owner: f}
	if stat, err := file.Stat(); err == nil {
		log.size = stat.Size()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs[log] = struct{}{}
	return log, nil
}

// check returns err, or does not return when it is one that nothing survives.
func (f *files) check(what, name string, err error) error {
	if err != nil && f.open.Load() {
		f.fatal(fmt.Errorf("%s %s: %w", what, name, err))
	}
	return err
}

// OpenDir implements vfs.FS.
func (f *files) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &folder{File: file, name: name, owner: f}, nil
}

// folder is a folder whose entries Pebble syncs: that of a new log above all. An error there would be a panic in Pebble, while it opens in a
// goroutine of a flush, from which nobody could recover.
type folder struct {
	vfs.File
	name  string
	owner *files
}

func (d *folder) Sync() error {
	err := d.File.Sync()
	if err != nil && d.owner.begun.Load() {
		d.owner.fatal(fmt.Errorf("sync folder %s: %w", d.name, err))
	}
	return err
}

// syncAll syncs every lazy log with unsynced bytes.
func (f *files) syncAll() {
	f.mu.Lock()
	logs := make([]*logFile, 0, len(f.logs))
	for log := range f.logs {
		logs = append(logs, log)
	}
	f.mu.Unlock()
	for _, log := range logs {
		_ = log.lateSync() // an error has ended the process
	}
}

// syncEvery calls syncAll each period until stop is closed.
func (f *files) syncEvery(period time.Duration, stop <-chan struct{}) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			f.syncAll()
		}
	}
}

// logFile is a log that Pebble writes.
type logFile struct {
	vfs.File
	name  string
	owner *files
	dirty atomic.Bool // has bytes that no real sync has seen

	end  int64 // where the next byte goes; the one goroutine that writes owns it and size
	size int64 // of the file, or -1 when it can't be grown ahead

	mu     sync.Mutex // one late sync at a time, none after Close
	closed bool
}

func (l *logFile) Write(p []byte) (int, error) {
	l.growAhead(int64(len(p)))
	n, err := l.File.Write(p)
	l.end += int64(n)
	l.dirty.Store(true)
	return n, l.owner.check("write log", l.name, err)
}

// growthStep is what a log grows by, at most, before its bytes come.
const growthStep = 1 << 20

// growAhead writes zeros where the log's next bytes will go, as long as the file is already, up to a step. A sync after a write to a new place
// has to write down the file's length and extents too, and takes twice the time of one after an overwrite. Pebble takes zeros behind the last
// record for the end of a log, as it takes old records in a log that it uses again.
func (l *logFile) growAhead(n int64) {
	for l.size >= 0 && l.end+n > l.size && !l.owner.lazy {
		step := make([]byte, min(max(l.size, growthStep/16), growthStep))
		if _, err := l.File.WriteAt(step, l.size); err != nil {
			l.size = -1 // the write itself will say so, or fit
			return
		}
		l.size += int64(len(step))
	}
}

func (l *logFile) Sync() error {
	if l.owner.lazy {
		return nil
	}
	return l.owner.check("sync log", l.name, l.File.Sync())
}

func (l *logFile) SyncData() error {
	if l.owner.lazy {
		return nil
	}
	return l.owner.check("sync log", l.name, l.File.SyncData())
}

func (l *logFile) Close() error {
	if l.owner.lazy {
		if err := l.lateSync(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.owner.mu.Lock()
	delete(l.owner.logs, l)
	l.owner.mu.Unlock()
	return l.owner.check("close log", l.name, l.File.Close())
}

func (l *logFile) lateSync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.dirty.Swap(false) {
		return nil
	}
	l.owner.syncs.Add(1)
	return l.owner.check("sync log", l.name, l.File.SyncData())
}
