package link_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"curt/server/link"
)

var errNo = errors.New("no")

func (k *keyspace) exec(ids int, fn func(*link.Service) error) error {
	return k.Exec(context.Background(), link.Need{Links: ids}, fn)
}

func TestExecReadsItsOwnWrites(t *testing.T) {
	k := newKeyspace(t)
	had := k.shorten(link.Request{URL: one})
	var code string
	err := k.exec(1, func(s *link.Service) error {
		var err error
		if code, err = s.Shorten(context.Background(), &link.Request{URL: two}); err != nil {
			return err
		}
		again, err := s.Shorten(context.Background(), &link.Request{URL: two})
		if err != nil || again != code {
			t.Errorf("a second SHORTEN: %q, %v; want %q", again, err, code)
		}
		if url, err := s.Resolve([]byte(code)); err != nil || url != two {
			t.Errorf("inside: %q, %v", url, err)
		}
		if url, err := k.Resolve([]byte(code)); err == nil {
			t.Errorf("outside, before the commit: %q", url)
		}
		return s.Ban(had, "")
	})
	k.want(err, nil)
	k.leads(code, two)
	_, err = k.Resolve([]byte(had))
	k.want(err, link.ErrBanned)
}

// TestExecFails leaves no trace: no link, no ban, no ban of a host, and the ids it took are used by the next.
func TestExecFails(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	before := k.ReservedIDs()
	for range 3000 {
		err := k.exec(1, func(s *link.Service) error {
			for _, err := range []error{s.Retarget(code, two), second(s.BanHost("one.example", "")), second(s.BanHost("two.example", ""))} {
				if err != nil {
					t.Error(err)
				}
			}
			if _, err := s.Resolve([]byte(code)); !errors.Is(err, link.ErrBanned) {
				t.Errorf("inside: %v", err)
			}
			return errNo
		})
		k.want(err, errNo)
	}
	k.leads(code, one)
	if after := k.ReservedIDs(); after != before {
		t.Errorf("ids reserved: %d, then %d", before, after)
	}
	if n := k.Links(); n != 1 {
		t.Errorf("%d links", n)
	}
}

func second(_ bool, err error) error { return err }

func TestExecPanics(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	func() {
		defer func() { recover() }()
		k.exec(0, func(s *link.Service) error {
			s.BanHost("one.example", "")
			panic("on purpose")
		})
	}()
	k.leads(code, one)
	k.want(k.Ban(code, ""), nil) // no lock is left
}

func TestStillRefusesChanges(t *testing.T) {
	k := newKeyspace(t)
	code := k.shorten(link.Request{URL: one})
	err := k.Still(func(s *link.Service) error {
		if url, err := s.Resolve([]byte(code)); url != one {
			t.Errorf("%q, %v", url, err)
		}
		if s.Ban(code, "") == nil {
			t.Error("banned")
		}
		if _, err := s.BanHost("one.example", ""); err == nil {
			t.Error("banned a host")
		}
		if _, err := s.Shorten(context.Background(), &link.Request{URL: two}); err == nil {
			t.Error("made a link")
		}
		return errNo
	})
	k.want(err, errNo)
	k.leads(code, one)
}

// TestChangesAreTold checks what OnChange hears, and that it hears it once the change is visible.
func TestChangesAreTold(t *testing.T) {
	var mu sync.Mutex
	var heard []string
	k := newKeyspace(t, func(c link.Changes) {
		mu.Lock()
		defer mu.Unlock()
		texts := slices.Clone(c.Texts)
		slices.Sort(texts)
		line := fmt.Sprint(c.By, " ", slices.Compact(texts), c.All)
		for _, e := range c.Events {
			line += fmt.Sprint(" ", e.Kind, " ", e.Code, e.Host, " ", e.Target)
		}
		heard = append(heard, line)
	})
	next := func(want string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if len(heard) != 1 || heard[0] != want {
			t.Errorf("heard %q, want %q", heard, want)
		}
		heard = nil
	}
	s := k.For("me")
	_, err := s.Shorten(context.Background(), &link.Request{URL: one, Alias: "a", HasAlias: true})
	k.want(err, nil)
	next("me [a] false created a " + one)
	k.want(s.Retarget("a", two), nil)
	next("me [a] false retargeted a " + two)
	k.want(s.Ban("a", ""), nil)
	next("me [a] false banned a " + two)
	k.want(s.Ban("a", ""), nil)
	k.want(k.Unban("a"), nil)
	next("<nil> [a] false unbanned a " + two)
	k.want(second(s.BanHost("two.example", "")), nil)
	k.want(second(s.BanHost("two.example", "")), nil)
	next("me [] true banned two.example ")
	k.want(second(s.UnbanHost("two.example")), nil)
	next("me [] true unbanned two.example ")
	k.want(second(s.Expire("a", k.clock.Load()+1000, 0)), nil)
	next("me [a] false")
	err = s.Exec(context.Background(), link.Need{Links: 1}, func(s *link.Service) error {
		if _, err := s.Shorten(context.Background(), &link.Request{URL: three, Alias: "b", HasAlias: true}); err != nil {
			return err
		}
		return second(s.Delete("a"))
	})
	k.want(err, nil)
	next("me [a b] false created b " + three + " deleted a " + two)
	k.want(k.FlushAll(), nil)
	next("<nil> [] true")
}
