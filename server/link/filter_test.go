package link

import (
	"context"
	"errors"
	"fmt"
	"testing"
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
