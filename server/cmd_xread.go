package server

import (
	"math"
	"strconv"
	"time"

	"curt/server/link"
	"curt/server/link/clicks"
	"curt/storage"
)

// reading is one XREAD.
type reading struct {
	keys  [][]byte
	after []storage.StreamID
	from  []link.Stream // which keys name; found says whether
	found []bool
	count int
	block time.Duration // 0: for ever
	waits bool
}

func xread(c *call) error {
	r, err := c.xreadOptions()
	if err != nil {
		return err
	}
	found, err := c.readStreams(r)
	if err != nil {
		return err
	}
	if found == nil && r.waits && !c.links.Alone() {
		if found, err = c.waitForClicks(r); err != nil {
			return err
		}
	}
	if found == nil {
		c.w.NullArray()
		return nil
	}
	c.writeStreams(r, found)
	return nil
}

func (c *call) xreadOptions() (*reading, error) {
	r := &reading{count: maxEntries}
	w := words{list: c.args[1:]}
	for option := range w.options() {
		switch option {
		case "count":
			if n := w.integer(math.MinInt64, math.MaxInt64); n > 0 {
				r.count = int(min(n, maxEntries))
			}
		case "block":
			ms, err := strconv.ParseInt(string(w.value()), 10, 64)
			switch {
			case w.err != nil:
			case err != nil || ms > math.MaxInt64/int64(time.Millisecond):
				w.err = errTimeout
			case ms < 0:
				w.err = errNegTimeout
			}
			r.block, r.waits = time.Duration(ms)*time.Millisecond, true
		case "streams":
			if len(w.list) == 0 || len(w.list)%2 != 0 {
				return nil, errUnbalanced
			}
			return r, c.xreadStreams(r, w.list)
		default:
			w.fail(errSyntax)
		}
	}
	if w.err == nil {
		w.err = errSyntax
	}
	return nil, w.err
}

// xreadStreams reads the keys and the ids behind them.
func (c *call) xreadStreams(r *reading, list [][]byte) error {
	n := len(list) / 2
	r.keys, r.after = list[:n], make([]storage.StreamID, n)
	r.from, r.found = make([]link.Stream, n), make([]bool, n)
	for i, word := range list[n:] {
		if string(word) == ">" {
			return replyError("ERR The > ID can be specified only when calling XREADGROUP using the GROUP <group> <consumer> option.")
		}
		var err error
		if r.from[i], r.found[i], err = c.freshStream(r.keys[i]); err != nil {
			return err
		}
		switch string(word) {
		case "$":
			r.after[i] = c.links.StreamState().Last
		case "+":
			r.after[i], err = c.beforeLast(r.from[i], r.found[i])
		default:
			r.after[i], err = parseStreamID(word, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beforeLast is the id right before a stream's last entry.
func (c *call) beforeLast(of link.Stream, found bool) (storage.StreamID, error) {
	last := storage.MinStreamID
	if found {
		list, err := c.links.ReadStream(of, storage.MinStreamID, storage.MaxStreamID, true, 1)
		if err != nil {
			return last, err
		}
		if len(list) > 0 {
			return list[0].ID.Prev(), nil
		}
	}
	return last, nil
}

// readStreams returns the entries of each stream, maxEntries in all, nil when there are none at all.
func (c *call) readStreams(r *reading) (found [][]clicks.Click, err error) {
	left := maxEntries
	found = make([][]clicks.Click, len(r.keys))
	for i, of := range r.from {
		if left == 0 {
			break
		}
		if !r.found[i] || !r.after[i].Less(storage.MaxStreamID) {
			continue
		}
		if found[i], err = c.links.ReadStream(of, r.after[i].Next(), storage.MaxStreamID, false, min(r.count, left)); err != nil {
			return nil, err
		}
		left -= len(found[i])
	}
	if left == maxEntries {
		return nil, nil
	}
	return found, nil
}

// findStreams finds the streams of the keys again: a link may have been made, or deleted and made anew, since.
func (c *call) findStreams(r *reading) (err error) {
	for i, key := range r.keys {
		if !link.IsStreamKey(key) {
			continue
		}
		if r.from[i], r.found[i], err = c.links.Stream(string(key)); err != nil {
			return err
		}
	}
	return nil
}

// waitForClicks reads again whenever clicks are appended, until there are some, the time is over, the peer is gone, or another
// client unblocks this one.
func (c *call) waitForClicks(r *reading) (found [][]clicks.Click, err error) {
	gone, stop := c.session.watchPeer()
	defer stop()
	wake := c.session.block(&c.blocked)
	defer c.session.unblocked(&c.blocked)
	var over <-chan time.Time
	if r.block > 0 {
		timer := time.NewTimer(r.block)
		defer timer.Stop()
		over = timer.C
	}
	for {
		changed := c.links.Counter().Changed()
		if err := c.findStreams(r); err != nil {
			return nil, err
		}
		if found, err = c.readStreams(r); found != nil || err != nil {
			return found, err
		}
		select {
		case <-changed:
		case <-over:
			return nil, nil
		case <-gone:
			return nil, nil
		case err := <-wake:
			return nil, err
		}
	}
}

func (c *call) writeStreams(r *reading, found [][]clicks.Click) {
	n := 0
	for _, list := range found {
		if len(list) > 0 {
			n++
		}
	}
	resp3 := c.w.Proto() == 3
	if resp3 {
		c.w.Map(n)
	} else {
		c.w.Array(n)
	}
	for i, list := range found {
		if len(list) == 0 {
			continue
		}
		if !resp3 {
			c.w.Array(2)
		}
		c.w.Bulk(r.keys[i])
		c.writeEntries(list)
	}
}
