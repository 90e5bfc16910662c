package server

import (
	"context"
	"errors"
	"slices"
	"strings"

	"curt/server/link"
)

// shortenSyntax are the options that SHORTEN and MSHORTEN share.
const shortenSyntax = "[EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds] [MAXVISITS count] [TENANT tenant] " +
	"[TAG tag [TAG tag ...]] [TITLE title] [DEDUP <STRICT | LOOSE | OFF>] [CODE <SEQUENCE | RANDOM | HASH | SNOWFLAKE>] [LENGTH length] [FORWARD] [FULL]"

const maxMany = 10_000 // urls of an MSHORTEN, codes of an MRESOLVE

func linkCommands() []*command {
	return []*command{{
		name: "shorten", arity: -2, flags: flagWrite | flagDenyOOM | flagFast, group: "link", since: "0.1.0", complexity: "O(1)", newLinks: oneLink, keyword: keyword{word: "AS", from: 2},
		syntax:  "url [AS alias] " + shortenSyntax,
		summary: "Makes a short link, or finds the one that a plain request may share",
		reply:   "bulk: the code (with FULL: the short URL). -BADURL, -BADNAME, -EXISTS, -RESERVED, -BANNED, -EXHAUSTED, -OVERLOADED, -THROTTLED",
		run:     shorten,
	}, {
		name: "mshorten", arity: -3, flags: flagWrite | flagDenyOOM, group: "link", since: "0.1.0", complexity: "O(N) with N the number of urls", newLinks: countedLinks,
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
	}}
}

// oneLink and countedLinks say how many links a command may make: one, or the number that is its first argument.
func oneLink([][]byte) int { return 1 }

func countedLinks(args [][]byte) int {
	n, err := parseInt(args[1])
	if err != nil || n < 0 || n > maxMany {
		return 0 // it will be refused
	}
	return int(n)
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
		return strings.TrimRight(s.opts.BaseURL, "/")
	}
	if addr := s.httpAddr.Load(); addr != nil {
		if s.httpCert != nil {
			return "https://" + *addr
		}
		return "http://" + *addr
	}
	return "http://localhost"
}

// request reads the options of SHORTEN.
func (c *call) request(list [][]byte, alias bool) (r *link.Request, full bool, err error) {
	r = &link.Request{Creator: c.session.user()}
	w := words{list: list}
	said := list // what the link is made of: FULL changes the reply only
	for option := range w.options() {
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
			at := len(list) - len(w.list) - 1
			said = slices.Concat(list[:at], w.list)
		case "as":
			if !alias {
				w.fail(errSyntax)
			}
			w.once(option)
			r.HasAlias, r.Alias = true, string(w.value())
			if w.err == nil {
				w.err = c.mayMake(r.Alias)
			}
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
		r.Words = fingerprintWords(said)
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

// fingerprintWords joins the option words of an alias request.
func fingerprintWords(list [][]byte) []byte {
	var b []byte
	for _, word := range list {
		b = append(append(b, byte(len(word)>>8), byte(len(word))), word...)
	}
	return b
}

func resolve(c *call) error {
	t, state, err := c.links.Lookup(c.args[1])
	if err != nil {
		return err
	}
	c.stats.looked(state == link.Live)
	return c.writeTarget(t, state)
}

// writeTarget answers RESOLVE and VISIT: the target of a live link, null when there is none, else what its state says.
func (c *call) writeTarget(t *link.Target, state link.State) error {
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
