package storage

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	// ErrLocked is returned by Open when another process (or this one) has the folder open.
	ErrLocked = errors.New("the data folder is in use by another process")
	// ErrNoStore is returned by Open with MustExist when there is no store in the folder.
	ErrNoStore = errors.New("there is no Curt store")
	// ErrForeign is returned by Open when the folder holds something that is not a Curt store.
	ErrForeign = errors.New("the folder is not empty and holds no Curt store")
	// ErrIncomplete is returned by Open when the file is missing that says which tables and logs are the store's. Pebble would begin anew and remove them.
	ErrIncomplete = errors.New("files of the store are missing: only a backup has its links")
	// ErrBackup is returned by Open when the folder holds a backup: going on from there would give out again what was given out since.
	ErrBackup = errors.New("the folder is a backup, which can only be restored into another one")
	// ErrNoBackup is returned by Restore when the folder it is to read holds no finished backup.
	ErrNoBackup = errors.New("there is no finished backup")
	// ErrFormat is returned by Open when the store was written by a version with another format.
	ErrFormat = errors.New("the store has a format this version does not know")
	// ErrClosed is returned by WaitSynced when the store was closed and the ticket is not durable.
	ErrClosed = errors.New("the store is closed")
)

// SyncMode says when an acknowledged change survives a power cut. kill -9 loses nothing in any mode.
type SyncMode string

const (
	SyncAlways   SyncMode = "always"   // before WaitSynced returns
	SyncEverySec SyncMode = "everysec" // within about a second
	SyncNo       SyncMode = "no"       // when the operating system gets to it, and at Close
)

// DefaultOpenFiles is how many tables a store keeps open.
const DefaultOpenFiles = 4096

// Options configure Open. Only Dir is needed.
type Options struct {
	Dir           string           // the data folder; created for its owner only
	FS            vfs.FS           // nil: the disk
	CacheBytes    int64            // block cache, memtables come out of it; 0: 256 MiB, less than 8 MiB: 8 MiB
	MemtableBytes int64            // of each of the 4 tables that collect what is written; 0: a sixteenth of CacheBytes, at most 16 MiB
	OpenFiles     int              // tables kept open; 0: DefaultOpenFiles
	Sync          SyncMode         // "": always
	Logger        *slog.Logger     // nil: discard
	Now           func() time.Time // nil: time.Now
	MustExist     bool             // Open makes no store: ErrNoStore

	// Fatal is called when the log can't be written: what was applied may never become durable. It must not
	// return; if it does, the goroutine that called it blocks for ever. nil: log the error and os.Exit(1).
	Fatal func(error)
}

func (o Options) withDefaults() (Options, error) {
	switch o.Sync {
	case "":
		o.Sync = SyncAlways
	case SyncAlways, SyncEverySec, SyncNo:
	default:
		return o, fmt.Errorf("sync mode %q is not always, everysec or no", o.Sync)
	}
	if o.Dir == "" {
		return o, errors.New("no data folder given")
	}
	if o.OpenFiles == 0 {
		o.OpenFiles = DefaultOpenFiles
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = defaultCacheBytes
	}
	o.CacheBytes = max(o.CacheBytes, minCacheBytes)
	if o.MemtableBytes == 0 {
		o.MemtableBytes = memtableBytes(o.CacheBytes)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Fatal == nil {
		log := o.Logger
		o.Fatal = func(err error) {
			log.Error("the store can't go on", "error", err)
			os.Exit(1)
		}
	}
	return o, nil
}

// Store is an open data folder. All methods are safe for concurrent use; none may run during or after Close,
// except Synced and WaitSynced.
type Store struct {
	Reader
	dir      string
	files    *files
	db       *pebble.DB
	watch    *watch
	sync     *syncer
	links    atomic.Int64
	expiring atomic.Int64 // links with an expiry
	lazy     bool
	fsyncs   atomic.Int64 // barriers of mode always

	isNew     bool        // no first batch was found
	unwritten atomic.Bool // the first batch is still to come

	unmerged    []error // parts of the journal that are damaged
	journalFrom uint64  // see JournalFrom

	diskSeen atomic.Int64 // when DiskLow looked last, unix ms
	diskLow  atomic.Bool  // what it saw

	background sync.WaitGroup // the real syncs of mode everysec
	stop       chan struct{}
	closers    []io.Closer // after Pebble, in this order
}

// Open opens or creates the store in o.Dir. Errors: ErrLocked, ErrForeign, ErrIncomplete, ErrBackup, ErrFormat, ErrNoStore, or what the disk said.
func Open(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{dir: o.Dir, lazy: o.Sync != SyncAlways, stop: make(chan struct{})}
	s.watch = &watch{log: o.Logger, now: o.Now, fatal: func(err error) {
		o.Fatal(err)
		select {}
	}}
	fs := s.openFiles(o)
	lock, err := openFolder(fs, o.Dir, o.MustExist)
	if err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	s.closers = append([]io.Closer{lock}, s.closers...)
	if err := s.openPebble(o, fs, lock); err != nil {
		return nil, errors.Join(err, s.closeAll())
	}
	err = s.load()
	if err == nil && s.isNew && o.MustExist {
		err = fmt.Errorf("open %s: %w", o.Dir, ErrNoStore) // whoever made the folder came no further
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Close(), s.closeAll())
	}
	s.files.open.Store(true)
	s.sync = newSyncer(s.barrier)
	if err := s.mergeJournal(); err != nil {
		return nil, errors.Join(err, s.sync.close(), s.db.Close(), s.closeAll())
	}
	if o.Sync == SyncEverySec {
		s.background.Go(func() { s.files.syncEvery(time.Second, s.stop) })
	}
	return s, nil
}

// openFiles stacks the file system: the health check outside, because it allows one operation on a file at a
// time and the late syncs are concurrent with writes.
func (s *Store) openFiles(o Options) vfs.FS {
	if o.FS != nil {
		s.files = newFiles(o.FS, s.lazy, s.watch.fatal, s.pause)
		return s.files
	}
	s.files = newFiles(vfs.Default, s.lazy, s.watch.fatal, s.pause)
	fs, closer := vfs.WithDiskHealthChecks(s.files, diskSlowAfter, nil, s.watch.listener().DiskSlow)
	s.closers = append(s.closers, closer)
	return fs
}

// pause waits as long as watch says, or until Close.
func (s *Store) pause() {
	d := s.watch.pause()
	if d == 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.stop:
	}
}

func (s *Store) openPebble(o Options, fs vfs.FS, lock *pebble.Lock) error {
	dropped, err := repairLog(fs, o.Dir)
	if err != nil {
		return fmt.Errorf("repair %s: %w", o.Dir, err)
	}
	if dropped != 0 {
		o.Logger.Warn("the log had a hole after a power cut and was cut there", "bytes", dropped)
	}
	if s.lazy {
		if err := markUnsynced(fs, o.Dir); err != nil {
			return fmt.Errorf("mark %s: %w", o.Dir, err)
		}
	}
	p := pebbleOptions(o, s.watch)
	p.FS, p.Lock = fs, lock
	s.watch.opening.Store(true)
	s.files.begun.Store(true)
	s.db, err = openDB(o.Dir, p)
	s.watch.opening.Store(false)
	if err != nil {
		return fmt.Errorf("open %s: %w", o.Dir, err)
	}
	s.Reader = Reader{from: s.db, reads: new(atomic.Int64)}
	if !s.lazy {
		err = unmarkUnsynced(fs, o.Dir) // Pebble has replayed the old log into tables that are on the disk
	}
	if err != nil {
		return errors.Join(fmt.Errorf("mark %s: %w", o.Dir, err), s.db.Close())
	}
	return nil
}

// openDB is pebble.Open, which may panic when it cleans up after a failed call to the file system.
func openDB(dir string, o *pebble.Options) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("a call to the file system failed, and Pebble could not clean up after it: %v", p)
		}
	}()
	return pebble.Open(dir, o)
}

// load reads what Open must know: the format and the number of links.
func (s *Store) load() error {
	v, ok, err := s.metaUint(metaVersion, "")
	if err != nil {
		return fmt.Errorf("read format: %w", err)
	}
	s.isNew = !ok
	s.unwritten.Store(!ok)
	if !ok {
		// Pebble begins the first log of a store in its oldest format, which can't tell a torn end from
		// damage. A flush begins the next one.
		return s.db.Flush()
	}
	if err := checkFormat(s.dir, v); err != nil {
		return err
	}
	_, err = s.find(metaKeyOf(nil, metaLinks, ""), func(b []byte) error {
		c, err := decodeCount(b)
		s.links.Store(c.Visits)
		s.expiring.Store(c.Bots)
		return err
	})
	if err != nil {
		return fmt.Errorf("read number of links: %w", err)
	}
	return nil
}

// New says whether Open found no store. The caller then writes keys, epoch 0, settings and counters in ONE
// Update, the first one, and waits for it; the store adds its format version to that batch. A folder whose
// first batch was never written is new again.
func (s *Store) New() bool { return s.isNew }

// Close syncs what was applied and closes the folder.
func (s *Store) Close() error {
	err := s.sync.close()
	close(s.stop)
	s.background.Wait()
	err = errors.Join(err, s.db.Close())
	if err == nil && s.lazy {
		err = unmarkUnsynced(s.files, s.dir)
	}
	return errors.Join(err, s.closeAll())
}

func (s *Store) closeAll() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// Links returns the number of stored links, O(1).
func (s *Store) Links() int64 { return s.links.Load() }

// Expiring returns the number of stored links with an expiry, past ones included, O(1).
func (s *Store) Expiring() int64 { return s.expiring.Load() }
