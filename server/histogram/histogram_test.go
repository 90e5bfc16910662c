package histogram

import (
	"sync"
	"testing"
	"time"
)

func TestBuckets(t *testing.T) {
	for d := time.Duration(0); d < 40*time.Second; d = d*21/20 + 1 {
		i := bucketOf(d)
		if end := bucketEnd(i); i < buckets-1 && (d >= end || d >= 128 && float64(end) > 1.26*float64(d)) {
			t.Fatalf("%d is in bucket %d, which ends at %d", d, i, end)
		}
		if i > 0 && d < bucketEnd(i-1) {
			t.Fatalf("%d is not in bucket %d", d, i-1)
		}
	}
	if bucketOf(-1) != 0 || bucketOf(1<<62) != buckets-1 {
		t.Errorf("before time: %d, after it: %d", bucketOf(-1), bucketOf(1<<62))
	}
}

func TestQuantile(t *testing.T) {
	var c Counter
	h := c.Read()
	if h.Quantile(0.5) != 0 || h.Count() != 0 {
		t.Errorf("nothing was counted: %v, %d", h.Quantile(0.5), h.Count())
	}
	for range 98 {
		c.Add(time.Microsecond)
	}
	c.Add(time.Millisecond)
	c.Add(time.Millisecond)
	h = c.Read()
	if p := h.Quantile(0.5); p != 1024 {
		t.Errorf("p50 %v", p)
	}
	if p := h.Quantile(0.99); p < time.Millisecond || p > 1250*time.Microsecond {
		t.Errorf("p99 %v", p)
	}
	if n := h.Below(1024); n != 98 {
		t.Errorf("%d below 1024 ns", n)
	}
	if sum := h.Sum(); sum < 2098*time.Microsecond || sum > 2700*time.Microsecond {
		t.Errorf("all together %v", sum)
	}
	h.Add(&h)
	if h.Count() != 200 {
		t.Errorf("twice as many are %d", h.Count())
	}
	c.Reset()
	if c.Count() != 0 {
		t.Errorf("%d after a reset", c.Count())
	}
}

func TestCounterLosesNothing(t *testing.T) {
	var c Counter
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 1000 {
				c.Add(time.Duration(i*k) * time.Microsecond)
			}
		})
	}
	wg.Wait()
	if h := c.Read(); c.Count() != 8000 || h.Count() != 8000 {
		t.Errorf("%d and %d of 8000", c.Count(), h.Count())
	}
}

func BenchmarkCounterAdd(b *testing.B) {
	var c Counter
	for i := range b.N {
		c.Add(time.Duration(i & 0xffff))
	}
}
