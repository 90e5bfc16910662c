package link

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/codec"
	"curt/storage"
)

var long = flag.Bool("long", false, "run the long forms of tests")

// issueMany makes n links and returns their codes; every code is new.
func issueMany(b *bench, n int, seen map[string]string) {
	b.t.Helper()
	requests := make([]*Request, n)
	for i := range requests {
		requests[i] = &Request{URL: url(len(seen) + i), Dedup: DedupOff}
	}
	for i, r := range b.ShortenMany(context.Background(), requests) {
		if r.Err != nil {
			b.t.Fatal(r.Err)
		}
		if seen[r.Code] != "" {
			b.t.Fatalf("code %s came twice", r.Code)
		}
		seen[r.Code] = requests[i].URL
	}
}

func wantAll(b *bench, seen map[string]string) {
	b.t.Helper()
	for code, target := range seen {
		if got, err := b.Resolve([]byte(code)); got != target || err != nil {
			b.t.Fatalf("%s leads to %q (%v), want %s", code, got, err, target)
		}
	}
}

func ring(active string, ids ...string) *codec.Ring {
	r := &codec.Ring{Keys: map[string]codec.Key{}, Active: active}
	for _, id := range ids {
		var k codec.Key
		copy(k[:], id)
		r.Keys[id] = k
	}
	return r
}

// Settings go to and fro; every code that was printed keeps its meaning, and none comes twice.
func TestSettingsToAndFro(t *testing.T) {
	n := 10_000
	if testing.Short() || raceEnabled {
		n = 2000
	}
	set := func(c CodeOptions) func(*Options) { return func(o *Options) { o.Codes = c } }
	cases := map[string][3]CodeOptions{
		"keys":      {{Ring: ring("k1", "k1")}, {Ring: ring("k2", "k1", "k2")}, {Ring: ring("k1", "k1", "k2")}},
		"lengths":   {{Length: 7}, {Length: 8}, {Length: 7}},
		"alphabets": {{Alphabet: "base62"}, {Alphabet: "safe"}, {Alphabet: "base62"}},
		"small":     {{Length: 4, Density: 0.5}, {Length: 4, Alphabet: "safe", Density: 0.5}, {Length: 4, Alphabet: "base62", Density: 0.5}},
	}
	for name, steps := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Options{Codes: steps[0]})
			seen := map[string]string{}
			for i, step := range steps {
				if i > 0 {
					b.restart(set(step))
				}
				issueMany(b, n, seen)
				epochs := b.Epochs()
				if len(epochs) != i+1 {
					t.Fatalf("step %d: %d epochs", i, len(epochs))
				}
				if last := epochs[i]; step.Length != 0 && step.Length != last.Length {
					t.Fatalf("step %d: length %d, asked for %d", i, last.Length, step.Length)
				}
			}
			wantAll(b, seen)
			b.restart(func(o *Options) { o.Codes.Length, o.Codes.Alphabet = 0, "" })
			issueMany(b, 10, seen)
			if epochs := b.Epochs(); len(epochs) != 3 {
				t.Errorf("a restart without settings opened epoch %d", len(epochs)-1)
			}
			wantAll(b, seen)
		})
	}
}

// What is asked for before the first link is made holds for it; so does a density that epoch 0's first block would exceed.
func TestSettingsBeforeTheFirstLink(t *testing.T) {
	cases := map[string]struct {
		before, then CodeOptions
		length       int
	}{
		"length":   {CodeOptions{}, CodeOptions{Length: 8}, 8},
		"alphabet": {CodeOptions{}, CodeOptions{Alphabet: "safe"}, 7},
		"key":      {CodeOptions{Ring: ring("k1", "k1")}, CodeOptions{Ring: ring("k2", "k1", "k2")}, 7},
		"density":  {CodeOptions{Length: 4, Density: 1e-5}, CodeOptions{Length: 4, Density: 1e-5}, 5},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Options{Codes: c.before})
			b.restart(func(o *Options) { o.Codes = c.then })
			seen := map[string]string{}
			issueMany(b, 2500, seen)
			for code := range seen {
				if len(code) != c.length {
					t.Fatalf("code %q, want %d characters", code, c.length)
				}
			}
			if e := b.Epochs(); len(e) != 2 || e[1].First != 2 {
				t.Errorf("%+v", e)
			}
			wantLastingEpochs(b, 2, seen)
		})
	}
}

// wantLastingEpochs restarts and fails the test when that opened an epoch beside the n, or when a code is lost.
func wantLastingEpochs(b *bench, n int, seen map[string]string) {
	b.t.Helper()
	b.restart(nil)
	issueMany(b, 100, seen)
	if e := b.Epochs(); len(e) != n {
		b.t.Errorf("a restart opened an epoch: %+v", e)
	}
	wantAll(b, seen)
}

func TestRotateKey(t *testing.T) {
	b := newBench(t, Options{})
	seen := map[string]string{}
	issueMany(b, 100, seen)
	id, err := RotateKey(b.store)
	if err != nil || id != "2" {
		t.Fatal(id, err)
	}
	b.restart(nil)
	issueMany(b, 100, seen)
	if e := b.Epochs(); len(e) != 2 || e[1].KeyID != "2" || e[1].Length != e[0].Length || e[1].Alphabet != e[0].Alphabet {
		t.Errorf("%+v", e)
	}
	wantLastingEpochs(b, 2, seen)
}

func TestMissingAndWrongKeys(t *testing.T) {
	b := newBench(t, Options{Codes: CodeOptions{Ring: ring("k1", "k1")}})
	b.shorten(Request{URL: url(1)})
	if _, err := RotateKey(b.store); !errors.Is(err, ErrKeyFile) {
		t.Errorf("rotated a key file's ring: %v", err)
	}
	b.close()
	wrong := ring("k1", "k1")
	wrong.Keys["k1"] = codec.Key{1}
	for name, r := range map[string]*codec.Ring{"missing": ring("k2", "k2"), "wrong": wrong} {
		store, err := storage.Open(storage.Options{Dir: "data", FS: b.fs, CacheBytes: 16 << 20, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Open(store, Options{Codes: CodeOptions{Ring: r}, Logger: quiet})
		var keys *codec.KeysError
		if !errors.As(err, &keys) || len(keys.Missing)+len(keys.Wrong) != 1 {
			t.Errorf("%s: %v", name, err)
		}
		store.Close()
	}
	b.open()
}

// Codes grow by one character at the density limit, with writers at work, and a restart opens nothing more.
func TestGrowthUnderWriters(t *testing.T) {
	b := newBench(t, Options{Codes: CodeOptions{Length: 4, Density: 0.001}}) // 14,776 of 62^4
	const writers, each = 100, 200
	var mu sync.Mutex
	seen := map[string]string{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				target := url(w*each + i)
				code, err := b.Shorten(context.Background(), &Request{URL: target, Dedup: DedupOff})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if seen[code] != "" {
					t.Errorf("code %s came twice", code)
				}
				seen[code] = target
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	e := b.Epochs()
	if len(e) != 2 || e[1].Length != 5 {
		t.Fatalf("%+v", e)
	}
	wantAll(b, seen)
	for name, codes := range map[string]CodeOptions{"with the same flags": b.opts.Codes, "without flags": {}} {
		b.restart(func(o *Options) { o.Codes = codes })
		b.shorten(Request{URL: "https://example.com/after", Dedup: DedupOff})
		if len(b.Epochs()) != 2 {
			t.Errorf("a restart %s opened an epoch", name)
		}
		wantAll(b, seen)
	}
}

// The power is cut at every moment around the opening of an epoch: what was acknowledged resolves, and no code comes twice.
func TestPowerCutWhileAnEpochOpens(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	rounds := 20
	if *long {
		rounds = 120
	}
	b := newBench(t, Options{Codes: CodeOptions{Length: 4, Density: 0.2}})
	seen := map[string]string{}
	for round := range rounds {
		length := 4 + round%3
		b.opts.Codes.Length = length
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var mu sync.Mutex
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					target := fmt.Sprintf("https://example.com/%d/%d/%d", round, w, i)
					code, err := b.Shorten(context.Background(), &Request{URL: target, Dedup: DedupOff})
					if err != nil || b.store.WaitSynced(b.Ticket()) != nil {
						return
					}
					mu.Lock()
					if seen[code] != "" {
						t.Errorf("round %d: code %s came twice", round, code)
					}
					seen[code] = target
					mu.Unlock()
				}
			})
		}
		time.Sleep(time.Duration(rnd.IntN(3000)) * time.Microsecond)
		mu.Lock()
		lost := b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rnd.IntN(101), RNG: rnd})
		want := len(seen)
		acknowledged := make(map[string]string, want)
		for c, u := range seen {
			acknowledged[c] = u
		}
		mu.Unlock()
		close(stop)
		wg.Wait()
		// What was acknowledged after the cut never happened.
		seen = acknowledged
		b.close()
		b.fs = lost
		b.open()
		wantAll(b, seen)
	}
}

// A small domain, filled until codes grow: each code is given once, and of all texts of the domain those lead somewhere, to their own
// target, and no other. Blocks of ids double, and the one that would pass the limit
// is not begun. The long form issues about a million codes and looks up every text of the domain, 9,150,625.
func TestSmallDomainFilled(t *testing.T) {
	density, stride := 0.005, uint64(7)
	switch {
	case *long:
		density, stride = 0.2, 1
	case testing.Short() || raceEnabled:
		density, stride = 0.002, 101
	}
	b := newBench(t, Options{Codes: CodeOptions{Length: 4, Alphabet: "safe", Density: density}, BlockedWords: []string{}, CacheBytes: 1})
	seen := map[string]string{}
	for len(b.Epochs()) < 2 {
		issueMany(b, 1000, seen)
	}
	domain := codec.Capacity(codec.Epoch{First: 1, KeyID: "1", Length: 4, Alphabet: "safe"})
	issued := 0
	for code := range seen {
		if len(code) == 4 {
			issued++
		}
	}
	if full := density * float64(domain); float64(issued) < full*0.4 || float64(issued) > full {
		t.Errorf("codes grew after %d of %.0f", issued, full)
	}
	alphabet, _ := codec.AlphabetByName("safe")
	found, wanted := 0, 0
	buf := make([]byte, 0, codec.MaxLength)
	for x := uint64(0); x < domain; x += stride {
		text := alphabet.AppendDigits(buf, x, 4)
		want, is := seen[string(text)]
		if is {
			wanted++
		}
		target, state, err := b.Lookup(text)
		if err != nil {
			t.Fatal(err)
		}
		if state == Live {
			found++
		}
		if (state == Live) != is || is && target.URL != want {
			t.Fatalf("%s is %v, issued: %v", text, state, is)
		}
	}
	if found != wanted || stride == 1 && found != issued {
		t.Errorf("%d texts lead somewhere, %d were issued", found, issued)
	}
	t.Logf("%d codes issued, %d of %d texts looked up", len(seen), domain/stride, domain)
}
