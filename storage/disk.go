package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is the file system a store lives on.
type FS = vfs.FS

// NewMemFS returns a file system in memory, for a store that nobody keeps.
func NewMemFS() FS { return vfs.NewMem() }

// Tombstone is the id behind a name that may never be taken again: a banned link had it and was deleted.
const Tombstone uint64 = 0

// The disk is low when less than one of these is free for this user.
const (
	lowDiskBytes   = 256 << 20
	lowDiskPercent = 2
)

// DiskSpace returns the bytes free for this user and the size of the file system the store is on.
func (s *Store) DiskSpace() (free, size uint64, err error) {
	u, err := s.files.GetDiskUsage(s.dir)
	if err != nil {
		return 0, 0, fmt.Errorf("disk space of %s: %w", s.dir, err)
	}
	return u.AvailBytes, u.TotalBytes, nil
}

// DiskLow says whether the disk under the store is nearly full: less than 256 MiB or 2 % free. It looks at most once
// a second and is cheap otherwise. A file system that can't tell is never low.
func (s *Store) DiskLow() bool {
	now, last := s.watch.now().UnixMilli(), s.diskSeen.Load()
	if now-last < 1000 && now >= last || !s.diskSeen.CompareAndSwap(last, now) {
		return s.diskLow.Load()
	}
	free, size, err := s.DiskSpace()
	low := err == nil && (free < lowDiskBytes || free < size/100*lowDiskPercent)
	s.diskLow.Store(low)
	return low
}
