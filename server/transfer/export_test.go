package transfer

import (
	"context"
	"strings"
	"testing"

	"curt/codec"
	"curt/server/link"
)

// fill makes links of every kind, in two epochs.
func fill(b *bench) {
	ctx := context.Background()
	must := func(code string, err error) string {
		b.t.Helper()
		if err != nil {
			b.t.Fatal(err)
		}
		return code
	}
	make := func(links *link.Service, r link.Request) string { return must(links.Shorten(ctx, &r)) }
	b.withLinks(func(links *link.Service) {
		for i := range 20 {
			make(links, link.Request{URL: url(i)})
		}
		make(links, link.Request{URL: url(1), Tenant: "acme", Creator: "ann"})
		make(links, link.Request{URL: url(2) + "?a=<b>&c=%C3%A9", HasAlias: true, Alias: "named", Words: []byte("x")})
		make(links, link.Request{URL: url(3), Tags: []string{"b", "a", "ü"}, Title: "A \"title\" – <b>", MaxVisits: 5, Forward: true})
		make(links, link.Request{URL: url(4), Expires: b.now.Load() + 1000})
		make(links, link.Request{URL: url(5), HasCode: true, Code: link.CodeRandom, Length: 12})
		for _, name := range []string{"evil", "gone", "away"} {
			make(links, link.Request{URL: url(100) + name, HasAlias: true, Alias: name})
		}
		must("", links.Ban("evil", "phishing"))
		must("", links.Ban("gone", ""))
		if _, err := links.Delete("gone"); err != nil {
			b.t.Fatal(err)
		}
		if _, err := links.Delete("away"); err != nil {
			b.t.Fatal(err)
		}
		if _, err := links.BanHost("bad.example", "malware"); err != nil {
			b.t.Fatal(err)
		}
		if _, err := links.Reserve(ctx, 2, "acme", ""); err != nil {
			b.t.Fatal(err)
		}
		code := make(links, link.Request{URL: url(6)})
		must("", links.Rename(code, "renamed"))
		must("", links.Retarget("renamed", url(7)))
		if _, err := links.NextIDs(ctx, "orders", 3); err != nil {
			b.t.Fatal(err)
		}
		limited := make(links, link.Request{URL: url(8) + "limited", MaxVisits: 40})
		spent := make(links, link.Request{URL: url(8) + "spent", MaxVisits: 1})
		for range 3 {
			b.visit(links, "named", "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0")
			b.visit(links, "named", "curl/8.0")
			b.visit(links, limited, "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0")
			b.now.Add(3_600_000)
		}
		b.visit(links, spent, "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0")
		if state, err := links.Info(spent); err != nil || state.State != link.UsedUp {
			b.t.Fatal(state, err)
		}
	})
	b.opts.Codes.Ring = ring("k1", "k2")
	b.now.Add(10_000)
	b.withLinks(func(links *link.Service) {
		make(links, link.Request{URL: url(50)})
	})
}

// Export, import into an empty folder that has the keys, export: the same bytes, and every code as before.
func TestExportImportExport(t *testing.T) {
	b := newBench(t, ring("k1"))
	fill(b)
	first := b.export()
	for _, part := range []string{`"visits":3,"bots":3`, `"visits":3,"lastvisit"`, `"referrer":[{"value":"news.example"`, `"granted":`, `"used-up"`, `"hours":[[`} {
		if !strings.Contains(first, part) {
			t.Errorf("the export lacks %s:\n%s", part, first)
		}
	}
	if strings.Contains(first, "6b31") || strings.Count(first, "\n") < 30 { // hex of a key
		t.Fatalf("export:\n%s", first)
	}

	c := newBench(t, ring("k1", "k2"))
	c.now.Store(b.now.Load() + 5_000_000)
	r := c.importFrom(first, ImportOptions{})
	if !r.Adopted || r.Refused != 0 || r.Imported != int64(strings.Count(first, "\n")-1) {
		t.Fatalf("%+v", r)
	}
	c.wantSound()
	if second := c.export(); second != first {
		t.Fatalf("the second export:\n%s\nthe first:\n%s", second, first)
	}

	// Once more, into what is there now.
	r = c.importFrom(first, ImportOptions{})
	if !r.Adopted || r.Refused != 0 || r.There != int64(strings.Count(first, "\n")-1-4) { // bans are written again
		t.Errorf("again: %+v", r)
	}
	if third := c.export(); third != first {
		t.Error("importing again changed something")
	}

	c.withLinks(func(links *link.Service) {
		count, err := links.Clicks("named")
		if err != nil || count.Visits != 3 || count.Bots != 3 {
			t.Errorf("%+v, %v", count, err)
		}
	})

	// Codes and dedup go on.
	table := codesOf(t, first)
	c.withLinks(func(links *link.Service) {
		for code, target := range table {
			if target != "" && code != "evil" {
				_, state, err := links.Lookup([]byte(code))
				if err != nil || state == link.Absent {
					t.Errorf("%s: %v, %v", code, state, err)
				}
			}
		}
		c.wantTarget(links, "renamed", url(7))
		if code, err := links.Shorten(context.Background(), &link.Request{URL: url(8)}); err != nil || table[code] != url(8) {
			t.Errorf("a target that is there got %s (%v)", code, err)
		}
		code, err := links.Shorten(context.Background(), &link.Request{URL: url(1000)})
		if _, known := table[code]; err != nil || known {
			t.Errorf("a new target got %s (%v)", code, err)
		}
		for _, name := range []string{"gone", "named"} {
			if _, err := links.Shorten(context.Background(), &link.Request{URL: url(9), HasAlias: true, Alias: name}); err == nil {
				t.Errorf("%s was free", name)
			}
		}
	})
	c.wantSound()
}

// codesOf lists what the codes and names of an export lead to.
func codesOf(t *testing.T, text string) map[string]string {
	t.Helper()
	table := map[string]string{}
	s := &lineSource{}
	for line := range strings.Lines(text) {
		r, err := s.decode([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if r.Type != "" {
			continue
		}
		for _, code := range []string{r.Code, r.Alias} {
			if code != "" {
				table[code] = r.URL
			}
		}
	}
	return table
}

// Without the keys, or beside other links, generated codes come as names; none is replaced.
func TestExportIntoAnotherStore(t *testing.T) {
	b := newBench(t, ring("k1"))
	fill(b)
	text := b.export()
	table := codesOf(t, text)
	f := func(name string, keys *codec.Ring, before func(*link.Service)) {
		t.Run(name, func(t *testing.T) {
			c := newBench(t, keys)
			c.now.Store(b.now.Load())
			if before != nil {
				c.withLinks(before)
			}
			r := c.importFrom(text, ImportOptions{})
			if r.Adopted || r.Refused != 0 || r.AsNames != 28 || r.CodesLost != 0 {
				t.Fatalf("%+v", r)
			}
			c.withLinks(func(links *link.Service) {
				for code, target := range table {
					info, err := links.Info(code)
					if err != nil || info.Target != target || info.Name != code {
						t.Errorf("%s: %+v, %v", code, info, err)
					}
				}
			})
			c.wantSound()
			if r := c.importFrom(text, ImportOptions{}); r.Refused != 0 || r.Imported > 4 { // the bans
				t.Errorf("again: %+v", r)
			}
			c.wantSound()
		})
	}
	f("no keys", nil, nil)
	f("another key", ring("k3"), nil)
	f("in use", ring("k1", "k2"), func(links *link.Service) {
		if _, err := links.Shorten(context.Background(), &link.Request{URL: url(77)}); err != nil {
			t.Fatal(err)
		}
	})
}

// Where a key of the export is there but not all, its codes are the store's own to issue: they are refused, never replaced.
func TestExportWithOneKeyMissing(t *testing.T) {
	b := newBench(t, ring("k1"))
	fill(b)
	text := b.export()
	c := newBench(t, ring("k1"))
	r := c.importFrom(text, ImportOptions{})
	if r.Adopted || r.NotAdopted == nil || !strings.Contains(r.NotAdopted.Error(), "missing k2") || r.Refused == 0 || r.Refused+r.Imported+r.There != int64(strings.Count(text, "\n")-1) {
		t.Errorf("%+v", r)
	}
	c.wantSound()
}

// A store whose links were flushed takes its own export back.
func TestExportIntoItself(t *testing.T) {
	b := newBench(t, nil)
	b.withLinks(func(links *link.Service) {
		for i := range 10 {
			if _, err := links.Shorten(context.Background(), &link.Request{URL: url(i)}); err != nil {
				t.Fatal(err)
			}
		}
	})
	text := b.export()
	b.withLinks(func(links *link.Service) {
		if err := links.FlushAll(); err != nil {
			t.Fatal(err)
		}
	})
	if r := b.importFrom(text, ImportOptions{}); !r.Adopted || r.Imported != 10 {
		t.Errorf("%+v", r)
	}
	if again := b.export(); again != text {
		t.Errorf("%s\nwant\n%s", again, text)
	}
}

// A line that was tampered with is refused, and the others come in.
func TestAdoptRefuses(t *testing.T) {
	b := newBench(t, ring("k1"))
	b.withLinks(func(links *link.Service) {
		for i := range 3 {
			if _, err := links.Shorten(context.Background(), &link.Request{URL: url(i)}); err != nil {
				t.Fatal(err)
			}
		}
	})
	text := b.export()
	f := func(want, old, replacement string) {
		t.Helper()
		changed := strings.Replace(text, old, replacement, 1)
		if changed == text {
			t.Fatalf("%q is not in the export", old)
		}
		c := newBench(t, ring("k1"))
		r := c.importFrom(changed, ImportOptions{})
		if r.Imported != 2 || r.Refused != 1 || len(r.refused) != 1 || !strings.HasPrefix(r.refused[0], "line 3: ") || !strings.Contains(r.refused[0], want) {
			t.Errorf("%s -> %s: %+v", old, replacement, r)
		}
		c.wantSound()
	}
	f("the code is not that of the id", `{"id":2,"code":"`, `{"id":2,"code":"x`)
	f("was never reserved", `{"id":2,`, `{"id":2000,`)
	f("private_address", `"url":"https://example.com/1"`, `"url":"http://10.0.0.1/"`)
	f("not serialised", `"url":"https://example.com/1"`, `"url":"HTTPS://example.com/1"`)
	f("bad JSON", `{"id":2,`, `{"id":two,`)
	f("bad JSON", `{"id":2,`, `{"colour":2,`)
	f("is not known", `{"id":2,`, `{"type":"lonk","id":2,`)
	f("a header may only be", `{"id":2,`, `{"type":"curt-export","id":2,`)
	f("the code is not that of the id", `{"id":2,`, `{"id":1,`)
}

// A later format is refused as a whole.
func TestLaterFormat(t *testing.T) {
	b := newBench(t, nil)
	if _, err := b.tryImport(`{"type":"curt-export","version":2,"links":0}`+"\n", ImportOptions{}); err == nil || !strings.Contains(err.Error(), "version 1") {
		t.Error(err)
	}
}
