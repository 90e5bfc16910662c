package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"curt/codec"
	"curt/idalloc"
	"curt/storage"
)

// LinkCounter is the counter of the links' ids.
const LinkCounter = "links"

// Names of the settings that were last asked for.
const (
	settingKey      = "key"
	settingLength   = "code-length"
	settingAlphabet = "alphabet"
	settingActive   = "active-key" // of the ring in the store: rotation writes it
)

// CodeOptions say what codes look like. A zero field means "as the store has it".
type CodeOptions struct {
	Alphabet string      // base62 or safe; a new store takes base62
	Length   int         // 4 to 10; a new store takes 7
	Ring     *codec.Ring // keys from a key file; nil: the ring in the store
	Density  float64     // share of an epoch's codes that may be reserved before codes grow; 0: 0.01
}

// codes turns ids into codes and back, and reserves ids. Reads are safe for concurrent use and take no lock.
type codes struct {
	store   *storage.Store
	opts    CodeOptions
	segment *idalloc.Segment

	table    atomic.Pointer[codec.Table]
	reserved atomic.Uint64 // the last id of a durable block: above it no link exists

	mu    sync.Mutex // guards the fields below: one reservation at a time
	keys  map[string]codec.Key
	asked asked // settings last asked for
	least int   // length that the codes of a new epoch have at least
	open  bool  // the settings changed: the next block begins an epoch
}

type asked struct {
	key      string
	length   int
	alphabet string
}

// openCodes loads the epochs of a store, or makes the first one, and decides whether the settings asked
// for open a new epoch with the next block.
func openCodes(store *storage.Store, o CodeOptions) (*codes, error) {
	c := &codes{store: store, opts: o}
	c.setDefaults()
	if store.New() {
		if err := c.create(); err != nil {
			return nil, fmt.Errorf("create store: %w", err)
		}
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	c.segment = idalloc.NewSegment(c.reserve, idalloc.Options{})
	return c, nil
}

func (c *codes) setDefaults() { c.opts.Density = cmp.Or(c.opts.Density, 0.01) }

// create writes the key, epoch 0, the settings and the counter in one synced batch.
func (c *codes) create() error {
	want := asked{length: cmp.Or(c.opts.Length, 7), alphabet: cmp.Or(c.opts.Alphabet, "base62")}
	var key codec.Key
	if c.opts.Ring != nil {
		want.key = c.opts.Ring.Active
		key = c.opts.Ring.Keys[want.key]
	} else {
		want.key, key = "1", codec.NewKey()
	}
	epoch := codec.Epoch{First: 1, KeyID: want.key, Length: want.length, Alphabet: want.alphabet, Check: codec.CheckValue(key)}
	if _, err := codec.NewTable([]codec.Epoch{epoch}, map[string]codec.Key{want.key: key}); err != nil {
		return err
	}
	row, err := epoch.AppendBinary(nil)
	if err != nil {
		return err
	}
	return durably(c.store, func(tx *storage.Tx) error {
		if c.opts.Ring == nil {
			tx.PutKey(want.key, key)
			tx.PutSetting(settingActive, want.key)
		}
		tx.PutEpoch(0, row)
		tx.SetCounter(LinkCounter, 0)
		want.put(tx)
		return nil
	})
}

func (a asked) put(tx *storage.Tx) {
	tx.PutSetting(settingKey, a.key)
	tx.PutSetting(settingLength, fmt.Sprint(a.length))
	tx.PutSetting(settingAlphabet, a.alphabet)
}

// load reads ring, epochs and settings.
func (c *codes) load() error {
	if err := c.loadKeys(); err != nil {
		return err
	}
	epochs, err := readEpochs(c.store)
	if err != nil {
		return err
	}
	table, err := codec.NewTable(epochs, c.keys)
	if err != nil {
		return fmt.Errorf("the keys do not fit the store's codes: %w", err)
	}
	reserved, err := c.store.Counter(LinkCounter)
	if err != nil {
		return fmt.Errorf("read counter: %w", err)
	}
	c.table.Store(table)
	c.reserved.Store(reserved)
	return c.loadAsked()
}

func (c *codes) loadKeys() error {
	stored, err := c.store.Keys()
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}
	c.keys = make(map[string]codec.Key, len(stored))
	for id, k := range stored {
		c.keys[id] = k
	}
	if c.opts.Ring != nil {
		maps.Copy(c.keys, c.opts.Ring.Keys)
	}
	return nil
}

// loadAsked compares the settings given with those last asked for.
func (c *codes) loadAsked() error {
	var length string
	for name, v := range map[string]*string{settingKey: &c.asked.key, settingLength: &length, settingAlphabet: &c.asked.alphabet} {
		s, ok, err := c.store.Setting(name)
		if err != nil || !ok {
			return fmt.Errorf("read setting %s: %w", name, cmp.Or(err, errCorrupt))
		}
		*v = s
	}
	if _, err := fmt.Sscan(length, &c.asked.length); err != nil {
		return fmt.Errorf("setting %s: %w", settingLength, err)
	}
	if least, ok, err := c.store.Setting(settingLeast); err != nil {
		return fmt.Errorf("read setting %s: %w", settingLeast, err)
	} else if ok {
		if _, err := fmt.Sscan(least, &c.least); err != nil {
			return fmt.Errorf("setting %s: %w", settingLeast, err)
		}
	}
	want := asked{key: c.asked.key, length: cmp.Or(c.opts.Length, c.asked.length), alphabet: cmp.Or(c.opts.Alphabet, c.asked.alphabet)}
	if c.opts.Ring != nil {
		want.key = c.opts.Ring.Active
	} else if active, ok, err := c.store.Setting(settingActive); err != nil || ok {
		if err != nil {
			return fmt.Errorf("read setting %s: %w", settingActive, err)
		}
		want.key = active
	}
	c.open = want != c.asked
	c.asked = want
	return nil
}

// reserve makes a block of at most n ids durable and, when the settings or the density ask for it, opens the
// epoch that begins with it in the same batch. It is the segment's source.
func (c *codes) reserve(n uint64) (idalloc.Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	max := c.reserved.Load()
	table := c.table.Load()
	row, opens, err := c.nextEpoch(table, max, n)
	if err != nil {
		return idalloc.Block{}, err
	}
	if opens {
		if table, err = table.With(row, c.keys); err != nil {
			return idalloc.Block{}, fmt.Errorf("open epoch %d: %w", row.Number, err)
		}
	}
	last := table.Last()
	end := last.First + codec.Capacity(last) - 1
	first := max + 1
	if opens {
		first = row.First
	}
	block := idalloc.Block{First: first, Last: min(first+n-1, end)}
	if block.Last < block.First {
		return idalloc.Block{}, ErrExhausted
	}
	err = durably(c.store, func(tx *storage.Tx) error {
		tx.SetCounter(LinkCounter, block.Last)
		if !opens {
			return nil
		}
		c.asked.put(tx)
		stored, err := row.AppendBinary(nil)
		if err == nil {
			tx.PutEpoch(row.Number, stored)
		}
		return err
	})
	if err != nil {
		return idalloc.Block{}, fmt.Errorf("reserve ids: %w", err)
	}
	if opens {
		c.table.Store(table)
		c.open = false
	}
	c.reserved.Store(block.Last)
	return block, nil
}

// nextEpoch says whether a block of n ids after max begins a new epoch, and which.
func (c *codes) nextEpoch(table *codec.Table, max, n uint64) (codec.Epoch, bool, error) {
	last := table.Last()
	first := max + 1
	if first == last.First {
		first++ // no id of a new store's epoch was reserved yet: one is left to it, since each epoch has ids of its own
	}
	row := codec.Epoch{Number: last.Number + 1, First: first, KeyID: last.KeyID, Length: last.Length, Alphabet: last.Alphabet, Tweak: codec.NewTweak()}
	dense := func(e codec.Epoch, reserved uint64) bool {
		return float64(reserved) > c.opts.Density*float64(codec.Capacity(e))
	}
	switch {
	case c.open:
		row.KeyID, row.Alphabet = c.asked.key, c.asked.alphabet
		if row.Length = cmp.Or(c.opts.Length, last.Length); row.Length < c.least {
			row.Length = c.least
		}
		for row.Length < codec.MaxLength && dense(row, n) {
			row.Length++
		}
	case dense(last, max+n-(last.First-1)) && last.Length < codec.MaxLength:
		row.Length++
		row.KeyID = c.asked.key
	default:
		return codec.Epoch{}, false, nil
	}
	if int(row.Number) == codec.MaxEpochs {
		if c.open {
			return codec.Epoch{}, false, errors.New("the table of epochs is full")
		}
		return codec.Epoch{}, false, nil
	}
	row.Check = codec.CheckValue(c.keys[row.KeyID])
	return row, true, nil
}

// next returns an id that nobody had before. It waits at most the segment's limit.
func (c *codes) next(ctx context.Context) (uint64, error) {
	id, err := c.segment.Next(ctx)
	if errors.Is(err, idalloc.ErrTimeout) {
		return 0, ErrOverloaded
	}
	return id, err
}

// code is the text of an id.
func (c *codes) code(id uint64) string {
	var buf [codec.MaxLength]byte
	return string(c.table.Load().AppendCode(buf[:0], id))
}

// lookup returns the only id whose code text can be, when that id may have been issued.
func (c *codes) lookup(text []byte) (uint64, bool) {
	reserved := c.reserved.Load() // before the table: a block is published after its epoch
	return c.table.Load().Lookup(text, reserved)
}

// alphabet is the one that random and hash codes are written in: the current epoch's.
func (c *codes) alphabet() *codec.Alphabet {
	a, _ := codec.AlphabetByName(c.table.Load().Last().Alphabet)
	return a
}

// shadowed reports that an older epoch reads id's code as one of its own ids.
func (c *codes) shadowed(id uint64) bool { return c.table.Load().Burned(id) }

// ErrKeyFile is returned by RotateKey when the ring is in a key file: a new last line there is the rotation.
var ErrKeyFile = errors.New("the store's keys are in a key file: add a new last line to it instead")

// RotateKey adds a random key to the ring in the store and returns its id. The next block of ids, after the next start,
// opens an epoch with it. It is durable when it returns.
func RotateKey(store *storage.Store) (string, error) {
	keys, err := store.Keys()
	if err != nil {
		return "", err
	}
	asked, _, err := store.Setting(settingKey)
	if err != nil {
		return "", err
	}
	if _, ok := keys[asked]; !ok {
		return "", ErrKeyFile
	}
	n := len(keys) + 1
	for ; ; n++ {
		if _, taken := keys[fmt.Sprint(n)]; !taken {
			break
		}
	}
	id := fmt.Sprint(n)
	return id, durably(store, func(tx *storage.Tx) error {
		tx.PutKey(id, codec.NewKey())
		tx.PutSetting(settingActive, id)
		return nil
	})
}

// durably applies one batch and waits until it is on the disk, in the weaker sync modes too: an id that was used is never used again.
func durably(store *storage.Store, fn func(*storage.Tx) error) error {
	if _, err := store.Update(fn); err != nil {
		return err
	}
	return store.Force()
}
