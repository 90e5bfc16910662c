package storage

import (
	"errors"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

var (
	// ErrLocked is returned by Open when another process (or this one) has the folder open.
	ErrLocked = errors.New("data folder is in use by another process")
	// ErrForeign is returned by Open when the folder holds something that is not a Curt store.
	ErrForeign = errors.New("folder is not empty and holds no Curt store")
	// ErrFormat is returned by Open when the store was written by a newer, unknown version.
	ErrFormat = errors.New("store has a format this version does not know")
	// ErrClosed is returned by WaitSynced when the store is closed before the ticket is durable.
	ErrClosed = errors.New("store is closed")
)

// SyncMode says when an acknowledged change survives a power cut. kill -9 loses nothing in any mode.
type SyncMode string

const (
	SyncAlways   SyncMode = "always"   // before WaitSynced returns
	SyncEverySec SyncMode = "everysec" // within about a second
	SyncNo       SyncMode = "no"       // when the operating system gets to it, and at Close
)

// Options configure Open. Only Dir is needed.
type Options struct {
	Dir        string           // the data folder; created with mode 0700
	FS         vfs.FS           // nil: the disk
	CacheBytes int64            // block cache, memtables come out of it; 0: 256 MiB, at least 8 MiB
	Sync       SyncMode         // "": always
	Logger     *slog.Logger     // nil: discard
	Now        func() time.Time // nil: time.Now
	Fatal      func(error)      // called when the log can't be written; must not return. nil: log it and os.Exit(1)
}

// Store is an open data folder. All methods are safe for concurrent use; none may run during or after Close,
// except Synced and WaitSynced.
type Store struct{ Reader }

// Reader holds the reads that Store and Tx share.
type Reader struct{}

// Open opens or creates the store in o.Dir. Errors: ErrLocked, ErrForeign, ErrFormat, or what the disk said.
func Open(o Options) (*Store, error) { panic("unfinished") }

// New says whether Open found no store. The caller then writes keys, epoch 0, settings and counters in ONE
// Update and waits for it; the store adds its format version to that batch. A folder whose first batch
// was never written is new again.
func (s *Store) New() bool { panic("unfinished") }

// Close syncs what was applied and closes the folder.
func (s *Store) Close() error { panic("unfinished") }

// Update runs fn and applies what it wrote as one batch, without sync; an error from fn applies nothing and is
// returned. The change is visible when Update returns and durable once WaitSynced(ticket) returned nil.
// Concurrent calls are allowed: callers hold their own locks. Reads inside fn see the committed state only.
func (s *Store) Update(fn func(*Tx) error) (ticket uint64, err error) { panic("unfinished") }

// Begin starts a transaction whose reads see its own writes. End it with Commit or Discard.
func (s *Store) Begin() *Tx { panic("unfinished") }

// Ticket returns the ticket that covers everything visible now: what a reply must wait for that shows a
// change another caller may not have synced yet.
func (s *Store) Ticket() uint64 { panic("unfinished") }

// Synced says whether WaitSynced(ticket) would return nil at once.
func (s *Store) Synced(ticket uint64) bool { panic("unfinished") }

// WaitSynced returns when everything the ticket covers is durable (as the sync mode understands it).
func (s *Store) WaitSynced(ticket uint64) error { panic("unfinished") }

// Links returns the number of stored links, O(1).
func (s *Store) Links() int64 { panic("unfinished") }

// Checkpoint writes a consistent copy of the store to dir, which must not exist; it opens as a store.
func (s *Store) Checkpoint(dir string) error { panic("unfinished") }

// Stats are the store's own figures; counters run since Open.
type Stats struct {
	StoreReads       int64 // link, name and dedup reads that reached Pebble
	Fsyncs           int64 // syncs of the log by the syncer
	Stalled          bool  // a write stall is on: Update blocks
	BackgroundErrors int64 // failed flushes and compactions

	DiskBytes      uint64
	CacheBytes     int64 // block cache in use
	CacheHits      int64
	CacheMisses    int64
	MemtableBytes  uint64
	WALBytes       uint64
	ReadAmp        int
	CompactionDebt uint64 // bytes
}

// Stats returns the figures of the moment. It takes Pebble's lock: call it once a second, not once a request.
func (s *Store) Stats() Stats { panic("unfinished") }

// Stalled says whether Pebble is holding writers back now. It is cheap.
func (s *Store) Stalled() bool { panic("unfinished") }
