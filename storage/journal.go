package storage

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
)

// Visits are equal visits to one link within an hour.
type Visits struct {
	Link   uint64
	Hour   int64 // its start, unix ms UTC
	Number int64
	Bots   bool               // by programs: nobody asks for their values
	Last   int64              // time of the last, within the hour, unix ms; 0 for programs
	Values [dimensions]string // by Dimension; empty: not known
}

// JournalParts is how many parts the links are in for the journal.
const JournalParts = 64

// The journal holds what was counted lately, many links in a row: a link's own rows cost more, and are written once for all that came
// meanwhile. Links are in parts; what is in the journal of a part moves to its links' rows in one batch. Open moves all of it that is not damaged.
//
//	j part(1) number(8)    'v', words (number of them, then each), then visits up to the end: link, hour, 2*number and 1 for programs, last
//	                       less the hour and 1 more (0: none), number of the word of each dimension (0: none)
//	                       'i', the earliest time, then places in the stream up to the end: link less the one before, ms since, seq
const (
	journalVisits = 'v'
	journalPlaces = 'i'
)

func journalKey(b []byte, part uint8, number uint64) []byte {
	return appendID(append(b, kindJournal, part), number)
}

// PutVisits writes visits to the journal of a part, under a number that is not in use there.
func (t *Tx) PutVisits(part uint8, number uint64, list []Visits) {
	t.key = journalKey(t.key[:0], part, number)
	t.val = appendVisits(append(t.val[:0], journalVisits), list)
	t.set(t.key, t.val)
}

// PutPlaces writes places, sorted, in the same way.
func (t *Tx) PutPlaces(part uint8, number uint64, list []Place) {
	t.key = journalKey(t.key[:0], part, number)
	t.val = appendPlaces(append(t.val[:0], journalPlaces), list)
	t.set(t.key, t.val)
}

// DeleteJournal takes what was written under a number out of the journal.
func (t *Tx) DeleteJournal(part uint8, number uint64) {
	t.key = journalKey(t.key[:0], part, number)
	t.delete(t.key)
}

// AddVisits adds visits to the rows of their links and to the running totals. The list is sorted, see SortVisits.
func (t *Tx) AddVisits(list []Visits) {
	if len(list) == 0 {
		return
	}
	var totals, buckets Count
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].Link == list[0].Link {
			n++
		}
		total, inBuckets := t.addLink(list[:n])
		totals, buckets = totals.Plus(total), buckets.Plus(inBuckets)
		list = list[n:]
	}
	t.AddClickSums(totals, buckets)
}

// addLink adds the visits of one link: to the totals, to each hour, to each month's top values. That is the order of their keys, which is
// what Pebble takes most cheaply.
func (t *Tx) addLink(list []Visits) (total, buckets Count) {
	id := list[0].Link
	for i := range list {
		total = total.Plus(list[i].Count())
	}
	t.AddClicks(id, total)
	var top Top
	for i := 0; i < len(list); {
		at := list[i].Hour
		var in Count
		for ; i < len(list) && list[i].Hour == at; i++ {
			in = in.Plus(list[i].Count())
			list[i].addTo(&top)
		}
		t.AddHour(id, at, in)
		buckets = buckets.Plus(in)
		month := MonthOf(at)
		if (i == len(list) || MonthOf(list[i].Hour) != month) && !top.Empty() {
			t.AddTop(id, month, &top)
			top = Top{}
		}
	}
	return total, buckets
}

// Count is what they add to a total.
func (v *Visits) Count() Count {
	if v.Bots {
		return Count{Bots: v.Number}
	}
	return Count{Visits: v.Number, Last: v.Last}
}

func (v *Visits) addTo(top *Top) {
	if v.Bots {
		return
	}
	for d, value := range v.Values {
		top.Count(Dimension(d), value, v.Number)
	}
}

// SortVisits sorts by link, then by hour.
func SortVisits(list []Visits) {
	slices.SortFunc(list, func(a, b Visits) int { return cmp.Or(cmp.Compare(a.Link, b.Link), cmp.Compare(a.Hour, b.Hour)) })
}

// errJournal says that a row of the journal is not what was written there.
var errJournal = errors.New("a row of the journal is damaged")

// mergeJournal moves the journal that a crash has left to the links' rows, a part at a time. Counts of a link that was deleted may come of it, too:
// nobody sees them. A part that is damaged stays as it is: for a minute of its clicks no link shall be missing.
func (s *Store) mergeJournal() error {
	for part := range JournalParts {
		_, err := s.Update(func(tx *Tx) error {
			visits, places, err := tx.takeJournal(uint8(part))
			if err == nil {
				tx.AddVisits(visits)
				tx.AddPlaces(places)
			}
			return err
		})
		if errors.Is(err, errJournal) || pebble.IsCorruptionError(err) {
			s.watch.log.Error("clicks of the last minute before a crash are left out: their journal is damaged", "part", part, "error", err.Error())
			s.unmerged = append(s.unmerged, fmt.Errorf("part %d: %w", part, err))
			s.journalFrom = uint64(s.watch.now().UnixMicro()) // more than there were flushes
			continue
		}
		if err != nil {
			return fmt.Errorf("merge journal of clicks: %w", err)
		}
	}
	return nil
}

// JournalFrom is a number of the journal behind which all are free: Open may have left damaged rows under others.
func (s *Store) JournalFrom() uint64 { return s.journalFrom }

// takeJournal deletes the journal of a part and returns what was in it, sorted.
func (t *Tx) takeJournal(part uint8) (visits []Visits, places []Place, err error) {
	err = t.scan([]byte{kindJournal, part}, nil, false, func(rest, v []byte) (bool, error) {
		if len(rest) != 8 || len(v) == 0 {
			return false, fmt.Errorf("%w: %w", errJournal, errKey)
		}
		number, err := binary.BigEndian.Uint64(rest), errKey
		t.DeleteJournal(part, number)
		switch v[0] {
		case journalVisits:
			var more []Visits
			more, err = decodeVisits(v[1:])
			visits = append(visits, more...)
		case journalPlaces:
			var more []Place
			more, err = decodeJournalPlaces(v[1:])
			places = append(places, more...)
		}
		if err != nil {
			err = fmt.Errorf("%w: number %d: %w", errJournal, number, err)
		}
		return true, err
	})
	SortVisits(visits)
	slices.SortFunc(places, ComparePlaces)
	return visits, places, err
}

func appendVisits(b []byte, list []Visits) []byte {
	words := make([]string, 0, 16)
	numbers := map[string]uint64{"": 0}
	for i := range list {
		for _, w := range list[i].Values {
			if _, known := numbers[w]; !known {
				words = append(words, w)
				numbers[w] = uint64(len(words))
			}
		}
	}
	b = appendUint(b, uint64(len(words)))
	for _, w := range words {
		b = appendText(b, w)
	}
	for i := range list {
		v := &list[i]
		b = appendUint(b, v.Link)
		b = appendUint(b, uint64(v.Hour/hourMillis))
		b = appendUint(b, uint64(v.Number)<<1|uint64(b2i(v.Bots)))
		if v.Last == 0 {
			b = append(b, 0)
		} else {
			b = appendUint(b, uint64(v.Last-v.Hour+1))
		}
		for _, w := range v.Values {
			b = appendUint(b, numbers[w])
		}
	}
	return b
}

// decodeVisits reads what appendVisits wrote. It copies b.
func decodeVisits(b []byte) (list []Visits, err error) {
	c := cursor{rest: string(b)}
	words := []string{""}
	for range c.upTo(uint64(len(c.rest))) {
		words = append(words, c.text())
		if c.err != nil {
			break
		}
	}
	for c.rest != "" {
		v := Visits{Link: c.uint(), Hour: int64(c.upTo(math.MaxUint32)) * hourMillis}
		n := c.uint()
		v.Number, v.Bots = int64(n>>1), n&1 != 0
		if last := c.upTo(uint64(hourMillis)); last != 0 {
			v.Last = v.Hour + int64(last) - 1
		}
		for d := range v.Values {
			v.Values[d] = words[c.upTo(uint64(len(words)-1))]
		}
		list = append(list, v)
	}
	if err := c.end(); err != nil {
		return nil, fmt.Errorf("visits: %w", err)
	}
	return list, nil
}

func appendPlaces(b []byte, list []Place) []byte {
	first, link := uint64(math.MaxUint64), uint64(0)
	for _, p := range list {
		first = min(first, p.ID.Ms)
	}
	b = appendUint(b, first)
	for _, p := range list {
		b = appendUint(appendUint(appendUint(b, p.Link-link), p.ID.Ms-first), p.ID.Seq)
		link = p.Link
	}
	return b
}

// decodeJournalPlaces reads what appendPlaces wrote. It copies b.
func decodeJournalPlaces(b []byte) (list []Place, err error) {
	c := cursor{rest: string(b)}
	first, link := c.uint(), uint64(0)
	for c.rest != "" {
		link += c.uint()
		list = append(list, Place{link, StreamID{first + c.uint(), c.uint()}})
	}
	if err := c.end(); err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	return list, nil
}
