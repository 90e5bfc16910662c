package clicks

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"curt/storage"
)

// batchBytes is how large a batch of the store gets, about.
const batchBytes = 512 << 10

// Flush merges what was counted into the store: when it returns nil, every visit that was added before is visible there, though
// not yet synced. What a failed flush could not write stays and comes first the next time.
func (c *Counter) Flush() error {
	c.opts.Guard.Lock()
	defer c.opts.Guard.Unlock()
	return c.FlushGuarded()
}

// FlushGuarded is Flush for a caller that holds Guard, or keeps out everybody who does.
func (c *Counter) FlushGuarded() error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	_, err := c.flush()
	return err
}

// Sync flushes and waits until it is durable.
func (c *Counter) Sync() error {
	c.opts.Guard.Lock()
	c.flushing.Lock()
	ticket, err := c.flush()
	c.flushing.Unlock()
	c.opts.Guard.Unlock()
	return errors.Join(err, c.opts.Store.WaitSynced(ticket)) // what was written is worth a sync, also when the rest failed
}

// flush writes what failed before, then what is new. c.flushing is held.
func (c *Counter) flush() (ticket uint64, err error) {
	if c.failed != nil {
		if ticket, err = c.write(c.failed); err != nil {
			return ticket, err
		}
		c.failed = nil
	}
	gone := c.takeGone()
	b := c.take()
	if !b.empty() {
		if ticket, err = c.write(b); err != nil {
			c.failed = b
			c.Forget(gone...)
			return ticket, err
		}
	}
	return c.bury(gone, ticket)
}

// Forget removes what was counted of deleted links, with the next flush.
func (c *Counter) Forget(ids ...uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = append(c.gone, ids...)
}

func (c *Counter) takeGone() []uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := c.gone
	c.gone = nil
	return gone
}

// bury removes the counts of deleted links.
func (c *Counter) bury(gone []uint64, ticket uint64) (uint64, error) {
	for len(gone) > 0 {
		n := 0
		t, err := c.opts.Store.Update(func(tx *storage.Tx) error {
			for n < len(gone) && tx.Size() < batchBytes {
				if err := tx.DeleteClicks(gone[n]); err != nil {
					return err
				}
				n++
			}
			return nil
		})
		if err != nil {
			c.Forget(gone...)
			return ticket, err
		}
		gone, ticket = gone[n:], max(t, ticket)
	}
	return ticket, nil
}

// Hold keeps flushes away until Release: what is read from the store of a link's clicks stays as it is. The caller holds Guard, or keeps
// out everybody who does.
func (c *Counter) Hold() { c.flushing.Lock() }

// Release ends a Hold.
func (c *Counter) Release() { c.flushing.Unlock() }

// HoldFlushed is Hold, after what was counted so far has been merged into the store.
func (c *Counter) HoldFlushed() error {
	c.flushing.Lock()
	if _, err := c.flush(); err != nil {
		c.flushing.Unlock()
		return err
	}
	return nil
}

// write merges a batch and appends its clicks. What was written is gone from it, also when the rest fails.
func (c *Counter) write(b *batch) (ticket uint64, err error) {
	slices.SortFunc(b.rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.hour, b.hour))
	})
	for len(b.rows) > 0 {
		n := 0
		t, err := c.opts.Store.Update(func(tx *storage.Tx) error {
			n = mergeRows(tx, b.rows)
			return nil
		})
		if err != nil {
			return ticket, err
		}
		ticket = t
		for i := range b.rows[:n] {
			c.counted.Add(-b.rows[i].n)
		}
		b.rows = b.rows[n:]
	}
	if len(b.records) == 0 {
		return ticket, nil
	}
	t, err := c.append(b)
	return max(t, ticket), err
}

// mergeRows merges the rows of as many links as fit into a batch, and returns how many rows these are. They are sorted.
func mergeRows(tx *storage.Tx, rows []row) (n int) {
	var totals, buckets storage.Count
	for n < len(rows) && tx.Size() < batchBytes {
		end := n + 1
		for end < len(rows) && rows[end].id == rows[n].id {
			end++
		}
		link := mergeLink(tx, rows[n:end])
		totals, buckets = totals.Plus(link.totals), buckets.Plus(link.buckets)
		n = end
	}
	tx.AddClickSums(totals, buckets)
	return n
}

type sums struct{ totals, buckets storage.Count }

// mergeLink merges the rows of one link: the totals, each hour, each month's top values. That is the order of their keys, which is what the
// store takes most cheaply.
func mergeLink(tx *storage.Tx, rows []row) (s sums) {
	id := rows[0].id
	for i := range rows {
		s.totals = s.totals.Plus(rows[i].count())
	}
	tx.AddClicks(id, s.totals)
	var top storage.Top
	for i := 0; i < len(rows); {
		at := rows[i].hour
		var in storage.Count
		for ; i < len(rows) && rows[i].hour == at; i++ {
			r := &rows[i]
			if r.bot {
				in.Bots += r.n
			} else {
				in.Visits += r.n
				r.top(&top, r.n)
			}
			in.Last = max(in.Last, r.last)
		}
		tx.AddHour(id, at, in)
		s.buckets = s.buckets.Plus(in)
		month := storage.MonthOf(at)
		if (i == len(rows) || storage.MonthOf(rows[i].hour) != month) && !top.Empty() {
			tx.AddTop(id, month, &top)
			top = storage.Top{}
		}
	}
	return s
}

func (r *row) count() storage.Count {
	if r.bot {
		return storage.Count{Bots: r.n}
	}
	return storage.Count{Visits: r.n, Last: r.last}
}

// Clear forgets everything that was counted and is not in the store. The caller keeps out everybody who takes Guard.
func (c *Counter) Clear() {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.take()
	c.failed = nil
	c.takeGone()
	c.mu.Lock()
	c.now = newBatch(&batch{}) // take leaves an empty one
	c.mu.Unlock()
	c.counted.Store(0)
	c.stream.forget()
}

// Upkeep does what is due once a day: old hours become days, old days of the stream are dropped.
func (c *Counter) Upkeep() error {
	now := c.opts.Now()
	return errors.Join(c.rollUp(now.Add(-c.opts.HourRetention)), c.dropDays(now.Add(-c.opts.StreamRetention)))
}

// rollUp moves the hours before a time into days, a link at a time.
func (c *Counter) rollUp(before time.Time) error {
	if c.opts.RollUp == nil {
		return nil
	}
	limit := before.UnixMilli() / hour * hour
	for id := uint64(0); ; id++ {
		select {
		case <-c.stop:
			return nil
		default:
		}
		next, ok, err := c.opts.Store.NextHours(id, limit)
		if err != nil || !ok {
			return err
		}
		id = next
		if err := c.opts.RollUp(id, limit); err != nil {
			return err
		}
	}
}
