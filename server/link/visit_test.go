package link

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/storage"
)

const (
	person  = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
	program = "Twitterbot/1.0"
)

// follow is a redirect by somebody with a User-Agent. It returns what it led to.
func (b *bench) follow(code, ua string) State {
	b.t.Helper()
	t, state, err := b.Lookup([]byte(code))
	if err != nil {
		b.t.Fatal(err)
	}
	if state != Live {
		return state
	}
	state, err = b.Visit(&Visit{Target: t, UserAgent: []byte(ua), Time: b.opts.Now()})
	if err != nil {
		b.t.Fatal(err)
	}
	return state
}

// wantClicks fails the test unless a link was visited so often.
func (b *bench) wantClicks(code string, visits, bots int64) {
	b.t.Helper()
	c, err := b.Clicks(code)
	if err != nil {
		b.t.Fatal(err)
	}
	if c.Visits != visits || c.Bots != bots {
		b.t.Errorf("%s has %d visits and %d bots, want %d and %d", code, c.Visits, c.Bots, visits, bots)
	}
}

// crash continues on the disk as a power cut would leave it.
func (b *bench) crash(seed uint64) {
	b.t.Helper()
	after := b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 1))})
	b.close()
	b.fs = after
	b.open()
}

func seedOf(t testing.TB) uint64 {
	n := uint64(time.Now().UnixNano())
	t.Logf("seed %d", n)
	return n
}

// X06: as many lead on as may, whoever asks at once, and one tells of it.
func TestMaxVisits(t *testing.T) {
	for _, max := range []uint64{1, 10, 16, 17, 100} {
		var told atomic.Int64
		b := newBench(t, Options{OnChange: func(c Changes) {
			for _, e := range c.Events {
				if e.Kind == "used-up" && e.Code == "few" {
					told.Add(1)
				}
			}
		}})
		b.shorten(Request{URL: url(1), HasAlias: true, Alias: "few", MaxVisits: max})
		var led atomic.Int64
		var wait sync.WaitGroup
		for range 200 {
			wait.Go(func() {
				if b.follow("few", person) == Live {
					led.Add(1)
				}
			})
		}
		wait.Wait()
		if n := led.Load(); n != int64(min(max, 200)) {
			t.Errorf("MaxVisits %d: %d led on", max, n)
		}
		if max <= 200 {
			b.wantState("few", UsedUp)
			if n := told.Load(); n != 1 {
				t.Errorf("told %d times", n)
			}
		}
		b.wantClicks("few", int64(max), 0)
		b.wantSound()
		b.restart(nil)
		b.wantState("few", UsedUp)
		if n := b.follow("few", person); n != UsedUp {
			t.Errorf("after a restart: %v", n)
		}
	}
}

// X07: programs, HEAD (which is a look-up) and RESOLVE spend nothing.
func TestProgramsSpendNothing(t *testing.T) {
	b := newBench(t, Options{})
	b.shorten(Request{URL: url(1), HasAlias: true, Alias: "one", MaxVisits: 1})
	for range 20 {
		if state := b.follow("one", program); state != Live {
			t.Fatalf("a program: %v", state)
		}
		b.wantState("one", Live)
	}
	tg, _, err := b.Lookup([]byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	if state, err := b.Visit(&Visit{Target: tg, UserAgent: []byte(person), Purpose: []byte("prefetch;prerender"), Time: b.opts.Now()}); state != Live || err != nil {
		t.Fatal(state, err)
	}
	if state := b.follow("one", person); state != Live {
		t.Errorf("the person: %v", state)
	}
	if state := b.follow("one", person); state != UsedUp {
		t.Errorf("the next: %v", state)
	}
	if state := b.follow("one", program); state != UsedUp {
		t.Errorf("a program then: %v", state)
	}
	b.wantClicks("one", 1, 21)
}

// Never more than n lead on: across crashes, restarts, retargets and with a cache that forgets. A clean stop wastes none.
func TestMaxVisitsNeverMore(t *testing.T) {
	seed := seedOf(t)
	random := rand.New(rand.NewPCG(seed, 2))
	b := newBench(t, Options{})
	const links = 6
	maxes := []uint64{1, 3, 10, 16, 40, 100}
	for i, max := range maxes {
		b.shorten(Request{URL: url(i), HasAlias: true, Alias: fmt.Sprint("few", i), MaxVisits: max})
	}
	if err := b.store.WaitSynced(b.store.Ticket()); err != nil {
		t.Fatal(err)
	}
	var led [links]atomic.Int64
	crashes := [links]uint64{}
	for round := range 40 {
		var wait sync.WaitGroup
		for range 8 {
			i := random.IntN(links)
			wait.Go(func() {
				code := fmt.Sprint("few", i)
				for range 3 {
					if b.follow(code, person) == Live {
						led[i].Add(1)
					}
				}
			})
		}
		wait.Go(func() {
			i := round % links
			if err := b.Retarget(fmt.Sprint("few", i), url(1000+round)); err != nil && err != ErrUsedUp { //nolint:errorlint // the sentinel itself
				t.Error(err)
			}
			b.cache.InvalidateAll()
		})
		wait.Wait()
		switch random.IntN(4) {
		case 0:
			b.crash(seed + uint64(round))
			for i := range crashes {
				crashes[i]++
			}
		case 1:
			b.restart(nil)
		}
	}
	for i, max := range maxes {
		code := fmt.Sprint("few", i)
		for b.follow(code, person) == Live {
			led[i].Add(1)
		}
		n, wasted := uint64(led[i].Load()), uint64(grantSize)
		if max <= smallVisits {
			wasted = 1
		}
		if n > max || n+crashes[i]*wasted < max {
			t.Errorf("%s: %d of %d led on, with %d crashes", code, n, max, crashes[i])
		}
		b.wantState(code, UsedUp)
	}
	b.wantSound()
}

// A crash between the last visit and the word of it in the record: the link is used up all the same, and its record says so soon.
func TestUsedUpAfterACrash(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1), MaxVisits: 2})
	id := mustInfo(t, b, code).ID
	if _, err := b.store.Update(func(tx *storage.Tx) error { tx.SetGranted(id, 2); return nil }); err != nil {
		t.Fatal(err)
	}
	b.restart(nil)
	b.wantState(code, UsedUp)
	for end := time.Now().Add(time.Minute); mustInfo(t, b, code).Flags&storage.UsedUp == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the record does not say so")
		}
	}
	if mustInfo(t, b, code).Ended == 0 {
		t.Error("it has not ended")
	}
}

func mustInfo(t testing.TB, b *bench, code string) *Info {
	t.Helper()
	l, err := b.Info(code)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Grants that memory has no room for are given back, and none is lost.
func TestGrantsAreBounded(t *testing.T) {
	b := newBench(t, Options{})
	const links = 40
	for i := range links {
		b.shorten(Request{URL: url(i), HasAlias: true, Alias: fmt.Sprint("g", i), MaxVisits: 20})
	}
	led := map[string]int{}
	for range 25 {
		for i := range links {
			code := fmt.Sprint("g", i)
			tg, _, err := b.Lookup([]byte(code))
			if err != nil {
				t.Fatal(err)
			}
			if b.follow(code, person) == Live {
				led[code]++
			}
			shard := &b.grants[tg.ID%grantShards]
			switch shard.mu.Lock(); i % 3 {
			case 0:
				shard.trim()
				shard.mu.Unlock()
			case 1:
				g := shard.links[tg.ID]
				shard.mu.Unlock()
				b.giveBack(tg.ID, g)
				shard.mu.Lock()
				if shard.links[tg.ID] != nil {
					t.Error("it is still there")
				}
				shard.mu.Unlock()
			default:
				shard.mu.Unlock()
			}
		}
	}
	for code, n := range led {
		if n != 20 {
			t.Errorf("%s led on %d times", code, n)
		}
		b.wantState(code, UsedUp)
	}
	b.wantSound()
}

func TestReviveRefills(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1), MaxVisits: 2})
	for range 2 {
		for range 2 {
			if state := b.follow(code, person); state != Live {
				t.Fatal(state)
			}
		}
		if state := b.follow(code, person); state != UsedUp {
			t.Fatal(state)
		}
		if err := b.Revive(code, 0); err != nil {
			t.Fatal(err)
		}
	}
	b.wantClicks(code, 4, 0)
}

// S19: what was counted goes, the spent visits stay spent; nothing comes back later, whoever flushes meanwhile.
func TestReset(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1), MaxVisits: 1000})
	var wait sync.WaitGroup
	var followed atomic.Int64
	for range 4 {
		wait.Go(func() {
			for range 100 {
				if b.follow(code, person) == Live {
					followed.Add(1)
				}
			}
		})
	}
	for range 20 {
		if err := b.ResetClicks(code); err != nil {
			t.Fatal(err)
		}
		b.wantSound()
	}
	wait.Wait()
	if err := b.ResetClicks(code); err != nil {
		t.Fatal(err)
	}
	b.wantClicks(code, 0, 0)
	b.follow(code, person)
	b.wantClicks(code, 1, 0)
	for b.follow(code, person) == Live {
		followed.Add(1)
	}
	if n := followed.Load(); n != 999 {
		t.Errorf("%d led on", n)
	}
	if err := b.ResetClicks("nothere"); err != ErrNotFound { //nolint:errorlint // the sentinel itself
		t.Error(err)
	}
}

// Counts move with a new name, stay with a new target, and go with the link; a name taken over starts anew.
func TestCountsFollowTheLink(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1)})
	for range 3 {
		b.follow(code, person)
	}
	if err := b.Rename(code, "name"); err != nil {
		t.Fatal(err)
	}
	b.follow("name", person)
	b.follow(code, person)
	if err := b.Retarget("name", url(2)); err != nil {
		t.Fatal(err)
	}
	b.wantClicks("name", 5, 0)
	b.wantClicks(code, 5, 0)
	id := mustInfo(t, b, "name").ID
	b.follow("name", person) // not in the store yet
	if ok, err := b.Delete("name"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := b.FlushClicks(); err != nil {
		t.Fatal(err)
	}
	if c, err := b.CountOf(id); err != nil || c != (storage.Count{}) {
		t.Errorf("a deleted link has %+v, %v", c, err)
	}
	b.shorten(Request{URL: url(3), HasAlias: true, Alias: "name"})
	b.wantClicks("name", 0, 0)
	b.wantSound()
	b.follow("name", person)
	if err := b.FlushAll(); err != nil {
		t.Fatal(err)
	}
	if err := b.FlushClicks(); err != nil {
		t.Fatal(err)
	}
	if c, err := b.CountOf(id + 1); err != nil || c != (storage.Count{}) {
		t.Errorf("after FlushAll: %+v, %v", c, err)
	}
	b.wantSound()
}

// What was counted of a deleted link goes with it, also when a crash follows.
func TestCountsOfTheDeletedAfterACrash(t *testing.T) {
	b := newBench(t, Options{Clicks: ClickOptions{Interval: -1}})
	code := b.shorten(Request{URL: url(1)})
	for range 100 {
		b.follow(code, person)
		b.advance(time.Hour) // more rows than are deleted one by one
	}
	b.wantClicks(code, 100, 0)
	id := mustInfo(t, b, code).ID
	if ok, err := b.Delete(code); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := b.store.WaitSynced(b.store.Ticket()); err != nil {
		t.Fatal(err)
	}
	b.crash(1)
	if c, err := b.CountOf(id); err != nil || c != (storage.Count{}) {
		t.Errorf("it has %+v, %v", c, err)
	}
	err := b.store.EachHour(id, 0, 1<<50, func(h storage.Bucket) bool {
		t.Errorf("it has the hour %+v", h)
		return false
	})
	if err != nil {
		t.Error(err)
	}
	b.wantSound()
}

// F06: hours that become days keep the totals, also while people visit and counts are reset.
func TestRollUpWhileCounting(t *testing.T) {
	b := newBench(t, Options{Clicks: ClickOptions{Interval: time.Millisecond, HourRetention: 24 * time.Hour}})
	codes := []string{b.shorten(Request{URL: url(1)}), b.shorten(Request{URL: url(2)}), b.shorten(Request{URL: url(3)})}
	var visits [3]atomic.Int64
	for range 30 {
		var wait sync.WaitGroup
		for i, code := range codes {
			wait.Go(func() {
				for range 200 {
					if b.follow(code, person) == Live {
						visits[i].Add(1)
					}
				}
			})
		}
		b.advance(7 * time.Hour)
		if err := b.Counter().Upkeep(); err != nil {
			t.Fatal(err)
		}
		if err := b.ResetClicks(codes[2]); err != nil {
			t.Fatal(err)
		}
		wait.Wait()
	}
	if err := b.Counter().Upkeep(); err != nil {
		t.Fatal(err)
	}
	for i, code := range codes[:2] {
		b.wantClicks(code, visits[i].Load(), 0)
		days, err := b.ClickSeries(code, Day, 0, 1<<50)
		if err != nil {
			t.Fatal(err)
		}
		months, err := b.ClickSeries(code, Month, 0, 1<<50)
		if err != nil {
			t.Fatal(err)
		}
		hours, err := b.ClickSeries(code, Hour, 0, 1<<50)
		if err != nil {
			t.Fatal(err)
		}
		if sum(days) != visits[i].Load() || sum(months) != visits[i].Load() {
			t.Errorf("%d visits, by day %d, by month %d", visits[i].Load(), sum(days), sum(months))
		}
		if len(hours) > 25 || len(days) < 6 {
			t.Errorf("%d hours, %d days", len(hours), len(days))
		}
		if !slices.IsSortedFunc(days, func(a, b storage.Bucket) int { return int(a.Start - b.Start) }) {
			t.Error("days out of order")
		}
	}
	b.wantSound()
}

func sum(list []storage.Bucket) (n int64) {
	for _, b := range list {
		n += b.Visits
	}
	return n
}

// Inside Exec counts are read as they are, and a reset is part of the whole.
func TestClicksInExec(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1)})
	b.follow(code, person)
	oops := fmt.Errorf("oops")
	err := b.Exec(t.Context(), Need{}, func(s *Service) error {
		if c, err := s.Clicks(code); err != nil || c.Visits != 1 {
			t.Errorf("inside: %+v, %v", c, err)
		}
		if err := s.ResetClicks(code); err != nil {
			t.Error(err)
		}
		if c, err := s.Clicks(code); err != nil || c.Visits != 0 {
			t.Errorf("inside, after the reset: %+v, %v", c, err)
		}
		return oops
	})
	if err != oops { //nolint:errorlint // it is handed through
		t.Fatal(err)
	}
	b.wantClicks(code, 1, 0)
	if err := b.Exec(t.Context(), Need{}, func(s *Service) error { return s.ResetClicks(code) }); err != nil {
		t.Fatal(err)
	}
	b.wantClicks(code, 0, 0)
	if err := b.Still(func(s *Service) error { _, err := s.Clicks(code); return err }); err != nil {
		t.Fatal(err)
	}
	b.wantSound()
}

// Visits that come between a reset and the end of its Exec count, also when their stream is read meanwhile.
func TestVisitsBehindAResetInExec(t *testing.T) {
	b := newBench(t, Options{Clicks: ClickOptions{Interval: -1}})
	code := b.shorten(Request{URL: url(1)})
	b.follow(code, person)
	const many = 20_000 // enough to be collected
	err := b.Exec(t.Context(), Need{}, func(s *Service) error {
		if err := s.ResetClicks(code); err != nil {
			return err
		}
		for range many {
			b.follow(code, person)
		}
		of, _, err := s.Stream(StreamKey + ":" + code)
		if err != nil {
			return err
		}
		n, err := s.StreamLen(of)
		if n != 1 {
			t.Errorf("%d entries, want 1", n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b.wantClicks(code, many, 0)
	b.wantSound()
}

// A link with ten years of clicks answers at once: its series are a few thousand rows, whatever was counted.
func BenchmarkSeries(bb *testing.B) {
	b := newBench(bb, Options{})
	code := b.shorten(Request{URL: url(1)})
	id := uint64(1)
	_, err := b.store.Update(func(tx *storage.Tx) error {
		var all storage.Count
		day := storage.Count{Visits: 2739, Last: b.clock.Load()}
		for d := range int64(3650) {
			tx.AddHour(id, b.clock.Load()-d*86_400_000, day)
			all = all.Plus(day)
		}
		if _, err := tx.RollUp(id, 1<<50); err != nil {
			return err
		}
		tx.AddClicks(id, all)
		return nil
	})
	if err != nil {
		bb.Fatal(err)
	}
	if _, err := b.store.Update(func(tx *storage.Tx) error { _, err := tx.RollUp(id, b.clock.Load()-90*86_400_000); return err }); err != nil {
		bb.Fatal(err)
	}
	for _, by := range []Period{Day, Month} {
		bb.Run(fmt.Sprint("by=", by), func(bb *testing.B) {
			for bb.Loop() {
				if _, err := b.ClickSeries(code, by, 0, 1<<50); err != nil {
					bb.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkVisit is a look-up with and without counting, on one link and on many.
func BenchmarkVisit(bb *testing.B) {
	for _, mode := range []string{"uncounted", "counted", "streamed"} {
		for _, links := range []int{1, 100_000} {
			bb.Run(fmt.Sprintf("%s/links=%d", mode, links), func(bb *testing.B) {
				b := newBench(bb, Options{Clicks: ClickOptions{NoStream: mode != "streamed"}})
				codes := make([][]byte, links)
				for i := range codes {
					codes[i] = []byte(b.shorten(Request{URL: url(i)}))
				}
				ua := []byte(person)
				bb.ReportAllocs()
				bb.ResetTimer()
				for i := range bb.N {
					t, state, err := b.Lookup(codes[i%links])
					if err != nil || state != Live {
						bb.Fatal(state, err)
					}
					if mode == "uncounted" {
						continue
					}
					if _, err := b.Visit(&Visit{Target: t, UserAgent: ua, Time: b.opts.Now()}); err != nil {
						bb.Fatal(err)
					}
				}
			})
		}
	}
}
