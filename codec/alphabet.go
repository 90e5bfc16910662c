package codec

import "math/bits"

// Alphabet is an ordered set of digits that codes are written in.
// It is immutable and safe for concurrent use; AlphabetByName returns them.
type Alphabet struct {
	name   string
	digits string
	values [256]int8 // digit -> value, -1 for any other byte
}

// Never written to. Order is for ever: it is part of every printed code.
var (
	base62 = newAlphabet("base62", "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	// safe leaves out 0 1 I O i l o, which readers mistake for each other.
	safe = newAlphabet("safe", "23456789abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")
)

// AlphabetByName returns the alphabet called "base62" (62 digits) or "safe" (55).
func AlphabetByName(name string) (*Alphabet, bool) {
	switch name {
	case base62.name:
		return base62, true
	case safe.name:
		return safe, true
	}
	return nil, false
}

func newAlphabet(name, digits string) *Alphabet {
	a := &Alphabet{name: name, digits: digits}
	for i := range a.values {
		a.values[i] = -1
	}
	for i := range len(digits) {
		a.values[digits[i]] = int8(i)
	}
	return a
}

// Name returns the name by which options and epochs refer to the alphabet.
func (a *Alphabet) Name() string { return a.name }

// Len returns the number of digits, N.
func (a *Alphabet) Len() int { return len(a.digits) }

// String returns the digits in order of their value.
func (a *Alphabet) String() string { return a.digits }

// AppendDigits appends x in base N at a fixed width, most significant digit first.
// Of an x of N^width or more it appends the lowest width digits.
func (a *Alphabet) AppendDigits(dst []byte, x uint64, width int) []byte {
	n := uint64(len(a.digits))
	start := len(dst)
	for range width {
		dst = append(dst, a.digits[0])
	}
	for i := len(dst) - 1; i >= start; i-- {
		dst[i] = a.digits[x%n]
		x /= n
	}
	return dst
}

// ParseDigits is the inverse of AppendDigits. It reports false for an empty text, a
// byte that is no digit, and a number of 2^64 or more. It does not allocate.
func (a *Alphabet) ParseDigits(code []byte) (uint64, bool) {
	x := uint64(0)
	for _, c := range code {
		v := a.values[c]
		if v < 0 {
			return 0, false
		}
		hi, lo := bits.Mul64(x, uint64(len(a.digits)))
		sum, carry := bits.Add64(lo, uint64(v), 0)
		if hi|carry != 0 {
			return 0, false
		}
		x = sum
	}
	return x, len(code) > 0
}
