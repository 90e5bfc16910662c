package storage

// The Each methods visit committed entries in key order until fn returns false. They hold an iterator
// meanwhile, which keeps old data on disk: stop after a bounded number and resume with from.
// In reverse, from 0 means from the newest.

// EachName visits names at or after from. Tombstones have id 0.
func (s *Store) EachName(from string, fn func(text string, id uint64) bool) error {
	panic("unfinished")
}

// EachLink visits links by id, from inclusive, upwards or (reverse) downwards. The Link is fn's to keep.
func (s *Store) EachLink(from uint64, reverse bool, fn func(*Link) bool) error { panic("unfinished") }

// EachTenantLink visits the ids of a tenant's links. tenant is not empty.
func (s *Store) EachTenantLink(tenant string, from uint64, reverse bool, fn func(id uint64) bool) error {
	panic("unfinished")
}

// EachTagLink visits the ids of links with the tag; tenant "" means of every tenant.
func (s *Store) EachTagLink(tenant, tag string, from uint64, reverse bool, fn func(id uint64) bool) error {
	panic("unfinished")
}

// EachExpired visits links whose expiry is at or before until (unix ms) and that were not announced yet, oldest first.
func (s *Store) EachExpired(until int64, fn func(at int64, id uint64) bool) error {
	panic("unfinished")
}

// EachEnded visits links announced as expired or used up at or before until (unix ms), oldest first.
func (s *Store) EachEnded(until int64, fn func(at int64, id uint64) bool) error { panic("unfinished") }

// EachBannedLink visits the ids of banned links.
func (s *Store) EachBannedLink(from uint64, fn func(id uint64) bool) error { panic("unfinished") }

// EachBannedHost visits every banned host.
func (s *Store) EachBannedHost(fn func(host string, b Ban) bool) error { panic("unfinished") }

// EachBannedTarget visits banned targets with keys at or after from.
func (s *Store) EachBannedTarget(from [16]byte, fn func(key [16]byte, b Ban) bool) error {
	panic("unfinished")
}
