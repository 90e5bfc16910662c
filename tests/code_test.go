package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"curt/codec"
)

// TestCaseOfNames: a code is the bytes that were given, no more and no less.
func TestCaseOfNames(t *testing.T) { // C01, C02
	n := start(t)
	names := []string{"aB", "Ab", "AB", "ab", "MyLink", "MYLINK", "mylink", "LoKE2", "o2"}
	for i, name := range names {
		n.Want(quote(name), "SHORTEN", fmt.Sprintf("https://example.com/%d", i), "AS", name)
	}
	for i, name := range names {
		n.wantTarget(name, fmt.Sprintf("https://example.com/%d", i))
	}
	n.Want("(nil)", "RESOLVE", "mYLINK")
	n.Want("(nil)", "RESOLVE", "2")
}

// TestTextsThatAreNoNames: refused with -BADNAME on every way in, never mended into another name.
func TestTextsThatAreNoNames(t *testing.T) { // C03, C15, U05, V06
	n := start(t)
	for _, text := range []string{
		"", ".", "..", "...", "a b", "a/b", "/a", "a/", "a+", "+a", "a%20", "a?b", "a#b", "a:b", "a@b", "a,b", "a*b", `a\b`, `a"b`, "a'b", "<a>", "{a}", "a|b", "a=b", "a&b",
		"\x00", "a\x00", "a\r\n", "a\x7f", "프", "🎉", "é", "\xff", strings.Repeat("a", 129), strings.Repeat("a", 255), strings.Repeat("a", 100_000),
	} {
		for _, words := range [][]string{
			{"SHORTEN", "https://example.com/", "AS", text},
			{"SET", text, "https://example.com/"},
			{"SETNX", text, "https://example.com/"},
			{"SETEX", text, "10", "https://example.com/"},
		} {
			n.WantError("BADNAME ", words...)
		}
		n.Want("(nil)", "RESOLVE", text)
		n.Want("(nil)", "GET", text)
		n.Want("(nil)", "LINKINFO", text)
	}
	n.Want("(integer) 0", "DBSIZE")
	for _, path := range []string{"/%ED%94%84", "/\xed\x94\x84", "/%F0%9F%8E%89", "/a%20b", "/a%2Fb", "/%00"} { // U05
		if a := n.Get(path); a.status != 404 {
			t.Errorf("GET %q answers %d", path, a.status)
		}
	}
	for _, size := range []int{1, 64, 127, 128} {
		name := strings.Repeat("n", size)
		n.Want(quote(name), "SHORTEN", "https://example.com/", "AS", name)
		n.wantTarget(name, "https://example.com/")
	}
}

// TestOwnPages: their names are closed in any case, and answer themselves.
func TestOwnPages(t *testing.T) { // C07
	n := start(t)
	for _, name := range []string{
		"healthz", "HEALTHZ", "Healthz", "robots.txt", "Robots.TXT", "favicon.ico", "FAVICON.ico", "sitemap.xml", ".well-known", ".Well-Known",
		"apple-touch-icon.png", "Apple-Touch-Icon-precomposed.png", "apple-touch-icon",
	} {
		n.WantError("RESERVED ", "SHORTEN", "https://example.com/", "AS", name)
		n.WantError("RESERVED ", "SET", name, "https://example.com/")
		n.Must("SHORTEN", "https://example.com/", "AS", "mine")
		n.WantError("RESERVED ", "RENAME", "mine", name)
		n.Want("(nil)", "RESOLVE", name)
		if a := n.Get("/" + name); a.location != "" {
			t.Errorf("/%s leads to %s", name, a.location)
		}
	}
	for _, path := range []string{"/healthz", "/robots.txt"} {
		if a := n.Get(path); a.status != 200 {
			t.Errorf("%s answers %d", path, a.status)
		}
	}
	n.Must("SHORTEN", "https://example.com/", "AS", "healthz2") // only whole names are closed
}

// TestCodesToCome: a code that is or will be a generated one can't be taken, and one that was taken before its turn is skipped.
func TestCodesToCome(t *testing.T) { // C17
	n := start(t)
	codes := codesOf(t, 1, 1100)
	n.Want(quote(codes[0]), "SHORTEN", "https://example.com/0")
	for _, i := range []int{1, 2, 500, 999} { // reserved with the first block, not issued
		n.WantError("RESERVED ", "SHORTEN", "https://example.com/", "AS", codes[i])
		n.WantError("RESERVED ", "SET", codes[i], "https://example.com/")
	}
	for _, i := range []int{1000, 1001, 1050} { // of no block yet: free, and the generator will pass them by
		n.Want(quote(codes[i]), "SHORTEN", "https://example.com/alias", "AS", codes[i], "TITLE", codes[i])
	}
	seen := map[string]bool{}
	for i := range 1200 {
		code := n.Must("SHORTEN", fmt.Sprintf("https://example.com/next/%d", i)).text
		if seen[code] || slices.Contains([]string{codes[1000], codes[1001], codes[1050]}, code) {
			t.Fatalf("SHORTEN %d got %s, which is taken", i, code)
		}
		seen[code] = true
	}
	for _, i := range []int{1000, 1001, 1050} {
		n.Want(`"https://example.com/alias"`, "RESOLVE", codes[i])
	}
}

// codesOf are the codes of the ids first, first+1, ... of a new store of the tests' key.
func codesOf(tb testing.TB, first uint64, count int) []string {
	ring := testRing()
	table, err := codec.NewTable([]codec.Epoch{{First: 1, KeyID: ring.Active, Length: 7, Alphabet: "base62", Check: codec.CheckValue(ring.Keys[ring.Active])}}, ring.Keys)
	if err != nil {
		tb.Fatal(err)
	}
	list := make([]string, count)
	for i := range list {
		list[i] = string(table.AppendCode(nil, first+uint64(i)))
	}
	return list
}

// TestCodesShowNoOrder: neighbours differ as strangers do.
func TestCodesShowNoOrder(t *testing.T) { // C18
	n := start(t)
	const count = 1000
	codes := make([]string, count)
	rising := 0
	shared := map[string]int{}
	for i := range codes {
		codes[i] = n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i)).text
		if len(codes[i]) != 7 {
			t.Fatalf("code %q has not 7 characters", codes[i])
		}
		if i > 0 && codes[i] > codes[i-1] {
			rising++
		}
		shared[codes[i][:3]]++
		shared[codes[i][4:]+"$"]++
	}
	if rising < count*2/5 || rising > count*3/5 { // by chance half of them; 6 sigma away is 405 or 595
		t.Errorf("%d of %d codes are higher than the one before", rising, count)
	}
	for part, times := range shared {
		if times > 5 { // by chance 1000 codes give hardly any 3 letters more than twice
			t.Errorf("%d of %d codes have %q in common", times, count, part)
		}
	}
}

// TestOtherSpellingsLeadNowhere: one code has one text. Whatever is changed in it is another code, and nearly always none.
func TestOtherSpellingsLeadNowhere(t *testing.T) { // C21
	n := start(t)
	seed := newSeed(t)
	rng := newRand(seed)
	codes := map[string]bool{}
	for i := range 50 {
		codes[n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i)).text] = true
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for code := range codes {
		changed := []byte(code)
		changed[rng.IntN(len(changed))] = digits[rng.IntN(len(digits))]
		for _, text := range []string{
			string(changed), "0" + code, code + "0", code[1:], code[:6], strings.ToUpper(code), strings.ToLower(code), code + ".", code + " ", " " + code,
			code + "\x00", code + "/", code + "%20", strings.Repeat("0", 7), code + code,
		} {
			if r := n.Do("RESOLVE", text); !codes[text] && !r.isNull() {
				t.Errorf("%q of %q leads to %s", text, code, r)
			}
		}
	}
}

// TestFreedNames: what may be taken again, and by whom.
func TestFreedNames(t *testing.T) { // C22
	n := start(t)
	n.Must("SHORTEN", "https://example.com/1", "AS", "name")
	n.Want("(integer) 1", "DEL", "name")
	n.Want(`"name"`, "SHORTEN", "https://example.com/2", "AS", "name") // a deleted name is free
	n.wantTarget("name", "https://example.com/2")

	n.Want("OK", "RENAME", "name", "renamed")
	n.Want("(nil)", "RESOLVE", "name") // H02: the old name leads nowhere at once
	if a := n.Get("/name"); a.status != 404 {
		t.Errorf("GET of the old name answers %d", a.status)
	}
	n.wantTarget("renamed", "https://example.com/2")
	n.Want(`"name"`, "SHORTEN", "https://example.com/3", "AS", "name")
	n.wantTarget("name", "https://example.com/3")

	code := n.Must("SHORTEN", "https://example.com/4").text
	n.Want("(integer) 1", "DEL", code)
	n.WantError("RESERVED ", "SHORTEN", "https://example.com/5", "AS", code) // a generated code never is
	n.WantError("RESERVED ", "SET", code, "https://example.com/5")
	n.Restart()
	n.WantError("RESERVED ", "SHORTEN", "https://example.com/5", "AS", code)
	if again := n.Must("SHORTEN", "https://example.com/4").text; again == code {
		t.Errorf("the deleted code %s was issued again", code)
	}
}

// TestTakingATakenName: refused, and nothing of the link that has it is changed.
func TestTakingATakenName(t *testing.T) { // C25
	n := start(t)
	n.Must("SHORTEN", "https://example.com/mine", "AS", "name", "TITLE", "mine", "TAG", "a", "EX", "1000")
	generated := n.Must("SHORTEN", "https://example.com/generated").text
	for _, name := range []string{"name", generated} {
		before := n.Do("LINKINFO", name).String()
		for _, words := range [][]string{
			{"SHORTEN", "https://example.com/other", "AS", name},
			{"SHORTEN", "https://example.com/mine", "AS", name},
			{"SHORTEN", "https://example.com/mine", "AS", name, "TITLE", "mine", "TAG", "a", "EX", "1001"},
			{"SHORTEN", "https://example.com/other", "AS", name, "TENANT", "other"},
		} {
			n.WantError("EXISTS ", words...)
		}
		n.Want("(integer) 0", "SETNX", name, "https://example.com/other")
		n.Want("(nil)", "SET", name, "https://example.com/other", "NX")
		n.Must("SHORTEN", "https://example.com/mover", "AS", "mover")
		n.WantError("EXISTS ", "RENAME", "mover", name)
		n.Want("(integer) 0", "RENAMENX", "mover", name)
		if after := n.Do("LINKINFO", name).String(); after != before {
			t.Errorf("the link was changed from\n%s\nto\n%s", before, after)
		}
	}
	n.Want("OK", "SET", "name", "https://example.com/other", "XX") // what is asked for in so many words is done
	n.wantTarget("name", "https://example.com/other")
}

// TestBadNumbers: an error, nothing changed, and the connection answers on.
func TestBadNumbers(t *testing.T) { // V12, V13
	n := start(t)
	n.Must("SHORTEN", "https://example.com/", "AS", "name")
	before := n.Do("LINKINFO", "name").String()
	var bad [][]string
	for _, number := range []string{"abc", "", "1.5", "0x10", "+1", " 1", "1 ", "9223372036854775808", "-9223372036854775809", "٣", "01"} {
		for _, option := range []string{"EX", "PX", "EXAT", "PXAT", "MAXVISITS"} {
			bad = append(bad, []string{"SHORTEN", "https://example.com/x", option, number})
		}
		bad = append(bad,
			[]string{"EXPIRE", "name", number}, []string{"PEXPIREAT", "name", number}, []string{"SETEX", "name", number, "https://example.com/x"},
			[]string{"SET", "name", "https://example.com/x", "EX", number}, []string{"MSHORTEN", number, "https://example.com/x"},
			[]string{"SCAN", "0", "COUNT", number}, []string{"GETRANGE", "name", number, "1"}, []string{"SELECT", number}, []string{"HELLO", number})
	}
	bad = append(bad, []string{"SHORTEN"}, []string{"SHORTEN", "https://example.com/x", "EX"}, []string{"MSHORTEN", "-1", "https://example.com/x"},
		[]string{"MSHORTEN", "2", "https://example.com/x"}, []string{"SCAN", "-1"}, []string{"SCAN", "x"}, []string{"SCAN", "0", "COUNT", "-1"},
		[]string{"SCAN", "0", "COUNT", "0"}, []string{"SHORTEN", "https://example.com/x", "MAXVISITS", "0"}, []string{"RESOLVE"}, []string{"RETARGET", "name"})
	for _, words := range bad {
		n.WantError("ERR ", words...)
	}
	n.Want("PONG", "PING")
	n.Want("(integer) 1", "DBSIZE")
	if after := n.Do("LINKINFO", "name").String(); after != before {
		t.Errorf("the link was changed from\n%s\nto\n%s", before, after)
	}
	n.Want(`"later"`, "SHORTEN", "https://example.com/x", "EXAT", "4000000000", "AS", "later") // one bound alone is enough
}

// newRand is a source that gives the same numbers for the same seed.
func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// newSeed is a new seed for a random test, which it prints.
func newSeed(tb testing.TB) uint64 {
	seed := rand.Uint64()
	tb.Logf("seed %d", seed)
	return seed
}
