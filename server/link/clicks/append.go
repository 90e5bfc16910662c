package clicks

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"curt/storage"
)

// Click is one entry of the stream. Referrer and Country are empty when they are not known.
type Click struct {
	ID       storage.StreamID // zero when no stream is kept
	At       int64            // unix ms
	Code     string
	Target   string
	Tenant   string // only of a click that OnClick is told of
	Referrer string // host
	Country  string // ISO 3166
	Agent
}

// appender writes the stream. Counter.flushing guards it, except for last.
type appender struct {
	state storage.StreamState
	last  atomic.Pointer[storage.StreamState] // as it is in the store

	loaded bool // the fields below are those of day
	day    uint32
	words  map[string]uint32
	agents map[*Agent]uint32 // their words
}

const maxWords = 1 << 16 // of a day; what comes then has no word

// forget makes the appender read its words again.
func (a *appender) forget() { a.loaded, a.words, a.agents = false, nil, nil }

// append writes the clicks that wait for it to the stream, in the order in which they came, and tells of them.
func (c *Counter) append() (ticket uint64, err error) {
	slices.SortFunc(c.waiting, func(a, b record) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.at, b.at)) })
	keep := !c.opts.NoStream
	if keep && c.opts.Store.DiskLow() {
		keep = false
		c.dropped.Add(int64(len(c.waiting)))
	}
	for len(c.waiting) > 0 {
		n, first, places := len(c.waiting), c.stream.state, []storage.Place(nil)
		if keep {
			ticket, err = c.opts.Store.Update(func(tx *storage.Tx) (err error) {
				places, err = c.appendSome(tx, c.waiting)
				return err
			})
			if err != nil {
				c.stream.state = first
				c.stream.forget()
				return ticket, err
			}
			n = len(places)
			state := c.stream.state
			c.stream.last.Store(&state)
			c.wake()
		}
		c.tell(c.waiting[:n], places)
		c.waiting = c.waiting[n:]
		if keep {
			c.takePlaces(places)
		}
	}
	return ticket, nil
}

// appendSome appends as many clicks as fit into a batch and returns where they stand.
func (c *Counter) appendSome(tx *storage.Tx, records []record) (places []storage.Place, err error) {
	a := &c.stream
	perDay := map[uint32]int64{}
	places = make([]storage.Place, 0, len(records))
	for i := range records {
		if tx.Size() >= batchBytes {
			break
		}
		r := &records[i]
		id := a.nextID(r.at)
		day := id.Day()
		if !a.loaded || a.day != day {
			if err := a.load(c.opts.Store, day); err != nil {
				return nil, err
			}
		}
		tx.PutEntry(&storage.Entry{
			ID: id, Link: r.id, Revision: r.revision, Bot: r.bot, Agent: a.agent(tx, r.agent),
			Referrer: a.word(tx, textOf(r.referrer)), Country: a.word(tx, countryName(r.country)),
		})
		places = append(places, storage.Place{Link: r.id, ID: id})
		perDay[day]++
	}
	for day, n := range perDay {
		tx.CountEntries(day, 0, n)
	}
	putPlaces(tx, c.journaled+1, places)
	a.state.Added += uint64(len(places))
	tx.SetStreamState(a.state)
	return places, nil
}

// nextID gives the id of a click: its time, or that of the last one when the clock went back.
func (a *appender) nextID(at int64) storage.StreamID {
	last := a.state.Last
	switch {
	case uint64(at) > last.Ms:
		last = storage.StreamID{Ms: uint64(at)}
	case last.Seq == math.MaxUint32:
		last = storage.StreamID{Ms: last.Ms + 1}
	default:
		last.Seq++
	}
	a.state.Last = last
	return last
}

// load reads the words of a day.
func (a *appender) load(store Store, day uint32) error {
	words, err := store.Words(day)
	if err != nil {
		return err
	}
	a.loaded, a.day, a.words, a.agents = true, day, words, map[*Agent]uint32{}
	return nil
}

// word returns the number of a word, a new one if it has none yet; 0 for the empty word, and for new ones when there are too many.
func (a *appender) word(tx *storage.Tx, word string) uint32 {
	if word == "" {
		return 0
	}
	n := a.words[word]
	if n == 0 && len(a.words) < maxWords {
		n = uint32(len(a.words) + 1)
		a.words[word] = n
		tx.PutWord(a.day, n, word)
	}
	return n
}

// agent returns the number of an agent's word.
func (a *appender) agent(tx *storage.Tx, agent *Agent) uint32 {
	n, ok := a.agents[agent]
	if !ok {
		if len(a.agents) >= maxWords {
			clear(a.agents)
		}
		n = a.word(tx, agentWord(agent))
		a.agents[agent] = n
	}
	return n
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// agentWord is an agent as one word of the dictionary.
func agentWord(a *Agent) string { return a.Browser + "\t" + a.OS + "\t" + a.Device }

// ParseAgent reads what agentWord wrote.
func ParseAgent(word string) (a Agent) {
	if word == "" {
		return Agent{Browser: other, OS: other, Device: other}
	}
	a.Browser, word, _ = strings.Cut(word, "\t")
	a.OS, a.Device, _ = strings.Cut(word, "\t")
	return a
}

// tell calls OnClick. places is empty when no stream is kept.
func (c *Counter) tell(records []record, places []storage.Place) {
	if !c.opts.Listening() {
		return
	}
	for i := range records {
		r := &records[i]
		click := Click{At: r.at, Code: r.code, Target: r.target, Tenant: r.tenant, Referrer: textOf(r.referrer), Country: countryName(r.country), Agent: *r.agent}
		click.Bot = r.bot
		if len(places) > 0 {
			click.ID = places[i].ID
		}
		c.opts.OnClick(&click)
	}
}

// Changed returns a channel that is closed when clicks are appended next. Take it, then read, then wait.
func (c *Counter) Changed() <-chan struct{} { return *c.changed.Load() }

func (c *Counter) wake() {
	next := make(chan struct{})
	close(*c.changed.Swap(&next))
}

// StreamState is the state of the stream as it is in the store.
func (c *Counter) StreamState() storage.StreamState { return *c.stream.last.Load() }

// dropDays drops the days of the stream that ended before a time, and the versions that only they may name. Links that nobody clicked leave
// versions, too.
func (c *Counter) dropDays(before time.Time) error {
	limit := storage.DayOf(before.UnixMilli())
	first, ok, err := c.opts.Store.FirstStreamDay()
	if err == nil && ok && first < limit {
		c.opts.Guard.Lock()
		err = c.dropGuarded(limit)
		c.opts.Guard.Unlock()
	}
	if err != nil {
		return err
	}
	return c.sweepVersions(limit)
}

// sweepVersions removes versions whose last day was before a day, some at a time.
func (c *Counter) sweepVersions(limit uint32) error {
	for from := uint64(0); ; {
		select {
		case <-c.stop:
			return nil
		default:
		}
		_, err := c.opts.Store.Update(func(tx *storage.Tx) (err error) {
			from, err = tx.SweepVersions(from, limit)
			return err
		})
		if err != nil || from == 0 {
			return err
		}
	}
}

func (c *Counter) dropGuarded(limit uint32) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	if _, err := c.mergeAll(); err != nil { // else it would bring a dropped day's index back
		return err
	}
	state := c.stream.state
	last := storage.StreamID{Ms: uint64(limit)*uint64(24*hour) - 1, Seq: math.MaxUint32}
	if last.Less(state.Last) {
		state.Dropped = last
	} else {
		state.Dropped = state.Last
	}
	_, err := c.opts.Store.Update(func(tx *storage.Tx) error {
		tx.DropDays(limit)
		tx.SetStreamState(state)
		return nil
	})
	if err != nil {
		return err
	}
	c.stream.state = state
	c.stream.last.Store(&state)
	c.stream.forget()
	return nil
}
