package tests

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

// together runs fn on many connections at once, all released at the same moment.
func (n *node) together(clients int, fn func(i int, c *client)) {
	n.tb.Helper()
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range clients {
		c := n.Dial()
		wg.Go(func() {
			defer c.conn.Close() // many rounds would add up to more connections than the server takes
			<-begin
			fn(i, c)
		})
	}
	close(begin)
	wg.Wait()
}

// TestManyClientsShorten: every URL gets a code of its own, and no client an error.
func TestManyClientsShorten(t *testing.T) {
	const clients = 100
	each := scale(50, 200, 1000)
	n := start(t)
	url := func(i, k int) string { return fmt.Sprintf("https://example.com/%d/%d", i, k) }
	codes := make([][]string, clients)
	n.together(clients, func(i int, c *client) {
		for k := 0; k < each; k += 10 {
			var batch [][]string
			for j := range 10 {
				batch = append(batch, []string{"SHORTEN", url(i, k+j)})
			}
			for _, r := range c.Pipeline(batch...) {
				if r.isError() {
					t.Error(r.text)
				}
				codes[i] = append(codes[i], r.text)
			}
		}
	})
	seen := make(map[string]bool, clients*each)
	for i := range codes {
		for k, code := range codes[i] {
			if len(code) != 7 || seen[code] {
				t.Fatalf("client %d got %q for its URL %d, seen before: %v", i, code, k, seen[code])
			}
			seen[code] = true
		}
		last := len(codes[i]) - 1
		n.Want(quote(url(i, last)), "RESOLVE", codes[i][last])
	}
	if len(seen) != clients*each {
		t.Errorf("%d codes, want %d", len(seen), clients*each)
	}
	n.Want(fmt.Sprintf("(integer) %d", clients*each), "DBSIZE")
}

// TestOneURLFromManyClients: one code, and equal replies.
func TestOneURLFromManyClients(t *testing.T) { // R02
	n := start(t)
	for round := range scale(2, 5, 50) {
		for _, words := range [][]string{
			{"SHORTEN", "URL"},
			{"SHORTEN", "URL?utm_source=a", "DEDUP", "LOOSE", "TENANT", "loose"},
			{"MSHORTEN", "2", "URL", "URL", "TENANT", "many"},
			{"SHORTEN", "URL", "AS", fmt.Sprintf("name-%d", round), "TITLE", "same words"},
		} {
			words := append([]string(nil), words...)
			for i := range words {
				if len(words[i]) >= 3 && words[i][:3] == "URL" {
					words[i] = fmt.Sprintf("https://example.com/%d", round) + words[i][3:]
				}
			}
			before := n.Info("curt_links")
			replies := make([]string, 200)
			n.together(len(replies), func(i int, c *client) { replies[i] = c.Do(words...).String() })
			for i, r := range replies {
				if r != replies[0] {
					t.Fatalf("%q: client 0 got %s, client %d got %s", words, replies[0], i, r)
				}
			}
			if made := n.Info("curt_links") - before; made != 1 {
				t.Errorf("%q made %d links: %s", words, made, replies[0])
			}
		}
	}
}

// TestOneNameForManyClients: one gets it, the rest is told so, and it leads where the winner wanted.
func TestOneNameForManyClients(t *testing.T) {
	n := start(t)
	for round := range scale(2, 5, 50) {
		for _, form := range []string{"SHORTEN", "SETNX"} {
			name := n.freshName()
			url := func(i int) string { return fmt.Sprintf("https://example.com/%d/%d", round, i) }
			replies := make([]reply, 100)
			n.together(len(replies), func(i int, c *client) {
				if form == "SETNX" {
					replies[i] = c.Do("SETNX", name, url(i))
				} else {
					replies[i] = c.Do("SHORTEN", url(i), "AS", name)
				}
			})
			winner := -1
			for i, r := range replies {
				switch {
				case r.text == name || r.text == "1":
					if winner >= 0 {
						t.Errorf("both %d and %d got %s", winner, i, name)
					}
					winner = i
				case r.word() != "EXISTS" && r.text != "0":
					t.Errorf("client %d is told %s", i, r)
				}
			}
			if winner < 0 {
				t.Fatalf("nobody got %s: %s", name, replies[0])
			}
			n.wantTarget(name, url(winner))
		}
	}
}

// TestNamesAgainstCodes: aliases of codes that are about to be issued, against the clients that get them. No text leads to two
// places, and who was told that a text is theirs has it.
func TestNamesAgainstCodes(t *testing.T) { // C17, R07
	n := start(t)
	codes := codesOf(t, 1, scale(1500, 3000, 20_000))
	type claim struct{ code, target string }
	claims := make([][]claim, 8)
	n.together(len(claims), func(i int, c *client) {
		for k, code := range codes {
			if i%2 == 0 && k%4 != i/2 {
				continue
			}
			target := fmt.Sprintf("https://example.com/%d/%d", i, k)
			words := []string{"SHORTEN", target}
			if i%2 == 0 {
				words = append(words, "AS", code)
			} else if k%4 != i/2 {
				continue
			}
			switch r := c.Do(words...); {
			case !r.isError():
				claims[i] = append(claims[i], claim{r.text, target})
			case r.word() != "EXISTS" && r.word() != "RESERVED":
				t.Errorf("%q: %s", words, r.text)
			}
		}
	})
	owner := map[string]string{}
	for _, list := range claims {
		for _, c := range list {
			if other, ok := owner[c.code]; ok {
				t.Errorf("%s was given both to %s and to %s", c.code, other, c.target)
			}
			owner[c.code] = c.target
			n.Want(quote(c.target), "RESOLVE", c.code)
		}
	}
}

// TestMixedChangesOfHotKeys: whatever many clients do to the same few links at once, each gets its answer, and what is there in
// the end is whole.
func TestMixedChangesOfHotKeys(t *testing.T) { // R06
	n := start(t)
	name := func(k int) string { return fmt.Sprintf("hot-%d", k%5) }
	each := scale(50, 150, 5000)
	n.together(16, func(i int, c *client) {
		for k := range each {
			target := fmt.Sprintf("https://example.com/%d", k%7)
			words := [][]string{
				{"SHORTEN", target, "AS", name(k)}, {"SHORTEN", target}, {"RETARGET", name(k), target}, {"DEL", name(k)}, {"RENAME", name(k), name(k + 1)},
				{"SET", name(k), target}, {"EXPIRE", name(k), "100"}, {"BAN", name(k)}, {"UNBAN", name(k)}, {"MSHORTEN", "3", target, "https://example.com/x", target},
				{"PERSIST", name(k)}, {"LINKINFO", name(k)}, {"RESOLVE", name(k)}, {"SCAN", "0", "COUNT", "100"},
			}[(i*7+k)%14]
			if r := c.Do(words...); r.word() == "ERR" && r.text != "ERR no such key" {
				t.Errorf("%q: %s", words, r.text)
			}
		}
	})
	for k := range 5 {
		info := n.Do("LINKINFO", name(k))
		if info.isNull() {
			n.Want("(nil)", "GET", name(k))
			continue
		}
		if info.field("state").text == "live" {
			n.wantTarget(name(k), info.field("target").text)
		}
	}
	n.Restart()
	live := int64(0)
	for cursor := "0"; ; {
		r := n.Must("SCAN", cursor, "COUNT", "1000")
		live += int64(len(r.list[1].list))
		if cursor = r.list[0].text; cursor == "0" {
			break
		}
	}
	if links := n.Info("curt_links"); live > links {
		t.Errorf("SCAN finds %d live links, %d are stored", live, links)
	}
}

// TestLongCommands: as many words as a command may have, in one piece and in pieces that end anywhere.
func TestLongCommands(t *testing.T) {
	n := start(t)
	for _, count := range []int{255, 256, 257, 1000, 10_000} {
		many := []string{"MSHORTEN", fmt.Sprint(count)}
		for i := range count {
			many = append(many, fmt.Sprintf("https://example.com/%d/%d", count, i))
		}
		codes := n.Dial().Do(many...)
		if len(codes.list) != count {
			t.Fatalf("MSHORTEN of %d: %.200s", count, codes)
		}
		get := append([]string{"MGET"}, codes.texts()...)
		for _, piece := range []int{1 << 20, 4096, 1000, 33} {
			if piece < 1000 && count > 1000 {
				continue // a long wait for nothing new
			}
			c := n.Dial()
			for part := range slices.Chunk(appendCommand(nil, get...), piece) {
				c.SendRaw(string(part))
			}
			if targets := c.Receive().texts(); !slices.Equal(targets, many[2:]) {
				t.Fatalf("MGET of %d in pieces of %d bytes: %.200q...", count, piece, targets)
			}
			c.Do("PING")
		}
	}
	c := n.Dial()
	if r := c.Do(append([]string{"MRESOLVE"}, slices.Repeat([]string{"x"}, 10_001)...)...); !r.isError() {
		t.Errorf("MRESOLVE of 10,001 codes answers %d elements", len(r.list))
	}
	if r := c.Do("PING"); r.String() != "PONG" {
		t.Error(r)
	}
}
