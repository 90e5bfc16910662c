package storage

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
)

// count is a value that is added to, never read and written back: three signed varints.
type count struct {
	Visits int64
	Bots   int64
	Last   int64 // time of the last visit, unix ms; the later one wins
}

// mergerName is stored in every data folder: another name would not open it.
const mergerName = "curt.add.v1"

var errCount = errors.New("malformed count")

func (c count) plus(d count) count {
	return count{c.Visits + d.Visits, c.Bots + d.Bots, max(c.Last, d.Last)}
}

func appendCount(b []byte, c count) []byte {
	b = binary.AppendVarint(b, c.Visits)
	b = binary.AppendVarint(b, c.Bots)
	return binary.AppendVarint(b, c.Last)
}

func decodeCount(b []byte) (count, error) {
	var c count
	for _, v := range []*int64{&c.Visits, &c.Bots, &c.Last} {
		x, n := binary.Varint(b)
		if n <= 0 {
			return count{}, errCount
		}
		*v, b = x, b[n:]
	}
	if len(b) != 0 {
		return count{}, errCount
	}
	return c, nil
}

// merger adds counts and top values up inside Pebble. A malformed operand is an error, never a panic.
func merger() *pebble.Merger {
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(key, value []byte) (pebble.ValueMerger, error) {
			if isTopKey(key) {
				return newTopping(value)
			}
			c, err := decodeCount(value)
			return &counting{c}, err
		},
	}
}

type counting struct{ sum count }

func (m *counting) MergeNewer(value []byte) error {
	c, err := decodeCount(value)
	m.sum = m.sum.plus(c)
	return err
}

func (m *counting) MergeOlder(value []byte) error { return m.MergeNewer(value) }

func (m *counting) Finish(bool) ([]byte, io.Closer, error) {
	return appendCount(nil, m.sum), nil, nil
}
