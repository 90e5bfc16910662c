package server

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"curt/server/acl"
	"curt/server/histogram"
)

// stats are the counters behind INFO. All methods are safe for concurrent use.
type stats struct {
	connections   atomic.Int64
	commands      []commandStats  // by command.index
	unknown       atomic.Int64    // commands that do not exist
	delayedLogins atomic.Int64    // AUTH and HELLO AUTH that had to wait
	refusals      [4]atomic.Int64 // by refusalKinds
	keyHits       atomic.Int64
	keyMisses     atomic.Int64

	mu     sync.Mutex
	errors map[string]int64 // by first word; guarded by mu; the words are a closed list
}

// commandStats is one line of INFO commandstats, and one of latencystats.
type commandStats struct {
	took                    histogram.Counter // its count is that of the calls
	nanos, rejected, failed atomic.Int64
	_                       [64]byte // no cache line is shared
}

func newStats(commands int) *stats {
	return &stats{commands: make([]commandStats, commands), errors: map[string]int64{}}
}

// ran counts a command that was carried out.
func (s *stats) ran(cmd *command, took time.Duration, err error) {
	c := &s.commands[cmd.index]
	c.took.Add(took)
	c.nanos.Add(int64(took))
	if err != nil {
		c.failed.Add(1)
		text, _ := errorText(err)
		s.failed(text)
	}
}

// refused counts a command that was not carried out.
func (s *stats) refused(cmd *command, err error) {
	if cmd == nil {
		s.unknown.Add(1)
	} else {
		s.commands[cmd.index].rejected.Add(1)
	}
	s.failed(err.Error())
}

func (s *stats) failed(text string) {
	word, _, _ := strings.Cut(text, " ")
	s.mu.Lock()
	s.errors[word]++
	s.mu.Unlock()
}

// reset sets every counter to 0.
func (s *stats) reset() {
	for i := range s.commands {
		c := &s.commands[i]
		c.took.Reset()
		for _, n := range []*atomic.Int64{&c.nanos, &c.rejected, &c.failed} {
			n.Store(0)
		}
	}
	for _, n := range []*atomic.Int64{&s.connections, &s.unknown, &s.keyHits, &s.keyMisses} {
		n.Store(0)
	}
	for i := range s.refusals {
		s.refusals[i].Store(0)
	}
	s.delayedLogins.Store(0)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.errors)
}

// refusalKinds are the lines acl_access_denied_... of INFO. A command that a tenant may not run is one of cmd.
var refusalKinds = [...]string{acl.DeniedAuth, acl.DeniedCommand, acl.DeniedKey, acl.DeniedChannel}

// denied counts what a user was refused.
func (s *stats) denied(reason string) {
	if reason == acl.DeniedTenant {
		reason = acl.DeniedCommand
	}
	s.refusals[slices.Index(refusalKinds[:], reason)].Add(1)
}

// looked counts a look-up of a key, as keyspace_hits and keyspace_misses do.
func (s *stats) looked(hit bool) {
	if hit {
		s.keyHits.Add(1)
	} else {
		s.keyMisses.Add(1)
	}
}

func (s *stats) processed() (n int64) {
	for i := range s.commands {
		n += s.commands[i].took.Count()
	}
	return n
}

type errorCount struct {
	word  string
	count int64
}

// errorList is every error word sent so far, sorted.
func (s *stats) errorList() []errorCount {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]errorCount, 0, len(s.errors))
	for word, n := range s.errors {
		list = append(list, errorCount{word, n})
	}
	slices.SortFunc(list, func(a, b errorCount) int { return strings.Compare(a.word, b.word) })
	return list
}

func (s *stats) errorCount() (n int64) {
	for _, e := range s.errorList() {
		n += e.count
	}
	return n
}
