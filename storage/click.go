package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Count is what was counted of a link, in all or in one bucket.
type Count struct {
	Visits int64 // by people
	Bots   int64 // by programs
	Last   int64 // time of the last visit by a person, unix ms; 0: none
}

// Bucket is the count of one stretch of time.
type Bucket struct {
	Start int64 // unix ms UTC
	Count
}

const (
	hourMillis = int64(60 * 60 * 1000)
	dayMillis  = 24 * hourMillis
)

// The kinds of a link's click rows, behind its id. Nothing stands behind the id of the totals.
const (
	clickHour  = 'h'
	clickDay   = 'd'
	clickMonth = 'm'
)

func clickKey(b []byte, id uint64) []byte { return appendID(append(b, kindClicks), id) }

// bucketKey is the key of a bucket, which starts at a number of hours, days or months since 1970.
func bucketKey(b []byte, id uint64, kind byte, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(clickKey(b, id), kind), number)
}

// MonthOf is the number of months between January 1970 and a time (unix ms UTC).
func MonthOf(ms int64) uint32 {
	y, m, _ := time.UnixMilli(ms).UTC().Date()
	return uint32((y-1970)*12 + int(m) - 1)
}

// AddClicks adds to a link's totals.
func (t *Tx) AddClicks(id uint64, c Count) {
	t.key = clickKey(t.key[:0], id)
	t.merge(c)
}

// AddHour adds to the hour that holds at (unix ms). Totals and buckets stay equal when both are added to in one batch.
func (t *Tx) AddHour(id uint64, at int64, c Count) {
	t.key = bucketKey(t.key[:0], id, clickHour, uint32(at/hourMillis))
	t.merge(c)
}

// AddTop adds to the top values of a month.
func (t *Tx) AddTop(id uint64, month uint32, top *Top) {
	t.key = bucketKey(t.key[:0], id, clickMonth, month)
	t.val = top.append(t.val[:0])
	t.note(t.batch.Merge(t.key, t.val, nil))
}

// AddClickSums adds to the two running totals of all that was ever counted: as it went into totals, and as it went into buckets.
func (t *Tx) AddClickSums(totals, buckets Count) {
	t.key = metaKeyOf(t.key[:0], metaClicks, "totals")
	t.merge(totals)
	t.key = metaKeyOf(t.key[:0], metaClicks, "buckets")
	t.merge(buckets)
}

// merge adds c to the value of t.key.
func (t *Tx) merge(c Count) {
	t.val = appendCount(t.val[:0], count(c))
	t.note(t.batch.Merge(t.key, t.val, nil))
}

// DeleteClicks removes what was counted of a link. Most links have nothing, and that costs one read.
func (t *Tx) DeleteClicks(id uint64) error {
	prefix := clickKey(nil, id)
	var rows [][]byte
	const few = 64
	err := t.scan(prefix, nil, false, func(rest, _ []byte) (bool, error) {
		rows = append(rows, append(clickKey(nil, id), rest...))
		return len(rows) <= few, nil
	})
	if err != nil {
		return fmt.Errorf("read clicks of link %d: %w", id, err)
	}
	if len(rows) > few {
		t.note(t.batch.DeleteRange(prefix, after(prefix), nil))
		return nil
	}
	for _, key := range rows {
		t.delete(key)
	}
	return nil
}

// Size is the bytes of the batch so far.
func (t *Tx) Size() int { return t.batch.Len() }

// Clicks returns the totals of a link.
func (r *Reader) Clicks(id uint64) (Count, error) { return r.count(clickKey(make([]byte, 0, 9), id)) }

// ClickSums returns the two running totals of all that was ever counted.
func (r *Reader) ClickSums() (totals, buckets Count, err error) {
	totals, err = r.count(metaKeyOf(nil, metaClicks, "totals"))
	if err == nil {
		buckets, err = r.count(metaKeyOf(nil, metaClicks, "buckets"))
	}
	return totals, buckets, err
}

func (r *Reader) count(key []byte) (Count, error) {
	var c count
	_, err := r.find(key, func(v []byte) (err error) {
		c, err = decodeCount(v)
		return err
	})
	if err != nil {
		return Count{}, fmt.Errorf("read count: %w", err)
	}
	return Count(c), nil
}

// EachHour visits a link's hours from the one that holds from up to the last that starts at or before to (unix ms), oldest first.
func (r *Reader) EachHour(id uint64, from, to int64, fn func(Bucket) bool) error {
	return r.eachBucket(id, clickHour, from, to, fn)
}

// EachBucket visits in the same way the days that hours were rolled up to, and then the hours, as of one moment.
func (r *Reader) EachBucket(id uint64, from, to int64, fn func(Bucket) bool) error {
	return r.eachBucket(id, clickDay, from, to, fn)
}

// eachBucket visits the buckets of a kind and, behind days, hours.
func (r *Reader) eachBucket(id uint64, kind byte, from, to int64, fn func(Bucket) bool) error {
	first := binary.BigEndian.AppendUint32([]byte{kind}, uint32(min(max(from, 0)/bucketMillis(kind), math.MaxUint32)))
	err := r.scan(clickKey(nil, id), first, false, func(rest, v []byte) (bool, error) {
		if len(rest) != 5 {
			return false, errKey
		}
		unit := bucketMillis(rest[0])
		start := int64(binary.BigEndian.Uint32(rest[1:])) * unit
		switch {
		case rest[0] == clickMonth, rest[0] == clickHour && start > to:
			return false, nil
		case start > to || start+unit <= from:
			return true, nil
		}
		c, err := decodeCount(v)
		return err == nil && fn(Bucket{start, Count(c)}), err
	})
	if err != nil {
		return fmt.Errorf("scan buckets of link %d: %w", id, err)
	}
	return nil
}

func bucketMillis(kind byte) int64 {
	if kind == clickDay {
		return dayMillis
	}
	return hourMillis
}

// Top adds up a link's top values of the months from through to (numbers as MonthOf has them).
func (r *Reader) Top(id uint64, from, to uint32) (*Top, error) {
	sum := &Top{}
	prefix := append(clickKey(nil, id), clickMonth)
	err := r.scan(prefix, binary.BigEndian.AppendUint32(nil, from), false, func(rest, v []byte) (bool, error) {
		if len(rest) != 4 {
			return false, errKey
		}
		if binary.BigEndian.Uint32(rest) > to {
			return false, nil
		}
		top, err := decodeTop(v)
		if err == nil {
			sum.Add(top)
		}
		return true, err
	})
	if err != nil {
		return nil, fmt.Errorf("read top values of link %d: %w", id, err)
	}
	return sum, nil
}

// RollUp moves a link's hours that start before a time (unix ms) into its days and returns how many it moved. The totals of link and
// buckets stay the same. Nobody else may add to these hours before the batch is applied.
func (t *Tx) RollUp(id uint64, before int64) (moved int, err error) {
	if before <= 0 {
		return 0, nil
	}
	var day Bucket
	put := func() {
		if day.Count != (Count{}) {
			t.key = bucketKey(t.key[:0], id, clickDay, uint32(day.Start/dayMillis))
			t.merge(day.Count)
		}
	}
	err = t.EachHour(id, 0, before-1, func(h Bucket) bool {
		if start := h.Start / dayMillis * dayMillis; start != day.Start {
			put()
			day = Bucket{Start: start}
		}
		day.Count = day.Count.Plus(h.Count)
		t.key = bucketKey(t.key[:0], id, clickHour, uint32(h.Start/hourMillis))
		t.delete(t.key)
		moved++
		return true
	})
	put()
	return moved, err
}

// Plus adds two counts; the later last visit stays.
func (c Count) Plus(d Count) Count { return Count(count(c).plus(count(d))) }

// NextHours finds the next link at or after an id that has hours which start before a time. It reads about two rows a link.
func (r *Reader) NextHours(from uint64, before int64) (id uint64, ok bool, err error) {
	it, err := r.from.NewIter(&pebble.IterOptions{LowerBound: []byte{kindClicks}, UpperBound: []byte{kindClicks + 1}})
	if err != nil {
		return 0, false, fmt.Errorf("scan clicks: %w", err)
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	limit := uint32(min(max(before, 0)/hourMillis, math.MaxUint32))
	for ok := it.SeekGE(clickKey(nil, from)); ok; {
		key := it.Key()
		if len(key) < 9 {
			return 0, false, fmt.Errorf("scan clicks: %w", errKey)
		}
		id = binary.BigEndian.Uint64(key[1:])
		hours := append(clickKey(nil, id), clickHour)
		if string(key) < string(hours) {
			if ok = it.SeekGE(hours); !ok {
				break
			}
			key = it.Key()
		}
		if len(key) == 14 && string(key[:10]) == string(hours) && binary.BigEndian.Uint32(key[10:]) < limit {
			return id, true, nil
		}
		if binary.BigEndian.Uint64(key[1:]) == id {
			if id == math.MaxUint64 {
				break
			}
			ok = it.SeekGE(clickKey(nil, id+1))
		}
	}
	return 0, false, it.Error()
}

// CheckClicks reads every count and calls fn for each link whose buckets do not add up to its totals, until fn returns false.
func (r *Reader) CheckClicks(fn func(id uint64, totals, buckets Count) bool) error {
	var id uint64
	var totals, buckets Count
	more := true
	settle := func() {
		if more && (totals.Visits != buckets.Visits || totals.Bots != buckets.Bots) {
			more = fn(id, totals, buckets)
		}
	}
	err := r.scan([]byte{kindClicks}, nil, false, func(rest, v []byte) (bool, error) {
		if len(rest) != 8 && len(rest) != 13 {
			return false, errKey
		}
		if this := binary.BigEndian.Uint64(rest); this != id {
			settle()
			id, totals, buckets = this, Count{}, Count{}
		}
		if len(rest) == 13 && rest[8] == clickMonth {
			_, err := decodeTop(v)
			return more, err
		}
		c, err := decodeCount(v)
		if len(rest) == 8 {
			totals = Count(c)
		} else {
			buckets = buckets.Plus(Count(c))
		}
		return more, err
	})
	settle()
	if err != nil {
		return fmt.Errorf("check clicks: %w", err)
	}
	return nil
}

// SetGranted remembers how many visits of a link with MaxVisits were handed out.
func (t *Tx) SetGranted(id, visits uint64) {
	t.key = appendID(append(t.key[:0], kindGrant), id)
	t.setUint(t.key, visits)
}

// DeleteGranted forgets it.
func (t *Tx) DeleteGranted(id uint64) {
	t.key = appendID(append(t.key[:0], kindGrant), id)
	t.delete(t.key)
}

// Granted returns how many visits of a link were handed out.
func (r *Reader) Granted(id uint64) (uint64, error) {
	v, _, err := r.findUint(appendID([]byte{kindGrant}, id))
	if err != nil {
		return 0, fmt.Errorf("read grant of link %d: %w", id, err)
	}
	return v, nil
}
