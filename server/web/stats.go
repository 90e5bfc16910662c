package web

import (
	"sync/atomic"
	"time"

	"curt/server/histogram"
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

	RedirectTime histogram.Histogram // from a request being read to its answer being handed on, of redirects
	MissTime     histogram.Histogram // the same of misses
}

const shards = 8

// shard is a share of the counters that every request touches: connections are spread over them, so that two cores
// seldom write to one cache line.
type shard struct {
	redirectTime histogram.Counter
	missTime     histogram.Counter
	_            [64]byte
}

type counters struct {
	shards                                                      [shards]shard
	gone, banned, previews, qrCodes, qrLimited, missesLimited   atomic.Uint64
	badRequests, faults, panics, connsRefused, handshakesFailed atomic.Uint64
	tooLarge, readTimeouts, writeTimeouts, idleTimeouts         atomic.Uint64
}

func (c *counters) shard(n uint64) *shard { return &c.shards[n%shards] }

func (s *shard) redirect(d time.Duration) { s.redirectTime.Add(d) }
func (s *shard) miss(d time.Duration)     { s.missTime.Add(d) }

// Stats returns the figures of the moment.
func (s *Server) Stats() Stats {
	c := &s.counters
	st := Stats{Gone: c.gone.Load(), Banned: c.banned.Load(), Previews: c.previews.Load(), QRCodes: c.qrCodes.Load(),
		QRLimited: c.qrLimited.Load(), MissesLimited: c.missesLimited.Load(), BadRequests: c.badRequests.Load(),
		Faults: c.faults.Load(), Panics: c.panics.Load(), ConnsRefused: c.connsRefused.Load(), HandshakesFailed: c.handshakesFailed.Load(),
		TooLarge: c.tooLarge.Load(), ReadTimeouts: c.readTimeouts.Load(), WriteTimeouts: c.writeTimeouts.Load(), IdleTimeouts: c.idleTimeouts.Load()}
	for i := range c.shards {
		r, m := c.shards[i].redirectTime.Read(), c.shards[i].missTime.Read()
		st.RedirectTime.Add(&r)
		st.MissTime.Add(&m)
	}
	st.Redirects, st.Misses = st.RedirectTime.Count(), st.MissTime.Count()
	s.mu.Lock()
	st.Conns = len(s.conns)
	s.mu.Unlock()
	return st
}
