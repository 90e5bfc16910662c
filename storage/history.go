package storage

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// History is everything that was counted of a link.
type History struct {
	Total   Count
	Hours   []Bucket // oldest first
	Days    []Bucket // those whose hours were rolled up, oldest first
	Months  []MonthTop
	Granted uint64 // visits handed out, of a link with MaxVisits
}

// MonthTop are the top values of a month, whose number is MonthOf's.
type MonthTop struct {
	Month uint32
	Top   *Top
}

// Histories reads the histories of many links, in one pass. It sees what was committed when it was opened, and belongs to one goroutine.
type Histories struct {
	clicks, grants *pebble.Iterator
	started        bool
}

// Histories begins a pass. Close it.
func (r *Reader) Histories() (*Histories, error) {
	clicks, err := r.from.NewIter(&pebble.IterOptions{LowerBound: []byte{kindClicks}, UpperBound: []byte{kindClicks + 1}})
	if err != nil {
		return nil, fmt.Errorf("scan clicks: %w", err)
	}
	grants, err := r.from.NewIter(&pebble.IterOptions{LowerBound: []byte{kindGrant}, UpperBound: []byte{kindGrant + 1}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("scan grants: %w", err), clicks.Close())
	}
	return &Histories{clicks: clicks, grants: grants}, nil
}

// Close ends the pass.
func (h *Histories) Close() error { return errors.Join(h.clicks.Close(), h.grants.Close()) }

// Of returns the history of a link. From call to call ids increase.
func (h *Histories) Of(id uint64) (History, error) {
	var out History
	if !h.started {
		h.started = true
		h.clicks.First()
		h.grants.First()
	}
	prefix := clickKey(nil, id)
	for ok := seekTo(h.clicks, prefix); ok && hasPrefix(h.clicks.Key(), prefix); ok = h.clicks.Next() {
		if err := out.take(h.clicks.Key()[len(prefix):], h.clicks); err != nil {
			return History{}, fmt.Errorf("clicks of link %d: %w", id, err)
		}
	}
	grant := appendID([]byte{kindGrant}, id)
	if seekTo(h.grants, grant) && string(h.grants.Key()) == string(grant) {
		v, err := h.grants.ValueAndErr()
		if err == nil {
			out.Granted, err = decodeUint(v)
		}
		if err != nil {
			return History{}, fmt.Errorf("grant of link %d: %w", id, err)
		}
	}
	return out, errors.Join(h.clicks.Error(), h.grants.Error())
}

// seekTo moves forward to the first key at or after one. The next is mostly the one.
func seekTo(it *pebble.Iterator, key []byte) bool {
	const steps = 3
	for range steps {
		if !it.Valid() || string(it.Key()) >= string(key) {
			return it.Valid()
		}
		it.Next()
	}
	if !it.Valid() || string(it.Key()) >= string(key) {
		return it.Valid()
	}
	return it.SeekGE(key)
}

func hasPrefix(key, prefix []byte) bool {
	return len(key) >= len(prefix) && string(key[:len(prefix)]) == string(prefix)
}

// take adds the row with what its key says behind the id.
func (h *History) take(rest []byte, it *pebble.Iterator) error {
	v, err := it.ValueAndErr()
	if err != nil {
		return err
	}
	if len(rest) != 0 && len(rest) != 5 {
		return errKey
	}
	if len(rest) == 5 && rest[0] == clickMonth {
		top, err := decodeTop(v)
		h.Months = append(h.Months, MonthTop{binary.BigEndian.Uint32(rest[1:]), top})
		return err
	}
	c, err := decodeCount(v)
	switch {
	case err != nil:
		return err
	case len(rest) == 0:
		h.Total = Count(c)
	case rest[0] == clickHour:
		h.Hours = append(h.Hours, Bucket{int64(binary.BigEndian.Uint32(rest[1:])) * hourMillis, Count(c)})
	case rest[0] == clickDay:
		h.Days = append(h.Days, Bucket{int64(binary.BigEndian.Uint32(rest[1:])) * dayMillis, Count(c)})
	default:
		return errKey
	}
	return nil
}

// Buckets adds up hours and days.
func (h *History) Buckets() (sum Count) {
	for _, list := range [][]Bucket{h.Hours, h.Days} {
		for _, b := range list {
			sum = sum.Plus(b.Count)
		}
	}
	return sum
}

// PutHistory gives a link that has none a history. Buckets start where hours and days do.
func (t *Tx) PutHistory(id uint64, h *History) {
	if h.Total != (Count{}) {
		t.AddClicks(id, h.Total)
	}
	for _, b := range h.Hours {
		t.AddHour(id, b.Start, b.Count)
	}
	for _, b := range h.Days {
		t.key = bucketKey(t.key[:0], id, clickDay, uint32(b.Start/dayMillis))
		t.merge(b.Count)
	}
	for _, m := range h.Months {
		t.AddTop(id, m.Month, m.Top)
	}
	if h.Granted != 0 {
		t.SetGranted(id, h.Granted)
	}
	if sum := h.Buckets(); h.Total != (Count{}) || sum != (Count{}) {
		t.AddClickSums(h.Total, sum)
	}
}
