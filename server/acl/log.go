package acl

import (
	"slices"
	"strings"
	"sync"
)

const (
	logLength   = 128
	logGroup    = 60_000 // ms within which the same refusal is counted, not entered again
	logLooks    = 10     // entries that are looked at for the same refusal
	maxLogField = 128    // bytes of an object or a name that strangers send
)

// Reasons of an Entry.
const (
	DeniedCommand = "command"
	DeniedKey     = "key"
	DeniedChannel = "channel"
	DeniedTenant  = "tenant"
	DeniedAuth    = "auth"
)

// Entry is one refusal of ACL LOG.
type Entry struct {
	Count    int64
	Reason   string
	Context  string // toplevel or multi
	Object   string // what was refused: the command, key or channel
	Username string
	Client   string // as CLIENT LIST shows it
	ID       int64
	Created  int64 // unix ms UTC
	Updated  int64
}

// Log keeps the last refusals. The zero value is empty; it is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	entries []*Entry // newest first; guarded by mu
	next    int64    // guarded by mu
}

// Add enters a refusal at a time (unix ms UTC), or counts it as one of a minute before.
func (l *Log) Add(e Entry, now int64) {
	e.Object, e.Username = cut(e.Object), cut(e.Username)
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.IndexFunc(l.entries[:min(len(l.entries), logLooks)], func(had *Entry) bool {
		return had.Reason == e.Reason && had.Context == e.Context && had.Object == e.Object && had.Username == e.Username &&
			now-had.Updated <= logGroup
	})
	entry := &e
	if at >= 0 {
		entry = l.entries[at]
		l.entries = slices.Delete(l.entries, at, at+1)
		entry.Client = e.Client
	} else {
		entry.ID, entry.Created = l.next, now
		l.next++
	}
	entry.Count++
	entry.Updated = now
	l.entries = slices.Insert(l.entries, 0, entry)
	if len(l.entries) > logLength {
		l.entries[logLength] = nil
		l.entries = l.entries[:logLength]
	}
}

// cut is the beginning of what a stranger sent. It is a copy: the whole may be long, and would stay with it.
func cut(s string) string { return strings.Clone(s[:min(len(s), maxLogField)]) }

// Last returns up to n entries, the newest first.
func (l *Log) Last(n int) []Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Entry, min(n, len(l.entries)))
	for i := range list {
		list[i] = *l.entries[i]
	}
	return list
}

// Reset empties the log.
func (l *Log) Reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = nil
}
