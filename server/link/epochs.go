package link

import (
	"fmt"

	"curt/codec"
	"curt/storage"
)

// KeyState says whether an epoch's key is at hand.
type KeyState string

// The states of an epoch's key. Codes of an epoch whose key is not KeyOK can't be read or made.
const (
	KeyOK      KeyState = "ok"
	KeyMissing KeyState = "missing"
	KeyWrong   KeyState = "wrong" // there is one of that id, and it is not the key that the epoch was opened with
)

// EpochInfo is a row of the epochs table with what is known of it now.
type EpochInfo struct {
	codec.Epoch
	Reserved uint64 // ids of it that were reserved
	Codes    uint64 // it has, at most so many ids
	Key      KeyState
}

// Epochs reads the epochs table of a store that no service need be open on, with the keys of ring or, when it is nil, of the store. asked are the
// settings for the epoch to come; it is opened with the next block of ids when they differ from the last row's.
func Epochs(store *storage.Store, ring *codec.Ring) (rows []EpochInfo, asked CodeSettings, opens bool, err error) {
	c := &codes{store: store, opts: CodeOptions{Ring: ring}}
	if err := c.loadKeys(); err != nil {
		return nil, asked, false, err
	}
	epochs, err := readEpochs(store)
	if err != nil {
		return nil, asked, false, err
	}
	reserved, err := store.Counter(LinkCounter)
	if err != nil {
		return nil, asked, false, err
	}
	if err := c.loadAsked(); err != nil {
		return nil, asked, false, err
	}
	for i, e := range epochs {
		end := reserved
		if i+1 < len(epochs) {
			end = epochs[i+1].First - 1
		}
		rows = append(rows, EpochInfo{Epoch: e, Reserved: end + 1 - e.First, Codes: codec.Capacity(e), Key: c.keyState(e)})
	}
	return rows, CodeSettings{c.asked.key, c.asked.length, c.asked.alphabet}, c.open, nil
}

// CodeSettings are what codes are made with.
type CodeSettings struct {
	Key      string // its id
	Length   int
	Alphabet string
}

// CodeTable returns the table that turns ids of a store into codes, and the counter of its ids. It needs every key.
func CodeTable(store *storage.Store, ring *codec.Ring) (table *codec.Table, reserved uint64, err error) {
	c := &codes{store: store, opts: CodeOptions{Ring: ring}}
	if err := c.load(); err != nil {
		return nil, 0, err
	}
	return c.table.Load(), c.reserved.Load(), nil
}

func (c *codes) keyState(e codec.Epoch) KeyState {
	key, ok := c.keys[e.KeyID]
	switch {
	case !ok:
		return KeyMissing
	case codec.CheckValue(key) != e.Check:
		return KeyWrong
	}
	return KeyOK
}

// readEpochs reads the rows of the epochs table.
func readEpochs(store *storage.Store) ([]codec.Epoch, error) {
	rows, err := store.Epochs()
	if err != nil {
		return nil, err
	}
	epochs := make([]codec.Epoch, len(rows))
	for i, row := range rows {
		if epochs[i], err = codec.ParseEpoch(row); err != nil {
			return nil, fmt.Errorf("epoch %d: %w", i, err)
		}
	}
	return epochs, nil
}
