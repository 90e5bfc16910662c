package server

import (
	"curt/server/link"
	"curt/server/link/clicks"
	"curt/storage"
)

func xinfoStream(c *call) error {
	of, err := c.mustStream(c.args[2])
	if err != nil {
		return err
	}
	if len(c.args) > 3 {
		return errSubSyntax(c)
	}
	n, err := c.links.StreamLen(of)
	if err != nil {
		return err
	}
	first, err := c.links.ReadStream(of, storage.MinStreamID, storage.MaxStreamID, false, 1)
	if err != nil {
		return err
	}
	last, err := c.links.ReadStream(of, storage.MinStreamID, storage.MaxStreamID, true, 1)
	if err != nil {
		return err
	}
	state := c.links.StreamState()
	if of != (link.Stream{}) {
		state = storage.StreamState{Added: uint64(n)}
		if len(last) > 0 {
			state.Last = last[0].ID
		}
	}
	c.writeStreamInfo(n, state, first, last)
	return nil
}

func (c *call) writeStreamInfo(n int64, state storage.StreamState, first, last []clicks.Click) {
	w := c.w
	w.Map(10)
	w.BulkString("length")
	w.Int(n)
	w.BulkString("radix-tree-keys")
	w.Int(0)
	w.BulkString("radix-tree-nodes")
	w.Int(0)
	c.field("last-generated-id", streamID(state.Last))
	c.field("max-deleted-entry-id", streamID(state.Dropped))
	w.BulkString("entries-added")
	w.Int(int64(state.Added))
	oldest := storage.StreamID{}
	if len(first) > 0 {
		oldest = first[0].ID
	}
	c.field("recorded-first-entry-id", streamID(oldest))
	w.BulkString("groups")
	w.Int(0)
	c.writeEdge("first-entry", first)
	c.writeEdge("last-entry", last)
	c.owes = true
}

// writeEdge writes the first or the last entry, null when there is none.
func (c *call) writeEdge(name string, list []clicks.Click) {
	c.w.BulkString(name)
	if len(list) == 0 {
		c.w.Null()
		return
	}
	c.writeEntry(&list[0])
}
