package storage

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// Place is where a click of a link stands in the stream.
type Place struct {
	Link uint64
	ID   StreamID
}

// placesPerRow is how many entries a row of the index names at most. It stands under the last of them; its value has those before, the newest
// first: milliseconds back from the one before, and number within the millisecond (uvarints).
const placesPerRow = 64

// ComparePlaces sorts by link, then by id.
func ComparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.Link, b.Link), cmp.Compare(a.ID.Ms, b.ID.Ms), cmp.Compare(a.ID.Seq, b.ID.Seq))
}

// AddPlaces enters entries under their links and adds them to the numbers of entries. The list is sorted, and its entries are newer than what
// their links have.
func (t *Tx) AddPlaces(list []Place) {
	for len(list) > 0 {
		link, day, n := list[0].Link, list[0].ID.Day(), 1
		for n < len(list) && list[n].Link == link && list[n].ID.Day() == day {
			n++
		}
		t.CountEntries(day, link, int64(n))
		for row := range slices.Chunk(list[:n], placesPerRow) {
			t.putPlaces(row)
		}
		list = list[n:]
	}
}

// putPlaces writes a row of entries of one link and day.
func (t *Tx) putPlaces(row []Place) {
	last := row[len(row)-1]
	t.key = appendStreamTime(appendID(dayKey(t.key[:0], last.ID.Day(), streamIndex), last.Link), last.ID)
	t.val = t.val[:0]
	for i := len(row) - 2; i >= 0; i-- {
		t.val = appendUint(appendUint(t.val, row[i+1].ID.Ms-row[i].ID.Ms), row[i].ID.Seq)
	}
	t.set(t.key, t.val)
}

// decodePlaces returns the ids of a row, the newest first.
func decodePlaces(last StreamID, b []byte) ([]StreamID, error) {
	c := cursor{rest: string(b)}
	ids := append(make([]StreamID, 0, 1+len(b)/2), last)
	for at := last; c.rest != ""; {
		at.Ms -= c.upTo(at.Ms)
		at.Seq = c.uint()
		ids = append(ids, at)
	}
	if err := c.end(); err != nil {
		return nil, fmt.Errorf("places before %d-%d: %w", last.Ms, last.Seq, err)
	}
	return ids, nil
}

// eachPlace visits a link's entries of a day, see EachEntry.
func (r *Reader) eachPlace(day uint32, link uint64, low, high StreamID, reverse bool, fn func(Entry) bool) error {
	prefix := appendID(dayKey(nil, day, streamIndex), link)
	from := streamFrom(day, low, high, reverse)
	if reverse && from != nil {
		var err error
		if from, err = r.firstFrom(prefix, from); err != nil { // the row with high in it stands under a later entry
			return err
		}
	}
	return r.scan(prefix, from, reverse, func(rest, v []byte) (bool, error) {
		if len(rest) != 8 {
			return false, errKey
		}
		ids, err := decodePlaces(streamTime(day, rest), v)
		if err != nil {
			return false, err
		}
		if !reverse {
			slices.Reverse(ids)
		}
		return r.eachAt(ids, low, high, reverse, fn)
	})
}

// eachAt visits those of some entries that lie from low to high, and says whether there may be more behind them.
func (r *Reader) eachAt(ids []StreamID, low, high StreamID, reverse bool, fn func(Entry) bool) (more bool, err error) {
	for _, at := range ids {
		if at.Less(low) || high.Less(at) {
			if reverse == at.Less(low) {
				return false, nil
			}
			continue
		}
		e, ok, err := r.entry(at)
		if err != nil || ok && !fn(e) { // one whose day was dropped meanwhile is not there
			return false, err
		}
	}
	return true, nil
}

// firstFrom returns what follows a prefix in the first key at or after from; nil: there is none.
func (r *Reader) firstFrom(prefix, from []byte) (rest []byte, err error) {
	err = r.scan(prefix, from, false, func(found, _ []byte) (bool, error) {
		rest = bytes.Clone(found)
		return false, nil
	})
	return rest, err
}

func (r *Reader) entry(at StreamID) (e Entry, ok bool, err error) {
	ok, err = r.find(appendStreamTime(dayKey(nil, at.Day(), streamEntry), at), func(v []byte) (err error) {
		e, err = decodeEntry(at, v)
		return err
	})
	return e, ok, err
}
