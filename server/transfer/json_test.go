package transfer

import (
	"reflect"
	"strings"
	"testing"

	"curt/server/link"
)

// What other shorteners write, as they write it.
const (
	yourlsTable = `"keyword","url","title","timestamp","ip","clicks"
"blog","https://example.com/blog?a=1&b=2","My ""blog""","2019-03-04 05:06:07","127.0.0.1","42"
"docs","https://example.com/docs",,"2020-01-02 03:04:05","127.0.0.1","0"
`
	yourlsPlugin = "source,target,hits\r\n/blog/,https://example.com/blog,42\r\n/docs/,\"https://example.com/docs?x=1,2\",0\r\n"
	yourlsAPI    = `{"links":{"link_1":{"shorturl":"https:\/\/sho.rt\/blog","url":"https:\/\/example.com\/blog","title":"Blog","timestamp":"2019-03-04 05:06:07","ip":"127.0.0.1","clicks":"42"},
"link_2":{"shorturl":"https:\/\/sho.rt\/docs","url":"https:\/\/example.com\/docs","title":"","timestamp":"2020-01-02 03:04:05","ip":"127.0.0.1","clicks":"0"}},
"stats":{"total_links":"2","total_clicks":"42"},"statusCode":200,"message":"success"}`
	shlinkCSV = "createdAt,title,shortUrl,domain,shortCode,longUrl,tags,visits\n2021-05-06T07:08:09+02:00,,https://s.test/abc123,,abc123,https://example.com/,one|two,3\n"
	shlinkAPI = `{"shortUrls":{"data":[
{"shortCode":"abc123","shortUrl":"https://s.test/abc123","longUrl":"https://example.com/","deviceLongUrls":{"android":null,"ios":null,"desktop":null},"dateCreated":"2021-05-06T07:08:09+02:00","tags":["one","two"],
 "meta":{"validSince":null,"validUntil":"2031-01-01T00:00:00+00:00","maxVisits":100},"domain":null,"title":"T","crawlable":false,"forwardQuery":true,"visitsSummary":{"total":12,"nonBots":10,"bots":2},"visitsCount":12,"hasRedirectRules":false},
{"shortCode":"old","longUrl":"https://example.com/old","dateCreated":"2018-01-01T00:00:00+00:00","tags":[],"meta":{"validSince":null,"validUntil":null,"maxVisits":null},"domain":null,"title":null,"visitsCount":5},
{"shortCode":"soon","longUrl":"https://example.com/soon","dateCreated":"2026-01-01T00:00:00+00:00","tags":[],"meta":{"validSince":"2099-01-01T00:00:00+00:00","validUntil":null,"maxVisits":null}}
],"pagination":{"currentPage":1,"pagesCount":2,"itemsPerPage":3,"itemsInCurrentPage":3,"totalItems":4}}}
{"shortUrls":{"data":[{"shortCode":"last","longUrl":"https://example.com/last","dateCreated":"2022-01-01T00:00:00+00:00","tags":null,"meta":{}}],"pagination":{"currentPage":2}}}`
	kuttAPI = `{"limit":10,"skip":0,"total":3,"data":[
{"id":"5b1c","address":"k1","banned":false,"created_at":"2020-02-02T02:02:02.123Z","domain":null,"expire_in":"2030-02-02T02:02:02.000Z","password":false,"updated_at":"2020-02-02T02:02:02.123Z","description":"About","target":"https://example.com/k1","visit_count":7,"link":"https://kutt.it/k1"},
{"id":"5b1d","address":"k2","banned":true,"created_at":"2020-02-02T02:02:02.123Z","expire_in":null,"password":false,"description":null,"target":"https://example.com/k2","visit_count":0,"link":"https://kutt.it/k2"},
{"id":"5b1e","address":"k3","banned":false,"created_at":"2020-02-02T02:02:02.123Z","expire_in":null,"password":true,"description":null,"target":"https://example.com/k3","visit_count":0,"link":"https://kutt.it/k3"}]}`
	bitlyAPI = `{"links":[{"created_at":"2019-08-09T10:11:12+0000","id":"bit.ly/2abcDEF","link":"https://bit.ly/2abcDEF","custom_bitlinks":["https://brand.test/sale","http://bit.ly/2abcDEF"],"long_url":"https://example.com/sale","title":"Sale","archived":false,"tags":["a","b"],"deeplinks":[],"references":{"group":"https://api-ssl.bitly.com/v4/groups/G"}}],
"pagination":{"prev":"","next":"","size":50,"page":1,"total":1}}`
	bitlyCSV = "Title,Bitlink,Long URL,Created Date,Tags,Total Clicks\nSale,bit.ly/2abcDEF,https://example.com/sale,2019-08-09,\"a, b\",\"1,024\"\n"
)

func TestFormatsOfOthers(t *testing.T) {
	f := func(format Format, text string, want ...string) {
		t.Helper()
		if got := readAll(t, format, text); !reflect.DeepEqual(got, want) {
			t.Errorf("%s %.40q:\n%s\nwant\n%s", format, text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	f(YOURLS, yourlsTable, `line 2: blog https://example.com/blog?a=1&b=2 1551675967000 0 42  My "blog"`, "line 3: docs https://example.com/docs 1577934245000 0 0")
	f(YOURLS, yourlsPlugin, "line 2: blog https://example.com/blog 0 0 42", "line 3: docs https://example.com/docs?x=1,2 0 0 0")
	f(YOURLS, yourlsAPI, "record 1: blog https://example.com/blog 1551675967000 0 42  Blog", "record 2: docs https://example.com/docs 1577934245000 0 0")
	f(Shlink, shlinkCSV, "line 2: abc123 https://example.com/ 1620277689000 0 3 one/two")
	f(Shlink, shlinkAPI, "record 1: abc123 https://example.com/ 1620277689000 1924992000000 10 one/two T", "record 2: old https://example.com/old 1514764800000 0 5",
		"record 3: valid since: the link is not good yet, and Curt's are from the start", "record 4: last https://example.com/last 1640995200000 0 0")
	f(Kutt, kuttAPI, "record 1: k1 https://example.com/k1 1580608922123 1896228122000 7  About", "record 2: k2 https://example.com/k2 1580608922123 0 0",
		"record 3: the link asks for a password, which Curt can't")
	f(Bitly, bitlyAPI, "record 1: 2abcDEF https://example.com/sale 1565345472000 0 0 a/b Sale")
	f(Bitly, bitlyCSV, "line 2: 2abcDEF https://example.com/sale 1565308800000 0 1024 a/b Sale")
	f(Kutt, `{"data":[{"target":"https://example.com/1"},{"target":"x"`, "record 1: https://example.com/1 0 0 0", "bad JSON behind record 1, at byte 57: unexpected EOF")
	f(Kutt, `[]`)
	f(Kutt, `{"data":[1,"a",null,[[]],{"address":"x"}]}`)
	f(JSONL, `{"url":"https://example.com/1","alias":"a","tags":["x"]}`+"\n\n"+`{"url":1}`+"\n"+`{"url":"https://example.com/2"}`,
		"line 1: a https://example.com/1 0 0 0 x", "line 3: bad JSON: json: cannot unmarshal number into Go struct field Record.url of type string", "line 4: https://example.com/2 0 0 0")
}

// A link keeps all its codes, its ban and its dates.
func TestImportOthers(t *testing.T) {
	b := newBench(t, nil)
	for format, text := range map[Format]string{Kutt: kuttAPI, Bitly: bitlyAPI, Shlink: shlinkAPI} {
		b.importFrom(text, ImportOptions{Format: format})
	}
	b.withLinks(func(links *link.Service) {
		for _, code := range []string{"2abcDEF", "sale"} {
			b.wantTarget(links, code, "https://example.com/sale")
		}
		b.wantTarget(links, "k1", "https://example.com/k1")
		b.wantTarget(links, "k2", link.ErrBanned.Error())
		b.wantTarget(links, "k3", link.ErrNotFound.Error())
		info, err := links.Info("abc123")
		if err != nil || info.MaxVisits != 100 || info.Expires != 1924992000000 || info.Created != 1620277689000 || info.Title != "T" {
			t.Errorf("%+v, %v", info, err)
		}
	})
	b.wantSound()
}

// Nothing that a file holds makes a reader panic, loop, or lose its place.
func FuzzSources(f *testing.F) {
	for i, text := range []string{yourlsTable, yourlsPlugin, yourlsAPI, shlinkCSV, shlinkAPI, kuttAPI, bitlyAPI, bitlyCSV, "url\n\"", "{\"a\":[{\"", "\xEF\xBB\xBF"} {
		f.Add(byte(i), text)
	}
	f.Fuzz(func(t *testing.T, which byte, text string) {
		format := Formats()[int(which)%len(Formats())]
		s, err := openSource(format, strings.NewReader(text), 1)
		if err != nil {
			return
		}
		places := map[string]bool{}
		for n := 0; ; n++ {
			raw, place, err := s.next()
			if _, ok := err.(*rowError); err != nil && !ok {
				return
			}
			if places[place] {
				t.Fatalf("%s comes twice", place)
			}
			places[place] = true
			if n > len(text)+1 {
				t.Fatal("more rows than bytes")
			}
			if err == nil {
				if r, err := s.decode(raw); err == nil && r == nil {
					t.Fatal("neither a row nor an error")
				}
			}
		}
	})
}
