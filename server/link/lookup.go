package link

import (
	"context"
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/maypok86/otter/v2"

	"curt/codec/weburl"
	"curt/storage"
)

// Target is what a code leads to, as the cache keeps it. It must not be changed.
type Target struct {
	ID        uint64
	URL       string // serialised, as it is sent
	Code      string // what the link is called: its name, else its generated code
	Tenant    string
	Expires   int64 // unix ms UTC, 0: never
	MaxVisits uint64
	Revision  uint64
	Flags     storage.Flags

	host    string        // part of URL, for host bans
	verdict atomic.Uint64 // generation of the host bans << 1 | banned
}

// targetOverhead is about what one cached link costs besides its strings.
const targetOverhead = 256

func (e *engine) newTarget(l *storage.Link) *Target {
	return &Target{ID: l.ID, URL: l.Target, Code: e.codeOf(l), Tenant: l.Tenant, Expires: l.Expires, MaxVisits: l.MaxVisits,
		Revision: l.Revision, Flags: l.Flags, host: weburl.Host(l.Target)}
}

func (s *Service) reader() *storage.Reader {
	if s.batch != nil {
		return &s.batch.tx.Reader
	}
	return &s.store.Reader
}

// record returns the link that text names, whoever's it is, in whatever state, nil when there is none: first by its name, then
// by arithmetic. A text that cannot be a code costs no read, and so does nearly every guess.
func (e *engine) record(r *storage.Reader, text string) (*storage.Link, error) {
	if !ValidName(text) {
		return nil, nil
	}
	if e.names.maybe(bytesOf(text)) {
		id, ok, err := r.Name(text)
		if err != nil {
			return nil, err
		}
		if ok {
			return named(r, id, text)
		}
	}
	id, ok := e.codes.lookup(bytesOf(text))
	if !ok {
		return nil, nil
	}
	l, ok, err := r.Link(id)
	if err != nil || !ok || l.Flags&storage.Generated == 0 {
		return nil, err
	}
	return &l, nil
}

// named is the link behind a name's entry; a tombstone leads nowhere.
func named(r *storage.Reader, id uint64, text string) (*storage.Link, error) {
	if id == storage.Tombstone {
		return nil, nil
	}
	l, ok, err := r.Link(id)
	if err != nil {
		return nil, err
	}
	if !ok || l.Name != text {
		return nil, nil // changed between the two reads
	}
	return &l, nil
}

// Lookup is the one answer to "what does this code lead to now", for RESP, HTTP and events. The time, the bans and the
// visits are looked at on every call, after any cache. The error is a fault of the store; a code that does not
// exist is Absent.
func (s *Service) Lookup(code []byte) (*Target, State, error) {
	t, err := s.target(code)
	if err != nil || t == nil || !s.sees(t.Tenant) {
		return nil, Absent, err
	}
	state := stateOf(t.Flags, t.Expires, s.millis(), s.hosts.bans(t))
	if state == Live && t.MaxVisits != 0 && s.usedUp(t) {
		state = UsedUp
	}
	return t, state, nil
}

// Resolve returns the target of a live link, else the error that its state has.
func (s *Service) Resolve(code []byte) (string, error) {
	t, state, err := s.Lookup(code)
	if err != nil {
		return "", err
	}
	if err := state.Err(); err != nil {
		return "", err
	}
	return t.URL, nil
}

// target reads through the cache, or past it inside an Exec.
func (s *Service) target(code []byte) (*Target, error) {
	if s.batch != nil {
		l, err := s.find(s.reader(), string(code))
		if err != nil || l == nil {
			return nil, err
		}
		return s.newTarget(l), nil
	}
	if !ValidName(code) {
		return nil, nil
	}
	if t, ok := s.cache.GetIfPresent(stringOf(code)); ok {
		return t, nil
	}
	if !s.names.maybe(code) {
		if _, ok := s.codes.lookup(code); !ok {
			return nil, nil // a guess: no read, and no trace in the cache
		}
	}
	t, err := s.cache.Get(context.Background(), string(code), s.source)
	if errors.Is(err, otter.ErrNotFound) {
		return nil, nil
	}
	return t, err
}

// loader fills the cache; reads of one text at a time share one load.
type loader struct{ *engine }

func (l *loader) Load(_ context.Context, text string) (*Target, error) {
	found, err := l.record(&l.store.Reader, text)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, otter.ErrNotFound
	}
	return l.newTarget(found), nil
}

// Reload is never called: the cache has no refresh.
func (l *loader) Reload(ctx context.Context, text string, _ *Target) (*Target, error) {
	return l.Load(ctx, text)
}

// stringOf views bytes as a string for the length of a call.
func stringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// bytesOf views a string as bytes that nobody writes.
func bytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
