package link

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"curt/codec"
	"curt/codec/weburl"
	"curt/server/link/clicks"
	"curt/storage"
)

// Options configure a Service. The zero value works.
type Options struct {
	Now          func() time.Time // nil: time.Now
	Logger       *slog.Logger     // nil: slog.Default
	Policy       *weburl.Policy   // which targets are good; nil: the zero Policy
	Codes        CodeOptions
	Dedup        Dedup    // what a request that says nothing gets; zero: Strict
	CodeSource   CodeKind // where codes come from when a request does not say
	BlockedWords []string // no made code holds one; nil: a public list, empty: none
	Snowflake    Snowflake
	Limits       Limits        // what may be said of a link
	MaxRate      float64       // new links a second and creator; 0: no limit
	Retention    time.Duration // how long an ended link is kept; 0: 30 days
	NeverBan     []string      // hosts that no host ban covers, with all below them
	CacheBytes   int64         // memory for links that are read often; 0: 64 MiB
	// FilterRoom is for how many keys a filter is made when the first has no room for more, 10 bits each: until it holds them it takes no more
	// memory, and no scan of the store to fill a larger one. 0, and from there on: each has room for twice the keys that are there.
	FilterRoom int64
	Clicks     ClickOptions
	// OnChange is told of every change once it is visible, under the locks of those who made it: nobody else changes the
	// same texts before it returns. It must return at once and not call the service to change anything. nil: nobody listens.
	OnChange func(Changes)
}

// Changes are what one commit did, for those who look on. It is the receiver's to read, not to keep.
type Changes struct {
	By     any      // whom the service was made for (For), nil: nobody
	Texts  []string // codes and names whose meaning may have changed
	All    bool     // every text's meaning may have changed: a host ban, or everything was deleted
	Aged   bool     // the records only caught up with the clock: who looked at Texts knew it already
	Events []Event
}

// Event is one change in the life of a link, or of a host's ban.
type Event struct {
	Kind   string // created, retargeted, renamed, banned, unbanned, expired, used-up, revived, deleted; of a host: banned, unbanned
	Host   string // set: the event is the host's, and Code, Target and Tenant are empty
	Code   string
	Target string
	Tenant string
	Time   int64 // unix ms UTC
}

// Service answers for the links of one store. It is safe for concurrent use.
type Service struct {
	*engine
	by     any     // goes into Changes
	tenant string  // that the view is confined to; empty: none (tenant.go)
	batch  *change // inside Exec: every read and change goes here
	still  bool    // inside Still: nothing may change
	moment int64   // the present, unix ms; 0: the clock says
}

// engine is what all views of a service share.
type engine struct {
	store     *storage.Store
	opts      Options
	now       func() time.Time
	log       *slog.Logger
	codes     *codes
	ids       *ids
	names     filter // all names
	hints     filter // all dedup keys
	bans      filter // the dedup keys of all banned targets
	hosts     *hostBans
	cache     *otter.Cache[string, *Target]
	source    *loader
	words     *wordList
	clicks    *clicks.Counter
	grants    grants
	retention time.Duration
	rate      throttle
	expired   atomic.Int64 // links announced as expired
	retries   atomic.Int64 // random and hash codes that were taken

	mu      sync.RWMutex // writers share it; Exec, BanHost and Flush hold it alone; readers never touch it
	stripes stripes
	alones  atomic.Uint64 // changes that were made under mu alone and have ended
	spare   spareIDs

	stop   context.CancelFunc
	done   sync.WaitGroup
	refill chan struct{} // a filter is full
}

// Open loads the epochs, the host bans and, in the background, the filters.
func Open(store *storage.Store, o Options) (*Service, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Policy == nil {
		o.Policy = &weburl.Policy{}
	}
	o.Limits = o.Limits.withDefaults()
	if o.Dedup == DedupDefault {
		o.Dedup = DedupStrict
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	codes, err := openCodes(store, o.Codes)
	if err != nil {
		return nil, err
	}
	e := &engine{store: store, opts: o, now: o.Now, log: o.Logger, codes: codes, words: newWordList(o.BlockedWords), refill: make(chan struct{}, 1)}
	e.rate.perSecond = o.MaxRate
	e.names.room, e.hints.room = o.FilterRoom, o.FilterRoom
	e.retention = cmp.Or(o.Retention, defaultRetention)
	if e.hosts, err = loadHostBans(store, o.NeverBan); err != nil {
		return nil, fmt.Errorf("load host bans: %w", err)
	}
	if e.ids, err = openIDs(store, o); err != nil {
		return nil, err
	}
	e.source = &loader{e}
	e.cache = otter.Must(&otter.Options[string, *Target]{
		MaximumWeight: uint64(o.CacheBytes),
		Weigher: func(text string, t *Target) uint32 {
			return uint32(targetOverhead + len(text) + len(t.URL) + len(t.Tenant))
		},
		Executor: func(fn func()) { fn() },
	})
	if err := e.openClicks(); err != nil {
		e.cache.StopAllGoroutines()
		e.codes.segment.Close()
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	e.done.Go(func() { e.maintainFilters(ctx) })
	s := &Service{engine: e}
	e.done.Go(func() { s.maintainLives(ctx) })
	return s, nil
}

// For returns the same service, whose changes say that they are by who.
func (s *Service) For(who any) *Service {
	view := *s
	view.by = who
	return &view
}

// At makes a view of the service take a time (unix ms) for the present until it is told another; 0 gives it back to the clock. Unlike everything
// else it must not be called while others use the same view.
func (s *Service) At(ms int64) { s.moment = ms }

// millis is the present, unix ms.
func (s *Service) millis() int64 {
	if s.moment != 0 {
		return s.moment
	}
	return s.engine.millis()
}

// Close writes what was counted and stops the background work. Nobody may use the service meanwhile or later. The store stays open.
func (s *Service) Close() {
	s.stop()
	s.done.Wait()
	s.logged("last click flush", s.clicks.Close())
	s.logged("return visits", s.returnGrants())
	s.codes.segment.Close()
	s.ids.close(s.log)
	s.cache.StopAllGoroutines()
}

// Ticket is what a reply that tells of the present must wait for (storage.Store.WaitSynced).
func (s *Service) Ticket() uint64 { return s.store.Ticket() }

// Links is the number of stored links, of all tenants.
func (s *Service) Links() int64 {
	if s.batch != nil {
		return s.batch.tx.Links()
	}
	return s.store.Links()
}

// Count is the number of stored links that the service sees: a tenant's is one read.
func (s *Service) Count() (int64, error) {
	if s.tenant == "" {
		return s.Links(), nil
	}
	return s.reader().TenantLinks(s.tenant)
}

// FilterBytes is the memory that the filters over names, dedup keys and banned targets take.
func (s *Service) FilterBytes() int64 { return s.names.size() + s.hints.size() + s.bans.size() }

// FilterReady reports that look-ups of unknown names are answered from memory.
func (s *Service) FilterReady() bool { return s.names.ready() }

// FiltersReady reports that all filters are built, those over dedup keys and banned targets too: until then a new link costs reads of the store.
func (s *Service) FiltersReady() bool { return s.names.ready() && s.bans.ready() && s.hints.ready() }

const filterDaily = 24 * time.Hour

// maintainFilters builds the filters at once, again when one is full, and daily (what was deleted leaves bits behind).
func (e *engine) maintainFilters(ctx context.Context) {
	timer := time.NewTicker(filterDaily)
	defer timer.Stop()
	e.buildFilters(ctx, func(f *filter) bool { return true })
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-timer.C:
			e.buildFilters(ctx, func(f *filter) bool { return true })
		case <-e.refill:
			e.buildFilters(ctx, (*filter).full)
		}
	}
}

func (e *engine) buildFilters(ctx context.Context, due func(*filter) bool) {
	for _, one := range []struct {
		filter *filter
		build  func(context.Context) error
	}{{&e.names, e.filterNames}, {&e.bans, e.filterBans}, {&e.hints, e.filterHints}} {
		if !due(one.filter) {
			continue
		}
		if err := one.build(ctx); err != nil && ctx.Err() == nil {
			e.log.Error("filter", "err", err)
		}
	}
}

// filterNames does not know how many names there are, and most stores have few: where they are many, they are read twice.
func (e *engine) filterNames(ctx context.Context) error {
	return e.names.rebuild(ctx, 0, e.barrier, func(add func(string) bool) error {
		return e.store.EachName("", func(name string, _ uint64) bool { return add(name) })
	})
}

func (e *engine) filterHints(ctx context.Context) error {
	return e.hints.rebuild(ctx, e.store.Links(), e.barrier, func(add func(string) bool) error {
		return e.store.EachDedup(func(key dedupKey, _ uint64) bool { return add(stringOf(key[:])) })
	})
}

func (e *engine) filterBans(ctx context.Context) error {
	return e.bans.rebuild(ctx, 0, e.barrier, func(add func(string) bool) error {
		return e.store.EachBannedTarget(dedupKey{}, func(key dedupKey, _ storage.Ban) bool { return add(stringOf(key[:])) })
	})
}

// barrier waits for every change that has begun.
func (e *engine) barrier() {
	e.mu.Lock()
	//lint:ignore SA2001 the empty section waits for all writers
	e.mu.Unlock()
}

func (e *engine) addName(name string) { e.add(&e.names, name) }

// add enters a key that is about to be committed: a filter's "no" must never be wrong.
func (e *engine) add(f *filter, key string) {
	f.add(key)
	if f.full() {
		select {
		case e.refill <- struct{}{}:
		default:
		}
	}
}

func (e *engine) millis() int64 { return e.now().UnixMilli() }

// CacheStats are the look-ups that found their link in memory, and those that did not.
type CacheStats struct{ Hits, Misses uint64 }

// CacheStats counts since Open.
func (s *Service) CacheStats() CacheStats {
	st := s.cache.Stats()
	return CacheStats{Hits: st.Hits, Misses: st.Misses}
}

// ReservedIDs is the last id of a durable block: no link has a higher one.
func (s *Service) ReservedIDs() uint64 { return s.codes.reserved.Load() }

// Epochs is the table of epochs, oldest first.
func (s *Service) Epochs() []codec.Epoch { return s.codes.table.Load().Epochs() }

// Retries counts the random and hash codes that were found taken.
func (s *Service) Retries() int64 { return s.retries.Load() }
