package storage

import (
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Tx collects changes. It belongs to one goroutine and ends with the Update that made it, or with Commit or
// Discard. What is handed in is copied. An error of a method without a result comes back from Commit.
type Tx struct {
	Reader
	store    *Store
	batch    *pebble.Batch
	err      error
	links    int64 // links added minus links removed, since the wipe if there was one
	expiring int64 // the same of links with an expiry
	wiped    bool

	key, val []byte // scratch, in memory of its own while it fits
	keyBuf   [64]byte
	valBuf   [256]byte
}

func newTx(s *Store, r Reader, b *pebble.Batch) *Tx {
	t := &Tx{Reader: r, store: s, batch: b}
	t.key, t.val = t.keyBuf[:0], t.valBuf[:0]
	return t
}

// Discard drops the transaction; after Commit it does nothing.
func (t *Tx) Discard() {
	if t.batch != nil {
		_ = t.batch.Close() // can't fail: it only returns the batch to its pool
		t.batch = nil
	}
}

// Links returns the number of links that the store will have after Commit.
func (t *Tx) Links() int64 {
	if t.wiped {
		return t.links
	}
	return t.store.Links() + t.links
}

func (t *Tx) note(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *Tx) set(key, val []byte) { t.note(t.batch.Set(key, val, nil)) }

func (t *Tx) delete(key []byte) { t.note(t.batch.Delete(key, nil)) }

// PutLink writes l and every index that follows from it. old is the record as stored, nil for a new link.
// A record that can't be stored (id 0, a time before 1970, a tenant or tag too long) is an error.
func (t *Tx) PutLink(old, l *Link) error {
	if err := l.check(); err != nil {
		return err
	}
	if old != nil && old.ID != l.ID {
		return fmt.Errorf("link %d can't replace link %d", l.ID, old.ID)
	}
	if old == nil {
		t.links++
	}
	t.expiring += expiring(l) - expiring(old)
	t.key = linkKey(t.key[:0], l.ID)
	t.val = appendLink(t.val[:0], l)
	t.set(t.key, t.val)
	t.reindex(old, l)
	t.countTenant(old, l)
	return nil
}

// expiring is 1 for a link with an expiry. nil is no link.
func expiring(l *Link) int64 {
	if l != nil && l.Expires != 0 {
		return 1
	}
	return 0
}

// DeleteLink removes the record and its indexes. Names and dedup hints are the caller's to remove.
func (t *Tx) DeleteLink(old *Link) error {
	if err := old.check(); err != nil {
		return err
	}
	t.links--
	t.expiring -= expiring(old)
	t.key = linkKey(t.key[:0], old.ID)
	t.delete(t.key)
	t.reindex(old, nil)
	t.countTenant(old, nil)
	return nil
}

// countTenant moves a link from the count of old's tenant to that of l's; either may be nil.
func (t *Tx) countTenant(old, l *Link) {
	had, has := "", ""
	if old != nil {
		had = old.Tenant
	}
	if l != nil {
		has = l.Tenant
	}
	if had == has {
		return
	}
	for tenant, n := range map[string]int64{had: -1, has: 1} {
		if tenant != "" {
			t.note(t.batch.Merge(tenantLinksKey(nil, tenant), appendCount(nil, count{Visits: n}), nil))
		}
	}
}

// reindex replaces the index entries of old by those of l; either may be nil.
func (t *Tx) reindex(old, l *Link) {
	var gone, due [][]byte
	if old != nil {
		gone = old.indexKeys()
	}
	if l != nil {
		due = l.indexKeys()
	}
	for _, key := range gone {
		if !containsKey(due, key) {
			t.delete(key)
		}
	}
	for _, key := range due {
		if !containsKey(gone, key) {
			t.set(key, nil)
		}
	}
}

func containsKey(keys [][]byte, key []byte) bool {
	return slices.ContainsFunc(keys, func(k []byte) bool { return string(k) == string(key) })
}

// PutName makes text lead to id; id 0 leaves a tombstone.
func (t *Tx) PutName(text string, id uint64) {
	t.key = nameKey(t.key[:0], text)
	t.setUint(t.key, id)
}

// DeleteName frees a name.
func (t *Tx) DeleteName(text string) {
	t.key = nameKey(t.key[:0], text)
	t.delete(t.key)
}

// PutDedup makes key hint at id.
func (t *Tx) PutDedup(key [16]byte, id uint64) {
	t.key = hashKey(t.key[:0], kindDedup, key)
	t.setUint(t.key, id)
}

// DeleteDedup removes a hint.
func (t *Tx) DeleteDedup(key [16]byte) {
	t.key = hashKey(t.key[:0], kindDedup, key)
	t.delete(t.key)
}

// PutBannedTarget bans a target.
func (t *Tx) PutBannedTarget(key [16]byte, b Ban) {
	t.key = hashKey(t.key[:0], kindBannedTarget, key)
	t.val = appendBan(t.val[:0], b)
	t.set(t.key, t.val)
}

// DeleteBannedTarget lifts the ban of a target.
func (t *Tx) DeleteBannedTarget(key [16]byte) {
	t.key = hashKey(t.key[:0], kindBannedTarget, key)
	t.delete(t.key)
}

// PutBannedHost bans a host.
func (t *Tx) PutBannedHost(host string, b Ban) {
	t.key = hostKey(t.key[:0], host)
	t.val = appendBan(t.val[:0], b)
	t.set(t.key, t.val)
}

// DeleteBannedHost lifts the ban of a host.
func (t *Tx) DeleteBannedHost(host string) {
	t.key = hostKey(t.key[:0], host)
	t.delete(t.key)
}

// SetCounter sets a segment's counter. Update and WaitSynced make it a durable reservation.
func (t *Tx) SetCounter(segment string, v uint64) {
	t.key = metaKeyOf(t.key[:0], metaCounter, segment)
	t.setUint(t.key, v)
}

// PutEpoch writes one row of the epochs table.
func (t *Tx) PutEpoch(number uint8, row []byte) {
	t.setMeta(metaEpoch, string([]byte{number}), row)
}

// PutKey adds a key to the stored ring.
func (t *Tx) PutKey(id string, key [32]byte) { t.setMeta(metaKey, id, key[:]) }

// PutSetting remembers a setting.
func (t *Tx) PutSetting(name, value string) { t.setMeta(metaSetting, name, []byte(value)) }

// DeleteAllLinks removes links, names, hints, bans, indexes and clicks; counters, epochs, keys and settings
// stay. The caller keeps every other writer out from before this call until the commit has returned.
func (t *Tx) DeleteAllLinks() {
	t.note(t.batch.DeleteRange([]byte(linksFrom), []byte(linksTo), nil))
	t.key = metaKeyOf(t.key[:0], metaLinks, "")
	t.delete(t.key)
	t.links, t.expiring, t.wiped = 0, 0, true
}

func (t *Tx) setUint(key []byte, v uint64) {
	t.val = appendUint(t.val[:0], v)
	t.set(key, t.val)
}

func (t *Tx) setMeta(what byte, name string, val []byte) {
	t.key = metaKeyOf(t.key[:0], what, name)
	t.set(t.key, val)
}
