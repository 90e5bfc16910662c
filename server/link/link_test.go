package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"curt/storage"
)

// bench is a service on a crashable store with a clock that the test moves.
type bench struct {
	*Service
	t     testing.TB
	fs    *vfs.MemFS
	disk  vfs.FS // what the service sees of fs; nil: fs itself
	store *storage.Store
	opts  Options
	clock *atomic.Int64 // unix ms
}

var quiet = slog.New(slog.DiscardHandler)

func newBench(t testing.TB, o Options) *bench {
	t.Helper()
	b := &bench{t: t, fs: vfs.NewCrashableMem(), opts: o, clock: new(atomic.Int64)}
	b.clock.Store(1_800_000_000_000)
	b.opts.Now = func() time.Time { return time.UnixMilli(b.clock.Load()) }
	b.opts.Logger = quiet
	b.open()
	t.Cleanup(func() { b.close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	var err error
	var disk storage.FS = b.fs
	if b.disk != nil {
		disk = b.disk
	}
	b.store, err = storage.Open(storage.Options{Dir: "data", FS: disk, CacheBytes: 16 << 20, Logger: quiet, Now: b.opts.Now, Fatal: func(err error) { panic(err) }})
	if err != nil {
		b.t.Fatal(err)
	}
	if b.Service, err = Open(b.store, b.opts); err != nil {
		b.store.Close()
		b.store = nil
		b.t.Fatal(err)
	}
}

func (b *bench) close() {
	if b.store == nil {
		return
	}
	b.Service.Close()
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
	b.store = nil
}

// restart closes the store and opens it with other options.
func (b *bench) restart(change func(*Options)) {
	b.t.Helper()
	b.close()
	if change != nil {
		change(&b.opts)
	}
	b.open()
}

func (b *bench) advance(d time.Duration) { b.clock.Add(d.Milliseconds()) }

func (b *bench) shorten(r Request) string {
	b.t.Helper()
	code, err := b.Shorten(context.Background(), &r)
	if err != nil {
		b.t.Fatalf("shorten %+v: %v", r, err)
	}
	return code
}

func (b *bench) wantState(code string, want State) {
	b.t.Helper()
	_, got, err := b.Lookup([]byte(code))
	if err != nil || got != want {
		b.t.Errorf("%s is %v (%v), want %v", code, got, err, want)
	}
}

func (b *bench) wantErr(err, want error) {
	b.t.Helper()
	if !errors.Is(err, want) {
		b.t.Errorf("got error %v, want %v", err, want)
	}
}

func url(i int) string { return fmt.Sprintf("https://example.com/%d", i) }

func TestShortenAndResolve(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: "HTTPS://Example.com"})
	if len(code) != 7 {
		t.Errorf("code %q is not 7 long", code)
	}
	if got, err := b.Resolve([]byte(code)); err != nil || got != "https://example.com/" {
		t.Errorf("resolve: %q, %v", got, err)
	}
	if again := b.shorten(Request{URL: "https://example.com/"}); again != code {
		t.Errorf("a plain request made %s beside %s", again, code)
	}
	if other := b.shorten(Request{URL: "https://example.com/", Title: "mine"}); other == code {
		t.Error("a request with options shared a plain link")
	}
	if id := b.ReservedIDs(); id != 1000 {
		t.Errorf("%d ids reserved", id)
	}
	l, err := b.Info(code)
	if err != nil || l.ID != 1 {
		t.Errorf("the first link has id %d, %v", l.ID, err)
	}
}

// A duplicate must be the same for everybody who looks: the stored record counts, not the hint.
func TestDuplicatesFollowTheRecord(t *testing.T) {
	b := newBench(t, Options{})
	const target = "https://example.com/p"
	first := b.shorten(Request{URL: target})
	for name, edit := range map[string]func(code string) error{
		"retarget": func(c string) error { return b.Retarget(c, "https://example.org/") },
		"expire":   func(c string) error { _, err := b.Expire(c, b.clock.Load()+1e6, ExpireAlways); return err },
		"tag":      func(c string) error { _, err := b.AddTags(c, []string{"x"}); return err },
		"title":    func(c string) error { return b.SetTitle(c, "t") },
		"delete":   func(c string) error { _, err := b.Delete(c); return err },
	} {
		if err := edit(first); err != nil {
			t.Fatal(name, err)
		}
		next := b.shorten(Request{URL: target})
		if next == first {
			t.Errorf("after %s the link is still shared", name)
		}
		first = next
	}
	if other := b.shorten(Request{URL: target, Tenant: "t"}); other == first {
		t.Error("tenants share a link")
	}
	if off := b.shorten(Request{URL: target, Dedup: DedupOff}); off == first {
		t.Error("OFF shared a link")
	}
	if loose := b.shorten(Request{URL: target + "?utm_source=x", Dedup: DedupLoose}); loose != first {
		t.Error("LOOSE did not find the plain link")
	}
	if strict := b.shorten(Request{URL: target + "?utm_source=x"}); strict == first {
		t.Error("STRICT shared another target")
	}
}

func TestSharedWithinOneRun(t *testing.T) {
	b := newBench(t, Options{})
	r := []*Request{{URL: url(1)}, {URL: "ftp://x"}, {URL: url(1)}, {URL: url(2)}}
	got := b.ShortenMany(context.Background(), r)
	if got[0].Err != nil || got[0].Code != got[2].Code || got[3].Code == got[0].Code || got[1].Err == nil {
		t.Errorf("%+v", got)
	}
}

func TestAlias(t *testing.T) {
	b := newBench(t, Options{})
	ask := Request{URL: url(1), HasAlias: true, Alias: "Big.Sale", Words: []byte("w")}
	b.shorten(ask)
	if id := b.store.Links(); id != 1 {
		t.Fatalf("%d links", id)
	}
	b.shorten(ask) // the same words again
	if n := b.store.Links(); n != 1 {
		t.Errorf("%d links after a retry", n)
	}
	other := ask
	other.Words = []byte("v")
	_, err := b.Shorten(context.Background(), &other)
	b.wantErr(err, ErrExists)
	hidden := b.codes.code(1)
	b.wantState(hidden, Absent)
	b.wantState("big.sale", Absent)
	for name, want := range map[string]error{"": ErrBadName, "..": ErrBadName, "a/b": ErrBadName, "a+b": ErrBadName, "Robots.TXT": ErrReserved,
		"Apple-touch-icon-9.png": ErrReserved, hidden: ErrReserved, b.codes.code(2): ErrReserved} {
		_, err := b.Shorten(context.Background(), &Request{URL: url(2), HasAlias: true, Alias: name})
		if !errors.Is(err, want) {
			t.Errorf("alias %q: %v, want %v", name, err, want)
		}
	}
}

// A generated code can't be taken: not while it lives, not after it was deleted, not before it is issued.
func TestGeneratedCodesCannotBeTaken(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1)})
	take := func() error {
		_, err := b.Shorten(context.Background(), &Request{URL: url(2), HasAlias: true, Alias: code})
		return err
	}
	b.wantErr(take(), ErrExists)
	if ok, err := b.Delete(code); !ok || err != nil {
		t.Fatal(ok, err)
	}
	b.wantErr(take(), ErrReserved)
	b.wantState(code, Absent)
}

func TestBan(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1)})
	b.shorten(Request{URL: url(1), HasAlias: true, Alias: "x"})
	if err := b.Ban("x", "phishing"); err != nil {
		t.Fatal(err)
	}
	b.wantState("x", Banned)
	b.wantState(code, Live)
	for _, d := range []Dedup{DedupStrict, DedupLoose, DedupOff} {
		_, err := b.Shorten(context.Background(), &Request{URL: url(1), Dedup: d})
		b.wantErr(err, ErrBanned)
	}
	other := b.shorten(Request{URL: url(2)})
	b.wantErr(b.Retarget(other, url(1)), ErrBanned)
	if _, err := b.Delete("x"); err != nil {
		t.Fatal(err)
	}
	_, err := b.Shorten(context.Background(), &Request{URL: url(3), HasAlias: true, Alias: "x"})
	b.wantErr(err, ErrReserved)
	if err := b.Unban("x"); err != nil {
		t.Fatal(err)
	}
	b.shorten(Request{URL: url(3), HasAlias: true, Alias: "x"})
}

func TestHostBan(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: "https://a.bad.example/"})
	good := b.shorten(Request{URL: "https://notbad.example/"})
	b.wantState(code, Live)
	if fresh, err := b.BanHost("BAD.example.", ""); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	b.wantState(code, Banned)
	b.wantState(good, Live)
	b.restart(nil)
	b.wantState(code, Banned)
	if was, err := b.UnbanHost("bad.example"); !was || err != nil {
		t.Fatal(was, err)
	}
	b.wantState(code, Live)
}

// An ended link's tenant may have its name again; nobody else may.
func TestNameOfAnEndedLink(t *testing.T) {
	b := newBench(t, Options{})
	b.shorten(Request{URL: url(1), HasAlias: true, Alias: "x", Tenant: "t", Expires: b.clock.Load() + 1000})
	b.wantState("x", Live)
	b.advance(time.Second)
	b.wantState("x", Expired)
	_, err := b.Shorten(context.Background(), &Request{URL: url(2), HasAlias: true, Alias: "x", Tenant: "u"})
	b.wantErr(err, ErrExists)
	b.shorten(Request{URL: url(2), HasAlias: true, Alias: "x", Tenant: "t"})
	if got, _ := b.Resolve([]byte("x")); got != url(2) {
		t.Errorf("x leads to %q", got)
	}
	if n := b.store.Links(); n != 1 {
		t.Errorf("%d links", n)
	}
}

func TestMadeCodes(t *testing.T) {
	b := newBench(t, Options{})
	h1 := b.shorten(Request{URL: url(1), HasCode: true, Code: CodeHash, Length: 12})
	h2 := b.shorten(Request{URL: url(1), HasCode: true, Code: CodeHash, Length: 12})
	if h1 != h2 || len(h1) != 12 {
		t.Errorf("hash codes %s, %s", h1, h2)
	}
	if other := b.shorten(Request{URL: url(1), HasCode: true, Code: CodeHash, Length: 12, Tenant: "t"}); other == h1 {
		t.Error("tenants share a hash code")
	}
	r1 := b.shorten(Request{URL: url(1), HasCode: true, Code: CodeRandom})
	r2 := b.shorten(Request{URL: url(1), HasCode: true, Code: CodeRandom})
	if r1 == r2 || len(r1) != 10 {
		t.Errorf("random codes %s, %s", r1, r2)
	}
	if n := b.store.Links(); n != 4 {
		t.Errorf("%d links", n)
	}
	if err := b.Ban(h1, ""); err != nil {
		t.Fatal(err)
	}
	_, err := b.Shorten(context.Background(), &Request{URL: url(1), HasCode: true, Code: CodeHash, Length: 12})
	b.wantErr(err, ErrBanned)
}

func TestReserve(t *testing.T) {
	b := newBench(t, Options{})
	codes, err := b.Reserve(context.Background(), 200, "t", "")
	if err != nil || len(codes) != 200 {
		t.Fatal(len(codes), err)
	}
	b.wantState(codes[7], Reserved)
	if err := b.Retarget(codes[7], url(7)); err != nil {
		t.Fatal(err)
	}
	b.wantState(codes[7], Live)
	_, err = b.Reserve(context.Background(), MaxReserve+1, "", "")
	var arg *ArgError
	if !errors.As(err, &arg) {
		t.Error(err)
	}
}

func TestBlockedWords(t *testing.T) {
	l := newWordList([]string{"fool"})
	for code, want := range map[string]bool{"xxF00lx": true, "fO0Ixx": true, "fo1xx": false, "xfoox": false} {
		if l.in(code) != want {
			t.Errorf("%s: %v", code, !want)
		}
	}
	b := newBench(t, Options{BlockedWords: []string{"a", "b", "c", "d"}})
	for i := range 200 {
		if code := b.shorten(Request{URL: url(i)}); b.words.in(code) {
			t.Errorf("code %s holds a blocked word", code)
		}
	}
	if newWordList(nil).in("xxshitx") == false {
		t.Error("the public list is empty")
	}
}

func TestExecIsAllOrNothing(t *testing.T) {
	b := newBench(t, Options{})
	fault := errors.New("fault")
	err := b.Exec(context.Background(), Need{Links: 2}, func(s *Service) error {
		if _, err := s.Shorten(context.Background(), &Request{URL: url(1), HasAlias: true, Alias: "x"}); err != nil {
			return err
		}
		if got, err := s.Resolve([]byte("x")); got != url(1) || err != nil {
			t.Errorf("inside: %q, %v", got, err)
		}
		if _, err := b.Resolve([]byte("x")); !errors.Is(err, ErrNotFound) {
			t.Errorf("outside: %v", err)
		}
		return fault
	})
	b.wantErr(err, fault)
	b.wantState("x", Absent)
}

// BenchmarkShorten makes plain links of different URLs, without waiting for the disk.
func BenchmarkShorten(bb *testing.B) {
	b := newBench(bb, Options{OnChange: func(Changes) {}})
	ctx := context.Background()
	bb.ReportAllocs()
	bb.ResetTimer()
	for i := range bb.N {
		if _, err := b.Shorten(ctx, &Request{URL: url(i)}); err != nil {
			bb.Fatal(err)
		}
	}
}
