package server

import (
	"context"
	"errors"
	"time"

	"curt/server/link"
	"curt/server/resp"
)

func transactionCommands() []*command {
	const flags = flagLoading | flagStale | flagFast
	return []*command{{
		name: "multi", arity: 1, flags: flags, group: "transactions", since: "0.1.0", complexity: "O(1)", immediate: true,
		summary: "Begins a transaction: what follows is queued until EXEC",
		reply:   "OK. -ERR MULTI calls can not be nested",
		run:     multi,
	}, {
		name: "exec", arity: 1, flags: flagLoading | flagStale | flagSkipSlowlog, group: "transactions", since: "0.1.0", complexity: "Depends on the queued commands", immediate: true,
		summary: "Carries out the queued commands, alone, all or none",
		reply:   "array: the reply of each command, errors among them; null when a watched link changed. -EXECABORT, -ERR EXEC without MULTI, -OVERLOADED; -ERR, and nothing is done, when it takes longer than 5 seconds or the replies are more than 64 MiB",
		run:     exec,
	}, {
		name: "discard", arity: 1, flags: flags, group: "transactions", since: "0.1.0", complexity: "O(N) with N the number of queued commands", immediate: true,
		summary: "Drops the queued commands and forgets what was watched",
		reply:   "OK. -ERR DISCARD without MULTI",
		run:     discard,
	}, {
		name: "watch", arity: -2, flags: flags, keys: manyKeys, group: "transactions", since: "0.1.0", complexity: "O(1) for every code", immediate: true,
		syntax:  "code [code ...]",
		summary: "Lets the next EXEC fail if one of these links changes before it, expires or is banned; clicks are no change",
		reply:   "OK. -ERR WATCH inside MULTI is not allowed",
		run:     watch,
	}, {
		name: "unwatch", arity: 1, flags: flags, group: "transactions", since: "0.1.0", complexity: "O(1)",
		summary: "Forgets what was watched",
		reply:   "OK",
		run:     func(c *call) error { c.watches.forget(&c.session.watch); return c.ok(nil) },
	}}
}

// Limits of what MULTI queues.
const (
	maxQueued      = 100_000
	maxQueuedBytes = 32 << 20 // words with what it costs to keep them
	wordCost       = 40
)

// Limits of EXEC, during which nobody else changes anything. Past one, nothing is done.
const (
	maxResults  = 64 << 20 // bytes of replies: it has them all before it commits
	maxExecTime = 5 * time.Second
)

// transaction is what a session queues between MULTI and EXEC.
type transaction struct {
	queue  []queued
	bytes  int
	writes bool
	counts bool     // a command gathers
	spoilt bool     // a command was refused: EXEC will be too
	after  []func() // what the commands do once the commit is visible
}

// queued is a command with its own copy of its words.
type queued struct {
	cmd   *command
	args  [][]byte
	reply []byte // of one that ran before the others; nil: it did not
}

func (t *transaction) add(cmd *command, args [][]byte) error {
	size := 0
	for _, a := range args {
		size += len(a) + wordCost
	}
	if len(t.queue) == maxQueued || t.bytes+size > maxQueuedBytes {
		t.spoilt = true
		return replyError("ERR the transaction is too large: at most 100000 commands and 32 MiB")
	}
	t.bytes += size
	text := make([]byte, 0, size-len(args)*wordCost)
	words := make([][]byte, len(args))
	for i, a := range args {
		text = append(text, a...)
		words[i] = text[len(text)-len(a) : len(text) : len(text)]
	}
	t.queue = append(t.queue, queued{cmd: cmd, args: words})
	is := cmd.as(args)
	t.writes = t.writes || is.flags&flagWrite != 0
	t.counts = t.counts || is.gathers != nil && is.gathers(args)
	return nil
}

// enqueue keeps a command for EXEC.
func (s *Server) enqueue(sess *session, cmd *command, args [][]byte) {
	if err := sess.tx.add(cmd, args); err != nil {
		s.refuse(sess, cmd, err)
		return
	}
	sess.counts.queued.Add(1)
	sess.conn.W.SimpleString("QUEUED")
}

// endTransaction forgets the queue and what was watched.
func (s *Server) endTransaction(sess *session) {
	sess.tx = nil
	sess.counts.queued.Store(0)
	s.watches.forget(&sess.watch)
}

func multi(c *call) error {
	if c.session.tx != nil {
		return errMultiNested
	}
	c.session.tx = &transaction{}
	c.session.counts.queued.Store(1)
	return c.ok(nil)
}

func discard(c *call) error {
	if c.session.tx == nil {
		return errDiscardMulti
	}
	c.endTransaction(c.session)
	return c.ok(nil)
}

func watch(c *call) error {
	if c.session.tx != nil {
		return errWatchInMulti
	}
	for _, code := range c.args[1:] {
		if err := c.watches.add(&c.session.watch, string(code), c.links); err != nil {
			return err
		}
	}
	return c.ok(nil)
}

// errWatched says that a watched link changed.
var errWatched = errors.New("a watched link changed")

func exec(c *call) error {
	tx := c.session.tx
	if tx == nil {
		return errExecNoMulti
	}
	defer c.endTransaction(c.session)
	if tx.spoilt {
		return errExecAbort
	}
	if err := c.runAhead(tx); err != nil {
		return err
	}
	results := resp.NewWriter(c.w.Proto())
	err := c.alone(tx, func(links *link.Service) error { return c.execute(tx, links, results) })
	if errors.Is(err, errWatched) {
		c.w.NullArray()
		return nil
	}
	if err != nil {
		return err
	}
	for _, fn := range tx.after {
		fn()
	}
	c.w.Array(len(tx.queue))
	c.w.Raw(results.Bytes())
	return nil
}

// runAhead runs what touches nothing that others see and may wait, before everybody else has to: EXEC may still fail then.
func (c *call) runAhead(tx *transaction) error {
	for i := range tx.queue {
		q := &tx.queue[i]
		if !q.cmd.ahead || permits(c.session.may(), q.cmd, q.args) != nil {
			continue
		}
		w := resp.NewWriter(c.w.Proto())
		one := &call{Server: c.Server, session: c.session, cmd: q.cmd, args: q.args, w: w, links: c.links, tx: tx}
		if err := c.carryOut(one); err != nil {
			if _, fault := errorText(err); fault {
				return errInternal
			}
		}
		q.reply = w.Bytes()
		c.owes = c.owes || one.owes
	}
	return nil
}

// need is what the queued commands may use up.
func (c *call) need(tx *transaction) (need link.Need) {
	for _, q := range tx.queue {
		if q.cmd.newLinks == nil {
			continue
		}
		n := q.cmd.newLinks(q.args)
		need.Links += n
		if c.opts.CodeSource == link.CodeSnowflake || hasWord("snowflake")(q.args) {
			need.Snowflakes += n
		}
	}
	return need
}

// alone runs fn while nobody changes anything; a transaction that only reads needs no batch.
func (c *call) alone(tx *transaction, fn func(*link.Service) error) error {
	if tx.counts {
		if err := c.links.MergeClicks(0); err != nil {
			return err
		}
	}
	if tx.writes {
		return c.links.Exec(context.Background(), c.need(tx), fn)
	}
	return c.links.Still(fn)
}

// execute runs the queued commands on the view that belongs to the transaction. Errors are results; a fault of ours
// undoes all of it.
func (c *call) execute(tx *transaction, links *link.Service, results *resp.Writer) error {
	changed, err := c.session.watch.changed(links)
	if err != nil {
		return err
	}
	if changed {
		return errWatched
	}
	began := c.now()
	c.session.clock = began
	for _, q := range tx.queue {
		if results.Len() > maxResults {
			return replyError("ERR the replies of the transaction are too large: at most 64 MiB")
		}
		if c.session.clock.Sub(began) > maxExecTime {
			return replyError("ERR the transaction took longer than 5 seconds, and nothing else can change meanwhile: it is not carried out")
		}
		if d := permits(c.session.may(), q.cmd, q.args); d != nil {
			c.denied(c.session, c.session.user(), d, true)
			results.Error(d.afterQueued())
			continue
		}
		if tenant := c.session.may().Tenant(); tenant != links.Tenant() { // AUTH may be one of the commands
			links = links.Within(tenant)
		}
		if q.reply != nil {
			results.Raw(q.reply)
			continue
		}
		one := &call{Server: c.Server, session: c.session, cmd: q.cmd, args: q.args, w: results, links: links, tx: tx}
		if err := c.carryOut(one); err != nil {
			if _, fault := errorText(err); fault {
				return errInternal
			}
		}
		c.owes = c.owes || one.owes
	}
	return nil
}
