package storage

import "github.com/cockroachdb/pebble/v2/vfs"

// FS is the file system a store lives on.
type FS = vfs.FS

// Tombstone is the id behind a name that may never be taken again: a banned link had it and was deleted.
const Tombstone uint64 = 0

// DiskLow reports that the disk under the store is nearly full.
func (s *Store) DiskLow() bool { return false }
