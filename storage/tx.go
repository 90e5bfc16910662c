package storage

// Tx collects changes. It belongs to one goroutine. Strings and slices handed in are copied.
type Tx struct{ Reader }

// Commit applies the transaction as one batch, without sync. The Tx is used up.
func (t *Tx) Commit() (ticket uint64, err error) { panic("unfinished") }

// Discard drops the transaction; after Commit it does nothing.
func (t *Tx) Discard() { panic("unfinished") }

// PutLink writes l and every index that follows from it. old is the record as stored, nil for a new link.
func (t *Tx) PutLink(old *Link, l *Link) error { panic("unfinished") }

// DeleteLink removes the record and its indexes. Names and dedup hints are the caller's to remove.
func (t *Tx) DeleteLink(old *Link) error { panic("unfinished") }

// PutName makes text lead to id; id 0 leaves a tombstone.
func (t *Tx) PutName(text string, id uint64) { panic("unfinished") }

// DeleteName frees a name.
func (t *Tx) DeleteName(text string) { panic("unfinished") }

// PutDedup makes key hint at id.
func (t *Tx) PutDedup(key [16]byte, id uint64) { panic("unfinished") }

// DeleteDedup removes a hint.
func (t *Tx) DeleteDedup(key [16]byte) { panic("unfinished") }

// PutBannedTarget bans a target.
func (t *Tx) PutBannedTarget(key [16]byte, b Ban) { panic("unfinished") }

// DeleteBannedTarget lifts the ban of a target.
func (t *Tx) DeleteBannedTarget(key [16]byte) { panic("unfinished") }

// PutBannedHost bans a host.
func (t *Tx) PutBannedHost(host string, b Ban) { panic("unfinished") }

// DeleteBannedHost lifts the ban of a host.
func (t *Tx) DeleteBannedHost(host string) { panic("unfinished") }

// SetCounter sets a segment's counter.
func (t *Tx) SetCounter(segment string, v uint64) { panic("unfinished") }

// PutEpoch writes one row of the epochs table.
func (t *Tx) PutEpoch(number uint8, row []byte) { panic("unfinished") }

// PutKey adds a key to the stored ring.
func (t *Tx) PutKey(id string, key [32]byte) { panic("unfinished") }

// PutSetting remembers a setting.
func (t *Tx) PutSetting(name, value string) { panic("unfinished") }

// DeleteAllLinks removes links, names, hints, bans, indexes and clicks; counters, epochs, keys and settings stay.
// The caller keeps every other writer out from before this call until the commit has returned.
func (t *Tx) DeleteAllLinks() { panic("unfinished") }
