package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"curt/server"
	"curt/server/transfer"
)

// status is what browsers are answered for a code.
func (n *node) status(code string) int { return n.Get("/" + code).status }

// The life of a link as users of other shorteners met it; each case says its row.
func TestLives(t *testing.T) {
	soon := func(n *node, alias string) {
		n.Must("SHORTEN", "https://example.com/"+alias, "AS", alias, "PX", "1000")
	}
	for name, run := range map[string]func(t *testing.T, n *node){
		// X01, X02: the clock decides, a millisecond after; no cache and no sweeper does.
		"X02 expiry is on time": func(t *testing.T, n *node) {
			soon(n, "a")
			n.wantTarget("a", "https://example.com/a")
			n.Advance(999 * time.Millisecond)
			n.Want(`"https://example.com/a"`, "RESOLVE", "a")
			n.Advance(time.Millisecond)
			n.WantError("GONE expired", "RESOLVE", "a")
			n.Want("(nil)", "GET", "a")
			n.Want("(integer) -2", "TTL", "a")
			if got := n.status("a"); got != http.StatusGone {
				t.Errorf("HTTP answers %d", got)
			}
		},
		// X03, X04: what ends a link shows, and shows which way.
		"X03 every end holds": func(t *testing.T, n *node) {
			soon(n, "expires")
			n.Must("SHORTEN", "https://example.com/u", "AS", "used", "MAXVISITS", "1")
			n.Must("SHORTEN", "https://example.com/b", "AS", "banned")
			n.Must("SHORTEN", "https://evil.example/", "AS", "host")
			reserved := n.Must("RESERVE", "1").list[0].text
			n.Must("VISIT", "used", "UA", "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0")
			n.Must("BAN", "banned")
			n.Must("BANHOST", "evil.example")
			n.Advance(time.Second)
			for _, c := range []struct {
				code, reply, state string
				status             int
			}{
				{"expires", "(error) GONE expired", "expired", 410}, {"used", "(error) GONE used up", "used-up", 410},
				{"banned", "(error) BANNED the link, its target or its host is banned", "banned", 451},
				{"host", "(error) BANNED the link, its target or its host is banned", "banned", 451},
				{reserved, "(nil)", "reserved", 404}, {"nowhere", "(nil)", "", 404},
			} {
				n.Want(c.reply, "RESOLVE", c.code)
				n.Want(c.reply, "VISIT", c.code)
				n.Want("(nil)", "GET", c.code)
				if got := n.status(c.code); got != c.status {
					t.Errorf("HTTP answers %d for %s", got, c.code)
				}
				// X14: what is known of it can be asked in every state.
				if info := n.Must("LINKINFO", c.code); c.state != "" && info.field("state").text != c.state {
					t.Errorf("%s: %s", c.code, info)
				}
			}
		},
		// X08: no expiry slips through by a number that is none.
		"X08 expiries that are none": func(t *testing.T, n *node) {
			for _, option := range []string{"EX", "PX", "EXAT", "PXAT"} {
				for _, value := range []string{"0", "-1", "9223372036854775808", "9223372036854775807", "1.5", "", "soon"} {
					if option == "PXAT" && value == "9223372036854775807" {
						continue // the last millisecond there is
					}
					n.WantError("ERR ", "SHORTEN", "https://example.com/", "AS", "a", option, value)
				}
			}
			n.WantError("ERR syntax error", "SHORTEN", "https://example.com/", "AS", "a", "EX")
			n.Want("(integer) 0", "DBSIZE")
		},
		// X12: an expired link is revived with what it counted.
		"X12 revival keeps the statistics": func(t *testing.T, n *node) {
			soon(n, "a")
			n.Must("TITLE", "a", "kept")
			n.Get("/a")
			n.Advance(time.Hour)
			n.WantError("GONE expired", "RESOLVE", "a")
			n.Want("OK", "REVIVE", "a", "EX", "60")
			info := n.Must("LINKINFO", "a")
			if info.field("title").text != "kept" || info.field("visits").text == "0" && info.field("bots").text == "0" {
				t.Errorf("%s", info)
			}
			n.wantTarget("a", "https://example.com/a")
			n.Advance(time.Minute)
			n.WantError("GONE expired", "RESOLVE", "a")
		},
		// C24, X13: the name of an expired link is its tenant's again, before a sweeper came and after, and nobody else's.
		"C24 the name of an expired link": func(t *testing.T, n *node) {
			for i, wait := range []func(){func() {}, func() {
				eventually(t, "the sweeper", func() bool { return n.Info("expired_keys") >= 1 })
			}} {
				name := fmt.Sprint("a", i)
				soon(n, name)
				n.wantTarget(name, "https://example.com/"+name)
				n.Advance(time.Second)
				wait()
				n.WantError("EXISTS", "SHORTEN", "https://example.com/other", "AS", name, "TENANT", "other")
				n.Want(fmt.Sprintf("%q", name), "SHORTEN", "https://example.com/new", "AS", name)
				if visits := n.Must("LINKINFO", name).field("visits").text; visits != "0" {
					t.Errorf("%s begins with %s visits", name, visits)
				}
				n.wantTarget(name, "https://example.com/new")
			}
		},
		// As with Redis, CONFIG RESETSTAT forgets how many have expired; those that expire later count.
		"expired_keys begins anew": func(t *testing.T, n *node) {
			for i := range 2 {
				soon(n, fmt.Sprint("a", i))
				n.Advance(time.Second)
				eventually(t, "the sweeper", func() bool { return n.Info("expired_keys") == 1 })
				n.Must("CONFIG", "RESETSTAT")
				if got := n.Info("expired_keys"); got != 0 {
					t.Errorf("after RESETSTAT: %d", got)
				}
			}
		},
		// C22: what becomes of a freed name is said, and so.
		"C22 deleted and renamed names": func(_ *testing.T, n *node) {
			n.Must("SHORTEN", "https://example.com/1", "AS", "a")
			n.Must("DEL", "a")
			n.Want(`"a"`, "SHORTEN", "https://example.com/2", "AS", "a")
			n.Must("RENAME", "a", "b")
			n.Want("(nil)", "RESOLVE", "a")
			n.Want(`"a"`, "SHORTEN", "https://example.com/3", "AS", "a")
			n.Must("BAN", "b")
			n.Must("DEL", "b")
			n.WantError("RESERVED", "SHORTEN", "https://example.com/4", "AS", "b")
			n.Must("UNBAN", "b")
			n.Want(`"b"`, "SHORTEN", "https://example.com/4", "AS", "b")
			code := n.Must("SHORTEN", "https://example.com/5").text
			n.Must("DEL", code)
			n.WantError("RESERVED", "SHORTEN", "https://example.com/6", "AS", code)
		},
		// I05, I10: each of many has its own result, in order; nothing is many too.
		"I05 bulk": func(t *testing.T, n *node) {
			r := n.Do("MSHORTEN", "3", "https://example.com/1", "ftp://example.com/", "https://example.com/1")
			if len(r.list) != 3 || r.list[0].isError() || r.list[1].word() != "BADURL" || r.list[2].text != r.list[0].text {
				t.Errorf("%s", r)
			}
			n.Want("(integer) 1", "DBSIZE")
			for _, empty := range []string{"", "\n\n", "url,alias\n"} {
				format := transfer.CSV
				if !strings.Contains(empty, "url") {
					format = transfer.JSONL
				}
				if sum, err := transfer.ImportTo(t.Context(), toNode{n}, strings.NewReader(empty), transfer.ImportOptions{Format: format}); err != nil || sum.Imported+sum.Refused != 0 {
					t.Errorf("%q: %+v, %v", empty, sum, err)
				}
			}
		},
		// Z11: a host's ban covers what is below it, what is there and what comes, at once; its links can be listed.
		"Z11 a host is banned": func(t *testing.T, n *node) {
			for i, host := range []string{"evil.example", "www.evil.example", "notevil.example"} {
				n.Must("SHORTEN", "https://"+host+"/", "AS", fmt.Sprint("l", i))
				n.wantTarget(fmt.Sprint("l", i), "https://"+host+"/") // and is in every cache
			}
			n.Must("BANHOST", "evil.example")
			for i, want := range []int{451, 451, 302} {
				if got := n.status(fmt.Sprint("l", i)); got != want {
					t.Errorf("l%d: HTTP answers %d", i, got)
				}
			}
			for _, e := range entries() {
				if _, r := e.put(n, n.freshName(), "https://deep.www.evil.example/"); !strings.HasPrefix(r.text, "BANNED ") {
					t.Errorf("%s: %s", e.name, r)
				}
			}
			if listed := n.Must("LINKS", "0", "HOST", "evil.example").list[1].list; len(listed) != 2 {
				t.Errorf("%v", listed)
			}
			n.Must("UNBANHOST", "evil.example")
			n.wantTarget("l1", "https://www.evil.example/")
		},
		// Z12: a ban can be undone, and some hosts can't be banned by mistake.
		"Z12 a ban too many": func(_ *testing.T, n *node) {
			n.Must("SHORTEN", "https://good.example/", "AS", "good")
			n.WantError("ERR the host is on the list", "BANHOST", "good.example")
			n.Must("BANHOST", "example")
			n.Want(`"https://good.example/"`, "RESOLVE", "good")
			n.Must("UNBANHOST", "example")
			n.Must("SHORTEN", "https://other.example/", "AS", "other")
			n.Must("BAN", "other")
			n.WantError("BANNED", "RESOLVE", "other")
			n.Must("UNBAN", "other")
			n.wantTarget("other", "https://other.example/")
			n.Must("SHORTEN", "https://other.example/", "AS", "more")
		},
		// G04, G07: after a restart with an older clock no snowflake id comes again: none comes.
		"G07 an older clock": func(_ *testing.T, n *node) {
			last := n.Must("NEXTID", "SNOWFLAKE").list[0].text
			n.Crash(100, 1)
			n.Advance(-time.Hour)
			n.WantError("ERR the clock stands behind the ids given out", "NEXTID", "SNOWFLAKE")
			n.WantError("ERR the clock stands behind the ids given out", "SHORTEN", "https://example.com/", "CODE", "SNOWFLAKE")
			n.Restart()
			n.WantError("ERR the clock stands behind the ids given out", "NEXTID", "SNOWFLAKE")
			n.Advance(time.Hour + 2*time.Second)
			if next := n.Must("NEXTID", "SNOWFLAKE").list[0].text; len(next) < len(last) || len(next) == len(last) && next <= last {
				n.tb.Errorf("%s after %s", next, last)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, start(t, func(o *server.Options) { o.NeverBan = []string{"good.example"} }))
		})
	}
}
