package storage

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// files is the file system as Pebble sees it. Folders are private. With lazy set, a sync of the log
// returns at once: by then Pebble has written the bytes out, so they are with the operating system and
// kill -9 can't lose them. The real sync comes from syncAll, and when Pebble closes the log: a log is on
// the disk as a whole before the next one begins.
type files struct {
	vfs.FS
	lazy  bool
	syncs atomic.Int64 // real syncs of lazy logs

	mu   sync.Mutex // guards logs
	logs map[*lazyLog]struct{}
}

// walCategory is what Pebble calls its logs when it creates them.
const walCategory vfs.DiskWriteCategory = "pebble-wal"

func newFiles(fs vfs.FS, lazy bool) *files {
	return &files{FS: fs, lazy: lazy, logs: map[*lazyLog]struct{}{}}
}

// Unwrap implements vfs.FS.
func (f *files) Unwrap() vfs.FS { return f.FS }

// MkdirAll creates folders for their owner only, whatever Pebble asks for.
func (f *files) MkdirAll(dir string, _ os.FileMode) error { return f.FS.MkdirAll(dir, 0o700) }

// Create implements vfs.FS.
func (f *files) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.Create(name, c)
	return f.wrap(file, c, err)
}

// ReuseForWrite implements vfs.FS.
func (f *files) ReuseForWrite(oldname, newname string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := f.FS.ReuseForWrite(oldname, newname, c)
	return f.wrap(file, c, err)
}

func (f *files) wrap(file vfs.File, c vfs.DiskWriteCategory, err error) (vfs.File, error) {
	if err != nil || !f.lazy || c != walCategory {
		return file, err
	}
	log := &lazyLog{File: file, owner: f}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logs[log] = struct{}{}
	return log, nil
}

// syncAll syncs every log with unsynced bytes.
func (f *files) syncAll() error {
	f.mu.Lock()
	logs := make([]*lazyLog, 0, len(f.logs))
	for log := range f.logs {
		logs = append(logs, log)
	}
	f.mu.Unlock()
	for _, log := range logs {
		if err := log.sync(); err != nil {
			return err
		}
	}
	return nil
}

// syncEvery calls syncAll each period until stop is closed; an error goes to fatal.
func (f *files) syncEvery(period time.Duration, stop <-chan struct{}, fatal func(error)) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			if err := f.syncAll(); err != nil {
				fatal(err)
				return
			}
		}
	}
}

// lazyLog is a log file whose Sync is put off.
type lazyLog struct {
	vfs.File
	owner *files
	dirty atomic.Bool

	mu     sync.Mutex // one real sync at a time, none after Close
	closed bool
}

func (l *lazyLog) Write(p []byte) (int, error) {
	n, err := l.File.Write(p)
	l.dirty.Store(true)
	return n, err
}

func (l *lazyLog) Sync() error     { return nil }
func (l *lazyLog) SyncData() error { return nil }

func (l *lazyLog) Close() error {
	err := l.sync()
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.owner.mu.Lock()
	delete(l.owner.logs, l)
	l.owner.mu.Unlock()
	if cerr := l.File.Close(); err == nil {
		err = cerr
	}
	return err
}

func (l *lazyLog) sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || !l.dirty.Swap(false) {
		return nil
	}
	l.owner.syncs.Add(1)
	return l.File.SyncData()
}
