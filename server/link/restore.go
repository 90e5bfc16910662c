package link

import (
	"errors"
	"fmt"
	"math"
	"time"

	"curt/codec"
	"curt/storage"
)

// settingLeast is the length that codes of later epochs have at least, since a restore.
const settingLeast = "least-code-length"

// Ahead is what MoveAhead did.
type Ahead struct {
	Reserved uint64 // ids of links go on behind this one
	Length   int    // of new codes
}

// MoveAhead makes a copy of a store, which no service is open on, safe to go on from: nothing that the original may have given out
// since is given out by the copy. by is how many ids each counter of the original may have used meanwhile.
//
// Every counter moves by that much, those of NextIDs that the copy does not know too, and the snowflake mark up to now. New codes come from a new
// epoch that is a character longer than any that the original may have grown to, and no later epoch has shorter ones: the tweaks and keys that the
// original took since are not known here, so codes of the same length might be the same. (An original that was asked for longer codes since is beyond
// that.) o.Codes.Length may ask for still longer ones. It is durable when it returns.
func MoveAhead(store *storage.Store, o Options, by uint64) (Ahead, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	codes := &codes{store: store, opts: CodeOptions{Ring: o.Codes.Ring, Density: o.Codes.Density}}
	codes.setDefaults()
	if err := codes.load(); err != nil {
		return Ahead{}, err
	}
	head, err := ReadHead(store)
	if err != nil {
		return Ahead{}, err
	}
	row, err := codes.epochAhead(by, o.Codes.Length)
	if err != nil {
		return Ahead{}, err
	}
	stored, err := row.AppendBinary(nil)
	if err != nil {
		return Ahead{}, err
	}
	counters := movedCounters(head.Counters, o, by)
	counters[LinkCounter] = row.First // unused: an epoch without any id could not be followed by another
	err = durably(store, func(tx *storage.Tx) error {
		for name, v := range counters {
			tx.SetCounter(name, v)
		}
		codes.asked.put(tx)
		tx.PutSetting(settingLeast, fmt.Sprint(row.Length))
		tx.PutEpoch(row.Number, stored)
		return nil
	})
	return Ahead{Reserved: row.First, Length: row.Length}, err
}

func movedCounters(counters map[string]uint64, o Options, by uint64) map[string]uint64 {
	moved := map[string]uint64{idFloor: counters[idFloor] + by}
	for name, v := range counters {
		if name != snowflakeCounter {
			moved[name] = v + by
		}
	}
	moved[snowflakeCounter] = max(counters[snowflakeCounter], uint64(max(o.Snowflake.Millis(o.Now()), 0)))
	return moved
}

// epochAhead is the epoch that begins so many ids behind the last reserved one. Its codes have at least some length.
func (c *codes) epochAhead(by uint64, least int) (codec.Epoch, error) {
	table, reserved := c.table.Load(), c.reserved.Load()
	last := table.Last()
	if int(last.Number)+1 == codec.MaxEpochs {
		return codec.Epoch{}, errors.New("the table of epochs is full")
	}
	if reserved > math.MaxInt64-by {
		return codec.Epoch{}, fmt.Errorf("the counter %d can't move by %d", reserved, by)
	}
	return codec.Epoch{
		Number: last.Number + 1, First: reserved + by + 1, KeyID: c.asked.key, Alphabet: c.asked.alphabet, Tweak: codec.NewTweak(),
		Length: min(max(c.grown(by)+1, c.asked.length+1, least), codec.MaxLength), Check: codec.CheckValue(c.keys[c.asked.key]),
	}, nil
}

// grown is the length that codes have at most when so many more ids have been reserved.
func (c *codes) grown(by uint64) int {
	last := c.table.Load().Last()
	used := float64(c.reserved.Load() + 1 - last.First)
	for left := float64(by); last.Length < codec.MaxLength; last.Length++ {
		if left -= c.opts.Density*float64(codec.Capacity(last)) - used; left <= 0 {
			break
		}
		used = 0
	}
	return last.Length
}
