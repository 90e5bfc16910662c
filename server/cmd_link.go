package server

import (
	"context"
	"errors"
	"strings"

	"curt/server/link"
	"curt/storage"
)

// shortenSyntax are the options that SHORTEN and MSHORTEN share.
const shortenSyntax = "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds] [MAXVISITS count] [TENANT tenant] " +
	"[TAG tag [TAG tag ...]] [TITLE title] [DEDUP <STRICT | LOOSE | OFF>] [CODE <SEQUENCE | RANDOM | HASH | SNOWFLAKE>] [LENGTH length] [FORWARD] [FULL]"

const maxMany = 10_000 // urls of an MSHORTEN, codes of an MRESOLVE

func linkCommands() []*command {
	return []*command{{
		name: "shorten", arity: -2, flags: flagWrite | flagDenyOOM | flagFast, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "url [AS alias] " + shortenSyntax,
		summary: "Makes a short link, or finds the one that a plain request may share",
		reply:   "bulk: the code (with FULL: the short URL). -BADURL, -BADNAME, -EXISTS, -RESERVED, -BANNED, -EXHAUSTED, -OVERLOADED",
		run:     shorten,
	}, {
		name: "mshorten", arity: -3, flags: flagWrite | flagDenyOOM, group: "link", since: "0.1.0", complexity: "O(N) with N the number of urls",
		syntax:  "numurls url [url ...] " + shortenSyntax,
		summary: "Makes many short links with the same options",
		reply:   "array, in order: the code or an error of each url. One point of durability, not atomic; at most 10,000 urls",
		run:     mshorten,
	}, {
		name: "resolve", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns what a code leads to, without counting a visit",
		reply:   "bulk: the target; null when there is no such link. -GONE expired, -GONE used up, -BANNED",
		run:     resolve,
	}, {
		name: "mresolve", arity: -2, flags: flagReadonly, keys: manyKeys, group: "link", since: "0.1.0", complexity: "O(N) with N the number of codes",
		syntax:  "code [code ...]",
		summary: "Returns what many codes lead to, without counting visits",
		reply:   "array, in order: the target, or null when the link is unknown, gone or banned. At most 10,000 codes",
		run:     mresolve,
	}, {
		name: "linkinfo", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns everything known about a link, in whatever state it is",
		reply:   "map: code, id, target, state, created, expires, max-visits, visits, bots, last-visit, tenant, tags, title, ban-reason, plain, code-source, creator; null when there is no such link",
		run:     linkinfo,
	}, {
		name: "retarget", arity: 3, flags: flagWrite | flagDenyOOM | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code url",
		summary: "Sends a link elsewhere; the next request sees it, and what it counted stays",
		reply:   "OK. -ERR no such key, -BADURL, -BANNED, -GONE",
		run:     retarget,
	}, {
		name: "ban", arity: -2, flags: flagWrite | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code [REASON reason]",
		summary: "Closes a link and its target at once",
		reply:   "OK, also when it was banned already. -ERR no such key",
		run:     ban,
	}, {
		name: "unban", arity: 2, flags: flagWrite | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Opens a banned link and its target again, and frees the name of a deleted banned link",
		reply:   "OK. -ERR no such key",
		run:     unban,
	}, {
		name: "reserve", arity: -2, flags: flagWrite | flagDenyOOM, group: "link", since: "0.1.0", complexity: "O(N) with N the number of codes",
		syntax:  "count [TENANT tenant]",
		summary: "Makes generated codes that lead nowhere until RETARGET gives each its target: print first, decide later",
		reply:   "array of codes; each is 404 and absent until it has a target. At most 1,000",
		run:     reserve,
	}}
}

func shorten(c *call) error {
	r, full, err := c.request(c.args[2:], true)
	if err != nil {
		return err
	}
	r.URL = string(c.args[1])
	code, err := c.links.Shorten(context.Background(), r)
	if err != nil {
		return err
	}
	c.writeCode(code, full)
	return nil
}

func mshorten(c *call) error {
	n, err := parseInt(c.args[1])
	if err != nil || n < 0 {
		return errNotInteger
	}
	if n > maxMany || n > int64(len(c.args)-2) {
		return replyError("ERR numurls should be at most 10000 and match the number of urls")
	}
	r, full, err := c.request(c.args[2+n:], false)
	if err != nil {
		return err
	}
	requests := make([]*link.Request, n)
	for i := range requests {
		one := *r
		one.URL = string(c.args[2+i])
		requests[i] = &one
	}
	c.w.Array(int(n))
	for _, result := range c.links.ShortenMany(context.Background(), requests) {
		if result.Err != nil {
			c.w.Error(c.explain(c.cmd, result.Err))
		} else {
			c.writeCode(result.Code, full)
		}
	}
	return nil
}

// writeCode writes a code, or the short URL with it.
func (c *call) writeCode(code string, full bool) {
	if full {
		code = c.baseURL() + "/" + code
	}
	c.w.BulkString(code)
}

// baseURL is what stands before a code in a short URL.
func (s *Server) baseURL() string {
	if s.opts.BaseURL != "" {
		return strings.TrimSuffix(s.opts.BaseURL, "/")
	}
	if addr := s.httpAddr.Load(); addr != nil {
		return "http://" + *addr
	}
	return "http://localhost"
}

// request reads the options of SHORTEN.
func (c *call) request(list [][]byte, alias bool) (r *link.Request, full bool, err error) {
	r = &link.Request{Creator: c.session.user()}
	w := words{list: list}
	for {
		word, ok := w.next()
		if !ok {
			break
		}
		option := strings.ToLower(string(word))
		switch option {
		case "ex", "px", "exat", "pxat":
			w.once("expiry")
			n := c.number(&w)
			if w.err == nil {
				r.Expires, w.err = expiry(option, n, c.now(), c.cmd.name)
			}
		case "maxvisits":
			w.once(option)
			r.MaxVisits = uint64(w.integer(1, link.MaxVisitsCap))
		case "tenant":
			w.once(option)
			r.Tenant = string(w.value())
		case "tag":
			r.Tags = append(r.Tags, string(w.value()))
		case "title":
			w.once(option)
			r.Title = string(w.value())
		case "dedup":
			w.once(option)
			r.Dedup = choose(&w, map[string]link.Dedup{"strict": link.DedupStrict, "loose": link.DedupLoose, "off": link.DedupOff})
		case "code":
			w.once(option)
			r.HasCode = true
			r.Code = choose(&w, map[string]link.CodeKind{"sequence": link.CodeSequence, "random": link.CodeRandom, "hash": link.CodeHash, "snowflake": link.CodeSnowflake})
		case "length":
			w.once(option)
			r.Length = int(w.integer(link.MinLength, link.MaxLength))
		case "forward":
			w.once(option)
			r.Forward = true
		case "full":
			w.once(option)
			full = true
		case "as":
			if !alias {
				w.fail(errSyntax)
			}
			w.once(option)
			r.HasAlias, r.Alias = true, string(w.value())
		default:
			w.fail(errSyntax)
		}
	}
	kind := r.Code
	if !r.HasCode {
		kind = c.opts.CodeSource
	}
	if w.err == nil && (r.HasAlias && (r.HasCode || r.Length != 0) || r.Length != 0 && kind != link.CodeRandom && kind != link.CodeHash) {
		w.err = errSyntax
	}
	if r.HasAlias {
		r.Words = fingerprintWords(list)
	}
	return r, full, w.err
}

// number is the number after an expiry option; what it may be is expiry's to say.
func (c *call) number(w *words) int64 {
	v := w.value()
	if w.err != nil {
		return 0
	}
	n, err := parseInt(v)
	w.fail(err)
	return n
}

// choose reads a keyword out of a closed list.
func choose[T any](w *words, choices map[string]T) (chosen T) {
	v := w.value()
	chosen, ok := choices[strings.ToLower(string(v))]
	if !ok {
		w.fail(errSyntax)
	}
	return chosen
}

// fingerprintWords joins the option words of an alias request, FULL aside: it changes the reply, not the link.
func fingerprintWords(list [][]byte) []byte {
	var b []byte
	for _, word := range list {
		if !equalFold(word, "full") {
			b = append(append(b, byte(len(word)>>8), byte(len(word))), word...)
		}
	}
	return b
}

func resolve(c *call) error {
	t, state, err := c.links.Lookup(c.args[1])
	if err != nil {
		return err
	}
	c.stats.looked(state == link.Live)
	if state == link.Live {
		c.w.BulkString(t.URL)
		return nil
	}
	if err := state.Err(); !errors.Is(err, link.ErrNotFound) {
		return err
	}
	c.w.Null()
	return nil
}

func mresolve(c *call) error {
	if len(c.args)-1 > maxMany {
		return replyError("ERR at most 10000 codes")
	}
	return c.writeTargets(c.args[1:])
}

// writeTargets writes an array: the target of each code that is live, null for the rest.
func (c *call) writeTargets(codes [][]byte) error {
	c.w.Array(len(codes))
	for _, code := range codes {
		t, state, err := c.links.Lookup(code)
		if err != nil {
			return err
		}
		c.stats.looked(state == link.Live)
		if state == link.Live {
			c.w.BulkString(t.URL)
		} else {
			c.w.Null()
		}
	}
	return nil
}

var sourceNames = map[storage.Source]string{
	storage.SourceSequence: "sequence", storage.SourceAlias: "alias", storage.SourceRandom: "random",
	storage.SourceHash: "hash", storage.SourceSnowflake: "snowflake", storage.SourceImport: "import",
}

func linkinfo(c *call) error {
	l, err := c.links.Info(string(c.args[1]))
	if errors.Is(err, link.ErrNotFound) {
		c.w.Null()
		return nil
	}
	if err != nil {
		return err
	}
	c.writeInfo(l)
	return nil
}

// writeInfo writes a link as a map.
func (c *call) writeInfo(l *link.Info) {
	w := c.w
	w.Map(17)
	c.field("code", l.Code)
	w.BulkString("id")
	w.BulkUint(l.ID)
	c.field("target", l.Target)
	c.field("state", l.State.String())
	c.number64("created", l.Created)
	c.number64("expires", l.Expires)
	c.number64("max-visits", int64(l.MaxVisits))
	w.BulkString("visits")
	w.Int(0)
	w.BulkString("bots")
	w.Int(0)
	c.number64("last-visit", 0)
	c.field("tenant", l.Tenant)
	w.BulkString("tags")
	w.Array(len(l.Tags))
	for _, t := range l.Tags {
		w.BulkString(t)
	}
	c.field("title", l.Title)
	c.field("ban-reason", l.BanReason)
	w.BulkString("plain")
	w.Bool(l.Flags&storage.Plain != 0)
	c.field("code-source", sourceNames[l.Source])
	c.field("creator", l.Creator)
}

// field writes a name and a text, null for the empty text.
func (c *call) field(name, text string) {
	c.w.BulkString(name)
	if text == "" {
		c.w.Null()
	} else {
		c.w.BulkString(text)
	}
}

// number64 writes a name and an integer, null for 0, which means "not".
func (c *call) number64(name string, n int64) {
	c.w.BulkString(name)
	if n == 0 {
		c.w.Null()
	} else {
		c.w.Int(n)
	}
}

func retarget(c *call) error { return c.ok(c.links.Retarget(string(c.args[1]), string(c.args[2]))) }

func ban(c *call) error {
	reason, err := c.reason(c.args[2:])
	if err != nil {
		return err
	}
	return c.ok(c.links.Ban(string(c.args[1]), reason))
}

// reason reads [REASON text].
func (c *call) reason(list [][]byte) (string, error) {
	switch {
	case len(list) == 0:
		return "", nil
	case len(list) == 2 && equalFold(list[0], "reason"):
		return string(list[1]), nil
	}
	return "", errSyntax
}

func unban(c *call) error { return c.ok(c.links.Unban(string(c.args[1]))) }

func reserve(c *call) error {
	w := words{list: c.args[1:]}
	n := w.integer(1, link.MaxReserve)
	tenant := ""
	switch {
	case w.err != nil:
		return w.err
	case len(w.list) == 2 && equalFold(w.list[0], "tenant"):
		tenant = string(w.list[1])
	case len(w.list) != 0:
		return errSyntax
	}
	codes, err := c.links.Reserve(context.Background(), int(n), tenant, c.session.user())
	if err != nil {
		return err
	}
	c.w.Array(len(codes))
	for _, code := range codes {
		c.w.BulkString(code)
	}
	return nil
}

// ok answers OK when there is no error.
func (c *call) ok(err error) error {
	if err == nil {
		c.w.SimpleString("OK")
	}
	return err
}
