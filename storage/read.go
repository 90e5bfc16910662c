package storage

// Link returns the link with this id.
func (r *Reader) Link(id uint64) (Link, bool, error) { panic("unfinished") }

// Name returns the id a name leads to. Id 0 is a tombstone: a banned name that was deleted.
func (r *Reader) Name(text string) (id uint64, ok bool, err error) { panic("unfinished") }

// Dedup returns the id a dedup key hints at.
func (r *Reader) Dedup(key [16]byte) (id uint64, ok bool, err error) { panic("unfinished") }

// BannedTarget returns the ban of a target.
func (r *Reader) BannedTarget(key [16]byte) (Ban, bool, error) { panic("unfinished") }

// BannedHost returns the ban of exactly this host.
func (r *Reader) BannedHost(host string) (Ban, bool, error) { panic("unfinished") }

// Counter returns the value of a segment's counter, 0 when it was never set.
func (r *Reader) Counter(segment string) (uint64, error) { panic("unfinished") }

// Epochs returns the rows of the epochs table, element i being row number i.
func (r *Reader) Epochs() ([][]byte, error) { panic("unfinished") }

// Keys returns the stored key ring, id -> key.
func (r *Reader) Keys() (map[string][32]byte, error) { panic("unfinished") }

// Setting returns a remembered setting.
func (r *Reader) Setting(name string) (value string, ok bool, err error) { panic("unfinished") }
