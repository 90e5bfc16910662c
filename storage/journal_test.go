package storage

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// problems lists what Check finds.
func problems(t *testing.T, s *Store) (list []string) {
	t.Helper()
	if err := s.Check(func(text string) bool { list = append(list, text); return true }); err != nil {
		t.Fatal(err)
	}
	return list
}

// visitsOf is one row of the journal.
func visitsOf(link uint64, n int64) []Visits {
	return []Visits{{Link: link, Hour: 1893456000000, Number: n, Last: 1893456000001}}
}

func mustCount(t *testing.T, s *Store, link uint64, want int64) {
	t.Helper()
	if c, err := s.Clicks(link); err != nil || c.Visits != want {
		t.Errorf("link %d has %d visits, want %d: %v", link, c.Visits, want, err)
	}
}

// TestDamagedRowOfTheJournal: the store opens without the part that has it, says so, overwrites none of it, and has it once it can be read.
func TestDamagedRowOfTheJournal(t *testing.T) {
	fs := vfs.NewMem()
	s := openOnce(t, fs, SyncAlways)
	for id := range uint64(3) {
		update(t, s, putLink(id+1))
	}
	update(t, s, func(tx *Tx) error {
		tx.PutVisits(3, 1, visitsOf(1, 10))
		tx.PutVisits(5, 1, visitsOf(2, 20))
		tx.set(journalKey(nil, 5, 2), []byte{journalVisits, 0xff})
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openOnce(t, fs, SyncAlways)
	mustCount(t, s, 1, 10)
	mustCount(t, s, 2, 0)
	if list := problems(t, s); len(list) != 1 || !strings.Contains(list[0], "the journal of clicks: part 5: ") {
		t.Errorf("found %q", list)
	}
	number := s.JournalFrom() + 1
	if number <= 2 {
		t.Fatalf("number %d is in use", number)
	}
	update(t, s, func(tx *Tx) error {
		tx.PutVisits(5, number, visitsOf(3, 30))
		tx.DeleteJournal(5, 2) // somebody has mended it
		return nil
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = open(t, fs, SyncAlways)
	mustCount(t, s, 1, 10)
	mustCount(t, s, 2, 20)
	mustCount(t, s, 3, 30)
	if list := problems(t, s); len(list) != 0 || s.JournalFrom() != 0 {
		t.Errorf("found %q, numbers go on behind %d", list, s.JournalFrom())
	}
}

// TestCorruptBlockOfTheJournal: a bit of a table has turned, in a block that has nothing but the journal. The links are there.
func TestCorruptBlockOfTheJournal(t *testing.T) {
	fs := vfs.NewMem()
	s := openOnce(t, fs, SyncAlways)
	update(t, s, putLink(1))
	noise := rand.NewChaCha8([32]byte{1})
	for number := range uint64(40) {
		word := make([]byte, 8<<10)
		noise.Read(word)
		list := visitsOf(1, 1)
		list[0].Values[Referrer] = hex.EncodeToString(word)
		update(t, s, func(tx *Tx) error { tx.PutVisits(7, number+1, list); return nil })
	}
	update(t, s, func(tx *Tx) error { tx.PutVisits(8, 1, visitsOf(1, 5)); return nil })
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, fs, ".sst", 100<<10, 1)

	s = open(t, fs, SyncAlways)
	mustHave(t, s, 1)
	mustCount(t, s, 1, 5)
	if len(s.unmerged) != 1 {
		t.Errorf("%v", s.unmerged)
	}
	mustWork(t, s)
}
