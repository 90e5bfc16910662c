package ff1

import "fmt"

// EncryptNumerals writes the image of the numeral string src to dst, most
// significant numeral first. Both have the cipher's length and may be the same
// slice; a wrong length or a numeral not below the radix is an error.
func (c *Cipher) EncryptNumerals(dst, src []uint16) error {
	return c.numerals(dst, src, c.encrypt)
}

// DecryptNumerals is the inverse of EncryptNumerals.
func (c *Cipher) DecryptNumerals(dst, src []uint16) error {
	return c.numerals(dst, src, c.decrypt)
}

func (c *Cipher) numerals(dst, src []uint16, f func(a, b uint64) (uint64, uint64)) error {
	n := c.u + c.v
	if len(src) != n || len(dst) != n {
		return fmt.Errorf("ff1: %d numerals into %d, want %d", len(src), len(dst), n)
	}
	for _, d := range src {
		if uint64(d) >= c.radix {
			return fmt.Errorf("ff1: numeral %d is not below the radix %d", d, c.radix)
		}
	}
	a, b := f(c.number(src[:c.u]), c.number(src[c.u:]))
	c.write(dst[:c.u], a)
	c.write(dst[c.u:], b)
	return nil
}

// number is NUM_radix of SP 800-38G, algorithm 1.
func (c *Cipher) number(s []uint16) uint64 {
	x := uint64(0)
	for _, d := range s {
		x = x*c.radix + uint64(d)
	}
	return x
}

// write is STR_radix of SP 800-38G, algorithm 3.
func (c *Cipher) write(s []uint16, x uint64) {
	for i := len(s) - 1; i >= 0; i-- {
		s[i] = uint16(x % c.radix)
		x /= c.radix
	}
}
