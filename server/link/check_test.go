package link

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"curt/storage"
)

// problems lists what Check finds.
func (b *bench) problems() []string {
	b.t.Helper()
	var list []string
	if err := Check(b.store, b.opts.Codes.Ring, func(text string) bool { list = append(list, text); return true }); err != nil {
		b.t.Fatal(err)
	}
	return list
}

func (b *bench) wantSound() {
	b.t.Helper()
	if list := b.problems(); len(list) > 0 {
		b.t.Errorf("%d problems: %q", len(list), list)
	}
}

// Whatever is done through the service, a check finds nothing.
func TestCheckSoundStore(t *testing.T) {
	b := newBench(t, Options{Codes: CodeOptions{Length: 4, Density: 0.0001}, Retention: time.Hour})
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	var codes []string
	pick := func() string { return codes[r.IntN(len(codes))] }
	for range scale(300, 3000) {
		req := Request{URL: url(r.IntN(100)), Tenant: []string{"", "a", "b"}[r.IntN(3)], Dedup: []Dedup{DedupStrict, DedupLoose, DedupOff}[r.IntN(3)]}
		switch r.IntN(5) {
		case 0:
			req.HasAlias, req.Alias = true, "name"+string(rune('a'+r.IntN(26)))
		case 1:
			req.Expires = b.clock.Load() + r.Int64N(int64(2*time.Hour/time.Millisecond))
		case 2:
			req.Tags, req.Title = []string{"t1", "t2"}[:1+r.IntN(2)], "title"
		case 3:
			req.HasCode, req.Code, req.Length = true, []CodeKind{CodeRandom, CodeHash}[r.IntN(2)], 5
		}
		if code, err := b.Shorten(context.Background(), &req); err == nil {
			codes = append(codes, code)
		}
		if len(codes) == 0 {
			continue
		}
		switch r.IntN(12) {
		case 0:
			b.Ban(pick(), "")
		case 1:
			b.Unban(pick())
		case 2:
			b.Delete(pick())
		case 3:
			b.Expire(pick(), b.clock.Load()+r.Int64N(1000), ExpireAlways)
		case 4:
			b.Retarget(pick(), url(200+r.IntN(20)))
		case 5:
			b.Rename(pick(), "new"+string(rune('a'+r.IntN(26))))
		case 6:
			b.AddTags(pick(), []string{"t3"})
		case 7:
			b.advance(time.Duration(r.IntN(10)) * time.Minute)
			if err := b.sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
		case 8:
			b.Revive(pick(), 0)
		case 9:
			if made, err := b.Reserve(context.Background(), 1, "a", ""); err == nil {
				codes = append(codes, made...)
			}
		}
	}
	b.wantSound()
	b.restart(nil)
	b.wantSound()
}

func scale(usual, all int) int {
	if *long {
		return all
	}
	return usual
}

// Each kind of damage is named. The damage is done behind the service's back.
func TestCheckFindsDamage(t *testing.T) {
	f := func(want string, damage func(b *bench, tx *storage.Tx)) {
		t.Helper()
		b := newBench(t, Options{BlockedWords: []string{}})                        // which burn ids
		b.shorten(Request{URL: url(1)})                                            // 1
		b.shorten(Request{URL: url(2), HasAlias: true, Alias: "two"})              // 2
		b.shorten(Request{URL: url(3), Expires: b.clock.Load() + 1000})            // 3
		b.shorten(Request{URL: url(4), Tenant: "a", Tags: []string{"x"}})          // 4
		b.shorten(Request{URL: url(5), HasAlias: true, Alias: "five", Title: "5"}) // 5
		if err := b.Ban("five", ""); err != nil {
			t.Fatal(err)
		}
		b.wantSound()
		if _, err := b.store.Update(func(tx *storage.Tx) error { damage(b, tx); return nil }); err != nil {
			t.Fatal(err)
		}
		list := b.problems()
		if !slices.ContainsFunc(list, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("damage %q: found %q", want, list)
		}
	}
	get := func(b *bench, id uint64) *storage.Link {
		l, ok, err := b.store.Link(id)
		if err != nil || !ok {
			t.Fatal(id, ok, err)
		}
		return &l
	}
	// put writes a changed record whose indexes stay those of the old one.
	put := func(b *bench, tx *storage.Tx, id uint64, change func(l *storage.Link)) {
		l := get(b, id)
		change(l)
		if err := tx.PutLink(l, l); err != nil {
			t.Fatal(err)
		}
	}
	f("link 2 has the name two, which does not lead to it", func(b *bench, tx *storage.Tx) { tx.DeleteName("two") })
	f(`name "ghost" leads to link 77, which does not have it`, func(b *bench, tx *storage.Tx) { tx.PutName("ghost", 77) })
	f(`name "ghost" leads to link 1, which does not have it`, func(b *bench, tx *storage.Tx) { tx.PutName("ghost", 1) })
	f("link 3 is missing in index", func(b *bench, tx *storage.Tx) { put(b, tx, 3, func(l *storage.Link) { l.Expires++ }) })
	f("has link 3, whose record does not say so", func(b *bench, tx *storage.Tx) { put(b, tx, 3, func(l *storage.Link) { l.Expires = 0 }) })
	f("link 1 is missing in index", func(b *bench, tx *storage.Tx) { put(b, tx, 1, func(l *storage.Link) { l.Tenant = "a" }) })
	f("has link 4, whose record does not say so", func(b *bench, tx *storage.Tx) { put(b, tx, 4, func(l *storage.Link) { l.Tags = nil }) })
	f("has link 5, whose record does not say so", func(b *bench, tx *storage.Tx) { put(b, tx, 5, func(l *storage.Link) { l.BannedAt = 0 }) })
	f("link 5 is banned without a date", func(b *bench, tx *storage.Tx) { put(b, tx, 5, func(l *storage.Link) { l.BannedAt = 0 }) })
	f(`tenant "a" is counted 1 links and has 2`, func(b *bench, tx *storage.Tx) { put(b, tx, 1, func(l *storage.Link) { l.Tenant = "a" }) })
	f(`tenant "a" is counted 1 links and has 0`, func(b *bench, tx *storage.Tx) { put(b, tx, 4, func(l *storage.Link) { l.Tenant = "" }) })
	f(`tenant "z" has 1 links and no count of them`, func(b *bench, tx *storage.Tx) { put(b, tx, 4, func(l *storage.Link) { l.Tenant = "z" }) })
	f("the store counts 1 links with an expiry and has 2", func(b *bench, tx *storage.Tx) { put(b, tx, 1, func(l *storage.Link) { l.Expires = 5 }) })
	f("link 1 has ended without a date", func(b *bench, tx *storage.Tx) { put(b, tx, 1, func(l *storage.Link) { l.Flags |= storage.UsedUp }) })
	f("link 1 is missing in index", func(b *bench, tx *storage.Tx) { put(b, tx, 1, func(l *storage.Link) { l.Ended = 5 }) })
	f("link 1 is hinted at by the dedup key of another target", func(b *bench, tx *storage.Tx) { tx.PutDedup([16]byte{1}, 1) })
	f("link 2 is hinted at by a dedup key and is not plain", func(b *bench, tx *storage.Tx) { tx.PutDedup(makeKey("", url(2)), 2) })
	f("leads to link 77, which does not exist", func(b *bench, tx *storage.Tx) { tx.PutDedup([16]byte{1}, 77) })
	f("which is also a name", func(b *bench, tx *storage.Tx) { tx.PutName(b.codes.code(1), 2) })
	f("which does not decode to it", func(b *bench, tx *storage.Tx) { tx.SetCounter(LinkCounter, 0) })
	f("link 5 has an id above the reserved 4", func(b *bench, tx *storage.Tx) { tx.SetCounter(LinkCounter, 4) })
	f("link 2 has neither a code nor a name", func(b *bench, tx *storage.Tx) { put(b, tx, 2, func(l *storage.Link) { l.Name = "" }) })
	f("link 1 is reserved and has a target", func(b *bench, tx *storage.Tx) { put(b, tx, 1, func(l *storage.Link) { l.Flags |= storage.Reserved }) })
	f("link 1 has 3 visits and 1 bots, and 2 and 1 in its hours and days", func(b *bench, tx *storage.Tx) {
		tx.AddClicks(1, storage.Count{Visits: 3, Bots: 1})
		tx.AddHour(1, b.clock.Load(), storage.Count{Visits: 2, Bots: 1})
	})
	f("the store counts 3 visits and 0 bots, and 2 and 0 in hours and days", func(_ *bench, tx *storage.Tx) {
		tx.AddClickSums(storage.Count{Visits: 3}, storage.Count{Visits: 2})
	})
	f("link 1 may be visited 5 times, and 6 visits were handed out", func(b *bench, tx *storage.Tx) {
		put(b, tx, 1, func(l *storage.Link) { l.MaxVisits = 5 })
		tx.SetGranted(1, 6)
	})
	f("the store counts 6 links and has 5", func(b *bench, tx *storage.Tx) {
		if err := tx.PutLink(nil, get(b, 1)); err != nil {
			t.Fatal(err)
		}
	})
}

// A link is deleted while its first visit of an hour is merged, and the server dies before it forgets that hour: nobody misses anything.
func TestDeletedWhileMerged(t *testing.T) {
	b := newBench(t, Options{Clicks: ClickOptions{Interval: -1}})
	code := b.shorten(Request{URL: url(1), HasAlias: true, Alias: "one"})
	b.follow(code, person)
	b.wantClicks(code, 1, 0)
	b.advance(time.Hour)
	b.follow(code, person)
	err := b.edit(code, nil, func(c *change, l *storage.Link) error {
		err := c.remove(l)
		return cmp.Or(err, b.clicks.Merge(l.ID))
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wantSound()
	b.crash(1)
	b.wantSound()
}
