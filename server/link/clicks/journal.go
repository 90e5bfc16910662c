package clicks

import (
	"slices"

	"curt/storage"
)

// part is what the store's journal holds of some of the links, in memory. It is merged into their rows when its turn comes, when somebody
// wants to read one of them, and when it gets large: the more visits to a link are merged at once, the less each costs.
type part struct {
	tally                   // visits
	places  []storage.Place // in the stream, oldest first
	numbers []uint64        // under which all this is in the journal
}

const (
	partRows   = 1 << 12 // of a part, about
	partPlaces = 1 << 14
)

// partOf says in which part a link is. Ids may well end in the same bits.
func partOf(id uint64) int { return int(id * 0x9E3779B97F4A7C15 >> 32 % storage.JournalParts) }

// journal writes rows of a batch, which are sorted by part: as many as fit into a batch of the store.
func (c *Counter) journal(b *batch) (ticket uint64, err error) {
	number, n := c.journaled+1, 0
	ticket, err = c.opts.Store.Update(func(tx *storage.Tx) error {
		n = putRows(tx, number, b.rows)
		return nil
	})
	if err != nil {
		return ticket, err
	}
	c.journaled = number
	for i := range b.rows[:n] {
		r := &b.rows[i]
		c.parts[partOf(r.id)].take(number, r)
		c.counted.Add(-r.n)
	}
	b.rows = b.rows[n:]
	t, err := c.mergeLarge()
	return max(t, ticket), err
}

// putRows writes rows of whole parts, at most about batchBytes, and returns how many.
func putRows(tx *storage.Tx, number uint64, rows []row) (n int) {
	var list []storage.Visits
	for n < len(rows) && tx.Size() < batchBytes {
		at := partOf(rows[n].id)
		list = list[:0]
		for ; n < len(rows) && partOf(rows[n].id) == at; n++ {
			list = append(list, rows[n].visits())
		}
		tx.PutVisits(uint8(at), number, list)
	}
	return n
}

// take adds a row that is in the journal under a number.
func (p *part) take(number uint64, r *row) {
	if p.index == nil {
		p.index = map[combo]int32{}
	}
	p.add(r.combo, r.n, r.last)
	p.note(number)
}

func (p *part) note(number uint64) {
	if n := len(p.numbers); n == 0 || p.numbers[n-1] != number {
		p.numbers = append(p.numbers, number)
	}
}

// putPlaces writes places to the journal, each part's in a row.
func putPlaces(tx *storage.Tx, number uint64, places []storage.Place) {
	var parts [storage.JournalParts][]storage.Place
	for _, p := range places {
		at := partOf(p.Link)
		parts[at] = append(parts[at], p)
	}
	for at, list := range parts {
		if len(list) > 0 {
			slices.SortFunc(list, storage.ComparePlaces)
			tx.PutPlaces(uint8(at), number, list)
		}
	}
}

// takePlaces adds places that putPlaces has written.
func (c *Counter) takePlaces(places []storage.Place) {
	c.journaled++
	for _, place := range places {
		p := &c.parts[partOf(place.Link)]
		p.places = append(p.places, place)
		p.note(c.journaled)
	}
}

// mergeLarge merges the parts that have got large.
func (c *Counter) mergeLarge() (ticket uint64, err error) {
	for i := range c.parts {
		p := &c.parts[i]
		if len(p.rows) < partRows && len(p.places) < partPlaces {
			continue
		}
		t, err := c.merge(i)
		if err != nil {
			return ticket, err
		}
		ticket = max(t, ticket)
	}
	return ticket, nil
}

// mergeNext merges the part whose turn it is.
func (c *Counter) mergeNext() (ticket uint64, err error) {
	c.turn = (c.turn + 1) % storage.JournalParts
	return c.merge(c.turn)
}

func (c *Counter) mergeAll() (ticket uint64, err error) {
	for i := range c.parts {
		t, err := c.merge(i)
		if err != nil {
			return ticket, err
		}
		ticket = max(t, ticket)
	}
	return ticket, nil
}

// merge moves a part from the journal to the rows of its links and to the index of the stream, in one batch of the store.
func (c *Counter) merge(at int) (ticket uint64, err error) {
	p := &c.parts[at]
	if len(p.numbers) == 0 {
		return 0, nil
	}
	list := make([]storage.Visits, len(p.rows))
	for i := range p.rows {
		list[i] = p.rows[i].visits()
	}
	storage.SortVisits(list)
	slices.SortFunc(p.places, storage.ComparePlaces)
	ticket, err = c.opts.Store.Update(func(tx *storage.Tx) error {
		tx.AddVisits(list)
		tx.AddPlaces(p.places)
		for _, number := range p.numbers {
			tx.DeleteJournal(uint8(at), number)
		}
		return nil
	})
	if err == nil {
		*p = part{}
	}
	return ticket, err
}

// Sums returns the two running totals of all that was ever counted, see storage.ClickSums, up to the last flush.
func (c *Counter) Sums() (totals, buckets storage.Count, err error) {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	totals, buckets, err = c.opts.Store.ClickSums()
	for i := range c.parts {
		for _, r := range c.parts[i].rows {
			v := r.visits()
			totals, buckets = totals.Plus(v.Count()), buckets.Plus(v.Count())
		}
	}
	return totals, buckets, err
}
