package clicks

import (
	"cmp"
	"errors"
	"time"

	"curt/storage"
)

// batchBytes is how large a batch of the store gets, about.
const batchBytes = 512 << 10

// Flush writes what was counted into the store: when it returns nil, every visit that was added before is there, though not yet synced, and
// its click in the stream. Merge brings counts to where they are read. What a failed flush could not write stays and comes first the next time.
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

// Merge is Flush, after which the counts of a link are up to date in the store, or those of all links when id is 0. All links take long, so
// others have their turn between the parts.
func (c *Counter) Merge(id uint64) error {
	if id != 0 {
		c.opts.Guard.Lock()
		defer c.opts.Guard.Unlock()
		return c.MergeGuarded(id)
	}
	if err := c.Flush(); err != nil {
		return err
	}
	for at := range c.parts {
		if err := c.mergeOne(at); err != nil {
			return err
		}
	}
	return nil
}

func (c *Counter) mergeOne(at int) error {
	c.opts.Guard.Lock()
	defer c.opts.Guard.Unlock()
	return c.mergeOneGuarded(at)
}

func (c *Counter) mergeOneGuarded(at int) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	_, err := c.merge(at)
	return err
}

// MergeGuarded is Merge for a caller that holds Guard, or keeps out everybody who does.
func (c *Counter) MergeGuarded(id uint64) error {
	err := c.HoldMerged(id)
	if err == nil {
		c.Release()
	}
	return err
}

// Index brings the stream of a link up to date with the stream of all links. Nothing is flushed, so nobody who waits for clicks wakes of it.
func (c *Counter) Index(id uint64) error { return c.mergeOne(partOf(id)) }

// IndexGuarded is Index for a caller that holds Guard, or keeps out everybody who does.
func (c *Counter) IndexGuarded(id uint64) error { return c.mergeOneGuarded(partOf(id)) }

// Sync flushes, merges the part whose turn it is, and waits until it is durable.
func (c *Counter) Sync() error { return c.syncAfter(c.mergeNext) }

// syncAfter flushes and merges, and waits until it is durable.
func (c *Counter) syncAfter(merge func() (uint64, error)) error {
	c.opts.Guard.Lock()
	c.flushing.Lock()
	ticket, err := c.flush()
	if err == nil {
		var merged uint64
		merged, err = merge()
		ticket = max(ticket, merged)
	}
	c.flushing.Unlock()
	c.opts.Guard.Unlock()
	return errors.Join(err, c.opts.Store.WaitSynced(ticket)) // what was written is worth a sync, also when the rest failed
}

// flush writes what failed before, then what is new. c.flushing is held.
func (c *Counter) flush() (ticket uint64, err error) {
	if len(c.waiting) > 0 {
		if ticket, err = c.append(); err != nil {
			return ticket, err
		}
	}
	gone := c.takeGone()
	c.waiting = c.take()
	ticket, err = c.journal()
	if err == nil && len(c.waiting) > 0 {
		var appended uint64
		appended, err = c.append()
		ticket = max(ticket, appended) // append's is 0 where no stream is kept
	}
	if err != nil {
		c.Forget(gone...)
		return ticket, err
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

// bury removes the counts of deleted links, once none of them waits to be merged.
func (c *Counter) bury(gone []uint64, ticket uint64) (uint64, error) {
	for _, id := range gone {
		t, err := c.merge(partOf(id))
		if err != nil {
			c.Forget(gone...)
			return ticket, err
		}
		ticket = max(t, ticket)
	}
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

// HoldMerged is Hold, after what Merge does.
func (c *Counter) HoldMerged(id uint64) error {
	c.flushing.Lock()
	_, err := c.flush()
	switch {
	case err != nil:
	case id == 0:
		_, err = c.mergeAll()
	default:
		_, err = c.merge(partOf(id))
	}
	if err != nil {
		c.flushing.Unlock()
	}
	return err
}

// Clear forgets everything that was counted and is not in the store. The caller keeps out everybody who takes Guard.
func (c *Counter) Clear() {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	c.take()
	c.takeGone()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting, c.records, c.parts, c.kinds = nil, nil, [storage.JournalParts]part{}, 0
	c.counted.Store(0)
	c.stream.forget()
}

// Upkeep does what is due once a day: old hours become days, old days of the stream are dropped.
func (c *Counter) Upkeep() error { return errors.Join(c.Merge(0), c.upkeep()) }

func (c *Counter) upkeep() error {
	now := c.opts.Now()
	return errors.Join(c.rollUp(now.Add(-c.opts.HourRetention)), c.dropDays(now.Add(-c.opts.StreamRetention)))
}

// rollUp moves the hours before a time into days, a link at a time. One that can't be read does not hold up the others; the first error is
// returned.
func (c *Counter) rollUp(before time.Time) (failed error) {
	if c.opts.RollUp == nil {
		return nil
	}
	limit := before.UnixMilli() / hour * hour
	for id := uint64(0); ; id++ {
		select {
		case <-c.stop:
			return failed
		default:
		}
		next, ok, err := c.opts.Store.NextHours(id, limit)
		if err != nil || !ok {
			return cmp.Or(failed, err)
		}
		id = next
		failed = cmp.Or(failed, c.opts.RollUp(id, limit))
	}
}
