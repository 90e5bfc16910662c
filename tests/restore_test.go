package tests

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"curt/codec"
	"curt/server"
	"curt/server/link"
	"curt/storage"
)

// backup makes one with BGSAVE and returns its folder.
func (n *node) backup() string {
	n.tb.Helper()
	n.Want("Background saving started", "BGSAVE")
	eventually(n.tb, "the backup", func() bool { return n.Info("rdb_bgsave_in_progress") == 0 })
	if n.Info("rdb_saves") == 0 {
		n.tb.Fatal("the backup failed")
	}
	names, err := n.memory.List("data.backups")
	if err != nil || len(names) != 1 {
		n.tb.Fatal(names, err)
	}
	return "data.backups/" + names[0]
}

// restore puts a backup in the place of the data, as `curt restore` does.
func (n *node) restore(from string, by uint64) {
	n.tb.Helper()
	n.down()
	o := link.Options{Now: n.clock.Now, Codes: link.CodeOptions{Ring: n.options.Codes.Ring, Density: n.options.Codes.Density}}
	n.options.Dir = "restored"
	err := storage.Restore(storage.Options{Dir: n.options.Dir, FS: n.memory, CacheBytes: 8 << 20}, from, nil, func(s *storage.Store) error {
		_, err := link.MoveAhead(s, o, by)
		return err
	})
	if err != nil {
		n.tb.Fatal(err)
	}
	n.up()
}

// given are codes and ids that were given out, each once.
type given struct {
	n       *node
	seen    map[string]bool
	made    int    // targets
	segment string // of ids, beside others
}

func (g *given) note(kind string, list ...reply) {
	g.n.tb.Helper()
	for _, r := range list {
		if r.isError() {
			g.n.tb.Fatal(r.text)
		}
		what := kind + " " + r.text
		if g.seen[what] {
			g.n.tb.Fatal(what, " came twice")
		}
		g.seen[what] = true
	}
}

// codes makes so many links from every source of codes, and takes ids of every kind.
func (g *given) codes(each int) {
	g.n.tb.Helper()
	for _, source := range [][]string{{}, {"CODE", "RANDOM"}, {"CODE", "HASH"}, {"CODE", "SNOWFLAKE"}} {
		for left := each; left > 0; left -= 1000 {
			words := []string{"MSHORTEN", strconv.Itoa(min(left, 1000))}
			for range min(left, 1000) {
				g.made++
				words = append(words, fmt.Sprintf("https://example.com/%d", g.made))
			}
			g.n.Advance(time.Second)
			g.note("code", g.n.Must(append(words, source...)...).list...)
		}
	}
	g.note("code", g.n.Must("RESERVE", "100").list...)
	for _, segment := range []string{"default", "made-before", g.segment} {
		g.note("id of "+segment, g.n.Must("NEXTID", "TAG", segment, "COUNT", "100").list...)
	}
	g.note("snowflake", g.n.Must("NEXTID", "SNOWFLAKE", "COUNT", "100").list...)
}

// After the restore of an old backup nothing is given out that was given out after it: no code of any source, no id, whatever
// happened to keys, alphabets and lengths in between.
func TestRestoreGivesNothingTwice(t *testing.T) {
	two := testRing()
	two.Keys["other"], two.Active = codec.Key{1}, "other"
	cases := map[string]struct{ before, between func(*server.Options) }{
		"as it was": {func(*server.Options) {}, func(*server.Options) {}},
		"another key": {
			func(o *server.Options) { o.Codes.Length = 4 },
			func(o *server.Options) { o.Codes.Ring = two },
		},
		"another alphabet": {
			func(o *server.Options) { o.Codes.Length = 4 },
			func(o *server.Options) { o.Codes.Alphabet = "safe" },
		},
		"growth": {
			func(o *server.Options) { o.Codes.Length, o.Codes.Density = 4, 0.0002 },
			func(*server.Options) {},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := start(t, c.before)
			g := &given{n: n, seen: map[string]bool{}, segment: "made-before"}
			n.Must("NEXTID", "TAG", "made-before")
			g.codes(200)
			first := n.Must("SHORTEN", "https://example.com/first").text
			from := n.backup()

			g.segment = "made-later"
			g.codes(2000)
			last := n.Must("SHORTEN", "https://example.com/lost").text
			n.down()
			c.between(&n.options)
			n.up()
			g.codes(4000)
			after := n.Info("curt_links")
			n.restore(from, 1_000_000_000)
			if links := n.Info("curt_links"); links >= after || links < 800 {
				t.Fatalf("%d links", links)
			}
			n.Want(`"https://example.com/first"`, "RESOLVE", first)
			n.Want("(nil)", "RESOLVE", last)
			if name != "growth" {
				n.WantError("RESERVED", "SHORTEN", "https://example.com/", "AS", last)
			}
			g.made = 1_000_000 // other targets, or HASH would make the same codes of the same ones
			g.codes(2500)
		})
	}
}

// A counter that stands higher than it is moved is moved all the same.
func TestRestoreMovesLargeCounters(t *testing.T) {
	n := start(t)
	g := &given{n: n, seen: map[string]bool{}}
	take := func(calls int) {
		for range calls {
			g.note("id", n.Must("NEXTID", "COUNT", "1000").list...)
		}
	}
	take(40)
	n.Restart() // the next blocks are small
	g.note("id", n.Must("NEXTID").list...)
	from := n.backup()
	take(10)
	n.restore(from, 32_000)
	take(1)
}

// A clock that stands behind the one of the restore gives no snowflake ids: they may have been given out.
func TestRestoreWithAnOlderClock(t *testing.T) {
	n := start(t)
	n.Must("NEXTID", "SNOWFLAKE")
	from := n.backup()
	n.Advance(time.Hour)
	n.Must("NEXTID", "SNOWFLAKE", "COUNT", "1000")
	n.restore(from, 1_000_000_000)
	n.Advance(-30 * time.Minute)
	n.WantError("ERR the clock stands behind", "NEXTID", "SNOWFLAKE")
	n.Advance(30*time.Minute + time.Second)
	n.Must("NEXTID", "SNOWFLAKE")
}

// A backup that is restored twice, from the second backup on, goes on each time: lengths and floors add up.
func TestRestoreOfARestored(t *testing.T) {
	n := start(t)
	g := &given{n: n, seen: map[string]bool{}, segment: "made-before"}
	g.codes(100)
	from := n.backup()
	g.codes(100)
	n.restore(from, 1_000_000_000)
	g.made = 1_000_000
	g.codes(100)
	n.Want("OK", "SAVE")
	names, err := n.memory.List("restored.backups")
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	g.codes(100)
	n.down()
	n.memory.RemoveAll("data") //nolint:errcheck
	n.options.Dir = "again"
	err = storage.Restore(storage.Options{Dir: "again", FS: n.memory, CacheBytes: 8 << 20}, "restored.backups/"+names[0], nil, func(s *storage.Store) error {
		to, err := link.MoveAhead(s, link.Options{Now: n.clock.Now, Codes: n.options.Codes}, 1_000_000_000)
		if to.Length != 9 {
			t.Errorf("codes have %d characters", to.Length)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n.up()
	g.made = 2_000_000
	g.codes(100)
}

// One backup at a time; one that fails leaves the last good one in LASTSAVE; a full disk gets none.
func TestBackupTrouble(t *testing.T) {
	n := start(t)
	n.Must("SHORTEN", "https://example.com/")
	release := n.disk.hold()
	defer release()
	n.Want("Background saving started", "BGSAVE")
	n.Want("(error) ERR Background save already in progress", "BGSAVE")
	n.Want("(error) ERR Background save already in progress", "BGSAVE", "SCHEDULE")
	n.Want("(error) ERR Background save already in progress", "SAVE")
	n.Advance(3 * time.Second)
	if n.Info("rdb_bgsave_in_progress") != 1 || n.Info("rdb_current_bgsave_time_sec") != 3 {
		t.Error(n.Must("INFO", "persistence").text)
	}
	release()
	eventually(t, "the backup", func() bool { return n.Info("rdb_bgsave_in_progress") == 0 })
	if n.Info("rdb_last_bgsave_time_sec") != 3 || n.Info("rdb_saves") != 1 {
		t.Error(n.Must("INFO", "persistence").text)
	}
	last := n.Must("LASTSAVE").String()

	n.Advance(time.Minute)
	n.disk.free.Store(100 << 20)
	n.WantError("MISCONF ", "BGSAVE")
	n.WantError("MISCONF ", "SAVE")
	n.disk.free.Store(-1)
	n.down()
	n.options.BackupDir = "data/CURT/backups" // CURT is a file
	n.up()
	n.WantError("ERR the backup failed", "SAVE")
	text := n.Must("INFO", "persistence").text
	if !strings.Contains(text, "rdb_last_bgsave_status:err") || n.Info("rdb_saves") != 0 {
		t.Error(text)
	}
	if n.Must("LASTSAVE").String() == last {
		t.Error("LASTSAVE is not the start")
	}
}
