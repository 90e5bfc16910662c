package storage

// Stats are the store's own figures; counters run since Open.
type Stats struct {
	StoreReads       int64 // link, name and dedup reads that reached Pebble
	Fsyncs           int64 // syncs of the log that somebody waited for; in the weaker modes, late real syncs
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
func (s *Store) Stats() Stats {
	m := s.db.Metrics()
	return Stats{
		StoreReads:       s.reads.Load(),
		Fsyncs:           s.fsyncs.Load() + s.files.syncs.Load(),
		Stalled:          s.Stalled(),
		BackgroundErrors: s.watch.errors.Load(),
		DiskBytes:        m.DiskSpaceUsage(),
		CacheBytes:       m.BlockCache.Size,
		CacheHits:        m.BlockCache.Hits,
		CacheMisses:      m.BlockCache.Misses,
		MemtableBytes:    m.MemTable.Size,
		WALBytes:         m.WAL.PhysicalSize,
		ReadAmp:          m.ReadAmp(),
		CompactionDebt:   m.Compact.EstimatedDebt,
	}
}

// Stalled says whether Pebble is holding writers back now. It is cheap.
func (s *Store) Stalled() bool { return s.watch.stalled.Load() }

// Changes counts the batches that were applied since Open. It is cheap.
func (s *Store) Changes() uint64 { return s.sync.applied.Load() }

// BackgroundErrors counts failed flushes and compactions since Open. It is cheap.
func (s *Store) BackgroundErrors() int64 { return s.watch.errors.Load() }
