package storage

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/cockroachdb/pebble/v2"
)

// The click stream lies in day partitions, which are dropped whole. A time within a day is 4 bytes, a sequence number 4 more.
//
//	p day c             number of entries (count)
//	p day c id          number of a link's entries (count)
//	p day e ms seq      entry: flags, link, revision, words (uvarints)
//	p day i id ms seq   entries of the link, under the id of the last (places.go)
//	p day w number      word, so that an entry holds numbers only
//	r id Revision       what a version of a link led to that is no more; outlives days, see SweepVersions
const (
	streamCount = 'c'
	streamEntry = 'e'
	streamIndex = 'i'
	streamWord  = 'w'
)

// StreamID is the id of an entry: unix ms and a number within the millisecond.
type StreamID struct{ Ms, Seq uint64 }

// The ids before and after all others.
var (
	MinStreamID = StreamID{}
	MaxStreamID = StreamID{Ms: math.MaxInt64, Seq: math.MaxUint64}
)

// Less says whether a comes before b.
func (a StreamID) Less(b StreamID) bool { return a.Ms < b.Ms || a.Ms == b.Ms && a.Seq < b.Seq }

// Next is the id right behind a.
func (a StreamID) Next() StreamID {
	if a.Seq == math.MaxUint64 {
		return StreamID{a.Ms + 1, 0}
	}
	return StreamID{a.Ms, a.Seq + 1}
}

// Prev is the id right before a, which is not the first.
func (a StreamID) Prev() StreamID {
	if a.Seq == 0 {
		return StreamID{a.Ms - 1, math.MaxUint64}
	}
	return StreamID{a.Ms, a.Seq - 1}
}

// Day is the partition of an id, in days since 1970 UTC.
func (a StreamID) Day() uint32 { return DayOf(int64(min(a.Ms, math.MaxInt64))) }

// DayOf is the number of days since 1970 of a time (unix ms UTC).
func DayOf(ms int64) uint32 { return uint32(min(max(ms, 0)/dayMillis, math.MaxUint32)) }

// Entry is one click of the stream. Words are numbers in the dictionary of its day; 0 is no word.
type Entry struct {
	ID       StreamID // Seq at most 2^32-1
	Link     uint64
	Revision uint64
	Bot      bool
	Referrer uint32
	Agent    uint32
	Country  uint32
}

// StreamState is what outlives the entries.
type StreamState struct {
	Last    StreamID // of the last entry ever appended
	Added   uint64   // entries ever appended
	Dropped StreamID // the last entry of the last dropped day
}

// Version is what a link's code and target were in one revision.
type Version struct {
	Code   string
	Target string
	Day    uint32 // the last day that may have an entry that names it
}

func dayKey(b []byte, day uint32, what byte) []byte {
	return append(binary.BigEndian.AppendUint32(append(b, kindStream), day), what)
}

func appendStreamTime(b []byte, id StreamID) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(id.Ms%uint64(dayMillis)))
	return binary.BigEndian.AppendUint32(b, uint32(min(id.Seq, math.MaxUint32)))
}

func streamTime(day uint32, b []byte) StreamID {
	return StreamID{
		Ms:  uint64(day)*uint64(dayMillis) + uint64(binary.BigEndian.Uint32(b)),
		Seq: uint64(binary.BigEndian.Uint32(b[4:])),
	}
}

func versionKey(b []byte, id, revision uint64) []byte {
	return appendID(appendID(append(b, kindVersion), id), revision)
}

// PutEntry appends an entry, which must have the greatest id so far. PutPlaces must follow in the same batch, and enter it under its link.
func (t *Tx) PutEntry(e *Entry) {
	day := e.ID.Day()
	t.key = appendStreamTime(dayKey(t.key[:0], day, streamEntry), e.ID)
	flags := byte(0)
	if e.Bot {
		flags = 1
	}
	t.val = append(t.val[:0], flags)
	for _, n := range []uint64{e.Link, e.Revision, uint64(e.Referrer), uint64(e.Agent), uint64(e.Country)} {
		t.val = appendUint(t.val, n)
	}
	t.set(t.key, t.val)
}

func decodeEntry(id StreamID, b []byte) (Entry, error) {
	c := cursor{rest: string(b)}
	e := Entry{ID: id, Bot: c.byte() != 0, Link: c.uint(), Revision: c.uint()}
	for _, w := range []*uint32{&e.Referrer, &e.Agent, &e.Country} {
		*w = uint32(c.upTo(math.MaxUint32))
	}
	if err := c.end(); err != nil {
		return Entry{}, fmt.Errorf("click %d-%d: %w", id.Ms, id.Seq, err)
	}
	return e, nil
}

// CountEntries adds to the number of entries of a day, and of a link on that day unless id is 0.
func (t *Tx) CountEntries(day uint32, id uint64, n int64) {
	t.key = dayKey(t.key[:0], day, streamCount)
	if id != 0 {
		t.key = appendID(t.key, id)
	}
	t.merge(Count{Visits: n})
}

// PutWord gives a word of a day its number.
func (t *Tx) PutWord(day, number uint32, word string) {
	t.key = binary.BigEndian.AppendUint32(dayKey(t.key[:0], day, streamWord), number)
	t.set(t.key, []byte(word))
}

// PutVersion remembers what a version of a link leads to.
func (t *Tx) PutVersion(id, revision uint64, v Version) {
	t.key = versionKey(t.key[:0], id, revision)
	t.val = appendText(appendText(appendUint(t.val[:0], uint64(v.Day)), v.Code), v.Target)
	t.set(t.key, t.val)
}

// SetStreamState remembers the state; DeleteAllLinks leaves it, so that no id comes twice.
func (t *Tx) SetStreamState(s StreamState) {
	t.val = t.val[:0]
	for _, n := range []uint64{s.Last.Ms, s.Last.Seq, s.Added, s.Dropped.Ms, s.Dropped.Seq} {
		t.val = appendUint(t.val, n)
	}
	t.key = metaKeyOf(t.key[:0], metaStream, "")
	t.set(t.key, t.val)
}

// DropDays removes the partitions before a day, in one stroke.
func (t *Tx) DropDays(before uint32) {
	from := binary.BigEndian.AppendUint32([]byte{kindStream}, 0)
	t.note(t.batch.DeleteRange(from, binary.BigEndian.AppendUint32([]byte{kindStream}, before), nil))
}

// SweepVersions removes versions whose last day is before a day. It looks at about 1,000 of them, from an id on, and returns the
// id to go on from, 0 at the end.
func (t *Tx) SweepVersions(from uint64, before uint32) (next uint64, err error) {
	const bound = 1000
	seen, current := 0, from
	err = t.scan([]byte{kindVersion}, appendID(nil, from), false, func(rest, v []byte) (bool, error) {
		if len(rest) != 16 {
			return false, errKey
		}
		id := binary.BigEndian.Uint64(rest)
		if seen >= bound && id != current {
			next = id
			return false, nil
		}
		seen, current = seen+1, id
		version, err := decodeVersion(v)
		if err == nil && version.Day < before {
			t.key = versionKey(t.key[:0], id, lastID(rest))
			t.delete(t.key)
		}
		return true, err
	})
	if err != nil {
		return 0, fmt.Errorf("sweep versions: %w", err)
	}
	return next, nil
}

func decodeVersion(b []byte) (Version, error) {
	c := cursor{rest: string(b)}
	v := Version{Day: uint32(c.upTo(math.MaxUint32)), Code: c.text(), Target: c.text()}
	if err := c.end(); err != nil {
		return Version{}, fmt.Errorf("version: %w", err)
	}
	return v, nil
}

// StreamState returns what SetStreamState wrote last.
func (r *Reader) StreamState() (s StreamState, err error) {
	_, err = r.find(metaKeyOf(nil, metaStream, ""), func(v []byte) error {
		c := cursor{rest: string(v)}
		s = StreamState{StreamID{c.uint(), c.uint()}, c.uint(), StreamID{c.uint(), c.uint()}}
		return c.end()
	})
	if err != nil {
		return StreamState{}, fmt.Errorf("read stream state: %w", err)
	}
	return s, nil
}

// Version returns what a version of a link led to.
func (r *Reader) Version(id, revision uint64) (v Version, ok bool, err error) {
	ok, err = r.find(versionKey(nil, id, revision), func(b []byte) (err error) {
		v, err = decodeVersion(b)
		return err
	})
	if err != nil {
		return Version{}, false, fmt.Errorf("read version of link %d: %w", id, err)
	}
	return v, ok, nil
}

// Word returns a word of a day.
func (r *Reader) Word(day, number uint32) (word string, err error) {
	key := binary.BigEndian.AppendUint32(dayKey(nil, day, streamWord), number)
	_, err = r.find(key, func(b []byte) error { word = string(b); return nil })
	if err != nil {
		return "", fmt.Errorf("read word: %w", err)
	}
	return word, nil
}

// Words returns all words of a day with their numbers.
func (r *Reader) Words(day uint32) (map[string]uint32, error) {
	words := map[string]uint32{}
	err := r.scan(dayKey(nil, day, streamWord), nil, false, func(rest, v []byte) (bool, error) {
		if len(rest) != 4 {
			return false, errKey
		}
		words[string(v)] = binary.BigEndian.Uint32(rest)
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read words: %w", err)
	}
	return words, nil
}

// StreamLen is the number of entries of the stream, or of a link's when id is not 0: one read a day.
func (r *Reader) StreamLen(id uint64) (n int64, err error) {
	err = r.eachStreamDay(0, math.MaxUint32, false, func(day uint32) (bool, error) {
		key := dayKey(nil, day, streamCount)
		if id != 0 {
			key = appendID(key, id)
		}
		c, err := r.count(key)
		n += c.Visits
		return true, err
	})
	return n, err
}

// EachEntry visits the entries from low to high (both inclusive), downwards in reverse; of one link when id is not 0.
func (r *Reader) EachEntry(id uint64, low, high StreamID, reverse bool, fn func(Entry) bool) error {
	if high.Less(low) {
		return nil
	}
	err := r.eachStreamDay(low.Day(), high.Day(), reverse, func(day uint32) (more bool, err error) {
		more = true
		visit := func(e Entry) bool {
			more = fn(e)
			return more
		}
		if id != 0 {
			err = r.eachPlace(day, id, low, high, reverse, visit)
		} else {
			err = r.eachOfDay(day, low, high, reverse, visit)
		}
		return more, err
	})
	if err != nil {
		return fmt.Errorf("scan clicks: %w", err)
	}
	return nil
}

func (r *Reader) eachOfDay(day uint32, low, high StreamID, reverse bool, fn func(Entry) bool) error {
	return r.scan(dayKey(nil, day, streamEntry), streamFrom(day, low, high, reverse), reverse, func(rest, v []byte) (bool, error) {
		if len(rest) != 8 {
			return false, errKey
		}
		at := streamTime(day, rest)
		if at.Less(low) || high.Less(at) {
			return false, nil
		}
		e, err := decodeEntry(at, v)
		return err == nil && fn(e), err
	})
}

// streamFrom is where the scan of a day starts; nil: at its end.
func streamFrom(day uint32, low, high StreamID, reverse bool) []byte {
	switch {
	case reverse && day == high.Day():
		return appendStreamTime(nil, high)
	case !reverse && day == low.Day():
		return appendStreamTime(nil, low)
	}
	return nil
}

// eachStreamDay visits the partitions from low to high that have something in them: one seek each.
func (r *Reader) eachStreamDay(low, high uint32, reverse bool, fn func(day uint32) (bool, error)) (err error) {
	o := &pebble.IterOptions{LowerBound: dayKey(nil, low, 0), UpperBound: []byte{kindStream + 1}}
	if high < math.MaxUint32 {
		o.UpperBound = dayKey(nil, high+1, 0)
	}
	it, err := r.from.NewIter(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	ok := it.First()
	if reverse {
		ok = it.Last()
	}
	for ok {
		if len(it.Key()) < 6 {
			return errKey
		}
		day := binary.BigEndian.Uint32(it.Key()[1:])
		if more, err := fn(day); err != nil || !more {
			return err
		}
		if reverse {
			ok = it.SeekLT(dayKey(nil, day, 0))
		} else {
			ok = day < math.MaxUint32 && it.SeekGE(dayKey(nil, day+1, 0))
		}
	}
	return it.Error()
}

// FirstStreamDay is the oldest partition.
func (r *Reader) FirstStreamDay() (first uint32, ok bool, err error) {
	err = r.eachStreamDay(0, math.MaxUint32, false, func(day uint32) (bool, error) {
		first, ok = day, true
		return false, nil
	})
	return first, ok, err
}
