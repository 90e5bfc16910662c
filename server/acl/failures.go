package acl

import (
	"net/netip"
	"sync"
	"time"
)

const (
	freeFailures  = 5 // wrong passwords that cost nothing
	failureDelay  = time.Second
	failureMemory = time.Minute // after the last one they are forgotten
	maxNetworks   = 8192
	evictLooks    = 8 // networks of which the one that failed longest ago makes room
)

// Failures counts wrong passwords by network, an IPv4 /24 or an IPv6 /56, and says how long the next try of one that guesses
// has to wait: 1 s after 5 within a minute of each other. Right passwords wait too, or else the wait would tell; nobody is
// locked out. It remembers 8,192 networks. The zero value is empty; it is safe for concurrent use and never waits itself.
type Failures struct {
	mu       sync.Mutex
	networks map[netip.Prefix]failed // guarded by mu
}

type failed struct {
	count int
	last  time.Time
}

// network is what an address is counted by.
func network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 56
	if a.Is4() {
		bits = 24
	}
	p, _ := a.Prefix(bits)
	return p
}

// Delay is how long a try from an address has to wait before it is looked at. An invalid address never waits.
func (f *Failures) Delay(a netip.Addr, now time.Time) time.Duration {
	if !a.IsValid() {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := f.networks[network(a)]; n.count >= freeFailures && n.recent(now) {
		return failureDelay
	}
	return 0
}

// recent also holds when the clock was set back: better one wait too many.
func (n failed) recent(now time.Time) bool { return now.Sub(n.last) < failureMemory }

// Failed counts a wrong password.
func (f *Failures) Failed(a netip.Addr, now time.Time) {
	if !a.IsValid() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := network(a)
	n, known := f.networks[key]
	if !known {
		f.makeRoom()
	}
	if !n.recent(now) {
		n.count = 0
	}
	f.networks[key] = failed{n.count + 1, now}
}

func (f *Failures) makeRoom() {
	if f.networks == nil {
		f.networks = map[netip.Prefix]failed{}
	}
	if len(f.networks) < maxNetworks {
		return
	}
	var oldest netip.Prefix
	looked := 0
	for key, n := range f.networks { // any: the order of a map is as good as random
		if looked == 0 || n.last.Before(f.networks[oldest].last) {
			oldest = key
		}
		if looked++; looked == evictLooks {
			break
		}
	}
	delete(f.networks, oldest)
}
