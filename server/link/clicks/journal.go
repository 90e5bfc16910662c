package clicks

import (
	"slices"

	"curt/storage"
)

// journal writes what was counted into the journal. Nobody who visits waits for the store meanwhile.
func (c *Counter) journal() (ticket uint64, err error) {
	for from := 0; from < len(c.parts); {
		number := c.journaled + 1
		var lists [][]storage.Visits // of the parts from from on
		t, err := c.opts.Store.Update(func(tx *storage.Tx) error {
			lists = c.putVisits(tx, from, number)
			return nil
		})
		if err != nil {
			return ticket, err
		}
		ticket, c.journaled = t, number
		c.mu.Lock()
		for i, list := range lists {
			if len(list) > 0 {
				c.counted.Add(-c.parts[from+i].wrote(list))
				c.parts[from+i].note(number)
			}
		}
		c.mu.Unlock()
		from += len(lists)
	}
	return ticket, nil
}

// putVisits writes what was counted in as many parts as fit into a batch.
func (c *Counter) putVisits(tx *storage.Tx, from int, number uint64) (lists [][]storage.Visits) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for at := from; at < len(c.parts) && tx.Size() < batchBytes; at++ {
		list := c.parts[at].unwritten()
		if len(list) > 0 {
			tx.PutVisits(uint8(at), number, list)
		}
		lists = append(lists, list)
	}
	return lists
}

// note remembers a number of the journal.
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

// mergeNext merges the part whose turn it is, and those that have got large.
func (c *Counter) mergeNext() (ticket uint64, err error) {
	c.turn = (c.turn + 1) % storage.JournalParts
	return c.mergeThose(func(at int, p *part) bool {
		return at == c.turn || len(p.rows) >= partRows || len(p.places) >= partPlaces || len(p.numbers) >= partNumbers
	})
}

func (c *Counter) mergeAll() (ticket uint64, err error) {
	return c.mergeThose(func(int, *part) bool { return true })
}

// mergeThose merges the parts that are wanted.
func (c *Counter) mergeThose(wanted func(at int, p *part) bool) (ticket uint64, err error) {
	for at := range c.parts {
		c.mu.Lock()
		this := wanted(at, &c.parts[at])
		c.mu.Unlock()
		if !this {
			continue
		}
		t, err := c.merge(at)
		if err != nil {
			return ticket, err
		}
		ticket = max(t, ticket)
	}
	return ticket, nil
}

// merge moves a part to the rows of its links and to the index of the stream, and out of the journal, in one batch of the store.
func (c *Counter) merge(at int) (ticket uint64, err error) {
	p := &c.parts[at]
	c.mu.Lock()
	list := p.all()
	c.mu.Unlock()
	if len(list)+len(p.places) == 0 {
		return 0, nil
	}
	numbers := make([]int64, len(list))
	for i := range list {
		numbers[i] = list[i].Number
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
	if err != nil {
		return ticket, err
	}
	p.places, p.numbers = nil, nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kinds -= len(p.rows)
	c.counted.Add(-p.merged(numbers))
	c.kinds += len(p.rows)
	return ticket, nil
}

// Sums returns the two running totals of all that was ever counted, see storage.ClickSums, up to the last flush.
func (c *Counter) Sums() (totals, buckets storage.Count, err error) {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	totals, buckets, err = c.opts.Store.ClickSums()
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.parts {
		for j := range c.parts[i].rows {
			r := &c.parts[i].rows[j]
			v := r.visits(r.n - r.fresh)
			totals, buckets = totals.Plus(v.Count()), buckets.Plus(v.Count())
		}
	}
	return totals, buckets, err
}
