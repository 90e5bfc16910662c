package tests

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
)

// The links of the history: the first two are banned and unbanned, the others deleted.
const (
	linearKeys   = 4
	bannableKeys = 2
)

func linearKey(i int) string { return fmt.Sprint("link", i) }

// linearState is what the model knows of each link.
type linearState [linearKeys]struct {
	target string // "" when there is none
	banned bool
}

func (s *linearState) seen(i int) string {
	if s[i].banned {
		return ""
	}
	return s[i].target
}

// linearOp is one operation. In a transaction, watched and written are sets of keys.
type linearOp struct {
	kind             string // get, set, del, ban, unban, all, exec
	key              int
	watched, written [linearKeys]bool
	before           [linearKeys]string // what was seen of the watched between WATCH and MULTI
	target           string             // unique
}

// targetOf is what a transaction sets a link to: no two have the same target, since a ban would be of both.
func (op *linearOp) targetOf(i int) string { return fmt.Sprint(op.target, i) }

// linearResult is what came of it.
type linearResult struct {
	done bool // the reply was not an error; of exec: not null
	seen [linearKeys]string
	made [linearKeys]bool // of exec: a SET was not refused
}

// step says whether a result may come of an operation, and what is then.
func (op *linearOp) step(s linearState, r *linearResult) (bool, linearState) {
	switch op.kind {
	case "get":
		return r.seen[op.key] == s.seen(op.key), s
	case "set":
		if r.done {
			s[op.key].target = op.target
		}
		return r.done != s[op.key].banned, s
	case "del":
		was := s[op.key].target != ""
		s[op.key].target = ""
		return r.done == was, s
	case "ban", "unban":
		s[op.key].banned = op.kind == "ban"
		return r.done, s
	case "all":
		for i := range s {
			if r.seen[i] != s.seen(i) {
				return false, s
			}
		}
		return true, s
	}
	if !r.done { // a watched link may have changed and come back: no result is wrong
		return true, s
	}
	for i := range s {
		if op.watched[i] && (op.before[i] != s.seen(i) || r.seen[i] != s.seen(i)) {
			return false, s
		}
	}
	for i := range s {
		if op.written[i] {
			if r.made[i] == s[i].banned {
				return false, s
			}
			if r.made[i] {
				s[i].target = op.targetOf(i)
			}
		}
	}
	return true, s
}

// linearClient does operations and writes down what came of them, and when: by a clock that counts.
type linearClient struct {
	*client
	id      int
	clock   *atomic.Int64
	random  *rand.Rand
	history []porcupine.Operation
}

// record does an operation between two ticks of the clock.
func (c *linearClient) record(op linearOp, do func(r *linearResult)) linearResult {
	var r linearResult
	called := c.clock.Add(1)
	do(&r)
	c.history = append(c.history, porcupine.Operation{ClientId: c.id, Input: &op, Call: called, Output: &r, Return: c.clock.Add(1)})
	return r
}

func (c *linearClient) get(i int) string {
	return c.record(linearOp{kind: "get", key: i}, func(r *linearResult) { r.seen[i] = c.Do("GET", linearKey(i)).text }).seen[i]
}

func (c *linearClient) something(target string) {
	i := c.random.IntN(linearKeys)
	switch n := c.random.IntN(10); {
	case n < 2:
		c.get(i)
	case n == 2:
		c.record(linearOp{kind: "set", key: i, target: target}, func(r *linearResult) { r.done = !c.Do("SET", linearKey(i), target).isError() })
	case n == 3 && i < bannableKeys:
		kind := []string{"ban", "unban"}[c.random.IntN(2)]
		c.record(linearOp{kind: kind, key: i}, func(r *linearResult) { r.done = !c.Do(strings.ToUpper(kind), linearKey(i)).isError() })
	case n == 3:
		c.record(linearOp{kind: "del", key: i}, func(r *linearResult) { r.done = c.Do("DEL", linearKey(i)).text == "1" })
	case n == 4:
		c.record(linearOp{kind: "all"}, func(r *linearResult) {
			c.Do("MULTI")
			for i := range linearKeys {
				c.Do("GET", linearKey(i))
			}
			for i, v := range c.Do("EXEC").list {
				r.seen[i] = v.text
			}
		})
	default:
		c.transaction(target)
	}
}

// transaction watches some links, looks at them, and sets some of them if they are still so.
func (c *linearClient) transaction(target string) {
	op := linearOp{kind: "exec", target: target}
	for i := range linearKeys {
		op.watched[i] = c.random.IntN(2) == 0
		op.written[i] = op.watched[i] && c.random.IntN(2) == 0
		if op.watched[i] {
			c.Do("WATCH", linearKey(i))
		}
	}
	var all [][]string
	for i := range linearKeys {
		if op.watched[i] {
			op.before[i] = c.get(i)
			all = append(all, []string{"GET", linearKey(i)})
		}
	}
	for i := range linearKeys {
		if op.written[i] {
			all = append(all, []string{"SET", linearKey(i), op.targetOf(i)})
		}
	}
	c.Do("MULTI")
	for _, words := range all {
		c.Do(words...)
	}
	c.record(op, func(r *linearResult) {
		results := c.Do("EXEC")
		r.done = !results.isNull()
		at := 0
		for i := range linearKeys {
			if r.done && op.watched[i] {
				r.seen[i] = results.list[at].text
				at++
			}
		}
		for i := range linearKeys {
			if r.done && op.written[i] {
				r.made[i] = !results.list[at].isError()
				at++
			}
		}
	})
}

// TestTransactionsAreLinearizable looks for an order of everything that many clients did, transactions and not, in which each saw
// what it saw; each operation stands in it between its call and its return.
func TestTransactionsAreLinearizable(t *testing.T) {
	n := start(t)
	const clients = 6
	seeds := pick(t)
	var clock atomic.Int64
	var failed, made int
	var initial linearState
	for i := range initial {
		initial[i].target = fmt.Sprintf("https://first%d.example/", i)
	}
	model := porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, in, out any) (bool, any) {
			return in.(*linearOp).step(state.(linearState), out.(*linearResult))
		},
	}
	for round := range scale(3, 10, 300) {
		for i, link := range initial {
			n.Do("UNBAN", linearKey(i))
			n.Must("SET", linearKey(i), link.target)
		}
		all := make([]*linearClient, clients)
		for i := range all {
			all[i] = &linearClient{id: i, clock: &clock, random: rand.New(rand.NewPCG(uint64(seeds(1<<62)), 0))}
		}
		n.together(clients, func(i int, c *client) {
			all[i].client = c
			for k := range 25 {
				all[i].something(fmt.Sprintf("https://t%d-%d-%d.example/", round, i, k))
			}
			c.conn.Close()
		})
		var history []porcupine.Operation
		for _, c := range all {
			for _, o := range c.history {
				if op, r := o.Input.(*linearOp), o.Output.(*linearResult); op.kind == "exec" && r.done {
					made++
				} else if op.kind == "exec" {
					failed++
				}
			}
			history = append(history, c.history...)
		}
		if result := porcupine.CheckOperationsTimeout(model, history, patience); result != porcupine.Ok {
			t.Fatalf("round %d: %s", round, result)
		}
	}
	t.Logf("%d transactions went through, %d did not", made, failed)
	if made == 0 || failed == 0 {
		t.Error("nothing was tested")
	}
}
