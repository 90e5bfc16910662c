package web

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	missSets = 8192
	missWays = 8 // networks a set can hold
)

// missLimiter is a token bucket for each network that asked for codes that do not exist. A bucket is one word, the
// time at which it will be full again (the generic cell rate algorithm, ITU-T I.371): so that a request of a network
// that never missed costs no lock and no memory, which golang.org/x/time/rate, a mutex and 64 bytes a
// bucket, can't give. It holds 65,536 networks; one more takes the place of the one of eight that is
// nearest to full. Safe for concurrent use.
type missLimiter struct {
	seed  uint64
	token int64 // ns until a token is back
	burst int64 // ns until an empty bucket is full; not above 0: no limit
	sets  []missSet
}

type missSet struct {
	mu       sync.Mutex // one writer at a time; readers take no lock
	networks [missWays]atomic.Uint64
	full     [missWays]atomic.Int64 // when the bucket is full again
}

// newMissLimiter makes buckets of burst tokens to which perSecond come back. A burst below 1 means no limit.
func newMissLimiter(burst int, perSecond float64) *missLimiter {
	l := &missLimiter{seed: rand.Uint64(), token: int64(float64(time.Second) / perSecond)}
	if burst > 0 {
		l.burst = int64(burst) * l.token
		l.sets = make([]missSet, missSets)
	}
	return l
}

// wait returns how long the network's bucket will stay empty, 0 when it has a token. now counts from any fixed
// point; where it goes backwards nobody is limited for longer than a burst lasts.
func (l *missLimiter) wait(n network, now time.Duration) time.Duration {
	if n == 0 || l.burst <= 0 {
		return 0
	}
	set := l.set(n)
	for i := range set.networks {
		if set.networks[i].Load() != uint64(n) {
			continue
		}
		full := set.full[i].Load()
		if set.networks[i].Load() != uint64(n) {
			return 0 // made room for another one meanwhile
		}
		return time.Duration(max(0, min(full-int64(now), l.burst)-(l.burst-l.token)))
	}
	return 0
}

// take takes a token from the network's bucket.
func (l *missLimiter) take(n network, now time.Duration) {
	if n == 0 || l.burst <= 0 {
		return
	}
	set := l.set(n)
	set.mu.Lock()
	defer set.mu.Unlock()
	i := set.find(n)
	full := set.full[i].Load()
	if set.networks[i].Load() != uint64(n) {
		full = 0
		set.networks[i].Store(0)
		set.full[i].Store(0)
		set.networks[i].Store(uint64(n))
	}
	set.full[i].Store(min(max(full, int64(now))+l.token, int64(now)+l.burst))
}

// find returns the network's way, or that of the bucket nearest to full.
func (s *missSet) find(n network) int {
	fullest := 0
	for i := range s.networks {
		if s.networks[i].Load() == uint64(n) {
			return i
		}
		if s.full[i].Load() < s.full[fullest].Load() {
			fullest = i
		}
	}
	return fullest
}

// set spreads networks by a mix that an outsider can't predict (the finaliser of splitmix64).
func (l *missLimiter) set(n network) *missSet {
	h := uint64(n) ^ l.seed
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return &l.sets[(h^h>>31)%missSets]
}
