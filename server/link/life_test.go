package link

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"curt/storage"
)

func (b *bench) sweepNow() {
	b.t.Helper()
	if err := b.sweep(context.Background()); err != nil {
		b.t.Fatal(err)
	}
}

// The clock decides, never the sweeper; once it has said so, a link stays expired when the clock steps back.
func TestExpiryIsAnnouncedOnceAndForGood(t *testing.T) {
	var kinds []string
	b := newBench(t, Options{OnChange: func(c Changes) {
		for _, e := range c.Events {
			if e.Kind != "created" {
				kinds = append(kinds, e.Kind+" "+e.Code)
			}
		}
	}})
	b.shorten(Request{URL: url(1), HasAlias: true, Alias: "x", Expires: b.clock.Load() + 1000})
	b.advance(time.Second - time.Millisecond)
	b.wantState("x", Live)
	b.advance(time.Millisecond)
	b.wantState("x", Expired)
	b.sweepNow()
	b.sweepNow()
	b.advance(-time.Hour)
	b.wantState("x", Expired)
	if !slices.Equal(kinds, []string{"expired x"}) {
		t.Errorf("events %v", kinds)
	}
	if err := b.Revive("x", 0); err != nil {
		t.Fatal(err)
	}
	b.wantState("x", Live)
	b.wantErr(b.Revive("nothing", 0), ErrNotFound)
	var arg *ArgError
	if err := b.Revive("x", 0); !errors.As(err, &arg) {
		t.Errorf("revived a live link: %v", err)
	}
}

func TestEndedLinksAreKeptForAWhile(t *testing.T) {
	b := newBench(t, Options{Retention: time.Hour})
	b.shorten(Request{URL: url(1), HasAlias: true, Alias: "x", Tenant: "t", Expires: b.clock.Load() + 1000})
	b.advance(time.Second)
	b.sweepNow()
	if _, err := b.Info("x"); err != nil {
		t.Error(err)
	}
	b.advance(time.Hour)
	b.sweepNow()
	if _, err := b.Info("x"); !errors.Is(err, ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
	if n := b.store.Links(); n != 0 {
		t.Errorf("%d links", n)
	}
	b.shorten(Request{URL: url(2), HasAlias: true, Alias: "x"}) // free for everybody
}

// A sweep looks at what is due, not at what is there.
func TestSweepCostFollowsTheExpired(t *testing.T) {
	b := newBench(t, Options{})
	for i := range 3000 {
		r := Request{URL: url(i), Dedup: DedupOff}
		if i%100 == 0 {
			r.Expires = b.clock.Load() + 1000
		}
		b.shorten(r)
	}
	b.advance(time.Second)
	before := b.store.Stats().StoreReads
	b.sweepNow()
	if reads := b.store.Stats().StoreReads - before; reads > 30*6 {
		t.Errorf("%d reads for 30 expired links", reads)
	}
	if n := b.Expirations(); n != 30 {
		t.Errorf("%d expired", n)
	}
	b.advance(defaultRetention + time.Second)
	before = b.store.Stats().StoreReads
	b.sweepNow()
	if reads := b.store.Stats().StoreReads - before; reads > 30*6 {
		t.Errorf("%d reads to remove 30 links", reads)
	}
	if n := b.Links(); n != 2970 {
		t.Errorf("%d links", n)
	}
}

func TestList(t *testing.T) {
	b := newBench(t, Options{})
	for i := range 30 {
		r := Request{URL: fmt.Sprintf("https://h%d.example.com/", i%3), HasAlias: true, Alias: fmt.Sprintf("a%02d", i)}
		if i%2 == 0 {
			r.Tenant = "t"
		}
		if i%5 == 0 {
			r.Tags = []string{"five"}
		}
		b.shorten(r)
	}
	if err := b.Ban("a03", ""); err != nil {
		t.Fatal(err)
	}
	all := func(f Filter) (codes []string) {
		t.Helper()
		for cursor := uint64(0); ; {
			list, next, err := b.List(cursor, 4, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range list {
				codes = append(codes, l.Code)
			}
			if next == 0 {
				return codes
			}
			cursor = next
		}
	}
	for name, c := range map[string]struct {
		f           Filter
		n           int
		first, last string
	}{
		"all":        {Filter{}, 30, "a00", "a29"},
		"newest":     {Filter{Reverse: true}, 30, "a29", "a00"},
		"tenant":     {Filter{HasTenant: true, Tenant: "t"}, 15, "a00", "a28"},
		"no tenant":  {Filter{HasTenant: true}, 15, "a01", "a29"},
		"tag":        {Filter{Tag: "five", Reverse: true}, 6, "a25", "a00"},
		"tag+tenant": {Filter{Tag: "five", HasTenant: true, Tenant: "t"}, 3, "a00", "a20"},
		"host":       {Filter{Host: "H1.example.com."}, 10, "a01", "a28"},
		"above":      {Filter{Host: "example.com"}, 30, "a00", "a29"},
		"banned":     {Filter{State: Banned}, 1, "a03", "a03"},
		"match":      {Filter{Match: func(c string) bool { return c[1] == '1' }}, 10, "a10", "a19"},
	} {
		got := all(c.f)
		if len(got) != c.n || got[0] != c.first || got[len(got)-1] != c.last {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A call is bounded also when nothing passes the filter.
func TestListWorkIsBounded(t *testing.T) {
	b := newBench(t, Options{})
	for i := range listLooks + 100 {
		b.shorten(Request{URL: url(i), Dedup: DedupOff})
	}
	list, next, err := b.List(0, 10, Filter{Host: "other.example"})
	if err != nil || len(list) != 0 || next == 0 {
		t.Errorf("%d links, cursor %d, %v", len(list), next, err)
	}
}

func TestNeverBan(t *testing.T) {
	b := newBench(t, Options{NeverBan: []string{"good.example"}})
	code := b.shorten(Request{URL: "https://a.good.example/"})
	var arg *ArgError
	if _, err := b.BanHost("a.good.example", ""); !errors.As(err, &arg) {
		t.Errorf("banned: %v", err)
	}
	if _, err := b.BanHost("example", ""); err != nil {
		t.Error(err)
	}
	b.wantState(code, Live)
	_, err := b.Shorten(context.Background(), &Request{URL: "https://bad.example/"})
	b.wantErr(err, ErrBanned)
}

func TestThrottle(t *testing.T) {
	b := newBench(t, Options{MaxRate: 2})
	make := func(creator string, i int) error {
		_, err := b.Shorten(context.Background(), &Request{URL: url(i), Creator: creator})
		return err
	}
	for i := range 2 {
		b.wantErr(make("u", i), nil)
	}
	b.wantErr(make("u", 2), ErrThrottled)
	b.wantErr(make("u", 0), nil) // finding a link is free
	b.wantErr(make("v", 3), nil)
	b.advance(time.Second)
	b.wantErr(make("u", 2), nil)
	set := func(code string, i int) error {
		_, err := b.Set(context.Background(), &SetRequest{Code: code, URL: url(i), Creator: "u"})
		return err
	}
	b.wantErr(set("a", 4), nil)
	b.wantErr(set("b", 5), ErrThrottled)
	b.wantErr(set("a", 6), nil) // a new target is no new link
	reserve := func(n int) error {
		_, err := b.Reserve(context.Background(), n, "", "u")
		return err
	}
	b.wantErr(reserve(1), ErrThrottled)
	b.advance(time.Second)
	b.wantErr(set("b", 5), nil)
	b.wantErr(reserve(2), ErrThrottled)
	b.advance(time.Second)
	b.wantErr(reserve(5), nil) // more than a second's, which the next has to wait for
	b.advance(time.Second)
	b.wantErr(reserve(1), ErrThrottled)
	b.advance(time.Second)
	b.wantErr(reserve(1), nil)
	b.wantErr(set("c", 7), ErrThrottled)
}

func TestBannedLinkThatExpiresKeepsItsName(t *testing.T) {
	b := newBench(t, Options{Retention: time.Hour})
	b.shorten(Request{URL: url(1), HasAlias: true, Alias: "x", Expires: b.clock.Load() + 1000})
	if err := b.Ban("x", ""); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Second)
	b.sweepNow()
	b.wantState("x", Banned)
	b.advance(time.Hour)
	b.sweepNow()
	if id, ok, err := b.store.Name("x"); !ok || id != storage.Tombstone || err != nil {
		t.Errorf("the name leads to %d, %v, %v", id, ok, err)
	}
	_, err := b.Shorten(context.Background(), &Request{URL: url(2), HasAlias: true, Alias: "x"})
	b.wantErr(err, ErrReserved)
}
