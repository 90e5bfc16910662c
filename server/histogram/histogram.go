// Package histogram counts how long things take. A Counter is counted in by many goroutines at the price of one atomic
// addition; a Histogram is what it held at a moment, for quantiles. Buckets are four to an octave, between 128 ns and 34 s, so a
// quantile is at most 25 % high. Counters need no sum beside them: how many were counted is in the buckets.
package histogram

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	unit    = 32 // ns
	octaves = 28 // from 4 units, 128 ns, to 34 s
	buckets = 1 + 4*octaves
)

// Counter counts durations. The zero value is empty; it is safe for concurrent use.
type Counter [buckets]atomic.Uint64

// Add counts one duration.
func (c *Counter) Add(d time.Duration) { c[bucketOf(d)].Add(1) }

// Read returns what was counted so far.
func (c *Counter) Read() Histogram {
	var h Histogram
	for i := range c {
		h[i] = c[i].Load()
	}
	return h
}

// Count returns how many were counted.
func (c *Counter) Count() (n int64) {
	for i := range c {
		n += int64(c[i].Load())
	}
	return n
}

// Reset forgets what was counted.
func (c *Counter) Reset() {
	for i := range c {
		c[i].Store(0)
	}
}

// Histogram is how many durations fell into each bucket. The zero value is empty.
type Histogram [buckets]uint64

// bucketOf returns the bucket of a duration: bucket 0 is below 4 units, bucket 1+4e+k is from (4+k)*2^e units.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0)) / unit
	if n < 4 {
		return 0
	}
	e := bits.Len64(n) - 3
	return min(1+4*e+int(n>>e&3), buckets-1)
}

// bucketEnd returns the least duration above a bucket.
func bucketEnd(i int) time.Duration {
	if i == 0 {
		return 4 * unit
	}
	e, k := (i-1)/4, (i-1)%4
	return time.Duration(5+k) << e * unit
}

// Add counts in what another histogram holds.
func (h *Histogram) Add(other *Histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// Quantile returns a duration that the share q (0 to 1) of all that were counted did not exceed, 0 when nothing
// was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	var seen uint64
	total := h.Count()
	for i, n := range h {
		if seen += n; n > 0 && float64(seen) >= q*float64(total) {
			return bucketEnd(i)
		}
	}
	return 0
}

// Below returns how many of those counted were shorter than d, to the precision of a bucket.
func (h *Histogram) Below(d time.Duration) (n uint64) {
	for i := range h {
		if bucketEnd(i) > d {
			break
		}
		n += h[i]
	}
	return n
}

// Count returns how many were counted.
func (h *Histogram) Count() (n uint64) {
	for _, c := range h {
		n += c
	}
	return n
}

// Sum returns about how long all that were counted took together.
func (h *Histogram) Sum() (sum time.Duration) {
	for i, c := range h {
		sum += time.Duration(c) * bucketEnd(i)
	}
	return sum
}
