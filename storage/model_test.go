package storage

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// model is what the store should hold, in maps over small domains so that things meet.
type model struct {
	links    map[uint64]Link
	names    map[string]uint64
	dedup    map[[16]byte]uint64
	targets  map[[16]byte]Ban
	hosts    map[string]Ban
	counters map[string]uint64
}

func newModel() model {
	return model{map[uint64]Link{}, map[string]uint64{}, map[[16]byte]uint64{}, map[[16]byte]Ban{}, map[string]Ban{}, map[string]uint64{}}
}

func (m model) clone() model {
	return model{maps.Clone(m.links), maps.Clone(m.names), maps.Clone(m.dedup), maps.Clone(m.targets), maps.Clone(m.hosts), maps.Clone(m.counters)}
}

var (
	modelTenants = []string{"", "a", "ab", "a\x00b"}
	modelTags    = []string{"x", "y", "xy", "\x01x", "\xff"}
)

const modelIDs = 30

func randomKey(rnd *rand.Rand) [16]byte { return [16]byte{byte(rnd.IntN(20))} }

func randomLink(rnd *rand.Rand, id uint64) Link {
	l := Link{ID: id, Flags: Flags(rnd.Uint32()), Target: fmt.Sprint(rnd.Uint32()), Created: rnd.Int64N(1000)}
	l.Tenant = modelTenants[rnd.IntN(len(modelTenants))]
	for _, tag := range modelTags {
		if rnd.IntN(3) == 0 {
			l.Tags = append(l.Tags, tag)
		}
	}
	l.Expires = max(0, rnd.Int64N(20)-10)
	l.Ended = max(0, rnd.Int64N(20)-10)
	l.BannedAt = max(0, rnd.Int64N(20)-10)
	return l
}

// step does one random change to both.
func (m model) step(rnd *rand.Rand, t *Tx) error {
	id := uint64(rnd.IntN(modelIDs)) + 1
	name := string(rune('a' + rnd.IntN(20)))
	key := randomKey(rnd)
	ban := Ban{Since: rnd.Int64N(100), Reason: name, Tenant: "a", Target: name, Own: rnd.IntN(2) == 0}
	old, exists := m.links[id]
	switch n := rnd.IntN(100); {
	case n < 50:
		l := randomLink(rnd, id)
		if exists && n < 25 { // change one thing, as commands do
			l = old
			l.Target, l.BannedAt = fmt.Sprint(rnd.Uint32()), rnd.Int64N(2)
		}
		m.links[id] = l
		if !exists {
			return t.PutLink(nil, &l)
		}
		return t.PutLink(&old, &l)
	case n < 62:
		if exists {
			delete(m.links, id)
			return t.DeleteLink(&old)
		}
	case n < 70:
		m.names[name] = id * uint64(rnd.IntN(2))
		t.PutName(name, m.names[name])
	case n < 75:
		delete(m.names, name)
		t.DeleteName(name)
	case n < 80:
		m.dedup[key] = id
		t.PutDedup(key, id)
	case n < 84:
		delete(m.dedup, key)
		t.DeleteDedup(key)
	case n < 88:
		m.targets[key] = ban
		t.PutBannedTarget(key, ban)
	case n < 90:
		delete(m.targets, key)
		t.DeleteBannedTarget(key)
	case n < 93:
		b := Ban{Since: ban.Since, Reason: ban.Reason}
		m.hosts[name] = b
		t.PutBannedHost(name, b)
	case n < 95:
		delete(m.hosts, name)
		t.DeleteBannedHost(name)
	case n < 99:
		m.counters[name] = rnd.Uint64()
		t.SetCounter(name, m.counters[name])
	case rnd.IntN(4) == 0:
		clear(m.links)
		clear(m.names)
		clear(m.dedup)
		clear(m.targets)
		clear(m.hosts)
		t.DeleteAllLinks()
	}
	return nil
}

// show writes down everything the model says, in the words of Reader's methods.
func (m model) show() string {
	var b strings.Builder
	entries := len(m.names) + len(m.dedup) + len(m.targets) + len(m.hosts)
	var expired, ended []string
	for _, id := range sortedKeys(m.links) {
		l := m.links[id]
		fmt.Fprintf(&b, "link %+v\n", l)
		entries += 1 + len(l.indexKeys())
		if l.Ended != 0 {
			ended = append(ended, fmt.Sprintf("%03d %03d", l.Ended, id))
		} else if l.Expires != 0 {
			expired = append(expired, fmt.Sprintf("%03d %03d", l.Expires, id))
		}
		if l.BannedAt != 0 {
			fmt.Fprintf(&b, "banned %d\n", id)
		}
	}
	for _, tenant := range modelTenants {
		count := 0
		for _, id := range sortedKeys(m.links) {
			l := m.links[id]
			if tenant != "" && l.Tenant == tenant {
				fmt.Fprintf(&b, "tenant %q %d\n", tenant, id)
				count++
			}
		}
		fmt.Fprintf(&b, "links of tenant %q %d\n", tenant, count)
		for _, tag := range modelTags {
			for _, id := range sortedKeys(m.links) {
				l := m.links[id]
				if (tenant == "" || l.Tenant == tenant) && slices.Contains(l.Tags, tag) {
					fmt.Fprintf(&b, "tag %q %q %d\n", tenant, tag, id)
				}
			}
		}
	}
	slices.Sort(expired)
	slices.Sort(ended)
	fmt.Fprintf(&b, "expired %v\nended %v\n", expired, ended)
	for _, name := range sortedKeys(m.names) {
		fmt.Fprintf(&b, "name %s %d\n", name, m.names[name])
	}
	for i := range byte(20) {
		key, name := [16]byte{i}, string(rune('a'+i))
		id, ok := m.dedup[key]
		target, banned := m.targets[key]
		fmt.Fprintf(&b, "key %d %d %v %v %v\n", i, id, ok, target, banned)
		host, banned := m.hosts[name]
		fmt.Fprintf(&b, "letter %s %v %v %d\n", name, host, banned, m.counters[name])
	}
	fmt.Fprintf(&b, "%d links, %d entries\n", len(m.links), entries)
	return sortLines(b.String())
}

func sortLines(s string) string {
	lines := strings.Split(s, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// show writes down everything r says. Order within a scan is checked on the way.
func show(t *testing.T, r *Reader, links int) string {
	t.Helper()
	var b strings.Builder
	var errs []error
	check := func(err error) { errs = append(errs, err) }
	last := uint64(0)
	check(r.EachLink(0, false, func(l *Link) bool {
		fmt.Fprintf(&b, "link %+v\n", *l)
		if one, ok, err := r.Link(l.ID); err != nil || !ok || fmt.Sprint(one) != fmt.Sprint(*l) || l.ID <= last {
			t.Errorf("link %d after %d: scanned %+v, read %+v, %v, %v", l.ID, last, *l, one, ok, err)
		}
		last = l.ID
		return true
	}))
	check(r.EachBannedLink(0, false, func(id uint64) bool { fmt.Fprintf(&b, "banned %d\n", id); return true }))
	for _, tenant := range modelTenants {
		check(r.EachTenantLink(tenant, 0, false, func(id uint64) bool {
			fmt.Fprintf(&b, "tenant %q %d\n", tenant, id)
			return true
		}))
		count, err := r.TenantLinks(tenant)
		check(err)
		fmt.Fprintf(&b, "links of tenant %q %d\n", tenant, count)
		for _, tag := range modelTags {
			check(r.EachTagLink(tenant, tag, 0, true, func(id uint64) bool {
				fmt.Fprintf(&b, "tag %q %q %d\n", tenant, tag, id)
				return true
			}))
		}
	}
	var expired, ended []string
	check(r.EachExpired(1000, func(at int64, id uint64) bool {
		expired = append(expired, fmt.Sprintf("%03d %03d", at, id))
		return true
	}))
	check(r.EachEnded(1000, func(at int64, id uint64) bool {
		ended = append(ended, fmt.Sprintf("%03d %03d", at, id))
		return true
	}))
	fmt.Fprintf(&b, "expired %v\nended %v\n", expired, ended)
	check(r.EachName("", func(text string, id uint64) bool {
		fmt.Fprintf(&b, "name %s %d\n", text, id)
		if one, ok, err := r.Name(text); err != nil || !ok || one != id {
			t.Errorf("name %s: scanned %d, read %d, %v, %v", text, id, one, ok, err)
		}
		return true
	}))
	for i := range byte(20) {
		key, name := [16]byte{i}, string(rune('a'+i))
		id, ok, err := r.Dedup(key)
		target, banned, err2 := r.BannedTarget(key)
		fmt.Fprintf(&b, "key %d %d %v %v %v\n", i, id, ok, target, banned)
		host, banned, err3 := r.BannedHost(name)
		counter, err4 := r.Counter(name)
		fmt.Fprintf(&b, "letter %s %v %v %d\n", name, host, banned, counter)
		check(errors.Join(err, err2, err3, err4))
	}
	fmt.Fprintf(&b, "%d links, %d entries\n", links, entries(t, r))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return sortLines(b.String())
}

// entries counts all keys that DeleteAllLinks would remove: an index entry nobody asks for shows here. Counts of tenants, which
// stay when they are 0, are not among them.
func entries(t *testing.T, r *Reader) (n int) {
	t.Helper()
	it, err := r.from.NewIter(&pebble.IterOptions{LowerBound: []byte(linksFrom), UpperBound: []byte(linksTo)})
	if err != nil {
		t.Fatal(err)
	}
	for ok := it.First(); ok; ok = it.Next() {
		if it.Key()[0] != kindTenantLinks {
			n++
		}
	}
	if err := it.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

var modelRounds = flag.Int("model-rounds", 250, "changes that TestModel does")

// TestModel does random changes, in single batches and in transactions, with flushes, restarts and power cuts.
func TestModel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(seed(t), 0))
	run := modelRun{t: t, rnd: rnd, mem: vfs.NewCrashableMem(), m: newModel()}
	run.open()
	defer func() { run.close() }()
	for range *modelRounds {
		run.change()
		switch rnd.IntN(40) {
		case 0:
			if err := run.s.db.Flush(); err != nil {
				t.Fatal(err)
			}
		case 1:
			run.close()
			run.open()
			run.past = nil
			run.compare()
		case 2:
			run.crash()
		case 3, 4, 5, 6:
			wait(t, run.s, run.s.Ticket())
			run.past = nil
		case 7:
			run.compare()
		}
		if t.Failed() {
			return
		}
	}
}

type modelRun struct {
	t    *testing.T
	rnd  *rand.Rand
	mem  *vfs.MemFS
	s    *Store
	m    model
	past []model // before each change that is not synced
}

func (r *modelRun) open() { r.s = openOnce(r.t, r.mem, SyncAlways) }

func (r *modelRun) close() {
	if err := r.s.Close(); err != nil {
		r.t.Fatal(err)
	}
}

func (r *modelRun) compare() {
	r.t.Helper()
	if got, want := show(r.t, &r.s.Reader, int(r.s.Links())), r.m.show(); got != want {
		r.t.Errorf("store says\n%s\nmodel says\n%s", got, want)
	}
}

var errChanged = errors.New("changed my mind")

// change applies one batch: single, transactional, or given up.
func (r *modelRun) change() {
	next := r.m.clone()
	giveUp := r.rnd.IntN(10) == 0
	var err error
	if r.rnd.IntN(4) == 0 {
		tx := r.s.Begin()
		for range 1 + r.rnd.IntN(6) {
			if err := next.step(r.rnd, tx); err != nil {
				r.t.Fatal(err)
			}
		}
		if got, want := show(r.t, &tx.Reader, len(next.links)), next.show(); got != want {
			r.t.Errorf("transaction says\n%s\nmodel says\n%s", got, want)
		}
		if giveUp {
			tx.Discard()
			return
		}
		_, err = tx.Commit()
	} else {
		_, err = r.s.Update(func(tx *Tx) error {
			if err := next.step(r.rnd, tx); err != nil || !giveUp {
				return err
			}
			return errChanged
		})
		if giveUp && errors.Is(err, errChanged) {
			return
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	r.past = append(r.past, r.m)
	r.m = next
}

// crash cuts the power and goes on with what is left: the state of some moment not before the last sync.
func (r *modelRun) crash() {
	cut := powerCut(r.mem, r.rnd.IntN(2)*50, r.rnd.Uint64())
	r.close()
	r.mem = cut
	r.open()
	got := show(r.t, &r.s.Reader, int(r.s.Links()))
	for _, m := range append(r.past, r.m) {
		if got == m.show() {
			r.m, r.past = m, nil
			return
		}
	}
	r.t.Errorf("after the power cut the store is in none of %d states:\n%s", len(r.past)+1, got)
}
