package server

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits of the slow log: those of Redis, and an upper one for its length.
const (
	slowlogThreshold = 10 * time.Millisecond
	slowlogLength    = 128
	maxSlowlogLength = 10_000
	slowlogWords     = 32  // words of an entry
	slowlogBytes     = 128 // bytes of a word
)

// slowlog keeps the last commands that took long. It is safe for concurrent use.
type slowlog struct {
	threshold atomic.Int64 // nanoseconds; negative: nothing is kept

	mu      sync.Mutex // guards the fields below
	limit   int
	lastID  int64
	entries []slowEntry // oldest first
}

// slowEntry is one command that took long.
type slowEntry struct {
	id    int64
	at    time.Time
	took  time.Duration
	words []string
	addr  string
	name  string // of the client
}

func (s *slowlog) configure(threshold time.Duration, length int) {
	s.threshold.Store(int64(cmp.Or(threshold, slowlogThreshold)))
	s.limit = cmp.Or(length, slowlogLength)
}

// note keeps a command if it took long enough.
func (s *slowlog) note(c *call, took time.Duration) {
	threshold := s.threshold.Load()
	if threshold < 0 || int64(took) < threshold || c.cmd.flags&flagSkipSlowlog != 0 {
		return
	}
	e := slowEntry{at: c.now(), took: took, words: slowWords(c.cmd, c.args), addr: clientAddr(c.session.conn), name: c.session.name.get()}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.id = s.lastID
	s.lastID++
	s.entries = append(s.entries, e)
	s.trim()
}

// trim drops the oldest entries over the limit. mu is held.
func (s *slowlog) trim() {
	if over := len(s.entries) - s.limit; over > 0 {
		s.entries = append(s.entries[:0:0], s.entries[over:]...)
	}
}

// slowWords shortens a command as Redis does.
func slowWords(cmd *command, args [][]byte) []string {
	more := len(args) - slowlogWords
	if more > 0 {
		args = args[:slowlogWords-1]
	}
	words := make([]string, len(args), len(args)+1)
	for i, arg := range args {
		w := string(cmd.shown(i, arg))
		words[i] = w
		if over := len(w) - slowlogBytes; over > 0 {
			words[i] = fmt.Sprintf("%s... (%d more bytes)", w[:slowlogBytes], over)
		}
	}
	if more > 0 {
		words = append(words, fmt.Sprintf("... (%d more arguments)", more+1))
	}
	return words
}

// last returns up to n entries, newest first; a negative n means all.
func (s *slowlog) last(n int64) []slowEntry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 0 || n > int64(len(s.entries)) {
		n = int64(len(s.entries))
	}
	list := make([]slowEntry, 0, n)
	for i := range int(n) {
		list = append(list, s.entries[len(s.entries)-1-i])
	}
	return list
}

func (s *slowlog) length() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

func (s *slowlog) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries = nil
}

// setLimit changes how many entries are kept.
func (s *slowlog) setLimit(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = n
	s.trim()
}

func (s *slowlog) limitNow() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limit
}
