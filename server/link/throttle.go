package link

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// throttle holds each creator to a rate of new links; a creator may save up the links of one second. The zero rate
// holds nobody back. There are as many entries as users who ever made a link.
type throttle struct {
	perSecond float64
	mu        sync.Mutex
	creators  map[string]*rate.Limiter // guarded by mu
}

// allow returns ErrThrottled when a creator may not make so many links now. Who makes more at once than can be saved up has all saved up, and waits
// for the rest before the next.
func (t *throttle) allow(creator string, links int, now time.Time) error {
	if t.perSecond <= 0 {
		return nil
	}
	t.mu.Lock()
	l := t.creators[creator]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(t.perSecond), max(int(t.perSecond), 1))
		if t.creators == nil {
			t.creators = map[string]*rate.Limiter{}
		}
		t.creators[creator] = l
	}
	t.mu.Unlock()
	if !l.AllowN(now, min(links, l.Burst())) {
		return ErrThrottled
	}
	for links -= l.Burst(); links > 0; links -= l.Burst() {
		l.ReserveN(now, min(links, l.Burst()))
	}
	return nil
}
