package link

import (
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"strconv"

	"curt/codec"
)

// madeLength is the length of a random or hash code that names none.
const madeLength = 10

// spaceOf is N^length, the number of texts of that length.
func spaceOf(a *codec.Alphabet, length int) *big.Int {
	return new(big.Int).Exp(big.NewInt(int64(a.Len())), big.NewInt(int64(length)), nil)
}

// digits writes x in base N, most significant digit first, length characters long.
func digits(a *codec.Alphabet, x *big.Int, length int) string {
	text := make([]byte, length)
	x, digit, base := new(big.Int).Set(x), new(big.Int), big.NewInt(int64(a.Len()))
	for i := length - 1; i >= 0; i-- {
		x.DivMod(x, base, digit)
		text[i] = a.String()[digit.Int64()]
	}
	return string(text)
}

// randomCode is a text of which nothing can be foretold.
func randomCode(a *codec.Alphabet, length int) string {
	x, err := rand.Int(rand.Reader, spaceOf(a, length))
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return digits(a, x, length)
}

// hashCode is the text that a target gets from anybody who makes it: base-N digits of
// SHA-256("curt/hash/1", 0, tenant, 0, attempt, 0, target) mod N^length.
func hashCode(a *codec.Alphabet, length int, tenant, target string, attempt int) string {
	b := append([]byte("curt/hash/1"), 0)
	b = append(append(b, tenant...), 0)
	b = append(strconv.AppendInt(b, int64(attempt), 10), 0)
	sum := sha256.Sum256(append(b, target...))
	x := new(big.Int).SetBytes(sum[:])
	return digits(a, x.Mod(x, spaceOf(a, length)), length)
}
