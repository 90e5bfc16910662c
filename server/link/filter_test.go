package link

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// A filter whose size was guessed too small is built again: it knows every key, and hardly any other.
func TestFilterGrowsWhileItIsBuilt(t *testing.T) {
	const keys = 3 * filterMinKeys
	var f filter
	builds := 0
	err := f.rebuild(context.Background(), 0, func() {}, func(add func(string) bool) error {
		builds++
		for i := range keys {
			if !add(fmt.Sprint(i)) {
				t.Fatal("stopped")
			}
		}
		return nil
	})
	if err != nil || builds != 2 || f.full() {
		t.Fatalf("%d builds, full %v, %v", builds, f.full(), err)
	}
	wrong := 0
	for i := range keys {
		if !f.maybe([]byte(fmt.Sprint(i))) {
			t.Fatalf("key %d is not known", i)
		}
		if f.maybe([]byte(fmt.Sprint("not", i))) {
			wrong++
		}
	}
	if wrong > keys/50 {
		t.Errorf("%d of %d strangers may be keys", wrong, keys)
	}
}

// A build that fails, or that is no longer wanted, leaves what was there.
func TestFilterStaysWhenABuildFails(t *testing.T) {
	var f filter
	ctx, cancel := context.WithCancel(context.Background())
	fill := func(add func(string) bool) error { add("a"); return nil }
	if err := f.rebuild(ctx, 1, func() {}, fill); err != nil || !f.maybe([]byte("a")) || f.maybe([]byte("b")) {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := f.rebuild(ctx, 1, func() {}, func(func(string) bool) error { return broken }); !errors.Is(err, broken) || !f.maybe([]byte("a")) {
		t.Errorf("after a failure: %v", err)
	}
	cancel()
	if err := f.rebuild(ctx, 1, func() {}, func(func(string) bool) error { return nil }); !errors.Is(err, context.Canceled) || !f.maybe([]byte("a")) {
		t.Errorf("after the end: %v", err)
	}
}

// With room to spare a filter is as good as exact: a million guesses find none of a thousand keys.
func TestFilterWithFewKeys(t *testing.T) {
	f, wrong := newBloom(0), 0
	for i := range 1000 {
		f.add(fmt.Sprint("key", i))
	}
	for i := range 1_000_000 {
		if f.maybe([]byte(fmt.Sprint("guess", i))) {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%d of a million strangers may be keys", wrong)
	}
}

// With room given a filter grows to it in one step, and past it as any other.
func TestFilterRoom(t *testing.T) {
	const room = 8 * filterMinKeys
	f := filter{room: room}
	stored := 0
	build := func() {
		t.Helper()
		err := f.rebuild(context.Background(), 0, func() {}, func(add func(string) bool) error {
			for i := range stored {
				add(fmt.Sprint(i))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fill := func() {
		for ; !f.full(); stored++ {
			f.add(fmt.Sprint(stored))
		}
	}
	build()
	for i, want := range []int{filterMinKeys, room, 2 * (room + 1)} {
		if bytes := int64(want) * filterBitsPerKey / 8; f.size() < bytes || f.size() > bytes+64 {
			t.Errorf("filter %d takes %d bytes, want %d", i, f.size(), bytes)
		}
		if fill(); stored != want+1 {
			t.Errorf("filter %d is full with %d keys, want %d", i, stored, want+1)
		}
		build()
	}
}

// TestFiltersReady: all filters count, each of which a new link asks.
func TestFiltersReady(t *testing.T) {
	b := newBench(t, Options{})
	for !b.FiltersReady() {
		time.Sleep(time.Millisecond)
	}
	for i, f := range []*filter{&b.names, &b.bans, &b.hints} {
		built := f.pair.Swap(nil)
		if b.FiltersReady() {
			t.Errorf("ready without filter %d", i)
		}
		f.pair.Store(built)
	}
}

// TestNamesFilterFollowsTheNames: links without names take no room in it, however many they are; names that are many are all in it.
func TestNamesFilterFollowsTheNames(t *testing.T) {
	const smallest = filterMinKeys * filterBitsPerKey / 8
	b := newBench(t, Options{})
	reopen := func() {
		b.restart(nil)
		for !b.FiltersReady() || b.names.full() {
			time.Sleep(time.Millisecond)
		}
	}
	requests := make([]*Request, filterMinKeys)
	for i := range requests {
		requests[i] = &Request{URL: url(i)}
	}
	b.ShortenMany(context.Background(), requests)
	reopen()
	if n := b.names.size(); n > smallest+64 {
		t.Errorf("a filter without names takes %d bytes", n)
	}
	for i := range requests {
		requests[i] = &Request{URL: url(i), Alias: fmt.Sprint("name-", i), HasAlias: true}
	}
	b.ShortenMany(context.Background(), append(requests, &Request{URL: url(0), Alias: "one-more", HasAlias: true}))
	reopen()
	if n := b.names.size(); n < 2*smallest {
		t.Errorf("a filter of %d names takes %d bytes", filterMinKeys+1, n)
	}
	b.wantState("name-7", Live)
	b.wantState("one-more", Live)
}
