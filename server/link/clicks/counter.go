package clicks

import (
	"errors"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"curt/storage"
)

// Store is where counts go. *storage.Store is one.
type Store interface {
	Update(func(*storage.Tx) error) (ticket uint64, err error)
	WaitSynced(ticket uint64) error
	JournalFrom() uint64
	StreamState() (storage.StreamState, error)
	Words(day uint32) (map[string]uint32, error)
	NextHours(from uint64, before int64) (id uint64, ok bool, err error)
	ClickSums() (totals, buckets storage.Count, err error)
	FirstStreamDay() (day uint32, ok bool, err error)
	DiskLow() bool
}

// Options configure a Counter. Only Store is needed.
type Options struct {
	Store  Store
	Guard  sync.Locker      // held around each batch, so that others can keep the counter out; nil: nobody does
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: slog.Default

	Interval      time.Duration // between flushes; 0: 1 s; negative: only Flush flushes
	HourRetention time.Duration // how long hours stay before they become days; 0: 90 days
	CountOnce     time.Duration // visits to a link from one network within it count once; 0: each counts

	NoStream        bool          // keeps no raw clicks
	StreamRetention time.Duration // how long raw clicks stay, whole days; 0: 90 days

	GeoIP string // a MaxMind-format file with countries; empty: no country is known

	// OnClick is told of each counted click once it is in the store, while somebody is Listening. Both must return at once.
	// nil: nobody listens.
	OnClick   func(*Click)
	Listening func() bool
	// RollUp makes days of a link's hours before a time (unix ms), in a batch of its own that Hold protects. nil: hours stay.
	RollUp func(id uint64, before int64) error
}

func (o Options) withDefaults() Options {
	if o.Guard == nil {
		o.Guard = noLock{}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Interval == 0 {
		o.Interval = time.Second
	}
	if o.OnClick == nil || o.Listening == nil {
		o.Listening = func() bool { return false }
	}
	if o.HourRetention == 0 {
		o.HourRetention = 90 * 24 * time.Hour
	}
	if o.StreamRetention == 0 {
		o.StreamRetention = 90 * 24 * time.Hour
	}
	return o
}

type noLock struct{}

func (noLock) Lock()   {}
func (noLock) Unlock() {}

// Visit is one redirect. The bytes are good only during the call, texts are kept.
type Visit struct {
	ID        uint64
	Revision  uint64
	Code      string
	Target    string
	Tenant    string
	Client    netip.Addr // invalid: not known
	UserAgent []byte
	Referer   []byte
	Prefetch  bool  // nobody is looking yet
	At        int64 // unix ms; before 1970 is 1970
}

// event is a visit in a buffer; its two texts lie one behind the other.
type event struct {
	id, revision uint64
	code, target string
	tenant       string
	client       netip.Addr
	at           int64
	order        uint64 // in which it came; 0 without a stream
	agent, ref   uint32 // lengths
	prefetch     bool
}

const (
	collectAt  = 1024      // events in a buffer that call the collector
	bufferSize = 4096      // and that the visitor empties itself
	maxReferer = 300       // bytes that are looked at: scheme and host
	bufferText = 256 << 10 // bytes that a buffer keeps between two collections
)

// buffer is what some of the visitors share.
type buffer struct {
	mu     sync.Mutex
	events []event // guarded by mu
	text   []byte  // guarded by mu
	_      [64]byte
}

// padded is a number on a cache line of its own.
type padded struct {
	_ [64]byte
	atomic.Uint64
	_ [56]byte
}

// Counter counts visits. It is safe for concurrent use.
type Counter struct {
	opts    Options
	agents  *agents
	country *countries
	once    *once
	buffers []buffer
	came    padded // visits that came, when there is a stream: it shows them in this order
	kick    chan struct{}
	changed atomic.Pointer[chan struct{}] // closed and replaced when clicks are appended

	flushing  sync.Mutex // one flush at a time; guards the fields below. Taken after Guard
	waiting   []record   // clicks that the last flush could not write
	turn      int        // the part that was merged last
	journaled uint64     // the last number in the journal
	stream    appender

	mu      sync.Mutex                 // guards the fields below. Taken after flushing
	parts   [storage.JournalParts]part // what was counted; each says who guards it
	kinds   int                        // rows of all parts
	records []record                   // clicks on their way to the stream
	spare   buffer                     // swapped with each buffer in turn
	words   interner
	gone    []uint64     // links that were deleted
	counted atomic.Int64 // visits and bots that are not in the store
	dropped atomic.Int64 // clicks that the stream had no room for

	stop chan struct{}
	done sync.WaitGroup
}

// Open starts a counter on a store. Close ends it.
func Open(o Options) (*Counter, error) {
	o = o.withDefaults()
	if o.Store == nil {
		return nil, errors.New("clicks: no store given")
	}
	n := 8
	for n < 4*runtime.GOMAXPROCS(0) {
		n *= 2
	}
	c := &Counter{opts: o, agents: newAgents(), buffers: make([]buffer, n), kick: make(chan struct{}, 1), stop: make(chan struct{})}
	changed := make(chan struct{})
	c.changed.Store(&changed)
	if o.CountOnce > 0 {
		c.once = newOnce(o.CountOnce)
	}
	var err error
	if c.country, err = openCountries(o.GeoIP); err != nil {
		return nil, err
	}
	if c.stream.state, err = o.Store.StreamState(); err != nil {
		return nil, err
	}
	state := c.stream.state
	c.stream.last.Store(&state)
	c.journaled = o.Store.JournalFrom()
	c.done.Go(c.run)
	return c, nil
}

// Add counts a visit. It waits for nobody but a few others that visit at the same moment.
func (c *Counter) Add(v *Visit) {
	var order uint64
	if !c.opts.NoStream {
		order = c.came.Add(1)
	}
	b := c.pick()
	agent, ref := v.UserAgent[:min(len(v.UserAgent), maxAgent)], v.Referer[:min(len(v.Referer), maxReferer)]
	b.text = append(append(b.text, agent...), ref...)
	b.events = append(b.events, event{
		id: v.ID, revision: v.Revision, code: v.Code, target: v.Target, tenant: v.Tenant, client: v.Client, at: max(v.At, 0), order: order,
		agent: uint32(len(agent)), ref: uint32(len(ref)), prefetch: v.Prefetch,
	})
	n := len(b.events)
	b.mu.Unlock()
	switch {
	case n >= bufferSize:
		c.collect()
	case n == collectAt:
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
}

// pick locks a buffer that is free.
func (c *Counter) pick() *buffer {
	at := rand.Uint32()
	for range 3 {
		b := &c.buffers[at&uint32(len(c.buffers)-1)]
		if b.mu.TryLock() {
			return b
		}
		at++
	}
	b := &c.buffers[at&uint32(len(c.buffers)-1)]
	b.mu.Lock()
	return b
}

// IsBot says what Add would say of a visitor.
func (c *Counter) IsBot(v *Visit) bool { return v.Prefetch || c.agents.find(v.UserAgent).Bot }

// Pending is the number of visits that are not in the store yet.
func (c *Counter) Pending() int64 {
	n := c.counted.Load()
	for i := range c.buffers {
		b := &c.buffers[i]
		b.mu.Lock()
		n += int64(len(b.events))
		b.mu.Unlock()
	}
	return n
}

// Dropped is the number of clicks that were counted but are missing in the stream, because it could not be written.
func (c *Counter) Dropped() int64 { return c.dropped.Load() }

// run collects when it is called, and flushes.
func (c *Counter) run() {
	var tick <-chan time.Time
	if c.opts.Interval > 0 {
		t := time.NewTicker(c.opts.Interval)
		defer t.Stop()
		tick = t.C
	}
	c.log("click upkeep", c.upkeep())
	day := storage.DayOf(c.opts.Now().UnixMilli())
	for {
		select {
		case <-c.stop:
			return
		case <-c.kick:
			c.collect()
		case <-tick:
			c.log("click flush", c.Sync())
			if today := storage.DayOf(c.opts.Now().UnixMilli()); today != day {
				day = today
				c.log("click upkeep", c.Upkeep())
			}
		}
	}
}

func (c *Counter) log(what string, err error) {
	if err != nil {
		c.opts.Logger.Error(what, "err", err)
	}
}

// Close writes what was counted. Nothing may be added meanwhile or later.
func (c *Counter) Close() error {
	close(c.stop)
	c.done.Wait()
	return c.syncAfter(c.mergeAll)
}

// ReloadGeoIP reads the file with countries again. When it can't be read the old one stays.
func (c *Counter) ReloadGeoIP() error { return c.country.load() }
