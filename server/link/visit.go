package link

import (
	"bytes"
	"net/netip"
	"slices"
	"time"

	"curt/server/link/clicks"
	"curt/storage"
)

// ClickOptions say how visits are counted. The zero value works; every field is as in clicks.Options.
type ClickOptions struct {
	Interval        time.Duration // between two merges into the store; 0: 1 s; negative: only FlushClicks merges
	HourRetention   time.Duration // how long hours stay before they become days; 0: 90 days
	CountOnce       time.Duration // visits to a link from one network within it count once; 0: each counts
	NoStream        bool          // keeps no raw clicks
	StreamRetention time.Duration // how long raw clicks stay, whole days; 0: 90 days
	GeoIP           string        // a MaxMind-format file with countries; empty: no country is known

	OnClick   func(*clicks.Click) // told of each click that is in the store, while somebody is Listening
	Listening func() bool
}

func (e *engine) openClicks() (err error) {
	o := e.opts.Clicks
	opened := make(chan struct{}) // the counter's upkeep begins at once, and must find the counter here
	defer close(opened)
	rollUp := func(id uint64, before int64) error {
		<-opened
		return e.rollUp(id, before)
	}
	e.clicks, err = clicks.Open(clicks.Options{
		Store: e.store, Guard: e.mu.RLocker(), Now: e.now, Logger: e.log, RollUp: rollUp, OnClick: o.OnClick, Listening: o.Listening,
		Interval: o.Interval, HourRetention: o.HourRetention, CountOnce: o.CountOnce,
		NoStream: o.NoStream, StreamRetention: o.StreamRetention, GeoIP: o.GeoIP,
	})
	return err
}

// Visit is one redirect about to be sent. Its bytes are good only during the call.
type Visit struct {
	Target    *Target
	Client    netip.Addr // invalid: not known
	UserAgent []byte
	Referer   []byte
	Purpose   []byte // Sec-Purpose or Purpose
	Time      time.Time
}

// Visit counts a redirect, and has the last word on it: when the link's visits are spent it returns UsedUp and counts nothing. Programs and
// prefetches spend no visit. The error is a fault of the store: nothing was counted, and the redirect must not be sent.
func (s *Service) Visit(v *Visit) (State, error) {
	t := v.Target
	c := clicks.Visit{
		ID: t.ID, Revision: t.Revision, Code: t.Code, Target: t.URL, Tenant: t.Tenant, Client: v.Client, At: v.Time.UnixMilli(),
		UserAgent: v.UserAgent, Referer: v.Referer, Prefetch: prefetches(v.Purpose),
	}
	if t.MaxVisits != 0 && !s.clicks.IsBot(&c) {
		if state, err := s.spend(t); state != Live || err != nil {
			return state, err
		}
	}
	s.clicks.Add(&c)
	return Live, nil
}

// prefetches reports that a browser asks before anybody looks (https://wicg.github.io/nav-speculation/prefetch.html: Sec-Purpose; Purpose before it).
func prefetches(purpose []byte) bool {
	return bytes.HasPrefix(purpose, []byte("prefetch")) || bytes.HasPrefix(purpose, []byte("preview"))
}

// FlushClicks writes everything that was counted into the store, and its clicks into the stream. Counts are read after MergeClicks.
func (s *Service) FlushClicks() error { return s.bringUp(s.clicks.Flush, s.clicks.FlushGuarded) }

// MergeClicks is FlushClicks, and brings the counts of a link up to date, those of all links when id is 0.
func (s *Service) MergeClicks(id uint64) error {
	return s.bringUp(func() error { return s.clicks.Merge(id) }, func() error { return s.clicks.MergeGuarded(id) })
}

// bringUp brings clicks to where they are read: guarded is for where nobody else changes anything. Behind a reset in an Exec it does nothing: what
// came since would go with the counts before it.
func (s *Service) bringUp(free, guarded func() error) error {
	switch {
	case !s.Alone():
		return free()
	case s.batch != nil && s.batch.reset:
		return nil
	}
	return guarded()
}

// Counter is what counts the visits, for figures and for those who wait for clicks.
func (s *Service) Counter() *clicks.Counter { return s.clicks }

// Clicks returns what was counted of a link, in whatever state, up to now.
func (s *Service) Clicks(code string) (storage.Count, error) {
	l, err := s.counted(code)
	if err != nil {
		return storage.Count{}, err
	}
	return s.reader().Clicks(l.ID)
}

// CountOf returns what was counted of the link with an id, up to the last MergeClicks.
func (s *Service) CountOf(id uint64) (storage.Count, error) { return s.reader().Clicks(id) }

// counted finds a link and brings its counts up to date.
func (s *Service) counted(code string) (*storage.Link, error) {
	l, err := s.find(s.reader(), code)
	if err == nil && l == nil {
		err = ErrNotFound
	}
	if err == nil {
		err = s.MergeClicks(l.ID)
	}
	return l, err
}

// Period is the length of a bucket.
type Period uint8

// The periods of a series.
const (
	Hour Period = iota
	Day
	Month
)

// start is the beginning of the period that holds a time (unix ms UTC).
func (p Period) start(ms int64) int64 {
	t := time.UnixMilli(ms).UTC()
	switch p {
	case Hour:
		return t.Truncate(time.Hour).UnixMilli()
	case Day:
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC).UnixMilli()
	}
	return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC).UnixMilli()
}

// ClickSeries returns the buckets of a link that have something in them, oldest first: those that start within the bucket of from and up to to
// (unix ms). Hours older than their retention are only in days and months.
func (s *Service) ClickSeries(code string, by Period, from, to int64) ([]storage.Bucket, error) {
	l, err := s.counted(code)
	if err != nil {
		return nil, err
	}
	sums := map[int64]storage.Count{}
	add := func(b storage.Bucket) bool {
		if start := by.start(b.Start); start <= to {
			sums[start] = sums[start].Plus(b.Count)
		}
		return true
	}
	first := by.start(max(from, 0))
	each := s.reader().EachBucket
	if by == Hour {
		each = s.reader().EachHour
	}
	if err := each(l.ID, first, by.end(to), add); err != nil {
		return nil, err
	}
	series := make([]storage.Bucket, 0, len(sums))
	for start, c := range sums {
		series = append(series, storage.Bucket{Start: start, Count: c})
	}
	slices.SortFunc(series, func(a, b storage.Bucket) int { return int(min(max(a.Start-b.Start, -1), 1)) })
	return series, nil
}

// end is the last moment of the period that holds a time.
func (p Period) end(ms int64) int64 {
	const far = int64(1) << 47 // some thousand years
	if ms >= far {
		return far
	}
	t := time.UnixMilli(p.start(ms)).UTC()
	switch p {
	case Hour:
		t = t.Add(time.Hour)
	case Day:
		t = t.AddDate(0, 0, 1)
	default:
		t = t.AddDate(0, 1, 0)
	}
	return t.UnixMilli() - 1
}

// TopClicks returns the most frequent values of people's visits to a link in the months that hold from through to (unix ms), at most n, the most
// frequent first and "other" last.
func (s *Service) TopClicks(code string, d storage.Dimension, n int, from, to int64) ([]storage.TopValue, error) {
	l, err := s.counted(code)
	if err != nil {
		return nil, err
	}
	const far = int64(1) << 47
	top, err := s.reader().Top(l.ID, storage.MonthOf(max(from, 0)), storage.MonthOf(min(max(to, 0), far)))
	if err != nil {
		return nil, err
	}
	return top.Largest(d, n), nil
}

// ResetClicks forgets what was counted of a link. Its spent visits stay spent, and its raw clicks stay in the stream.
func (s *Service) ResetClicks(code string) error {
	release := func() {}
	defer func() { release() }()
	return s.edit(code, nil, func(c *change, l *storage.Link) error {
		if s.batch != nil {
			if err := s.MergeClicks(0); err != nil { // the rest of the Exec can't
				return err
			}
			c.reset = true
			return c.tx.DeleteClicks(l.ID)
		}
		if err := s.clicks.HoldMerged(l.ID); err != nil { // until the batch is applied
			return err
		}
		release = s.clicks.Release
		return c.tx.DeleteClicks(l.ID)
	})
}

// rollUp makes days of a link's old hours. Of a link that is gone it removes what is left.
func (e *engine) rollUp(id uint64, before int64) error {
	s := &Service{engine: e}
	var set stripeSet
	set.id(id)
	release := func() {}
	defer func() { release() }()
	return s.apply(&set, func(c *change) error {
		s.clicks.Hold()
		release = s.clicks.Release
		if _, ok, err := c.tx.Link(id); err != nil || !ok {
			if err == nil {
				err = c.tx.DeleteClicks(id)
			}
			return err
		}
		_, err := c.tx.RollUp(id, before)
		return err
	})
}
