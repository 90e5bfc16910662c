package server

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

func TestDeadlines(t *testing.T) {
	const start = 1_800_000_000_000
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var d deadlines
	due := map[string]int64{}
	now := int64(start)
	for range 20_000 {
		key := string(rune('a' + random.IntN(200)))
		switch at, known := due[key]; {
		case random.IntN(10) == 0:
			now += random.Int64N(2000) - 200 // the clock may also step back
			for _, key := range d.take(now) {
				at, known := due[key]
				if !known || at > now {
					t.Fatalf("%q taken at %d, due %d (known %v)", key, now, at, known)
				}
				delete(due, key)
			}
			for key, at := range due {
				if at <= now-deadlineGrain {
					t.Fatalf("%q is due since %d ms", key, now-at)
				}
			}
		case known:
			d.remove(key, at)
			delete(due, key)
		default:
			at := now + random.Int64N(5000)
			d.add(key, at)
			due[key] = at
		}
	}
	rest := d.take(now + 1_000_000)
	if len(rest) != len(due) || len(d.buckets) != 0 {
		t.Errorf("%d keys at the end, want %d; %d buckets left", len(rest), len(due), len(d.buckets))
	}
}

// TestDeadlinesFarAhead: a clock that leaps costs no more than there are deadlines.
func TestDeadlinesFarAhead(t *testing.T) {
	var d deadlines
	d.add("a", 1)
	d.add("b", 1<<62)
	d.add("c", 1<<62+1_000_000)
	if got := d.take(1 << 62); !slices.Contains(got, "a") || len(got) > 2 {
		t.Errorf("%q", got)
	}
	if got := d.take(1<<62 + 2_000_000); !slices.Contains(got, "c") {
		t.Errorf("%q", got)
	}
}
