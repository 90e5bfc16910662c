package codec

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"log/slog"
)

// Key is an AES-256 key. It prints as [key], never as its bytes.
type Key [32]byte

// NewKey returns a random key from crypto/rand, which never fails.
func NewKey() Key {
	var k Key
	rand.Read(k[:])
	return k
}

// NewTweak returns the 8 random bytes that every epoch but the first has for its own.
func NewTweak() []byte {
	tweak := make([]byte, tweakLen)
	rand.Read(tweak)
	return tweak
}

// CheckValue returns the key check value: what an epoch keeps of its key to know it
// again, the first 8 bytes of HMAC-SHA256(key, "curt/kcv/1"). It tells nothing about
// the key. A wrong key would serve other people's links without a sign.
func CheckValue(k Key) [8]byte {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte("curt/kcv/1"))
	return [8]byte(mac.Sum(nil)[:8])
}

// Format keeps the key out of every message.
func (Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[key]") }

// LogValue keeps the key out of every log.
func (Key) LogValue() slog.Value { return slog.StringValue("[key]") }

// ValidKeyID reports whether id can name a key: 1..32 of A-Z a-z 0-9 . _ -
func ValidKeyID(id string) bool {
	if len(id) < 1 || len(id) > maxKeyID {
		return false
	}
	for i := range len(id) {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return true
}

const maxKeyID = 32
