package storage

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// Reader holds the reads that Store and Tx share. What it returns is the caller's to keep.
type Reader struct {
	from  pebble.Reader
	reads *atomic.Int64 // reads of links, names and hints
}

// Link returns the link with this id.
func (r *Reader) Link(id uint64) (Link, bool, error) {
	r.reads.Add(1)
	v, closer, err := r.from.Get(linkKey(make([]byte, 0, 9), id))
	if errors.Is(err, pebble.ErrNotFound) {
		return Link{}, false, nil
	} else if err != nil {
		return Link{}, false, fmt.Errorf("read link %d: %w", id, err)
	}
	l, err := decodeLink(id, v)
	if cerr := closer.Close(); err == nil && cerr != nil {
		err = fmt.Errorf("read link %d: %w", id, cerr)
	}
	return l, err == nil, err
}

// Name returns the id a name leads to. Id 0 is a tombstone: a banned name that was deleted.
func (r *Reader) Name(text string) (id uint64, ok bool, err error) {
	r.reads.Add(1)
	id, ok, err = r.findUint(nameKey(make([]byte, 0, 32), text))
	if err != nil {
		return 0, false, fmt.Errorf("read name: %w", err)
	}
	return id, ok, nil
}

// Dedup returns the id a dedup key hints at.
func (r *Reader) Dedup(key [16]byte) (id uint64, ok bool, err error) {
	r.reads.Add(1)
	id, ok, err = r.findUint(hashKey(make([]byte, 0, 17), kindDedup, key))
	if err != nil {
		return 0, false, fmt.Errorf("read dedup hint: %w", err)
	}
	return id, ok, nil
}

// BannedTarget returns the ban of a target.
func (r *Reader) BannedTarget(key [16]byte) (Ban, bool, error) {
	return r.findBan(hashKey(make([]byte, 0, 17), kindBannedTarget, key))
}

// BannedHost returns the ban of exactly this host.
func (r *Reader) BannedHost(host string) (Ban, bool, error) {
	return r.findBan(hostKey(make([]byte, 0, 64), host))
}

// TenantLinks returns the number of a tenant's stored links, by one read. tenant is not empty.
func (r *Reader) TenantLinks(tenant string) (n int64, err error) {
	if len(tenant) > maxIndexed {
		return 0, nil
	}
	_, err = r.find(tenantLinksKey(nil, tenant), func(b []byte) error {
		c, err := decodeCount(b)
		n = c.Visits
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("read number of a tenant's links: %w", err)
	}
	return n, nil
}

// Counter returns the value of a segment's counter, 0 when it was never set.
func (r *Reader) Counter(segment string) (uint64, error) {
	v, _, err := r.metaUint(metaCounter, segment)
	if err != nil {
		return 0, fmt.Errorf("read counter %q: %w", segment, err)
	}
	return v, nil
}

// Counters returns the counters of all segments whose names begin with prefix, by what follows it.
func (r *Reader) Counters(prefix string) (map[string]uint64, error) {
	counters := map[string]uint64{}
	err := r.scan(metaKeyOf(nil, metaCounter, prefix), nil, false, func(rest, v []byte) (bool, error) {
		n, err := decodeUint(v)
		counters[string(rest)] = n
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read counters %q: %w", prefix, err)
	}
	return counters, nil
}

// Setting returns a remembered setting.
func (r *Reader) Setting(name string) (value string, ok bool, err error) {
	ok, err = r.find(metaKeyOf(nil, metaSetting, name), func(b []byte) error {
		value = string(b)
		return nil
	})
	if err != nil {
		return "", false, fmt.Errorf("read setting %q: %w", name, err)
	}
	return value, ok, nil
}

// Epochs returns the rows of the epochs table, element i being row number i. A gap is an error.
func (r *Reader) Epochs() ([][]byte, error) {
	var rows [][]byte
	err := r.scan(metaKeyOf(nil, metaEpoch, ""), nil, false, func(rest, v []byte) (bool, error) {
		if len(rest) != 1 || int(rest[0]) != len(rows) {
			return false, fmt.Errorf("row %x follows %d rows", rest, len(rows))
		}
		rows = append(rows, append([]byte(nil), v...))
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read epochs: %w", err)
	}
	return rows, nil
}

// Keys returns the stored key ring, id -> key.
func (r *Reader) Keys() (map[string][32]byte, error) {
	ring := map[string][32]byte{}
	err := r.scan(metaKeyOf(nil, metaKey, ""), nil, false, func(rest, v []byte) (bool, error) {
		if len(v) != 32 {
			return false, fmt.Errorf("key %q has %d bytes", rest, len(v))
		}
		ring[string(rest)] = [32]byte(v)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read key ring: %w", err)
	}
	return ring, nil
}

// find hands the value of key to fn; the bytes are good until fn returns. It goes through an iterator because
// Pebble's Get asks no filter on the last level, where nearly all keys are, and most of these reads miss.
func (r *Reader) find(key []byte, fn func([]byte) error) (ok bool, err error) {
	it, err := r.from.NewIter(&pebble.IterOptions{KeyTypes: pebble.IterKeyTypePointsOnly, UseL6Filters: true})
	if err != nil {
		return false, err
	}
	defer func() {
		if cerr := it.Close(); err == nil && cerr != nil {
			ok, err = false, cerr
		}
	}()
	if !it.SeekPrefixGE(key) || string(it.Key()) != string(key) {
		return false, it.Error()
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return false, err
	}
	return true, fn(v)
}

func (r *Reader) findUint(key []byte) (v uint64, ok bool, err error) {
	ok, err = r.find(key, func(b []byte) error {
		v, err = decodeUint(b)
		return err
	})
	return v, ok && err == nil, err
}

func (r *Reader) metaUint(what byte, name string) (v uint64, ok bool, err error) {
	return r.findUint(metaKeyOf(nil, what, name))
}

func (r *Reader) findBan(key []byte) (b Ban, ok bool, err error) {
	ok, err = r.find(key, func(v []byte) error {
		b, err = decodeBan(v)
		return err
	})
	if err != nil {
		return Ban{}, false, fmt.Errorf("read ban: %w", err)
	}
	return b, ok, nil
}

// decodeUint reads a value that is one uvarint.
func decodeUint(b []byte) (uint64, error) {
	c := cursor{rest: string(b)}
	v := c.uint()
	return v, c.end()
}
