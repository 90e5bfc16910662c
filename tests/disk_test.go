package tests

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// disk is a file system whose syncs of the log can be held up, and that says how full it is.
type disk struct {
	vfs.FS
	logSyncs  atomic.Int64 // that were begun
	free      atomic.Int64 // bytes free, negative: as the file system says
	failReads atomic.Bool  // reads of tables fail with errRead

	onTable atomic.Pointer[func() error] // nil, or called before a table is made; its error is the disk's

	mu   sync.Mutex
	held chan struct{} // syncs of the log wait until it is closed; guarded by mu
}

func newDisk(fs vfs.FS) *disk {
	d := &disk{FS: fs}
	d.free.Store(-1)
	return d
}

// hold makes syncs of the log wait until the returned function is called, which may be more than once.
func (d *disk) hold() (release func()) {
	gate := make(chan struct{})
	d.mu.Lock()
	d.held = gate
	d.mu.Unlock()
	return sync.OnceFunc(func() {
		d.mu.Lock()
		d.held = nil
		d.mu.Unlock()
		close(gate)
	})
}

// syncing is called before a sync of the log.
func (d *disk) syncing() {
	d.logSyncs.Add(1)
	d.mu.Lock()
	gate := d.held
	d.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

func (d *disk) Unwrap() vfs.FS { return d.FS }

func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if fn := d.onTable.Load(); fn != nil && strings.HasSuffix(name, ".sst") {
		if err := (*fn)(); err != nil {
			return nil, err
		}
	}
	f, err := d.FS.Create(name, c)
	return d.wrap(name, f, err)
}

func (d *disk) ReuseForWrite(oldname, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.ReuseForWrite(oldname, name, c)
	return d.wrap(name, f, err)
}

func (d *disk) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	f, err := d.FS.Open(name, o...)
	if err != nil || !strings.HasSuffix(name, ".sst") {
		return f, err
	}
	return &tableFile{f, d}, nil
}

func (d *disk) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil || !strings.HasSuffix(name, ".log") {
		return f, err
	}
	return &logFile{f, d}, nil
}

func (d *disk) GetDiskUsage(path string) (vfs.DiskUsage, error) {
	if free := d.free.Load(); free >= 0 {
		return vfs.DiskUsage{AvailBytes: uint64(free), TotalBytes: 100 << 30, UsedBytes: 100<<30 - uint64(free)}, nil
	}
	return d.FS.GetDiskUsage(path)
}

// logFile is a log of the store.
type logFile struct {
	vfs.File
	disk *disk
}

func (f *logFile) Sync() error     { f.disk.syncing(); return f.File.Sync() }
func (f *logFile) SyncData() error { f.disk.syncing(); return f.File.SyncData() }

// errRead is what a disk says that can't read.
var errRead = errors.New("input/output error on purpose")

// tableFile is a table of the store that is read.
type tableFile struct {
	vfs.File
	disk *disk
}

func (f *tableFile) ReadAt(p []byte, off int64) (int, error) {
	if f.disk.failReads.Load() {
		return 0, errRead
	}
	return f.File.ReadAt(p, off)
}
