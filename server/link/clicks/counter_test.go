package clicks

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/maxmind/mmdbwriter"
	"github.com/maxmind/mmdbwriter/mmdbtype"
	"go.uber.org/goleak"

	"curt/storage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// start is 2030-01-01 00:00 UTC.
const start = int64(1893456000000)

// bench is a store with a counter on it, whose clock stands still.
type bench struct {
	testing.TB
	fs    *vfs.MemFS
	store *storage.Store
	*Counter
	clock atomic.Int64
	fail  atomic.Bool  // makes the store refuse batches
	left  atomic.Int64 // batches that it takes before that; negative: any number
}

// flaky is a store that can refuse.
type flaky struct {
	*storage.Store
	b *bench
}

var errRefused = errors.New("refused")

func (f flaky) Update(fn func(*storage.Tx) error) (uint64, error) {
	if f.b.fail.Load() || f.b.left.Load() == 0 {
		return 0, errRefused
	}
	f.b.left.Add(-1)
	return f.Store.Update(fn)
}

func open(t testing.TB, fs *vfs.MemFS, with ...func(*Options)) *bench {
	t.Helper()
	b := &bench{TB: t, fs: fs}
	b.clock.Store(start)
	b.left.Store(-1)
	store, err := storage.Open(storage.Options{Dir: "data", FS: fs, CacheBytes: 8 << 20})
	if err != nil {
		t.Fatal(err)
	}
	b.store = store
	o := Options{Store: flaky{store, b}, Interval: -1, Now: func() time.Time { return time.UnixMilli(b.clock.Load()) }}
	opened := make(chan struct{}) // the upkeep of the start may want b.Counter before it is there
	o.RollUp = func(id uint64, before int64) error {
		<-opened
		b.Hold()
		defer b.Release()
		_, err := store.Update(func(tx *storage.Tx) error { _, err := tx.RollUp(id, before); return err })
		return err
	}
	for _, fn := range with {
		fn(&o)
	}
	if b.Counter, err = Open(o); err != nil {
		t.Fatal(err)
	}
	close(opened)
	t.Cleanup(b.stop)
	return b
}

func (b *bench) stop() {
	if b.store == nil {
		return
	}
	if err := b.Close(); err != nil && !b.fail.Load() {
		b.Error(err)
	}
	if err := b.store.Close(); err != nil {
		b.Error(err)
	}
	b.store = nil
}

func (b *bench) visit(id uint64) *Visit {
	return &Visit{ID: id, Code: fmt.Sprint("code", id), Target: fmt.Sprint("https://example.com/", id), UserAgent: []byte(firefox), At: b.clock.Load()}
}

func (b *bench) flush() {
	b.Helper()
	if err := b.Merge(0); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) want(id uint64, visits, bots int64) {
	b.Helper()
	c, err := b.store.Clicks(id)
	if err != nil {
		b.Fatal(err)
	}
	if c.Visits != visits || c.Bots != bots {
		b.Errorf("link %d has %d visits and %d bots, want %d and %d", id, c.Visits, c.Bots, visits, bots)
	}
}

// consistent fails the test unless the buckets of every link add up to its totals, and so do the running totals.
func (b *bench) consistent() {
	b.Helper()
	err := b.store.CheckClicks(func(id uint64, totals, buckets storage.Count) bool {
		b.Errorf("link %d: totals %+v, buckets %+v", id, totals, buckets)
		return true
	})
	if err != nil {
		b.Fatal(err)
	}
	totals, buckets, err := b.store.ClickSums()
	if err != nil || totals != buckets {
		b.Errorf("running totals %+v and %+v, %v", totals, buckets, err)
	}
}

func (b *bench) entries(id uint64) (list []storage.Entry) {
	b.Helper()
	err := b.store.EachEntry(id, storage.MinStreamID, storage.MaxStreamID, false, func(e storage.Entry) bool {
		list = append(list, e)
		return true
	})
	if err != nil {
		b.Fatal(err)
	}
	return list
}

func TestCounts(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	for range 3 {
		b.Add(b.visit(1))
	}
	bot := b.visit(1)
	bot.UserAgent = []byte("Twitterbot/1.0")
	b.Add(bot)
	early := b.visit(2)
	early.Prefetch = true
	b.Add(early)
	if n := b.Pending(); n != 5 {
		t.Errorf("%d pending", n)
	}
	b.want(1, 0, 0)
	b.flush()
	b.want(1, 3, 1)
	b.want(2, 0, 1)
	if n := b.Pending(); n != 0 {
		t.Errorf("%d pending", n)
	}
	if c, _ := b.store.Clicks(2); c.Last != 0 {
		t.Errorf("a bot's visit is the last: %d", c.Last)
	}
	b.consistent()
	if n := len(b.entries(0)); n != 5 {
		t.Errorf("%d entries", n)
	}
	if n := len(b.entries(2)); n != 1 || !b.entries(2)[0].Bot {
		t.Errorf("entries of link 2: %+v", b.entries(2))
	}
}

// Nothing is lost when many visit at once while others flush, with buffers that overflow.
func TestManyAtOnce(t *testing.T) {
	b := open(t, vfs.NewCrashableMem(), func(o *Options) { o.Interval = time.Millisecond })
	const clients, each = 16, 5000
	var wait sync.WaitGroup
	for i := range clients {
		wait.Go(func() {
			for j := range each {
				b.Add(b.visit(uint64(1 + (i+j)%7)))
				if j%1000 == 0 {
					if err := b.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wait.Wait()
	b.flush()
	var sum int64
	for id := range uint64(8) {
		c, err := b.store.Clicks(id)
		if err != nil {
			t.Fatal(err)
		}
		sum += c.Visits
	}
	if sum != clients*each {
		t.Errorf("%d visits, want %d", sum, clients*each)
	}
	b.consistent()
	list := b.entries(0)
	if len(list) != clients*each {
		t.Errorf("%d entries", len(list))
	}
	if n, err := b.store.StreamLen(0); err != nil || n != clients*each {
		t.Errorf("length %d, %v", n, err)
	}
}

// Close writes all, and what a crash loses is at most what was not flushed.
func TestCloseAndCrash(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	fs := vfs.NewCrashableMem()
	b := open(t, fs)
	for range 10 {
		b.Add(b.visit(1))
	}
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		b.Add(b.visit(1))
	}
	b.flush() // not synced
	b.Add(b.visit(1))
	cut := fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: rand.New(rand.NewPCG(seed, 1))})
	b.stop()

	c := open(t, cut)
	got, err := c.store.Clicks(1)
	if err != nil || got.Visits != 10 && got.Visits != 15 {
		t.Errorf("%d visits after a crash, %v", got.Visits, err)
	}
	c.consistent()
	c.stop()

	d := open(t, fs)
	d.want(1, 16, 0)
	d.consistent()
}

// What is synced stays through crashes, and is counted once, wherever between the journal and the links' rows they come.
func TestCrashesBetweenMerges(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 3))
	fs := vfs.NewCrashableMem()
	const links = 200
	var synced int64
	for range 5 {
		b := open(t, fs)
		visit := func() (n int64) {
			for range random.IntN(300) {
				v := b.visit(1 + random.Uint64N(links))
				if random.IntN(4) == 0 {
					v.UserAgent = []byte("Twitterbot/1.0")
				}
				v.Referer = fmt.Appendf(nil, "https://host%d.example/", random.IntN(5))
				v.At += random.Int64N(3 * hour)
				b.Add(v)
				n++
			}
			return n
		}
		for range random.IntN(70) {
			synced += visit()
			if err := b.Sync(); err != nil {
				t.Fatal(err)
			}
			if random.IntN(10) == 0 {
				b.flush()
			}
		}
		if err := b.store.WaitSynced(b.store.Ticket()); err != nil {
			t.Fatal(err)
		}
		late := visit()
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		fs = b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: random.IntN(101), RNG: random})
		b.stop()
		b = open(t, fs)
		b.consistent()
		sums, _, err := b.store.ClickSums()
		if n := sums.Visits + sums.Bots; err != nil || n != synced && n != synced+late {
			t.Fatalf("%d visits after a crash, want %d, and %d more perhaps; %v", n, synced, late, err)
		}
		synced = sums.Visits + sums.Bots
		b.everyLink(links, sums)
		b.everyEntry(links)
		b.stop()
	}
}

// everyLink fails the test unless the counts and the top values of all links add up to sums.
func (b *bench) everyLink(links uint64, sums storage.Count) {
	b.Helper()
	var all storage.Count
	var hosts int64
	for id := range links {
		c, err := b.store.Clicks(1 + id)
		if err != nil {
			b.Fatal(err)
		}
		all = all.Plus(c)
		top, err := b.store.Top(1+id, 0, 1<<20)
		if err != nil {
			b.Fatal(err)
		}
		for _, v := range top.Largest(storage.Referrer, 99) {
			hosts += v.Visits
		}
	}
	if all.Visits != sums.Visits || all.Bots != sums.Bots || hosts != sums.Visits {
		b.Errorf("the links have %+v and %d of people's referrers, in all it should be %+v", all, hosts, sums)
	}
}

// everyEntry fails the test unless each entry of the stream is one of its link's, in the same order, once the store alone is asked.
func (b *bench) everyEntry(links uint64) {
	b.Helper()
	of := map[uint64][]storage.Entry{}
	for _, e := range b.entries(0) {
		of[e.Link] = append(of[e.Link], e)
	}
	for id := uint64(1); id <= links; id++ {
		n, err := b.store.StreamLen(id)
		if list := b.entries(id); err != nil || n != int64(len(list)) || !slices.Equal(list, of[id]) {
			b.Errorf("link %d has %d entries and counts %d, %v; the stream has %d", id, len(list), n, err, len(of[id]))
		}
	}
}

// S07: a flush that fails keeps its counts, and counts nothing twice.
func TestFailedFlush(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	for id := range uint64(5000) {
		b.Add(b.visit(1 + id))
	}
	b.fail.Store(true)
	if err := b.Flush(); !errors.Is(err, errRefused) {
		t.Fatalf("flush: %v", err)
	}
	b.Add(b.visit(1))
	if err := b.Sync(); !errors.Is(err, errRefused) {
		t.Fatalf("flush: %v", err)
	}
	b.want(1, 0, 0)
	if n := b.Pending(); n != 5001 {
		t.Errorf("%d pending", n)
	}
	b.fail.Store(false)
	b.flush()
	b.want(1, 2, 0)
	b.want(5000, 1, 0)
	b.consistent()
	if n := len(b.entries(0)); n != 5001 {
		t.Errorf("%d entries", n)
	}
	if n := b.Pending(); n != 0 {
		t.Errorf("%d pending", n)
	}
}

// A batch of some links is written, the next is refused: the first is not written again.
func TestHalfAFlush(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	const links = 10_000
	for id := range uint64(links) {
		for _, host := range []string{"a", "b", "c"} {
			v := b.visit(1 + id)
			v.Referer = []byte("https://" + host + ".example/")
			b.Add(v)
		}
	}
	b.left.Store(2)
	if err := b.Flush(); !errors.Is(err, errRefused) {
		t.Fatalf("flush: %v", err)
	}
	b.consistent()
	b.left.Store(-1)
	b.flush()
	for _, id := range []uint64{1, links / 2, links} {
		b.want(id, 3, 0)
	}
	b.consistent()
	if n := len(b.entries(0)); n != 3*links {
		t.Errorf("%d entries", n)
	}
}

func TestRollUp(t *testing.T) {
	b := open(t, vfs.NewCrashableMem(), func(o *Options) { o.HourRetention = 48 * time.Hour; o.NoStream = true })
	for h := range int64(100) {
		for id := range uint64(3) {
			v := b.visit(1 + 5*id)
			v.At = start + h*hour
			b.Add(v)
			if h%3 == 0 {
				v.Prefetch = true
				b.Add(v)
			}
		}
	}
	b.flush()
	hours := func(id uint64) (n int, first int64) {
		err := b.store.EachHour(id, 0, 1<<50, func(h storage.Bucket) bool {
			if n == 0 {
				first = h.Start
			}
			n++
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		return n, first
	}
	b.clock.Store(start + 100*hour)
	for range 2 {
		if err := b.Upkeep(); err != nil {
			t.Fatal(err)
		}
		for _, id := range []uint64{1, 6, 11} {
			b.want(id, 100, 34)
			if n, first := hours(id); n != 48 || first != start+52*hour {
				t.Errorf("%d hours from %d", n, first)
			}
			var days []storage.Bucket
			if err := b.store.EachBucket(id, 0, start+52*hour-1, func(d storage.Bucket) bool { days = append(days, d); return true }); err != nil {
				t.Fatal(err)
			}
			if len(days) != 3 || days[0].Visits != 24 || days[0].Bots != 8 || days[2].Visits != 4 || days[2].Start != start+48*hour || days[1].Last != start+47*hour {
				t.Errorf("days %+v", days)
			}
		}
		b.consistent()
	}
}

// At most 64 values are told apart; the sum stays.
func TestTopIsBounded(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	for i := range 500 {
		for range 1 + i%3 {
			v := b.visit(1)
			v.Referer = fmt.Appendf(nil, "https://host%d.example/x", i)
			b.Add(v)
		}
		if i%50 == 0 {
			b.flush()
		}
	}
	for range 1000 {
		v := b.visit(1)
		v.Referer = []byte("https://large.example/")
		b.Add(v)
	}
	b.flush()
	month := storage.MonthOf(start)
	top, err := b.store.Top(1, month, month)
	if err != nil {
		t.Fatal(err)
	}
	list := top.Largest(storage.Referrer, 1000)
	if len(list) != storage.MaxTop || list[0] != (storage.TopValue{Value: "large.example", Visits: 1000}) || list[len(list)-1].Value != storage.OtherValue {
		t.Errorf("%d values: %+v", len(list), list)
	}
	var sum int64
	for _, v := range list {
		sum += v.Visits
	}
	c, _ := b.store.Clicks(1)
	if sum != c.Visits {
		t.Errorf("the values add up to %d, the visits to %d", sum, c.Visits)
	}
	for _, d := range []storage.Dimension{storage.Browser, storage.OS, storage.Device} {
		if l := top.Largest(d, 9); len(l) != 1 || l[0].Visits != c.Visits {
			t.Errorf("dimension %d: %+v", d, l)
		}
	}
}

func TestReferrers(t *testing.T) {
	var w interner
	for referer, want := range map[string]string{
		"": "", "https://example.com": "example.com", "http://WWW.Example.com:8080/a?b#c": "example.com", "https://u:p@example.com/": "example.com",
		"https://[2001:db8::1]:443/": "[2001:db8::1]", "https://[2001:db8::1]/": "[2001:db8::1]", "android-app://com.google.android.gm/": "com.google.android.gm",
		"ftp://example.com/": "", "example.com": "", "https:///": "", "https://exa mple.com/": "", "https://\xff/": "", "https://example.com./": "example.com",
		"https://a.example?x": "a.example", "https://a.example#x": "a.example", "https://<script>/": "", "javascript:alert(1)": "",
	} {
		if got := textOf(w.host([]byte(referer))); got != want {
			t.Errorf("%q: %q, want %q", referer, got, want)
		}
	}
	if w.host([]byte("https://same.example/a")) != w.host([]byte("http://SAME.example/b")) {
		t.Error("a host is kept twice")
	}
}

func TestCountOnce(t *testing.T) {
	b := open(t, vfs.NewCrashableMem(), func(o *Options) { o.CountOnce = time.Minute })
	visit := func(id uint64, ip string, after time.Duration) {
		v := b.visit(id)
		v.At += after.Milliseconds()
		if ip != "" {
			v.Client = netip.MustParseAddr(ip)
		}
		b.Add(v)
		b.flush() // else they may be collected in another order
	}
	visit(1, "198.51.100.1", 0)
	visit(1, "::ffff:198.51.100.2", 59*time.Second)
	visit(2, "198.51.100.1", 0)
	visit(1, "2001:db8::1", 0)
	visit(1, "2001:db8:0:1::1", 0)
	visit(1, "2001:db8:1::1", 0)
	visit(1, "", 0)
	visit(1, "", 0)
	b.flush()
	b.want(1, 5, 0)
	b.want(2, 1, 0)
	visit(1, "198.51.100.1", time.Minute)
	b.flush()
	b.want(1, 6, 0)
	visit(1, "198.51.100.1", -time.Hour) // the clock stepped back: rather once too often than never again
	b.flush()
	b.want(1, 7, 0)

	o := newOnce(time.Minute)
	for i := range uint64(3 * onceSlots) { // more than it can hold
		o.seen(i, netip.MustParseAddr("198.51.100.1"), start)
	}
	if len(o.slots) != onceSlots {
		t.Errorf("%d slots", len(o.slots))
	}
}

// writeGeoIP writes a file in which 198.51.100.0/24 is in a country.
func writeGeoIP(t testing.TB, file, country string) {
	t.Helper()
	w, err := mmdbwriter.New(mmdbwriter.Options{DatabaseType: "Test-Country", IncludeReservedNetworks: true})
	if err != nil {
		t.Fatal(err)
	}
	_, network, _ := net.ParseCIDR("198.51.100.0/24")
	if err := w.Insert(network, mmdbtype.Map{"country": mmdbtype.Map{"iso_code": mmdbtype.String(country)}}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteTo(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestCountries(t *testing.T) {
	file := filepath.Join(t.TempDir(), "country.mmdb")
	if _, err := Open(Options{Store: flaky{}, GeoIP: file}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	writeGeoIP(t, file, "NZ")
	b := open(t, vfs.NewCrashableMem(), func(o *Options) { o.GeoIP = file })
	at := func(ip string) {
		v := b.visit(1)
		v.Client = netip.MustParseAddr(ip)
		b.Add(v)
	}
	at("198.51.100.7")
	at("203.0.113.1")
	b.flush()
	writeGeoIP(t, file, "FJ")
	if err := b.ReloadGeoIP(); err != nil {
		t.Fatal(err)
	}
	at("198.51.100.7")
	at("198.51.100.7")
	b.flush()
	if err := os.WriteFile(file, []byte("no database"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.ReloadGeoIP(); err == nil {
		t.Error("a broken file was read")
	}
	at("198.51.100.7")
	b.flush()
	top, err := b.store.Top(1, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(top.Largest(storage.Country, 9)); got != "[{FJ 3} {NZ 1}]" {
		t.Errorf("countries %s", got)
	}
	word, err := b.store.Word(storage.DayOf(start), b.entries(0)[4].Country)
	if err != nil || word != "FJ" {
		t.Errorf("country %q, %v", word, err)
	}
}

// What was counted of a deleted link goes, also what was not yet in the store; Clear forgets everything.
func TestForget(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	for id := range uint64(3) {
		b.Add(b.visit(1 + id))
	}
	b.flush()
	b.Add(b.visit(2))
	b.Forget(2)
	b.flush()
	b.want(1, 1, 0)
	b.want(2, 0, 0)
	b.consistent()
	b.Add(b.visit(1))
	b.Clear()
	b.flush()
	b.want(1, 1, 0)
	if n := b.Pending(); n != 0 {
		t.Errorf("%d pending", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, links := range []uint64{1, 100_000} {
		for _, stream := range []bool{false, true} {
			b.Run(fmt.Sprintf("links=%d/stream=%v", links, stream), func(b *testing.B) {
				k := open(b, vfs.NewMem(), func(o *Options) { o.Interval = time.Second; o.NoStream = !stream; o.Now = time.Now })
				b.ReportAllocs()
				var next atomic.Uint64
				b.RunParallel(func(pb *testing.PB) {
					ua, ref := []byte(firefox), []byte("https://news.example/story")
					for pb.Next() {
						k.Add(&Visit{ID: 1 + next.Add(1)%links, Code: "code", Target: "https://example.com/", UserAgent: ua, Referer: ref, At: time.Now().UnixMilli()})
					}
				})
				k.flush()
			})
		}
	}
}

// Entries stand in the order in which their visits came, also within a millisecond, with a clock that steps back, and across flushes.
func TestOrder(t *testing.T) {
	b := open(t, vfs.NewCrashableMem(), func(o *Options) { o.Interval = time.Millisecond })
	const clients, each = 4, 2000
	var wait sync.WaitGroup
	for i := range uint64(clients) {
		wait.Go(func() {
			for j := range uint64(each) {
				v := b.visit(1 + i)
				v.Revision = j
				v.At -= int64(j % 3)
				b.Add(v)
			}
		})
	}
	wait.Wait()
	b.flush()
	for i := range uint64(clients) {
		list := b.entries(1 + i)
		if len(list) != each {
			t.Fatalf("%d entries", len(list))
		}
		for j, e := range list {
			if e.Revision != uint64(j) {
				t.Fatalf("client %d: visit %d stands at %d", i, e.Revision, j)
			}
		}
	}
}

// A count is on the disk when Sync returns, also where no stream is kept and somebody listens for clicks.
func TestSyncIsDurableWithoutAStream(t *testing.T) {
	fs := vfs.NewCrashableMem()
	told := 0
	b := open(t, fs, func(o *Options) {
		o.NoStream, o.Listening, o.OnClick = true, func() bool { return true }, func(*Click) { told++ }
	})
	const id = 7
	if partOf(id) == 1 {
		t.Fatal("the first Sync merges the link's part, which is another way to the disk")
	}
	b.Add(b.visit(id))
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	if told != 1 {
		t.Errorf("told of %d clicks", told)
	}
	after := open(t, fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 0, RNG: rand.New(rand.NewPCG(1, 1))}))
	after.want(id, 1, 0)
}

// A clock that stands before 1970 leaves nothing in the store that it can't read again.
func TestClockBefore1970(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	b.clock.Store(-3 * hour / 2)
	b.Add(b.visit(1))
	if err := b.Sync(); err != nil {
		t.Fatal(err)
	}
	b.clock.Store(start)
	b.Add(b.visit(1))
	if err := b.Sync(); err != nil { // into the journal
		t.Fatal(err)
	}
	if list := b.entries(0); len(list) != 2 || list[0].ID.Ms != 0 || list[1].ID.Ms != uint64(start) {
		t.Errorf("the stream has %v", list)
	}
	after := open(t, b.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(1, 1))}))
	after.want(1, 2, 0)
	after.consistent()
}

// A link whose hours can't be rolled up does not hold up those behind it.
func TestRollUpPastTrouble(t *testing.T) {
	b := open(t, vfs.NewCrashableMem(), func(o *Options) {
		o.HourRetention, o.NoStream = time.Hour, true
		rollUp := o.RollUp
		o.RollUp = func(id uint64, before int64) error {
			if id == 2 {
				return errRefused
			}
			return rollUp(id, before)
		}
	})
	for id := range uint64(3) {
		b.Add(b.visit(1 + id))
	}
	b.flush()
	b.clock.Add(48 * hour)
	if err := b.Upkeep(); !errors.Is(err, errRefused) {
		t.Errorf("upkeep: %v", err)
	}
	for id := range uint64(3) {
		hours := 0
		if err := b.store.EachHour(1+id, 0, 1<<50, func(storage.Bucket) bool { hours++; return true }); err != nil {
			t.Fatal(err)
		}
		want := 0
		if id == 1 {
			want = 1
		}
		if hours != want {
			t.Errorf("link %d has %d hours, want %d", 1+id, hours, want)
		}
	}
	b.consistent()
}

// Who asks what the stream holds sees one moment of it, also while the first click is appended.
func TestStateDuringTheFirstAppend(t *testing.T) {
	b := open(t, vfs.NewCrashableMem())
	var stop atomic.Bool
	var asking sync.WaitGroup
	asking.Go(func() {
		for !stop.Load() {
			if s := b.StreamState(); s.Last.Ms != 0 && s.Added == 0 {
				t.Errorf("half an append is seen: %+v", s)
			}
		}
	})
	b.Add(b.visit(1))
	err := b.Sync()
	stop.Store(true)
	asking.Wait()
	if err != nil {
		t.Fatal(err)
	}
}
