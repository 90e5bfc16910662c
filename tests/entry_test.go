package tests

import (
	"context"
	"errors"
	"fmt"
	"html"
	"strconv"
	"strings"
	"testing"

	"curt/server/transfer"
)

// entry is one way by which a URL gets into the store. put returns the code that now leads to it, or an error reply.
type entry struct {
	name string
	put  func(n *node, fresh, url string) (code string, r reply)
}

// entries are all ways there are. fresh is a name that is not taken.
func entries() []entry {
	made := func(r reply) (string, reply) { return r.text, r }
	first := func(r reply) (string, reply) {
		if len(r.list) != 1 {
			return "", reply{kind: '-', text: "not an array of one: " + r.String()}
		}
		return made(r.list[0])
	}
	return []entry{
		{"SHORTEN", func(n *node, _, url string) (string, reply) { return made(n.Do("SHORTEN", url)) }},
		{"SHORTEN AS", func(n *node, fresh, url string) (string, reply) { return made(n.Do("SHORTEN", url, "AS", fresh)) }},
		{"SHORTEN TITLE", func(n *node, _, url string) (string, reply) { return made(n.Do("SHORTEN", url, "TITLE", "t")) }},
		{"SHORTEN LOOSE", func(n *node, _, url string) (string, reply) {
			return made(n.Do("SHORTEN", url, "DEDUP", "LOOSE", "TENANT", "loose"))
		}},
		{"MSHORTEN", func(n *node, _, url string) (string, reply) { return first(n.Do("MSHORTEN", "1", url)) }},
		{"SET", func(n *node, fresh, url string) (string, reply) { return fresh, n.Do("SET", fresh, url) }},
		{"SETNX", func(n *node, fresh, url string) (string, reply) { return fresh, n.Do("SETNX", fresh, url) }},
		{"SETEX", func(n *node, fresh, url string) (string, reply) { return fresh, n.Do("SETEX", fresh, "1000", url) }},
		{"GETSET", func(n *node, fresh, url string) (string, reply) { return fresh, n.Do("GETSET", fresh, url) }},
		{"RETARGET", func(n *node, fresh, url string) (string, reply) {
			n.Must("SHORTEN", "https://before.example.com/", "AS", fresh)
			return fresh, n.Do("RETARGET", fresh, url)
		}},
		{"import of CSV", func(n *node, fresh, url string) (string, reply) {
			return fresh, n.importRow(transfer.CSV, "url,alias\n\""+strings.ReplaceAll(url, `"`, `""`)+"\","+fresh+"\n")
		}},
		{"import of JSON lines", func(n *node, fresh, url string) (string, reply) {
			return fresh, n.importRow(transfer.JSONL, `{"url":`+jsonText(url)+`,"alias":"`+fresh+`","title":"t"}`)
		}},
		{"import from Bitly", func(n *node, fresh, url string) (string, reply) {
			return fresh, n.importRow(transfer.Bitly, `{"links":[{"id":"bit.ly/`+fresh+`","long_url":`+jsonText(url)+`}]}`)
		}},
		{"IMPORT", func(n *node, fresh, url string) (string, reply) {
			r := n.Do("IMPORT", `{"url":`+jsonText(url)+`,"alias":"`+fresh+`","visits":3}`)
			if len(r.list) == 1 {
				r = r.list[0]
			}
			return fresh, r
		}},
		{"SET on a link", func(n *node, fresh, url string) (string, reply) {
			n.Must("SHORTEN", "https://before.example.com/", "AS", fresh)
			return fresh, n.Do("SET", fresh, url)
		}},
	}
}

// jsonText writes a text as JSON that leaves every byte as it is, which encoding/json does not.
func jsonText(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\u%04x`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// toNode lets transfer speak to the node.
type toNode struct{ n *node }

// Do implements transfer.Remote.
func (t toNode) Do(_ context.Context, words ...any) (any, error) {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = fmt.Sprintf("%s", w)
	}
	return plain(t.n.Do(texts...))
}

// plain is a reply as transfer.Remote has it.
func plain(r reply) (any, error) {
	if r.isError() {
		return nil, errors.New(r.text)
	}
	if r.kind == ':' {
		return strconv.ParseInt(r.text, 10, 64)
	}
	if r.kind != '*' {
		return r.text, nil
	}
	list := make([]any, len(r.list))
	for i, one := range r.list {
		v, err := plain(one)
		if err != nil {
			v = err
		}
		list[i] = v
	}
	return list, nil
}

// importRow brings in a file of one row. The reply is how it was refused, or what was counted.
func (n *node) importRow(format transfer.Format, text string) (r reply) {
	n.tb.Helper()
	sum, err := transfer.ImportTo(n.tb.Context(), toNode{n}, strings.NewReader(text), transfer.ImportOptions{
		Format: format, Now: n.clock.Now, Refused: func(f transfer.Refusal) { r = reply{kind: '-', text: transfer.Explain(f.Err)} },
	})
	if err != nil {
		n.tb.Fatal(err)
	}
	if sum.Imported+sum.Refused != 1 {
		n.tb.Errorf("%q: %+v", text, sum)
	}
	return r
}

// wantTarget checks that a code leads to exactly these bytes, whoever asks.
func (n *node) wantTarget(code, target string) {
	n.tb.Helper()
	for _, got := range []struct{ from, target string }{
		{"RESOLVE", n.Do("RESOLVE", code).text},
		{"GET", n.Do("GET", code).text},
		{"MRESOLVE", n.Do("MRESOLVE", code).list[0].text},
		{"MGET", n.Do("MGET", code).list[0].text},
		{"LINKINFO", n.Do("LINKINFO", code).field("target").text},
		{"Location of GET", n.Get("/" + code).location},
		{"Location of HEAD", n.request("HEAD", "/"+code).location},
	} {
		if got.target != target {
			n.tb.Errorf("%s of %s\n got: %.120q\nwant: %.120q", got.from, code, got.target, target)
		}
	}
	if page := n.Get("/" + code + "+"); !strings.Contains(page.body, "<code>"+html.EscapeString(target)+"</code>") {
		n.tb.Errorf("preview of %s does not show %.120q", code, target)
	}
}

// kept runs f for each way in, and checks that what it stored is target. f may change the link before.
func kept(t *testing.T, n *node, url, target string, change func(code string)) {
	t.Helper()
	for _, e := range entries() {
		code, r := e.put(n, n.freshName(), url)
		if r.isError() {
			t.Errorf("%s %.80q: %s", e.name, url, r.text)
			continue
		}
		if change != nil {
			change(code)
		}
		n.wantTarget(code, target)
	}
}

// refused checks that a URL is refused in the same words on every way in, that nothing is changed, and that the connection
// answers on.
func refused(t *testing.T, n *node, url, reason string) {
	t.Helper()
	for _, e := range entries() {
		fresh := n.freshName()
		before := n.Info("curt_links")
		_, r := e.put(n, fresh, url)
		if want := "BADURL " + reason + ": "; !r.isError() || !strings.HasPrefix(r.text, want) {
			t.Errorf("%s %.80q\n got: %s\nwant: (error) %s...", e.name, url, r, want)
		}
		if got := n.Do("GET", fresh); !got.isNull() && got.text != "https://before.example.com/" {
			t.Errorf("%s %.80q was refused, yet changed %s to %.80q", e.name, url, fresh, got.text)
		}
		n.Must("DEL", fresh)
		if after := n.Info("curt_links"); after != before {
			t.Errorf("%s %.80q was refused, yet made %d links", e.name, url, after-before)
		}
		if pong := n.Do("PING").String(); pong != "PONG" {
			t.Fatalf("after %s %.80q PING answers %s", e.name, url, pong)
		}
	}
}

// freshName is a name that was not used before.
func (n *node) freshName() string {
	n.names++
	return fmt.Sprintf("name-%d", n.names)
}
