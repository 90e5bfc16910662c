// Package ff1 is the FF1 mode of format-preserving encryption, NIST SP 800-38G
// (Rev. 1 keeps it), on numbers: a keyed bijection of 0..radix^length-1.
//
// The standard works on strings of numerals and big integers. Here each half of
// the string is one uint64, which covers every short code and makes a call ten
// AES blocks and no allocation. Strings of numerals are accepted too
// (EncryptNumerals), so that the official vectors run against this very code.
package ff1

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math/bits"
	"sync"
)

const (
	rounds    = 10
	maxHalf   = 1 << 63 // halves stay below it, so that adding two can't overflow
	maxRadix  = 1 << 16 // SP 800-38G, section 5
	minDomain = 100     // SP 800-38G, section 5; Rev. 1 (2nd draft) asks for 1,000,000
	maxTweak  = 1 << 16 // ours; the standard allows 2^32-1
)

// Cipher is FF1 under one key, tweak, radix and length.
// It is immutable and safe for concurrent use.
type Cipher struct {
	block  cipher.Block
	radix  uint64
	u, v   int    // numerals in the left and in the right half
	mu, mv uint64 // radix^u and radix^v
	size   uint64 // radix^length, 0 if that is 2^64 or more

	// The MAC chain of one round up to its last block, which alone depends on the
	// round and the half: [.. tweak's end, zeros, round, half in b bytes].
	hi, lo uint64
	b      int  // bytes of the half in that block
	wide   bool // the round's output is 12 bytes, not 8

	scratch sync.Pool // of *[16]byte: what goes through cipher.Block escapes
}

// New returns the cipher for numbers of length numerals of a radix.
//
// key is 16, 24 or 32 bytes (AES), tweak 0 to 65,536 bytes, radix 2 to 65,536,
// length at least 2. radix^length must be at least 100 (below 1,000,000 the whole
// table is guessed too easily: use it in tests only) and the longer half,
// radix^ceil(length/2), at most 2^63. Key and tweak are not kept.
func New(key, tweak []byte, radix, length int) (*Cipher, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("ff1: %w", err)
	}
	if radix < 2 || radix > maxRadix {
		return nil, fmt.Errorf("ff1: radix %d is not in 2..%d", radix, maxRadix)
	}
	if length < 2 {
		return nil, fmt.Errorf("ff1: length %d is below 2", length)
	}
	if len(tweak) > maxTweak {
		return nil, fmt.Errorf("ff1: tweak of %d bytes is longer than %d", len(tweak), maxTweak)
	}
	c := &Cipher{block: block, radix: uint64(radix), u: length / 2, v: length - length/2}
	c.scratch.New = func() any { return new([16]byte) }
	var ok bool
	if c.mv, ok = power(c.radix, c.v); !ok {
		return nil, fmt.Errorf("ff1: half of %d numerals of radix %d exceeds 63 bits", c.v, radix)
	}
	c.mu, _ = power(c.radix, c.u)
	hi, size := bits.Mul64(c.mu, c.mv)
	if hi == 0 {
		c.size = size
	}
	if hi == 0 && size < minDomain {
		return nil, fmt.Errorf("ff1: radix %d with length %d has fewer than %d values", radix, length, minDomain)
	}
	c.b = (bits.Len64(c.mv-1) + 7) / 8
	c.wide = c.b > 4
	c.hi, c.lo = c.chain(tweak, length)
	return c, nil
}

// power returns radix^n and whether it is at most 2^63.
func power(radix uint64, n int) (uint64, bool) {
	p := uint64(1)
	for range n {
		hi, lo := bits.Mul64(p, radix)
		if hi != 0 || lo > maxHalf {
			return 0, false
		}
		p = lo
	}
	return p, true
}

// chain runs the CBC-MAC over P and over all of Q but its last block, and returns
// the input of the last encryption with the round and the half left zero
// (SP 800-38G, algorithm 7, steps 5 and 6.i-6.ii).
func (c *Cipher) chain(tweak []byte, length int) (hi, lo uint64) {
	q := append([]byte{}, tweak...)
	for (len(q)+1+c.b)%16 != 0 {
		q = append(q, 0)
	}
	q = append(q, make([]byte, 1+c.b)...)

	mac := []byte{1, 2, 1, byte(c.radix >> 16), byte(c.radix >> 8), byte(c.radix), rounds, byte(c.u)}
	mac = binary.BigEndian.AppendUint32(mac, uint32(length))
	mac = binary.BigEndian.AppendUint32(mac, uint32(len(tweak)))
	for ; len(q) > 0; q = q[16:] {
		c.block.Encrypt(mac, mac)
		for i := range mac {
			mac[i] ^= q[i]
		}
	}
	return binary.BigEndian.Uint64(mac), binary.BigEndian.Uint64(mac[8:])
}

// Size returns radix^length, the number of values, or 0 if it is 2^64 or more:
// such a cipher has EncryptNumerals and DecryptNumerals only.
func (c *Cipher) Size() uint64 { return c.size }

// Encrypt maps x, below Size, to its image, below Size.
// It panics if x is not below Size, as a cipher.Block does on a short block.
func (c *Cipher) Encrypt(x uint64) uint64 {
	c.check(x)
	a, b := c.encrypt(x/c.mv, x%c.mv)
	return a*c.mv + b
}

// Decrypt is the inverse of Encrypt.
// It panics if x is not below Size.
func (c *Cipher) Decrypt(x uint64) uint64 {
	c.check(x)
	a, b := c.decrypt(x/c.mv, x%c.mv)
	return a*c.mv + b
}

func (c *Cipher) check(x uint64) {
	if x >= c.size {
		panic("ff1: value outside the domain")
	}
}

// encrypt does two rounds a turn, so that the halves keep their places.
func (c *Cipher) encrypt(a, b uint64) (uint64, uint64) {
	buf := c.scratch.Get().(*[16]byte)
	for i := uint64(0); i < rounds; i += 2 {
		a = (a + c.round(buf, i, b, c.mu)) % c.mu
		b = (b + c.round(buf, i+1, a, c.mv)) % c.mv
	}
	c.scratch.Put(buf)
	return a, b
}

func (c *Cipher) decrypt(a, b uint64) (uint64, uint64) {
	buf := c.scratch.Get().(*[16]byte)
	for i := uint64(rounds); i > 0; i -= 2 {
		b = (b + c.mv - c.round(buf, i-1, a, c.mv)) % c.mv
		a = (a + c.mu - c.round(buf, i-2, b, c.mu)) % c.mu
	}
	c.scratch.Put(buf)
	return a, b
}

// round is the round function on the half x: the first 8 or 12 bytes of the MAC
// as a number, modulo m. The block has the round's number before the half's b bytes.
func (c *Cipher) round(buf *[16]byte, i, x, m uint64) uint64 {
	hi, lo := c.hi, c.lo^x
	if c.b == 8 {
		hi ^= i
	} else {
		lo ^= i << (8 * c.b)
	}
	binary.BigEndian.PutUint64(buf[:8], hi)
	binary.BigEndian.PutUint64(buf[8:], lo)
	c.block.Encrypt(buf[:], buf[:])
	hi = binary.BigEndian.Uint64(buf[:8])
	if !c.wide {
		return hi % m
	}
	lo = binary.BigEndian.Uint64(buf[8:])
	return bits.Rem64(hi>>32, hi<<32|lo>>32, m)
}
