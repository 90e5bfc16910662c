package storage

import (
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

const (
	minCacheBytes     = 8 << 20
	defaultCacheBytes = 256 << 20
	memtables         = 4
	maxMemtableBytes  = 16 << 20

	diskSlowAfter = 5 * time.Second
	maxOpenErrors = 10 // failed flushes after which a start gives up: some seconds

	firstPause = 10 * time.Millisecond // after a failed flush or compaction, doubled with each that follows
	lastPause  = time.Second
)

// memtableBytes lets memtables have at most a quarter of the cache they are taken from.
func memtableBytes(cache int64) int64 { return min(cache/(4*memtables), maxMemtableBytes) }

// pebbleOptions are the settings for many small records that are read one by one.
func pebbleOptions(o Options, w *watch) *pebble.Options {
	p := &pebble.Options{
		FormatMajorVersion:          pebble.FormatValueSeparation, // raising it is one-way: see formatVersion
		CacheSize:                   o.CacheBytes,
		MemTableSize:                uint64(o.MemtableBytes),
		MemTableStopWritesThreshold: memtables,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       24,
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                o.OpenFiles,
		FlushDelayDeleteRange:       10 * time.Second, // so that DeleteAllLinks gives the disk back
		CompactionConcurrencyRange:  func() (int, int) { return 1, 2 },
		Merger:                      merger(),
		Logger:                      pebbleLogger{o.Logger, w.fatal},
		EventListener:               w.listener(),
	}
	for i := range p.Levels {
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
		p.Levels[i].BlockSize = 8 << 10
		p.Levels[i].IndexBlockSize = 64 << 10
	}
	p.TargetFileSizes[0] = 4 << 20
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionFastest })
	return p
}

// pebbleLogger hands Pebble's own words on. Fatalf does not return: after a commit error Pebble can't go on.
type pebbleLogger struct {
	log   *slog.Logger
	fatal func(error)
}

func (l pebbleLogger) Infof(format string, args ...any) {
	l.log.Debug("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.log.Error("pebble: " + fmt.Sprintf(format, args...))
}

func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.fatal(fmt.Errorf(format, args...))
}

// watch turns Pebble's events into log lines and figures. Pebble calls it with its locks held: it never calls
// back and never waits.
type watch struct {
	log     *slog.Logger
	now     func() time.Time
	fatal   func(error)
	stalled atomic.Bool
	opening atomic.Bool  // Open is replaying the log
	errors  atomic.Int64 // failed flushes and compactions
	failing atomic.Int64 // of them, since the last that went well
	logged  atomic.Int64 // unix ms of the last one logged
}

func (w *watch) listener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: w.backgroundError,
		FlushEnd:        func(i pebble.FlushInfo) { w.written(i.Err) },
		CompactionEnd:   func(i pebble.CompactionInfo) { w.written(i.Err) },
		DataCorruption: func(i pebble.DataCorruptionInfo) {
			w.log.Error("data is corrupt", "file", i.Path, "error", i.Details.Error())
		},
		DiskSlow: func(i pebble.DiskSlowInfo) {
			w.log.Warn("disk is slow", "file", i.Path, "operation", i.OpType.String(), "took", i.Duration)
		},
		LowDiskSpace: func(i pebble.LowDiskSpaceInfo) {
			w.log.Warn("disk space is low", "available", i.AvailBytes, "total", i.TotalBytes)
		},
		WriteStallBegin: func(i pebble.WriteStallBeginInfo) {
			w.stalled.Store(true)
			w.log.Warn("writes stall", "reason", i.Reason)
		},
		WriteStallEnd: func() {
			w.stalled.Store(false)
			w.log.Warn("writes go on")
		},
	}
}

// pause is how long the next table must wait: Pebble retries a failed flush at once and for ever, which would keep a processor busy.
func (w *watch) pause() time.Duration {
	n := w.failing.Load()
	if n == 0 {
		return 0
	}
	return min(firstPause<<min(n-1, 16), lastPause)
}

// written is told of a flush or compaction that has ended; a failed one comes to backgroundError too.
func (w *watch) written(err error) {
	if err == nil {
		w.failing.Store(0)
	}
}

// backgroundError logs at most once a second. Pebble calls it with its lock held: nothing here may wait.
func (w *watch) backgroundError(err error) {
	n := w.errors.Add(1)
	w.failing.Add(1)
	if n >= maxOpenErrors && w.opening.Load() {
		w.fatal(fmt.Errorf("open: the log can't be replayed into tables: %v", err)) // Open would wait for ever
	}
	now, last := w.now().UnixMilli(), w.logged.Load()
	if now-last < 1000 && now >= last && n > 1 || !w.logged.CompareAndSwap(last, now) {
		return
	}
	w.log.Error("flush or compaction failed", "error", err.Error(), "failures", n) // as it is, err brings its stack
}
