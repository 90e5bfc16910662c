package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"curt/codec"
	"curt/idalloc"
	"curt/idalloc/snowflake"
	"curt/storage"
)

// Limits of NextIDs.
const (
	MaxIDs      = 1000 // ids of one call
	MaxSegments = 1000 // names of segments
)

const (
	idSegments       = "id/"       // counters of the segments that NextIDs serves
	idFloor          = "id-floor"  // counter: a segment that is new begins behind it, since a restore
	snowflakeCounter = "snowflake" // the snowflake source's mark
)

// Snowflake says how snowflake ids are made. The zero value works.
type Snowflake struct {
	snowflake.Layout
	Worker int64 // this machine's number
	Jitter int64 // see snowflake.Options
}

// ids are the ids that Curt gives out for their own sake, and the snowflake ids behind snowflake codes.
type ids struct {
	store *storage.Store
	now   func() time.Time
	flake *snowflake.Source
	opts  Snowflake

	mu       sync.Mutex
	segments map[string]*idalloc.Segment // guarded by mu; nil: known, not used since the start
}

func openIDs(store *storage.Store, o Options) (*ids, error) {
	known, err := store.Counters(idSegments)
	if err != nil {
		return nil, err
	}
	mark, err := store.Counter(snowflakeCounter)
	if err != nil {
		return nil, err
	}
	i := &ids{store: store, now: o.Now, opts: o.Snowflake, segments: make(map[string]*idalloc.Segment, len(known))}
	for name := range known {
		i.segments[name] = nil
	}
	i.flake, err = snowflake.New(snowflake.Options{
		Layout: o.Snowflake.Layout, Worker: o.Snowflake.Worker, Jitter: o.Snowflake.Jitter, Now: o.Now, Mark: int64(mark),
		Save: func(mark int64) error {
			return durably(store, func(tx *storage.Tx) error { tx.SetCounter(snowflakeCounter, uint64(mark)); return nil })
		},
	})
	if err != nil {
		return nil, fmt.Errorf("snowflake ids: %w", err)
	}
	return i, nil
}

func (i *ids) close(log *slog.Logger) {
	for _, s := range i.segments {
		if s != nil {
			s.Close()
		}
	}
	if err := i.flake.Close(); err != nil {
		log.Error("save the snowflake mark", "err", err)
	}
}

// segment returns the segment of a name, a new one if there is room.
func (i *ids) segment(name string) (*idalloc.Segment, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, known := i.segments[name]
	if s != nil {
		return s, nil
	}
	if !known && len(i.segments) >= MaxSegments {
		return nil, &ArgError{"there are 1000 segments already"}
	}
	s = idalloc.NewSegment(func(n uint64) (idalloc.Block, error) { return i.reserve(name, n) }, idalloc.Options{Now: i.now})
	i.segments[name] = s
	return s, nil
}

// reserve is the source of a segment; it never runs twice at a time for one name.
func (i *ids) reserve(name string, n uint64) (b idalloc.Block, err error) {
	last, err := i.store.Counter(idSegments + name)
	if err != nil {
		return b, err
	}
	floor, err := i.store.Counter(idFloor)
	if err != nil {
		return b, err
	}
	last = max(last, floor)
	b = idalloc.Block{First: last + 1, Last: last + n}
	return b, durably(i.store, func(tx *storage.Tx) error { tx.SetCounter(idSegments+name, b.Last); return nil })
}

func validSegment(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 64
}

// NextIDs returns n ids of a segment, which is made when it is named first. Each is given out once, across restarts too; they have
// nothing to do with the links' ids.
func (s *Service) NextIDs(ctx context.Context, name string, n int) ([]uint64, error) {
	if !validSegment(name) {
		return nil, &ArgError{"the name of a segment is 1 to 64 of a-z 0-9 -"}
	}
	if n < 1 || n > MaxIDs {
		return nil, &ArgError{"COUNT must be 1 to 1000"}
	}
	segment, err := s.ids.segment(name)
	if err != nil {
		return nil, err
	}
	blocks, err := segment.NextN(ctx, n)
	if errors.Is(err, idalloc.ErrTimeout) {
		err = ErrOverloaded
	}
	if err != nil {
		return nil, err
	}
	list := make([]uint64, 0, n)
	for _, b := range blocks {
		for id := b.First; id <= b.Last; id++ {
			list = append(list, id)
		}
	}
	return list, nil
}

// SnowflakeIDs returns n ids of a time, a worker and a sequence, increasing.
func (s *Service) SnowflakeIDs(ctx context.Context, n int) ([]uint64, error) {
	if n < 1 || n > MaxIDs {
		return nil, &ArgError{"COUNT must be 1 to 1000"}
	}
	list := make([]uint64, n)
	for i := range list {
		var err error
		if list[i], err = s.ids.snowflakeID(ctx); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// ParseID takes a snowflake id apart.
func (s *Service) ParseID(id uint64) (at time.Time, worker, sequence int64) {
	return s.ids.opts.Parse(id)
}

func (i *ids) snowflakeID(ctx context.Context) (uint64, error) {
	id, err := i.flake.Next(ctx)
	switch {
	case errors.Is(err, snowflake.ErrTimeout):
		return 0, ErrOverloaded
	case errors.Is(err, snowflake.ErrClock), errors.Is(err, snowflake.ErrOverflow):
		return 0, &ArgError{err.Error()}
	}
	return id, err
}

// snowflakeLength is how many base62 digits 63 bits need.
const snowflakeLength = 11

func snowflakeCode(id uint64) string {
	base62, _ := codec.AlphabetByName("base62")
	return string(base62.AppendDigits(nil, id, snowflakeLength))
}
