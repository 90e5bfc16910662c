package web

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// Stats are figures since the server was made.
type Stats struct {
	Redirects        uint64 // GET and HEAD that got a Location of a link
	Misses           uint64 // requests for codes that lead nowhere: 404
	Gone             uint64 // expired or used up: 410
	Banned           uint64 // 451
	Previews         uint64 // previews shown
	QRCodes          uint64 // QR codes drawn
	QRLimited        uint64 // QR codes refused because too many were being drawn: 503
	MissesLimited    uint64 // requests refused because their network had missed too often: 429
	BadRequests      uint64 // not HTTP, with a body, or another method: 400, 405
	TooLarge         uint64 // a request line or headers over MaxHeaderBytes: 414, 431
	ReadTimeouts     uint64 // requests that were not whole in time, or never began: 408
	WriteTimeouts    uint64 // connections whose client did not take its answer in time
	IdleTimeouts     uint64 // connections that ended because they asked nothing more
	Faults           uint64 // store trouble: 503
	Panics           uint64 // faults of our own: 500
	ConnsRefused     uint64 // connections over MaxConns
	HandshakesFailed uint64
	Conns            int // open now

	RedirectTime Histogram // from a request being read to its answer being handed on, of redirects
	MissTime     Histogram // the same of misses
}

const (
	shards          = 8
	histogramUnit   = 32 // ns
	histogramOctave = 28 // octaves from 4 units, 128 ns, to 34 s
	buckets         = 1 + 4*histogramOctave
)

// Histogram counts durations in buckets, four to an octave, between 128 ns and 34 s; a quantile is at most 25 % high.
type Histogram [buckets]uint64

// bucketOf returns the bucket of a duration: bucket 0 is below 4 units, bucket 1+4e+k is from (4+k)*2^e units.
func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0)) / histogramUnit
	if n < 4 {
		return 0
	}
	e := bits.Len64(n) - 3
	return min(1+4*e+int(n>>e&3), buckets-1)
}

// bucketEnd returns the least duration above a bucket.
func bucketEnd(i int) time.Duration {
	if i == 0 {
		return 4 * histogramUnit
	}
	e, k := (i-1)/4, (i-1)%4
	return time.Duration(5+k) << e * histogramUnit
}

// Quantile returns a duration that the share q (0 to 1) of all that were counted did not exceed, 0 when nothing
// was counted.
func (h *Histogram) Quantile(q float64) time.Duration {
	var total, seen uint64
	for _, n := range h {
		total += n
	}
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

// Total returns how many were counted, and about how long they took together.
func (h *Histogram) Total() (n uint64, sum time.Duration) {
	for i, c := range h {
		n += c
		sum += time.Duration(c) * bucketEnd(i)
	}
	return n, sum
}

// shard is a share of the counters that every request touches: connections are spread over them, so that two cores
// seldom write to one cache line.
type shard struct {
	redirectTime [buckets]atomic.Uint64
	missTime     [buckets]atomic.Uint64
	_            [64]byte
}

type counters struct {
	shards                                                      [shards]shard
	gone, banned, previews, qrCodes, qrLimited, missesLimited   atomic.Uint64
	badRequests, faults, panics, connsRefused, handshakesFailed atomic.Uint64
	tooLarge, readTimeouts, writeTimeouts, idleTimeouts         atomic.Uint64
}

func (c *counters) shard(n uint64) *shard { return &c.shards[n%shards] }

func (s *shard) redirect(d time.Duration) { s.redirectTime[bucketOf(d)].Add(1) }
func (s *shard) miss(d time.Duration)     { s.missTime[bucketOf(d)].Add(1) }

// Stats returns the figures of the moment.
func (s *Server) Stats() Stats {
	c := &s.counters
	st := Stats{Gone: c.gone.Load(), Banned: c.banned.Load(), Previews: c.previews.Load(), QRCodes: c.qrCodes.Load(),
		QRLimited: c.qrLimited.Load(), MissesLimited: c.missesLimited.Load(), BadRequests: c.badRequests.Load(),
		Faults: c.faults.Load(), Panics: c.panics.Load(), ConnsRefused: c.connsRefused.Load(), HandshakesFailed: c.handshakesFailed.Load(),
		TooLarge: c.tooLarge.Load(), ReadTimeouts: c.readTimeouts.Load(), WriteTimeouts: c.writeTimeouts.Load(), IdleTimeouts: c.idleTimeouts.Load()}
	for i := range c.shards {
		for b := range buckets {
			r, m := c.shards[i].redirectTime[b].Load(), c.shards[i].missTime[b].Load()
			st.RedirectTime[b] += r
			st.MissTime[b] += m
			st.Redirects += r
			st.Misses += m
		}
	}
	s.mu.Lock()
	st.Conns = len(s.conns)
	s.mu.Unlock()
	return st
}
