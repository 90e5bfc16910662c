package ff1

import (
	"math"
	"sync"
	"testing"
)

// TestBijection goes through whole domains: every value has one image, and the
// image leads back.
func TestBijection(t *testing.T) {
	f := func(radix, length int, short bool) {
		t.Helper()
		if (testing.Short() || raceEnabled) && !short {
			return
		}
		c := newCipher(t, key256, "0102030405060708", radix, length)
		seen := make([]bool, c.Size())
		for x := range c.Size() {
			y := c.Encrypt(x)
			if y >= c.Size() || seen[y] {
				t.Fatalf("radix %d length %d: %d -> %d, outside or taken", radix, length, x, y)
			}
			seen[y] = true
			if z := c.Decrypt(y); z != x {
				t.Fatalf("radix %d length %d: %d -> %d -> %d", radix, length, x, y, z)
			}
		}
	}
	f(10, 2, true)
	f(2, 7, true)
	f(62, 3, true)
	f(55, 3, true)
	f(10, 6, false)
}

func TestNewLimits(t *testing.T) {
	key := make([]byte, 32)
	f := func(key, tweak []byte, radix, length int, ok bool) {
		t.Helper()
		if _, err := New(key, tweak, radix, length); (err == nil) != ok {
			t.Errorf("key %d, tweak %d, radix %d, length %d: %v", len(key), len(tweak), radix, length, err)
		}
	}
	f(key, nil, 62, 7, true)
	f(key[:16], nil, 62, 7, true)
	f(key[:24], nil, 62, 7, true)
	f(key[:31], nil, 62, 7, false)
	f(nil, nil, 62, 7, false)
	f(key, nil, 1, 7, false)
	f(key, nil, 0, 7, false)
	f(key, nil, -62, 7, false)
	f(key, nil, 1<<16, 6, true)
	f(key, nil, 1<<16+1, 6, false)
	f(key, nil, 1<<16, 8, false)
	f(key, nil, 62, 1, false)
	f(key, nil, 62, -7, false)
	f(key, nil, 10, 2, true)
	f(key, nil, 9, 2, false)
	f(key, nil, 2, 126, true) // halves of exactly 2^63
	f(key, nil, 2, 127, false)
	f(key, nil, 2, math.MaxInt, false)
	f(key, make([]byte, 1<<16), 62, 7, true)
	f(key, make([]byte, 1<<16+1), 62, 7, false)
}

func TestOutsideDomainPanics(t *testing.T) {
	f := func(c *Cipher, call func(uint64) uint64, x uint64) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%d in a domain of %d: no panic", x, c.Size())
			}
		}()
		call(x)
	}
	c := newCipher(t, key256, "", 10, 6)
	f(c, c.Encrypt, 1_000_000)
	f(c, c.Decrypt, 1_000_000)
	f(c, c.Decrypt, math.MaxUint64)
	wide := newCipher(t, key256, "", 64, 20) // 2^120
	f(wide, wide.Encrypt, 0)
}

func TestConcurrent(t *testing.T) {
	c := newCipher(t, key256, "", 62, 7)
	var wg sync.WaitGroup
	for g := range uint64(8) {
		wg.Go(func() {
			for i := range uint64(2000) {
				if x := i*8 + g; c.Decrypt(c.Encrypt(x)) != x {
					t.Errorf("%d does not come back", x)
				}
			}
		})
	}
	wg.Wait()
}

func TestNoAllocation(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops items at random under the race detector")
	}
	c := newCipher(t, key256, "", 62, 7)
	if n := testing.AllocsPerRun(1000, func() { c.Decrypt(c.Encrypt(12345)) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// FuzzRoundTrip takes any parameters and any number, in both forms.
func FuzzRoundTrip(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte(""), uint16(62), uint8(7), uint64(0))
	f.Add([]byte("0123456789abcdef01234567"), []byte("tweak"), uint16(2), uint8(126), uint64(math.MaxUint64))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), []byte("a tweak of eighteen"), uint16(64), uint8(20), uint64(1))
	f.Add([]byte("0123456789abcdef0123456789abcdef"), []byte("12345678"), uint16(55), uint8(10), uint64(1)<<40)
	f.Fuzz(func(t *testing.T, key, tweak []byte, radix uint16, length uint8, x uint64) {
		c, err := New(key, tweak, int(radix), int(length))
		if err != nil {
			return
		}
		if c.Size() != 0 {
			x %= c.Size()
			y := c.Encrypt(x)
			if y >= c.Size() || c.Decrypt(y) != x {
				t.Fatalf("%d -> %d -> %d of %d", x, y, c.Decrypt(y), c.Size())
			}
		}
		src := make([]uint16, length)
		for i := range src {
			src[i] = uint16((x + uint64(i)*0x9e3779b97f4a7c15) % uint64(radix))
		}
		got := make([]uint16, length)
		if err := c.EncryptNumerals(got, src); err != nil {
			t.Fatal(err)
		}
		if err := c.DecryptNumerals(got, got); err != nil {
			t.Fatal(err)
		}
		for i := range src {
			if got[i] != src[i] {
				t.Fatalf("%v came back as %v", src, got)
			}
		}
	})
}

func BenchmarkEncrypt(b *testing.B) { benchmark(b, (*Cipher).Encrypt) }
func BenchmarkDecrypt(b *testing.B) { benchmark(b, (*Cipher).Decrypt) }

func benchmark(b *testing.B, call func(*Cipher, uint64) uint64) {
	for _, bm := range []struct {
		name          string
		radix, length int
	}{{"base62-7", 62, 7}, {"base62-10", 62, 10}, {"safe-7", 55, 7}} {
		b.Run(bm.name, func(b *testing.B) {
			c := newCipher(b, key256, "0102030405060708", bm.radix, bm.length)
			b.ReportAllocs()
			x := uint64(0)
			for b.Loop() {
				x = call(c, x)
			}
		})
	}
}
