package link_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/server/link"
	"curt/storage"
)

// keyspace is a service on a store in memory, with a clock that the test moves.
type keyspace struct {
	*link.Service
	t     testing.TB
	clock atomic.Int64 // unix ms
}

func newKeyspace(t testing.TB, onChange ...func(link.Changes)) *keyspace {
	t.Helper()
	k := &keyspace{t: t}
	k.clock.Store(1_800_000_000_000)
	now := func() time.Time { return time.UnixMilli(k.clock.Load()) }
	quiet := slog.New(slog.DiscardHandler)
	store, err := storage.Open(storage.Options{Dir: "data", FS: vfs.NewCrashableMem(), CacheBytes: 16 << 20, Logger: quiet, Now: now, Fatal: func(err error) { panic(err) }})
	if err != nil {
		t.Fatal(err)
	}
	o := link.Options{Now: now, Logger: quiet}
	for _, fn := range onChange {
		o.OnChange = fn
	}
	if k.Service, err = link.Open(store, o); err != nil {
		store.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k.Service.Close()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func (k *keyspace) advance(d time.Duration) { k.clock.Add(d.Milliseconds()) }

func (k *keyspace) shorten(r link.Request) string {
	k.t.Helper()
	code, err := k.Shorten(context.Background(), &r)
	if err != nil {
		k.t.Fatal(err)
	}
	return code
}

func (k *keyspace) set(r link.SetRequest) (link.SetResult, error) {
	return k.Set(context.Background(), &r)
}

// leads checks where a code leads; "" means to no live link.
func (k *keyspace) leads(code, target string) {
	k.t.Helper()
	got, err := k.Resolve([]byte(code))
	if target == "" && err == nil || target != "" && (err != nil || got != target) {
		k.t.Fatalf("%s leads to %q, %v; want %q", code, got, err, target)
	}
}

func (k *keyspace) want(err, want error) {
	k.t.Helper()
	if !errors.Is(err, want) {
		k.t.Fatalf("got %v, want %v", err, want)
	}
}

const one, two, three = "https://one.example/", "https://two.example/", "https://three.example/"

func TestSetMakesAnAlias(t *testing.T) {
	k := newKeyspace(t)
	r, err := k.set(link.SetRequest{Code: "promo", URL: one, If: link.SetXX})
	k.want(err, nil)
	if r.Done {
		t.Fatal("XX made a link")
	}
	r, err = k.set(link.SetRequest{Code: "promo", URL: one, Expires: k.clock.Load() + 1000})
	k.want(err, nil)
	if !r.Done || r.Had {
		t.Fatalf("%+v", r)
	}
	k.leads("promo", one)
	r, err = k.set(link.SetRequest{Code: "promo", URL: two, If: link.SetNX})
	k.want(err, nil)
	if r.Done || r.Old != one {
		t.Fatalf("NX on a live link: %+v", r)
	}
	k.advance(time.Second)
	k.leads("promo", "")
	r, err = k.set(link.SetRequest{Code: "promo", URL: two, If: link.SetNX}) // an ended link is absent
	k.want(err, nil)
	if !r.Done || r.Had {
		t.Fatalf("%+v", r)
	}
	k.leads("promo", two)
	for code, want := range map[string]error{"": link.ErrBadName, "a:b": link.ErrBadName, "..": link.ErrBadName, "healthz": link.ErrReserved} {
		_, err := k.set(link.SetRequest{Code: code, URL: one})
		k.want(err, want)
	}
}

func TestSetOnALiveLink(t *testing.T) {
	k := newKeyspace(t)
	at := k.clock.Load() + 60_000
	code := k.shorten(link.Request{URL: one, Title: "a title", Tags: []string{"x"}, MaxVisits: 7, Expires: at})
	for _, step := range []struct {
		r    link.SetRequest
		want int64
	}{
		{link.SetRequest{URL: two, KeepExpiry: true}, at},
		{link.SetRequest{URL: three, Expires: at + 1}, at + 1},
		{link.SetRequest{URL: two, If: link.SetXX}, 0},
	} {
		step.r.Code = code
		r, err := k.set(step.r)
		k.want(err, nil)
		l, err := k.Info(code)
		k.want(err, nil)
		if !r.Done || !r.Had || l.Target != step.r.URL || l.Expires != step.want || l.Title != "a title" || len(l.Tags) != 1 || l.MaxVisits != 7 {
			t.Fatalf("%+v: %+v", r, l)
		}
	}
}

// TestSetTakesALinkOutOfSharing: a plain link that was set is no longer what a plain request gets.
func TestSetTakesALinkOutOfSharing(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	_, err := k.set(link.SetRequest{Code: code, URL: one})
	k.want(err, nil)
	if again := k.shorten(link.Request{URL: one}); again == code {
		t.Fatal("a link that somebody set is still shared")
	}
}

func TestSetAndBans(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	k.want(k.Ban(code, ""), nil)
	for _, when := range []link.SetIf{link.SetAlways, link.SetNX, link.SetXX} {
		_, err := k.set(link.SetRequest{Code: code, URL: two, If: when})
		k.want(err, link.ErrBanned)
	}
	_, err := k.set(link.SetRequest{Code: "other", URL: one})
	k.want(err, link.ErrBanned)
	_, err = k.set(link.SetRequest{Code: "other", URL: two})
	k.want(err, nil)
	_, err = k.set(link.SetRequest{Code: "other", URL: one})
	k.want(err, link.ErrBanned)
	k.leads("other", two)
}

// TestSetGeneratedCodes: codes that were or will be issued can't be taken.
func TestSetGeneratedCodes(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one, Expires: k.clock.Load() + 1000})
	gone := k.shorten(link.Request{URL: two})
	_, err := k.Delete(gone)
	k.want(err, nil)
	k.advance(time.Second)
	for _, c := range []string{code, gone} {
		_, err := k.set(link.SetRequest{Code: c, URL: three})
		k.want(err, link.ErrReserved)
	}
}

// TestSetNXOnce: of many at a time one wins.
func TestSetNXOnce(t *testing.T) {
	k := newKeyspace(t)
	for round := range 20 {
		var done atomic.Int64
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				r, err := k.set(link.SetRequest{Code: fmt.Sprint("n", round), URL: fmt.Sprint(one, i), If: link.SetNX})
				if err != nil {
					t.Error(err)
				}
				if r.Done {
					done.Add(1)
				}
			})
		}
		wg.Wait()
		if done.Load() != 1 {
			t.Fatalf("%d won", done.Load())
		}
	}
}

// TestSetGetIsAtomic: a chain of SET GET hands every target on exactly once.
func TestSetGetIsAtomic(t *testing.T) {
	k := newKeyspace(t)
	_, err := k.set(link.SetRequest{Code: "chain", URL: one})
	k.want(err, nil)
	const writers, rounds = 8, 25
	var mu sync.Mutex
	seen := map[string]int{}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			for n := range rounds {
				r, err := k.set(link.SetRequest{Code: "chain", URL: fmt.Sprintf("%s%d-%d", two, i, n)})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				seen[r.Old]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for target, n := range seen {
		if n != 1 {
			t.Errorf("%s was replaced %d times", target, n)
		}
	}
	if len(seen) != writers*rounds {
		t.Errorf("%d targets were replaced", len(seen))
	}
}

func TestRename(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	k.want(k.Rename("missing", "x"), link.ErrNotFound)
	k.want(k.Rename(code, "bad name"), link.ErrBadName)
	k.want(k.Rename(code, "robots.txt"), link.ErrReserved)
	k.want(k.Rename(code, "promo"), nil)
	k.leads("promo", one)
	k.leads(code, one)
	k.want(k.Rename("promo", "promo"), nil)
	k.want(k.Rename("promo", "sale"), nil)
	k.leads("sale", one)
	k.leads("promo", "")
	l, err := k.Info(code)
	k.want(err, nil)
	if l.Code != "sale" || l.Flags&storage.Plain != 0 {
		t.Fatalf("%+v", l)
	}
	if k.shorten(link.Request{URL: two, Alias: "promo", HasAlias: true}) != "promo" {
		t.Fatal("the name is not free")
	}
	k.want(k.Rename(code, "promo"), link.ErrExists)
	k.want(k.Rename("promo", "sale"), link.ErrExists)
	k.want(k.Rename("promo", code), link.ErrExists)
	k.want(k.Rename("sale", code), nil) // its own generated code
	k.leads("sale", "")
	k.leads(code, one)
	for alias, want := range map[string]bool{"promo": false, code: false, "sale": true} {
		if ok, err := k.RenameNX(code, alias); err != nil || ok != want {
			t.Fatalf("RenameNX %s: %v, %v", alias, ok, err)
		}
	}
	k.want(k.Ban("sale", ""), nil)
	k.want(k.Rename("sale", "free"), link.ErrBanned)
	k.want(k.Rename("promo", "sale"), link.ErrExists)
}

// TestRenameOverAnEndedLink: an ended link gives its name up to the same tenant, and to nobody else.
func TestRenameOverAnEndedLink(t *testing.T) {
	k := newKeyspace(t)
	k.shorten(link.Request{URL: one, Alias: "old", HasAlias: true, Expires: k.clock.Load() + 1000})
	k.shorten(link.Request{URL: two, Alias: "mine", HasAlias: true})
	k.shorten(link.Request{URL: three, Alias: "theirs", HasAlias: true, Tenant: "t"})
	k.want(k.Rename("mine", "old"), link.ErrExists)
	k.advance(time.Second)
	k.want(k.Rename("theirs", "old"), link.ErrExists)
	k.want(k.Rename("mine", "old"), nil)
	k.leads("old", two)
	k.want(k.Rename("mine", "x"), link.ErrNotFound)
	k.advance(time.Hour)
	_, err := k.Expire("old", k.clock.Load(), link.ExpireAlways)
	k.want(err, nil)
	k.want(k.Rename("old", "x"), link.ErrNotFound) // ended links are absent
}

// TestRenameRing: renames and makes of a few names at a time neither hang nor lose a link.
func TestRenameRing(t *testing.T) {
	k := newKeyspace(t)
	var codes []string
	for i := range 6 {
		codes = append(codes, k.shorten(link.Request{URL: fmt.Sprint(one, i)}))
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 100 {
				err := k.Rename(codes[i], fmt.Sprint("ring", r.IntN(4)))
				if err != nil && !errors.Is(err, link.ErrExists) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	owners := map[string]string{}
	for i, code := range codes {
		k.leads(code, fmt.Sprint(one, i))
		l, err := k.Info(code)
		k.want(err, nil)
		if l.Name == "" {
			continue
		}
		if other := owners[l.Name]; other != "" {
			t.Errorf("%s and %s are both called %s", code, other, l.Name)
		}
		owners[l.Name] = code
		k.leads(l.Name, fmt.Sprint(one, i))
	}
	for i := range 4 {
		if name := fmt.Sprint("ring", i); owners[name] == "" {
			k.leads(name, "")
		}
	}
}

func TestExpireConditions(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	now := k.clock.Load()
	for i, step := range []struct {
		at   int64
		when link.ExpireIf
		want bool
	}{
		{now + 10, link.ExpireXX, false},
		{now + 10, link.ExpireGT, false},
		{now + 10, link.ExpireXX | link.ExpireLT, false},
		{now + 10_000, link.ExpireLT, true},
		{now + 10_001, link.ExpireLT, false},
		{now + 9_999, link.ExpireGT, false},
		{now + 20_000, link.ExpireXX | link.ExpireGT, true},
		{now + 20_000, link.ExpireNX, false},
		{0, link.ExpireAlways, true},
		{0, link.ExpireAlways, false},
		{now + 5_000, link.ExpireNX, true},
		{1, link.ExpireAlways, true}, // long past: ends now
		{now + 5_000, link.ExpireAlways, false},
	} {
		if got, err := k.Expire(code, step.at, step.when); err != nil || got != step.want {
			t.Fatalf("step %d: %v, %v", i, got, err)
		}
	}
}

func TestRandom(t *testing.T) {
	k := newKeyspace(t)
	if code, err := k.Random(); code != "" || err != nil {
		t.Fatal(code, err)
	}
	all := map[string]bool{}
	for i := range 20 {
		all[k.shorten(link.Request{URL: fmt.Sprint(one, i)})] = true
	}
	k.shorten(link.Request{URL: two, Expires: k.clock.Load() + 1})
	k.advance(time.Second)
	seen := map[string]bool{}
	for range 1000 {
		code, err := k.Random()
		k.want(err, nil)
		if !all[code] {
			t.Fatalf("%q is no live link", code)
		}
		seen[code] = true
	}
	if len(seen) < 10 {
		t.Errorf("1000 draws of 20 gave only %d", len(seen))
	}
}

// TestScanDuringChanges: whatever else goes on, a link that is there throughout comes at least once, by a code it has.
func TestScanDuringChanges(t *testing.T) {
	k := newKeyspace(t)
	const stay = 300
	codes := make([]string, stay)
	for i := range codes {
		codes[i] = k.shorten(link.Request{URL: fmt.Sprint(one, "stay/", i)})
		k.shorten(link.Request{URL: fmt.Sprint(one, "go/", i), Alias: fmt.Sprint("go", i), HasAlias: true})
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			n := i % stay
			k.Delete(fmt.Sprint("go", n))
			k.set(link.SetRequest{Code: fmt.Sprint("go", n), URL: two})
			k.Rename(codes[n], fmt.Sprint("stay", i))
		}
	})
	for range 10 {
		seen := map[uint64]bool{}
		for cursor := uint64(0); ; {
			next, err := k.Scan(cursor, 7, func(_ string, l *storage.Link) { seen[l.ID] = true })
			k.want(err, nil)
			if next == 0 {
				break
			}
			if next >= 1<<53 || next <= cursor {
				t.Fatalf("cursor %d after %d", next, cursor)
			}
			cursor = next
		}
		for _, code := range codes {
			l, err := k.Info(code)
			k.want(err, nil)
			if !seen[l.ID] {
				t.Fatalf("%s was not seen", code)
			}
		}
	}
	close(stop)
	wg.Wait()
}
