package main

import "testing"

func TestBudget(t *testing.T) {
	t.Parallel()
	f := func(limit int, wanted, want budget) {
		t.Helper()
		if got := wanted.within(limit); got != want {
			t.Errorf("%+v within %d: %+v, want %+v", wanted, limit, got, want)
		}
		if limit >= 256 && want.sum() > limit {
			t.Errorf("%+v takes %d of %d", want, want.sum(), limit)
		}
	}
	usual := budget{10_000, 10_000, 4096}
	f(65536, usual, usual)
	f(usual.sum(), usual, usual)
	f(20_000, usual, budget{10_000, 7436, 2500})
	f(1024, usual, budget{624, 208, 128})
	f(256, usual, budget{96, 32, 64})
	f(1024, budget{100, 10_000, 4096}, budget{100, 732, 128})
	f(1024, budget{10_000, 0, 4096}, budget{832, 0, 128})
	f(8, usual, budget{3, 1, 64}) // nothing works with so few; the store says so
}
