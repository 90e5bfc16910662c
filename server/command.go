package server

import (
	"fmt"
	"slices"
	"strings"

	"curt/server/link"
	"curt/server/resp"
)

// flag is one of Redis's command flags; COMMAND, the ACL categories and dispatch read them.
type flag uint32

const (
	flagWrite       flag = 1 << iota // changes the store: the reply waits for the sync
	flagReadonly                     // reads links
	flagDenyOOM                      // grows the store: refused when the disk is nearly full
	flagFast                         // constant work
	flagAdmin                        // for operators
	flagPubSub                       // allowed while subscribed under RESP2
	flagNoAuth                       // allowed before authentication
	flagNoMulti                      // not allowed in a transaction
	flagLoading                      // harmless at any time
	flagStale                        // harmless at any time
	flagSkipMonitor                  // not shown by MONITOR
	flagSkipSlowlog                  // not kept by SLOWLOG
	flagBlocking                     // may wait
)

var flagNames = []string{"write", "readonly", "denyoom", "fast", "admin", "pubsub", "no_auth", "no_multi", "loading", "stale",
	"skip_monitor", "skip_slowlog", "blocking"}

func (f flag) names() []string {
	var names []string
	for i, name := range flagNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// keySpan says which words of a command are codes: from First to Last (negative: counted from the end) in steps.
type keySpan struct{ first, last, step int }

var (
	oneKey   = keySpan{1, 1, 1}
	twoKeys  = keySpan{1, 2, 1}
	manyKeys = keySpan{1, -1, 1}
)

// positions returns the positions of the keys among n words.
func (k keySpan) positions(n int) []int {
	if k.first == 0 {
		return nil
	}
	last := k.last
	if last < 0 {
		last += n
	}
	var list []int
	for i := k.first; i <= last && i < n; i += k.step {
		list = append(list, i)
	}
	return list
}

// keyword says that codes stand behind a word of a command, at or after a position: one of them, or, halved, the first half
// of what follows.
type keyword struct {
	word   string
	from   int
	halved bool
}

// command is everything there is to say of one command. Dispatch, COMMAND, COMMAND DOCS, the ACL categories, the metrics' labels
// and COMMANDS.md derive from it.
type command struct {
	name       string // lower case; of a subcommand, its own word
	arity      int    // number of words with the name; negative: at least
	flags      flag
	keys       keySpan
	keyword    keyword
	group      string // as redis.io groups them; own groups: link, click, id
	since      string
	complexity string
	syntax     string // arguments in redis.io's notation
	summary    string // one sentence, no full stop
	reply      string // shapes of the reply and own error words, for COMMANDS.md
	run        func(*call) error
	subs       []*command

	form      *command                 // what it is with the form's name as third word; the ACL knows it as name|form. nil: always the same
	immediate bool                     // runs at once after MULTI, which queues the others
	ahead     bool                     // EXEC runs it before it locks: it may wait, and what it gives out is nobody's before
	newLinks  func(args [][]byte) int  // how many links it may make at most, for EXEC; nil: none
	channels  keySpan                  // which words are channels, or PSUBSCRIBE's patterns of some
	discloses func(args [][]byte) bool // a write that also tells what was at its first key, in its reply or at another key; nil: none does
	gathers   func(args [][]byte) bool // it needs the counts of all links in their rows: EXEC brings most there before it locks; nil: never
	wide      func(args [][]byte) bool // it is about more than one tenant: refused to who is confined, as every flagAdmin is; nil: never
	dangerous bool                     // for the ACL category, which every flagAdmin is in
	secrets   int                      // words from this position on are hidden from MONITOR and SLOWLOG; 0: none

	parent *command
	index  int // position among all commands and subcommands, for statistics
}

// fullName is the name that error texts and statistics use.
func (c *command) fullName() string {
	if c.parent != nil {
		return c.parent.name + "|" + c.name
	}
	return c.name
}

// isClient reports that the command is CLIENT or one of its subcommands. A nil command is not.
func (c *command) isClient() bool {
	return c != nil && (c.name == "client" || c.parent != nil && c.parent.name == "client")
}

// fits reports whether a number of words is right.
func (c *command) fits(words int) bool {
	return words == c.arity || c.arity < 0 && words >= -c.arity
}

// keyPositions returns which words of a command are codes.
func (c *command) keyPositions(args [][]byte) []int {
	list := c.keys.positions(len(args))
	if k := c.keyword; k.word != "" {
		for i := k.from; i < len(args)-1; i++ {
			if !equalFold(args[i], k.word) {
				continue
			}
			n := 1
			if k.halved {
				n = (len(args) - 1 - i) / 2
			}
			for j := range n {
				list = append(list, i+1+j)
			}
			break
		}
	}
	return list
}

// table finds commands by name. It does not change after newTable.
type table struct {
	byName map[string]*command
	all    []*command // sorted by name, without subcommands
	count  int        // with subcommands
	forms  []*command // their indexes are from count on
}

// newTable indexes the commands of all families. It panics on a name that stands twice: that is a fault in the source.
func newTable(families ...[]*command) *table {
	t := &table{byName: map[string]*command{}}
	for _, c := range slices.Concat(families...) {
		if t.byName[c.name] != nil || c.name != strings.ToLower(c.name) {
			panic(fmt.Sprintf("command %s stands twice", c.name))
		}
		t.byName[c.name] = c
		t.all = append(t.all, c)
	}
	slices.SortFunc(t.all, func(a, b *command) int { return strings.Compare(a.name, b.name) })
	for _, c := range t.all {
		c.index = t.count
		t.count++
		for _, sub := range c.subs {
			sub.parent, sub.group, sub.index = c, c.group, t.count
			t.count++
		}
	}
	for _, c := range t.all {
		if f := c.form; f != nil {
			f.parent, f.group, f.keys, f.index = c, c.group, c.keys, t.count+len(t.forms)
			t.forms = append(t.forms, f)
		}
	}
	return t
}

// as is the command, or its form, that words ask for.
func (c *command) as(args [][]byte) *command {
	if c.form != nil && len(args) > 2 && equalFold(args[2], c.form.name) {
		return c.form
	}
	return c
}

const maxCommandName = 32 // bytes; no command's is longer

// find looks a command up in any case, without allocating.
func (t *table) find(name []byte) *command {
	var buf [maxCommandName]byte
	if len(name) > len(buf) {
		return nil
	}
	return t.byName[string(lower(buf[:0], name))]
}

// sub looks a subcommand up.
func (c *command) sub(name []byte) *command {
	for _, s := range c.subs {
		if equalFold(name, s.name) {
			return s
		}
	}
	return nil
}

func lower(dst, b []byte) []byte {
	for _, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

// equalFold compares a word with a keyword, ASCII letters in any case.
func equalFold(word []byte, keyword string) bool {
	if len(word) != len(keyword) {
		return false
	}
	for i := range word {
		a, b := word[i], keyword[i]
		if 'A' <= a && a <= 'Z' {
			a += 'a' - 'A'
		}
		if 'A' <= b && b <= 'Z' {
			b += 'a' - 'A'
		}
		if a != b {
			return false
		}
	}
	return true
}

// call is one command being carried out. A handler appends one whole reply to w or returns an error, never touches the connection, and keeps
// no word beyond the call.
type call struct {
	*Server
	session *session
	cmd     *command
	args    [][]byte // the words, the command's name first (of a subcommand: its parent's)
	w       *resp.Writer
	links   *link.Service // inside EXEC: the view that sees the transaction's writes
	tx      *transaction  // inside EXEC: what it carries out; a command must not wait then
	owes    bool          // the reply tells of a change and waits for its sync
}

// ok answers OK when there is no error.
func (c *call) ok(err error) error {
	if err == nil {
		c.w.SimpleString("OK")
	}
	return err
}

// yes answers 1 or 0 when there is no error.
func (c *call) yes(yes bool, err error) error {
	if err == nil {
		c.writeFlag(yes)
	}
	return err
}

// writeFlag writes 1 or 0.
func (c *call) writeFlag(yes bool) {
	if yes {
		c.w.Int(1)
	} else {
		c.w.Int(0)
	}
}
