package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// MinLength and MaxLength bound the length of a code, in characters.
const (
	MinLength = 4
	MaxLength = 10
)

// MaxEpochs is the number of rows a table can have.
const MaxEpochs = 255

const tweakLen = 8

// Epoch is one row of the append-only table that says how ids become codes:
// all ids from First to below the next epoch's First are its own.
type Epoch struct {
	Number   uint8   // 0, 1, 2, ...
	First    uint64  // its first id, position 0; ids start at 1
	KeyID    string  // names the key, see ValidKeyID
	Length   int     // characters of a code, MinLength..MaxLength
	Alphabet string  // name of the alphabet
	Tweak    []byte  // empty for epoch 0, its own 8 random bytes for every later one
	Check    [8]byte // CheckValue of the key
}

// Capacity returns how many codes the epoch's length and alphabet make, N^Length,
// or 0 if the epoch is not valid. Density is (reserved - First + 1) / Capacity.
func Capacity(e Epoch) uint64 {
	if e.validate() != nil {
		return 0
	}
	a, _ := AlphabetByName(e.Alphabet)
	n := uint64(1)
	for range e.Length {
		n *= uint64(a.Len()) // 62^10 < 2^60
	}
	return n
}

// validate checks what a row tells by itself.
func (e Epoch) validate() error {
	wantTweak := tweakLen
	if e.Number == 0 {
		wantTweak = 0
	}
	_, known := AlphabetByName(e.Alphabet)
	switch {
	case int(e.Number) >= MaxEpochs:
		return fmt.Errorf("epoch %d: a table has at most %d", e.Number, MaxEpochs)
	case e.First == 0 || e.Number == 0 && e.First != 1:
		return fmt.Errorf("epoch %d: first id %d; ids start at 1", e.Number, e.First)
	case !ValidKeyID(e.KeyID):
		return fmt.Errorf("epoch %d: bad key id %q", e.Number, e.KeyID)
	case e.Length < MinLength || e.Length > MaxLength:
		return fmt.Errorf("epoch %d: length %d is not in %d..%d", e.Number, e.Length, MinLength, MaxLength)
	case !known:
		return fmt.Errorf("epoch %d: unknown alphabet %q", e.Number, e.Alphabet)
	case len(e.Tweak) != wantTweak:
		return fmt.Errorf("epoch %d: tweak of %d bytes, want %d", e.Number, len(e.Tweak), wantTweak)
	}
	return nil
}

// The stored form, version 1:
//
//	version 1 | number 1 | first id 8 | length 1 | check value 8 |
//	key id 1+n | alphabet 1+n | tweak 1+n      (each with its length before it)
const (
	epochVersion = 1
	epochFixed   = 1 + 1 + 8 + 1 + 8
)

// AppendBinary appends the epoch's stored form, which ParseEpoch reads.
// It refuses an epoch that ParseEpoch would refuse.
func (e Epoch) AppendBinary(dst []byte) ([]byte, error) {
	if err := e.validate(); err != nil {
		return dst, err
	}
	dst = append(dst, epochVersion, e.Number)
	dst = binary.BigEndian.AppendUint64(dst, e.First)
	dst = append(dst, byte(e.Length))
	dst = append(dst, e.Check[:]...)
	for _, field := range []string{e.KeyID, e.Alphabet, string(e.Tweak)} {
		dst = append(dst, byte(len(field)))
		dst = append(dst, field...)
	}
	return dst, nil
}

// ParseEpoch reads the stored form of one epoch and keeps nothing of b. Every epoch
// has one stored form: a byte too many or too few and a field out of its limits are
// errors, as is a version this program does not know.
func ParseEpoch(b []byte) (Epoch, error) {
	if len(b) > 0 && b[0] != epochVersion {
		return Epoch{}, fmt.Errorf("parse epoch: format version %d, this program knows %d", b[0], epochVersion)
	}
	if len(b) < epochFixed {
		return Epoch{}, errors.New("parse epoch: too short")
	}
	e := Epoch{
		Number: b[1],
		First:  binary.BigEndian.Uint64(b[2:]),
		Length: int(b[10]),
		Check:  [8]byte(b[11:]),
	}
	rest := b[epochFixed:]
	var fields [3]string
	for i := range fields {
		if len(rest) == 0 || len(rest) <= int(rest[0]) {
			return Epoch{}, errors.New("parse epoch: too short")
		}
		end := 1 + int(rest[0])
		fields[i], rest = string(rest[1:end]), rest[end:]
	}
	if len(rest) != 0 {
		return Epoch{}, errors.New("parse epoch: too long")
	}
	e.KeyID, e.Alphabet = fields[0], fields[1]
	if fields[2] != "" {
		e.Tweak = []byte(fields[2])
	}
	if err := e.validate(); err != nil {
		return Epoch{}, fmt.Errorf("parse epoch: %w", err)
	}
	return e, nil
}
