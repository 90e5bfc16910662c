package codec

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"curt/codec/ff1"
)

// Table translates between ids and codes through all epochs of a store.
// It is immutable and safe for concurrent use. The last epoch has no end: before
// the first id of a new epoch is used, readers and writers must have the table
// that With returned.
type Table struct {
	epochs   []epochCode                // in order, numbers 0..n-1
	byLength [MaxLength + 1][]epochCode // the same by length of code, oldest first
}

// epochCode is an epoch ready to work.
type epochCode struct {
	Epoch
	alphabet *Alphabet
	cipher   *ff1.Cipher
	span     uint64 // ids the epoch owns: First..First+span-1
}

// KeysError is returned by NewTable and With when keys that epochs need are not
// there. Each list names key ids, sorted, each once.
type KeysError struct {
	Missing []string // not among the keys
	Wrong   []string // there, but not the key the epoch was opened with
}

func (e *KeysError) Error() string {
	var parts []string
	if len(e.Missing) > 0 {
		parts = append(parts, "missing "+strings.Join(e.Missing, ", "))
	}
	if len(e.Wrong) > 0 {
		parts = append(parts, "wrong "+strings.Join(e.Wrong, ", ")+" (not the key it was)")
	}
	return "keys of the code epochs: " + strings.Join(parts, "; ")
}

// NewTable returns the table of the epochs, which must be those of one store in
// order: at least one, numbers 0..n-1, First 1 and then strictly increasing, every
// tweak its own. keys holds their keys by id; others in it don't matter. If any is
// missing or not the one an epoch was opened with, the error is a *KeysError.
func NewTable(epochs []Epoch, keys map[string]Key) (*Table, error) {
	if len(epochs) == 0 {
		return nil, errors.New("epochs: there is none")
	}
	for i, e := range epochs {
		if err := e.validate(); err != nil {
			return nil, err
		}
		if int(e.Number) != i {
			return nil, fmt.Errorf("epoch %d: it stands at place %d", e.Number, i)
		}
		if err := follows(epochs[:i], e); err != nil {
			return nil, err
		}
	}
	if err := checkKeys(epochs, keys); err != nil {
		return nil, err
	}
	t := &Table{}
	for i, e := range epochs {
		c, err := newEpochCode(e, keys[e.KeyID])
		if err != nil {
			return nil, err
		}
		if i+1 < len(epochs) {
			c.span = epochs[i+1].First - e.First
		}
		t.epochs = append(t.epochs, c)
		t.byLength[e.Length] = append(t.byLength[e.Length], c)
	}
	return t, nil
}

// follows checks e against the epochs before it.
func follows(before []Epoch, e Epoch) error {
	for _, b := range before {
		if e.First <= b.First {
			return fmt.Errorf("epoch %d: first id %d is not above %d of epoch %d", e.Number, e.First, b.First, b.Number)
		}
		if bytes.Equal(e.Tweak, b.Tweak) {
			return fmt.Errorf("epoch %d: it has the tweak of epoch %d", e.Number, b.Number)
		}
	}
	return nil
}

func checkKeys(epochs []Epoch, keys map[string]Key) error {
	var missing, wrong []string
	for _, e := range epochs {
		key, ok := keys[e.KeyID]
		if !ok {
			missing = append(missing, e.KeyID)
		} else if CheckValue(key) != e.Check {
			wrong = append(wrong, e.KeyID)
		}
	}
	if len(missing)+len(wrong) == 0 {
		return nil
	}
	slices.Sort(missing)
	slices.Sort(wrong)
	return &KeysError{Missing: slices.Compact(missing), Wrong: slices.Compact(wrong)}
}

// newEpochCode returns e, valid, as the last epoch of a table.
func newEpochCode(e Epoch, key Key) (epochCode, error) {
	e.Tweak = bytes.Clone(e.Tweak)
	a, _ := AlphabetByName(e.Alphabet)
	cipher, err := ff1.New(key[:], e.Tweak, a.Len(), e.Length)
	if err != nil {
		return epochCode{}, fmt.Errorf("epoch %d: %w", e.Number, err)
	}
	return epochCode{Epoch: e, alphabet: a, cipher: cipher, span: math.MaxUint64 - e.First + 1}, nil
}

// With returns the table with one more epoch; t stays as it is.
// Errors are those of NewTable.
func (t *Table) With(e Epoch, keys map[string]Key) (*Table, error) {
	return NewTable(append(t.Epochs(), e), keys)
}

// Epochs returns a copy of the rows, in order.
func (t *Table) Epochs() []Epoch {
	out := make([]Epoch, len(t.epochs))
	for i, e := range t.epochs {
		out[i] = e.Epoch
		out[i].Tweak = bytes.Clone(e.Tweak)
	}
	return out
}

// Last returns the newest epoch, the one new ids belong to.
func (t *Table) Last() Epoch {
	e := t.epochs[len(t.epochs)-1].Epoch
	e.Tweak = bytes.Clone(e.Tweak)
	return e
}

// AppendCode appends the code of an id, in the id's own epoch. An id that has no
// code (0, or a position beyond the epoch's capacity) appends nothing; Burned
// reports it.
func (t *Table) AppendCode(dst []byte, id uint64) []byte {
	if e := t.owner(id); e != nil {
		return e.appendCode(dst, id)
	}
	return dst
}

// owner returns the epoch of an id, or nil if the id has no code.
func (t *Table) owner(id uint64) *epochCode {
	for i := len(t.epochs) - 1; i >= 0; i-- {
		if e := &t.epochs[i]; id >= e.First {
			if id-e.First >= e.cipher.Size() {
				return nil
			}
			return e
		}
	}
	return nil
}

func (e *epochCode) appendCode(dst []byte, id uint64) []byte {
	return e.alphabet.AppendDigits(dst, e.cipher.Encrypt(id-e.First), e.Length)
}

// Lookup returns the id that a code stands for; reserved is the highest id that the
// store has reserved. The epochs whose codes have this length and these characters
// are asked oldest first, and the first that decodes the code into its own range,
// not above reserved, wins. No other can be right, as Burned ids are never issued.
//
// False means that no link can have this code, by arithmetic alone. True means that
// the id was reserved: whether there is a link is the store's to say. Lookup does
// not allocate and costs one decryption for each epoch asked.
func (t *Table) Lookup(code []byte, reserved uint64) (id uint64, ok bool) {
	if len(code) > MaxLength {
		return 0, false
	}
	return find(t.byLength[len(code)], code, reserved)
}

func find(epochs []epochCode, code []byte, reserved uint64) (uint64, bool) {
	for i := range epochs {
		if id, ok := epochs[i].decode(code); ok && id <= reserved {
			return id, true
		}
	}
	return 0, false
}

// decode returns the id of a code of e's length, if it is in e's alphabet and the
// id in e's own range.
func (e *epochCode) decode(code []byte) (uint64, bool) {
	x, ok := e.alphabet.ParseDigits(code)
	if !ok {
		return 0, false
	}
	position := e.cipher.Decrypt(x)
	if position >= e.span {
		return 0, false
	}
	return e.First + position, true
}

// Burned reports whether an id must never be issued: it has no code, or an older
// epoch decodes its code, whatever the two alphabets, into its own range, so that
// Lookup would answer the older id. About n in N ids are, n being the ids of the
// older epochs of that length and N the codes.
func (t *Table) Burned(id uint64) bool {
	e := t.owner(id)
	if e == nil {
		return true
	}
	same := t.byLength[e.Length]
	older := 0
	for same[older].Number != e.Number {
		older++
	}
	if older == 0 {
		return false
	}
	var buf [MaxLength]byte
	_, burned := find(same[:older], e.appendCode(buf[:0], id), math.MaxUint64)
	return burned
}
