package server

import (
	"sync"
	"time"

	"curt/server/resp"
)

const ratesEvery = time.Second

// rates are what INFO calls instantaneous: events a second over the last second or so. One goroutine measures.
type rates struct {
	stop chan struct{}
	done sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	at       time.Time  // of the counts in last
	last     rate
	perSec   rate
	baseline resp.Stats // what CONFIG RESETSTAT takes off the counters of connections
	expired  int64      // and off the number of expired links
}

// rate is a number of events, or of events a second.
type rate struct{ commands, in, out float64 }

func (r *rates) start(s *Server) {
	r.stop = make(chan struct{})
	r.measure(s.now(), s.counts())
	r.done.Go(func() {
		tick := time.NewTicker(ratesEvery)
		defer tick.Stop()
		for {
			select {
			case <-r.stop:
				return
			case <-tick.C:
				r.measure(s.now(), s.counts())
			}
		}
	})
}

func (r *rates) end() {
	close(r.stop)
	r.done.Wait()
}

// measure takes the counts at a time. A clock that stands still or a counter that was reset gives no new rate.
func (r *rates) measure(now time.Time, n rate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	elapsed := now.Sub(r.at).Seconds()
	if !r.at.IsZero() && elapsed <= 0 {
		return
	}
	if !r.at.IsZero() && n.commands >= r.last.commands && n.in >= r.last.in {
		r.perSec = rate{(n.commands - r.last.commands) / elapsed, (n.in - r.last.in) / elapsed, (n.out - r.last.out) / elapsed}
	}
	r.at, r.last = now, n
}

func (r *rates) now() rate {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.perSec
}

func (s *Server) counts() rate {
	t := s.resp.Stats()
	return rate{float64(s.stats.processed()), float64(t.BytesIn), float64(t.BytesOut)}
}

// traffic are the counters of connections since the start or the last CONFIG RESETSTAT.
func (s *Server) traffic() resp.Stats {
	t := s.resp.Stats()
	s.rates.mu.Lock()
	base := s.rates.baseline
	s.rates.mu.Unlock()
	t.RejectedClients -= base.RejectedClients
	t.RejectedAdmission -= base.RejectedAdmission
	t.PushOverflows -= base.PushOverflows
	t.BytesIn -= base.BytesIn
	t.BytesOut -= base.BytesOut
	return t
}

// expirations is the number of links that expired since then.
func (s *Server) expirations() int64 {
	s.rates.mu.Lock()
	defer s.rates.mu.Unlock()
	return s.links.Expirations() - s.rates.expired
}

// resetStats is CONFIG RESETSTAT.
func (s *Server) resetStats() {
	base, expired := s.resp.Stats(), s.links.Expirations()
	s.rates.mu.Lock()
	s.rates.baseline, s.rates.expired = base, expired
	s.rates.mu.Unlock()
	s.stats.reset()
}
