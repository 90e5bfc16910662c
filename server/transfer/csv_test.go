package transfer

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"curt/server/link"
)

// readAll decodes every row of a text, or says what is wrong with it, each behind its place.
func readAll(t *testing.T, format Format, text string) (list []string) {
	t.Helper()
	s, err := openSource(format, strings.NewReader(text), 1_800_000_000_000)
	if err != nil {
		return []string{err.Error()}
	}
	for {
		raw, place, err := s.next()
		if err != nil && err.Error() == "EOF" {
			return list
		}
		if _, ok := err.(*rowError); err != nil && !ok {
			return append(list, err.Error())
		}
		var r *row
		if err == nil {
			r, err = s.decode(raw)
		}
		if err != nil {
			list = append(list, place+": "+err.Error())
			continue
		}
		list = append(list, fmt.Sprintf("%s: %s", place, strings.TrimSpace(fmt.Sprintln(r.Alias, r.URL, r.Created, r.Expires, r.Visits, strings.Join(r.Tags, "/"), r.Title))))
	}
}

// I09: the line of a row is right with CRLF, a byte order mark and quoted line breaks.
func TestCSVLines(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := readAll(t, CSV, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n%s\nwant\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	f("url,alias\nhttps://a.example/,a\nhttps://b.example/,b\n", "line 2: a https://a.example/ 0 0 0", "line 3: b https://b.example/ 0 0 0")
	f("\xEF\xBB\xBFurl,alias\r\nhttps://a.example/,a\r\n\r\nhttps://b.example/,b", "line 2: a https://a.example/ 0 0 0", "line 4: b https://b.example/ 0 0 0")
	f("url,title,alias\r\nhttps://a.example/,\"one\r\ntwo \"\"2\"\"\",a\r\nhttps://b.example/,,b\r\n",
		"line 2: a https://a.example/ 0 0 0  one two \"2\"", "line 4: b https://b.example/ 0 0 0")
	f("alias;url;tags\na;https://a.example/?x=1,2;x,y\n", "line 2: a https://a.example/?x=1,2 0 0 0 x/y")
	f("alias\turl\na\thttps://a.example/\n", "line 2: a https://a.example/ 0 0 0")
	f("URL , Alias, Created,Expires ,VISITS,Max Visits,colour\nhttps://a.example/,a,2026-01-31,2026-02-01T00:00:00Z,\"1,234\",7,red\n",
		"line 2: a https://a.example/ 1769817600000 1769904000000 1234")
	// A quote that is never closed costs its own line.
	f("url,alias\nhttps://a.example/,\"a\nhttps://b.example/,b\nhttps://c.example/,c\n",
		"line 2: a quote is not closed", "line 3: b https://b.example/ 0 0 0", "line 4: c https://c.example/ 0 0 0")
	f("url,title\nhttps://a.example/,5\" disk\nhttps://b.example/,\nhttps://c.example/,3\" disk\nhttps://d.example/,\n",
		"line 2: bare \" in non-quoted-field", "line 3: https://b.example/ 0 0 0", "line 4: a quote is not closed", "line 5: https://d.example/ 0 0 0")
	f("url,alias\nhttps://a.example/,a,b\n,c\nhttps://d.example/,d\n", "line 2: it has 3 columns, the header has 2", "line 3: c  0 0 0", "line 4: d https://d.example/ 0 0 0")
	f("", "the file is empty: it should begin with a header as url,alias,title")
	f("link,alias\n", `the header "link,alias" names no column with URLs: url`)
	f("url\n")
	f("url,created\nhttps://a.example/,yesterday\n", `line 2: created: "yesterday" is no time: 2026-01-31, 2026-01-31T12:00:00Z or a unix time is`)
	f("url,visits\nhttps://a.example/,-1\nhttps://b.example/,0\n", `line 2: visits: "-1" is no number`, "line 3: https://b.example/ 0 0 0")
}

// One bad row of 10,000: 9,999 come in, and the row's line and reason out. Again: nothing changes.
func TestOneBadRow(t *testing.T) {
	for _, c := range []struct {
		name string
		rows int
	}{{"plain", 10_000}, {"alias", 1000}, {"tagged", 1000}} {
		t.Run(c.name, func(t *testing.T) {
			var text strings.Builder
			text.WriteString("url,alias,tags\r\n")
			for i := range c.rows {
				row := fmt.Sprintf("%s,,\r\n", url(i))
				switch {
				case i == 321:
					row = "ftp://example.com/,,\r\n"
				case c.name == "alias":
					row = fmt.Sprintf("%s,name%d,\r\n", url(i), i)
				case c.name == "tagged":
					row = fmt.Sprintf("%s,,x|y\r\n", url(i))
				}
				text.WriteString(row)
			}
			b := newBench(t, nil)
			want := []string{"line 323: bad_scheme: the URL must begin with http:// or https://"}
			r := b.importFrom(text.String(), ImportOptions{Format: CSV})
			if r.Imported != int64(c.rows-1) || r.Refused != 1 || r.There != 0 || !reflect.DeepEqual(r.refused, want) {
				t.Errorf("%+v", r)
			}
			before := b.export()
			if r = b.importFrom(text.String(), ImportOptions{Format: CSV}); r.Imported != 0 || r.There != int64(c.rows-1) || !reflect.DeepEqual(r.refused, want) {
				t.Errorf("again: %+v", r)
			}
			if b.export() != before {
				t.Error("importing again changed something")
			}
			b.wantSound()
		})
	}
}

// I03: an alias is kept as it is, or reported; never replaced.
func TestAliasIsKeptOrReported(t *testing.T) {
	b := newBench(t, nil)
	var code string
	b.withLinks(func(links *link.Service) {
		var err error
		if code, err = links.Shorten(context.Background(), &link.Request{URL: url(0)}); err != nil {
			t.Fatal(err)
		}
		if _, err = links.Shorten(context.Background(), &link.Request{URL: url(0), HasAlias: true, Alias: "taken"}); err != nil {
			t.Fatal(err)
		}
	})
	r := b.importFrom("url,alias\n"+
		url(1)+",MyLink\n"+
		url(2)+",taken\n"+
		url(3)+",no blanks\n"+
		url(4)+",robots.txt\n"+
		url(5)+","+code+"\n"+
		url(6)+",MyLink\n"+
		url(1)+",MyLink\n"+
		url(7)+",mylink\n", ImportOptions{Format: CSV})
	want := []string{
		"line 3: the name is taken", "line 4: a name is 1 to 128 of A-Z a-z 0-9 - . _ ~ and not dots only", "line 5: the name is reserved",
		"line 6: the name is taken", "line 7: the name is taken",
	}
	if r.Imported != 2 || r.There != 1 || !reflect.DeepEqual(r.refused, want) {
		t.Errorf("%+v", r)
	}
	b.withLinks(func(links *link.Service) {
		b.wantTarget(links, "MyLink", url(1))
		b.wantTarget(links, "mylink", url(7))
		b.wantTarget(links, "taken", url(0))
		b.wantTarget(links, code, url(0))
		if links.Links() != 4 {
			t.Errorf("%d links", links.Links())
		}
	})
}

// Dates and options come in; what has expired is expired.
func TestCSVFields(t *testing.T) {
	b := newBench(t, nil)
	r := b.importFrom("url,alias,created,expires,tags,title,tenant,maxvisits\n"+
		"HTTPS://Example.com/a b,a,2020-01-02,,x|y,A title,acme,5\n"+
		url(1)+",b,1577923200,1577923260,,,,\n"+
		url(2)+",c,1577923200000,2100-01-01T00:00:00Z,,"+strings.Repeat("é", 200)+",,\n", ImportOptions{Format: CSV})
	if r.Imported != 3 || r.TitlesCut != 1 || len(r.refused) > 0 {
		t.Fatalf("%+v", r)
	}
	b.withLinks(func(links *link.Service) {
		f := func(code string, check func(*link.Info) bool) {
			t.Helper()
			if info, err := links.Info(code); err != nil || !check(info) {
				t.Errorf("%s: %+v, %v", code, info, err)
			}
		}
		f("a", func(l *link.Info) bool {
			return l.Target == "https://example.com/a%20b" && l.Created == 1577923200000 && l.Title == "A title" && l.Tenant == "acme" && l.MaxVisits == 5 && len(l.Tags) == 2 && l.State == link.Live
		})
		f("b", func(l *link.Info) bool {
			return l.Created == 1577923200000 && l.Expires == 1577923260000 && l.State == link.Expired
		})
		f("c", func(l *link.Info) bool {
			return l.Expires == 4102444800000 && l.Title == strings.Repeat("é", 128) && l.State == link.Live
		})
	})
	b.wantSound()
}

// I06, I02: initial counts come in, zero and absent ones too, and go on from there.
func TestImportedVisits(t *testing.T) {
	b := newBench(t, nil)
	r := b.importFrom("url,alias,created,visits,maxvisits\n"+
		url(1)+",a,2020-01-02T03:04:05Z,1234,\n"+url(2)+",b,,0,\n"+url(3)+",c,,,\n"+url(4)+",d,,2,3\n"+url(5)+",e,,9,3\n", ImportOptions{Format: CSV})
	if r.Imported != 5 {
		t.Fatalf("%+v", r)
	}
	const agent = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"
	b.withLinks(func(links *link.Service) {
		for _, code := range []string{"a", "b", "d"} {
			b.visit(links, code, agent)
		}
		for code, want := range map[string]int64{"a": 1235, "b": 1, "c": 0, "d": 3, "e": 9} {
			if count, err := links.Clicks(code); err != nil || count.Visits != want {
				t.Errorf("%s: %+v, %v, want %d", code, count, err, want)
			}
		}
		b.wantTarget(links, "d", link.ErrUsedUp.Error())
		b.wantTarget(links, "e", link.ErrUsedUp.Error())
	})
	b.wantSound()
}

// A dry run says the same and leaves nothing.
func TestDryRun(t *testing.T) {
	b := newBench(t, nil)
	b.withLinks(func(links *link.Service) {
		if _, err := links.Shorten(context.Background(), &link.Request{URL: url(0), HasAlias: true, Alias: "taken"}); err != nil {
			t.Fatal(err)
		}
	})
	before := b.export()
	r := b.importFrom("url,alias\n"+url(1)+",one\n"+url(2)+",taken\nftp://x/,\n"+url(3)+",\n"+url(0)+",taken\n", ImportOptions{Format: CSV, DryRun: true})
	if r.Imported != 2 || r.There != 1 || r.Refused != 2 {
		t.Errorf("%+v", r)
	}
	if after := b.export(); after != before {
		t.Errorf("%s\nbefore:\n%s", after, before)
	}
}

// A line that is too long costs its own row.
func TestLongLines(t *testing.T) {
	f := func(format Format, text string, want ...string) {
		t.Helper()
		if got := readAll(t, format, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%.200q, want %q", got, want)
		}
	}
	long, says := strings.Repeat("x", maxLine+2<<20), fmt.Sprintf("it is longer than %d bytes", maxLine)
	f(CSV, "url\nhttps://a.example/\n"+long+"\r\nhttps://b.example/\n", "line 2: https://a.example/ 0 0 0", "line 3: "+says, "line 4: https://b.example/ 0 0 0")
	f(CSV, "url\nhttps://a.example/\n"+long, "line 2: https://a.example/ 0 0 0", "line 3: "+says)
	f(CSV, "url,title\nhttps://a.example/,\"a\n"+long+"\nb\"\nhttps://b.example/,\n", "line 2: "+says, "line 4: a quote is not closed", "line 5: https://b.example/ 0 0 0")
	f(CSV, long+"\nhttps://b.example/\n", says)
	f(JSONL, long+"\n{\"url\":\"https://b.example/\"}\n", "line 1: "+says, "line 2: https://b.example/ 0 0 0")

	b := newBench(t, nil)
	r := b.importFrom(long+"\n{\"url\":\"https://b.example/\"}\n", ImportOptions{})
	if r.Imported != 1 || len(r.refused) != 1 || r.refused[0] != "line 1: "+says {
		t.Errorf("%d imported, refused %.200q", r.Imported, r.refused)
	}
}
