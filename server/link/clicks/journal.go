package clicks

import "curt/storage"

// part is what the store's journal holds of some of the links, in memory. It is merged into their rows when its turn comes, when somebody
// wants to read one of them, and when it gets large: the more visits to a link are merged at once, the less each costs.
type part struct {
	tally
	numbers []uint64 // of its rows in the journal
}

const partRows = 4096 // of a part, about

// partOf says in which part a link is. Ids may well end in the same bits.
func partOf(id uint64) int { return int(id * 0x9E3779B97F4A7C15 >> 32 % storage.VisitParts) }

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
	for i := range c.parts {
		if len(c.parts[i].rows) < partRows {
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
	if n := len(p.numbers); n == 0 || p.numbers[n-1] != number {
		p.numbers = append(p.numbers, number)
	}
}

// mergeNext merges the part whose turn it is.
func (c *Counter) mergeNext() (ticket uint64, err error) {
	c.turn = (c.turn + 1) % storage.VisitParts
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

// merge moves a part from the journal to the rows of its links, in one batch of the store.
func (c *Counter) merge(at int) (ticket uint64, err error) {
	p := &c.parts[at]
	if len(p.rows) == 0 {
		return 0, nil
	}
	list := make([]storage.Visits, len(p.rows))
	for i := range p.rows {
		list[i] = p.rows[i].visits()
	}
	storage.SortVisits(list)
	ticket, err = c.opts.Store.Update(func(tx *storage.Tx) error {
		tx.AddVisits(list)
		for _, number := range p.numbers {
			tx.DeleteVisits(uint8(at), number)
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
