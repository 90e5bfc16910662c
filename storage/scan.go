package storage

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// The Each methods visit entries in key order until fn returns false. On a Store they see what was committed
// when they began. They hold an iterator meanwhile, which keeps old data on the disk: stop after a bounded
// number of entries and go on later from the last one. from is inclusive; in reverse, from 0 means the newest.

// EachName visits names at or after from. Tombstones have id 0.
func (r *Reader) EachName(from string, fn func(text string, id uint64) bool) error {
	err := r.scan([]byte{kindName}, []byte(from), false, func(rest, v []byte) (bool, error) {
		id, err := decodeUint(v)
		if err != nil {
			return false, err
		}
		return fn(string(rest), id), nil
	})
	if err != nil {
		return fmt.Errorf("scan names: %w", err)
	}
	return nil
}

// EachDedup visits dedup hints by key.
func (r *Reader) EachDedup(fn func(key [16]byte, id uint64) bool) error {
	err := r.scan([]byte{kindDedup}, nil, false, func(rest, v []byte) (bool, error) {
		id, err := decodeUint(v)
		if err == nil && len(rest) != 16 {
			err = errKey
		}
		if err != nil {
			return false, err
		}
		return fn([16]byte(rest), id), nil
	})
	if err != nil {
		return fmt.Errorf("scan dedup hints: %w", err)
	}
	return nil
}

// EachLink visits links by id, upwards or in reverse. The Link is fn's to keep.
func (r *Reader) EachLink(from uint64, reverse bool, fn func(*Link) bool) error {
	err := r.scan([]byte{kindLink}, fromID(from, reverse), reverse, func(rest, v []byte) (bool, error) {
		if len(rest) != 8 {
			return false, errKey
		}
		l, err := decodeLink(lastID(rest), v)
		if err != nil {
			return false, err
		}
		return fn(&l), nil
	})
	if err != nil {
		return fmt.Errorf("scan links: %w", err)
	}
	return nil
}

// EachTenantLink visits the ids of a tenant's links. tenant is not empty.
func (r *Reader) EachTenantLink(tenant string, from uint64, reverse bool, fn func(id uint64) bool) error {
	if tenant == "" || len(tenant) > maxIndexed {
		return nil
	}
	return r.eachID(tenantPrefix(nil, tenant), from, reverse, fn)
}

// EachTagLink visits the ids of links with the tag; tenant "" means of every tenant.
func (r *Reader) EachTagLink(tenant, tag string, from uint64, reverse bool, fn func(id uint64) bool) error {
	if tag == "" || len(tag) > maxIndexed || len(tenant) > maxIndexed {
		return nil
	}
	return r.eachID(tagPrefix(nil, tenant, tag), from, reverse, fn)
}

// EachBannedLink visits the ids of banned links.
func (r *Reader) EachBannedLink(from uint64, reverse bool, fn func(id uint64) bool) error {
	return r.eachID([]byte{kindBannedLink}, from, reverse, fn)
}

// EachExpired visits links whose expiry is at or before until (unix ms) and that have not Ended, oldest first.
func (r *Reader) EachExpired(until int64, fn func(at int64, id uint64) bool) error {
	return r.eachTime(kindExpires, until, fn)
}

// EachEnded visits links announced as expired or used up at or before until (unix ms), oldest first.
func (r *Reader) EachEnded(until int64, fn func(at int64, id uint64) bool) error {
	return r.eachTime(kindEnded, until, fn)
}

// EachBannedHost visits banned hosts at or after from.
func (r *Reader) EachBannedHost(from string, fn func(host string, b Ban) bool) error {
	return r.eachBan([]byte{kindBannedHost}, []byte(from), func(rest []byte, b Ban) bool { return fn(string(rest), b) })
}

// EachBannedTarget visits banned targets with keys at or after from.
func (r *Reader) EachBannedTarget(from [16]byte, fn func(key [16]byte, b Ban) bool) error {
	return r.eachBan([]byte{kindBannedTarget}, from[:], func(rest []byte, b Ban) bool {
		return fn([16]byte(rest), b)
	})
}

var errKey = errors.New("malformed key")

func (r *Reader) eachBan(kind, from []byte, fn func(rest []byte, b Ban) bool) error {
	err := r.scan(kind, from, false, func(rest, v []byte) (bool, error) {
		b, err := decodeBan(v)
		if err == nil && kind[0] == kindBannedTarget && len(rest) != 16 {
			err = errKey
		}
		if err != nil {
			return false, err
		}
		return fn(rest, b), nil
	})
	if err != nil {
		return fmt.Errorf("scan bans: %w", err)
	}
	return nil
}

func (r *Reader) eachID(prefix []byte, from uint64, reverse bool, fn func(id uint64) bool) error {
	err := r.scan(prefix, fromID(from, reverse), reverse, func(rest, _ []byte) (bool, error) {
		if len(rest) != 8 {
			return false, errKey
		}
		return fn(lastID(rest)), nil
	})
	if err != nil {
		return fmt.Errorf("scan index: %w", err)
	}
	return nil
}

func (r *Reader) eachTime(kind byte, until int64, fn func(at int64, id uint64) bool) error {
	err := r.scan([]byte{kind}, nil, false, func(rest, _ []byte) (bool, error) {
		if len(rest) != 16 {
			return false, errKey
		}
		at := int64(binary.BigEndian.Uint64(rest))
		return at <= until && fn(at, lastID(rest)), nil
	})
	if err != nil {
		return fmt.Errorf("scan times: %w", err)
	}
	return nil
}

// fromID is where a scan by id starts; nil means at its end.
func fromID(from uint64, reverse bool) []byte {
	if reverse && (from == 0 || from == math.MaxUint64) {
		return nil
	}
	return appendID(nil, from)
}

// scan hands fn the entries whose key starts with prefix, as what follows the prefix and the value, both good
// until fn returns. It starts at from (nil: at the end it comes from) and stops when fn says false.
func (r *Reader) scan(prefix, from []byte, reverse bool, fn func(rest, v []byte) (bool, error)) (err error) {
	o := &pebble.IterOptions{LowerBound: prefix, UpperBound: after(prefix)}
	start := append(bytes.Clone(prefix), from...)
	if from != nil && reverse {
		o.UpperBound = append(start, 0)
	} else if from != nil {
		o.LowerBound = start
	}
	it, err := r.from.NewIter(o)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := it.Close(); err == nil {
			err = cerr
		}
	}()
	first, next := it.First, it.Next
	if reverse {
		first, next = it.Last, it.Prev
	}
	for ok := first(); ok; ok = next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if more, err := fn(it.Key()[len(prefix):], v); err != nil || !more {
			return err
		}
	}
	return it.Error()
}
