package server

import (
	"context"
	"strings"

	"curt/server/link"
)

func editCommands() []*command {
	return []*command{{
		name: "retarget", arity: 3, flags: flagWrite | flagDenyOOM | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code url",
		summary: "Sends a link elsewhere; the next request sees it, and what it counted stays",
		reply:   "OK. -ERR no such key, -BADURL, -BANNED, -GONE",
		run:     retarget,
	}, {
		name: "tag", arity: -4, flags: flagWrite | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code <ADD | DEL> tag [tag ...]",
		summary: "Gives a link tags, or takes some away",
		reply:   "integer: tags it has now, at most 16. -ERR no such key",
		run:     tag,
	}, {
		name: "title", arity: 3, flags: flagWrite | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code text",
		summary: "Gives a link a title for people; an empty one takes it away",
		reply:   "OK. -ERR no such key",
		run:     func(c *call) error { return c.ok(c.links.SetTitle(string(c.args[1]), string(c.args[2]))) },
	}, {
		name: "revive", arity: -2, flags: flagWrite | flagDenyOOM | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds]",
		summary: "Brings an expired or used-up link back, with what it counted; without an option it no longer expires",
		reply:   "OK. -ERR no such key, -ERR the link has not ended, -BANNED it or its target is banned",
		run:     revive,
	}, {
		name: "reserve", arity: -2, flags: flagWrite | flagDenyOOM, group: "link", since: "0.1.0", complexity: "O(N) with N the number of codes", newLinks: countedLinks,
		syntax:  "count [TENANT tenant]",
		summary: "Makes generated codes that lead nowhere until RETARGET gives each its target: print first, decide later",
		reply:   "array of codes; each is 404 and absent until it has a target. At most 1,000. -EXHAUSTED, -OVERLOADED, -THROTTLED",
		run:     reserve,
	}}
}

func retarget(c *call) error { return c.ok(c.links.Retarget(string(c.args[1]), string(c.args[2]))) }

func tag(c *call) error {
	tags := make([]string, 0, len(c.args)-3)
	for _, t := range c.args[3:] {
		tags = append(tags, string(t))
	}
	var n int
	var err error
	switch {
	case equalFold(c.args[2], "add"):
		n, err = c.links.AddTags(string(c.args[1]), tags)
	case equalFold(c.args[2], "del"):
		n, err = c.links.RemoveTags(string(c.args[1]), tags)
	default:
		return errSyntax
	}
	if err == nil {
		c.w.Int(int64(n))
	}
	return err
}

func revive(c *call) error {
	w := words{list: c.args[2:]}
	var expires int64
	if word, ok := w.next(); ok {
		option := strings.ToLower(string(word))
		if _, known := expiryUnits[option]; !known {
			return errSyntax
		}
		n := c.number(&w)
		if w.err == nil {
			expires, w.err = expiry(option, n, c.now(), c.cmd.name)
		}
		if len(w.list) > 0 {
			w.fail(errSyntax)
		}
	}
	if w.err != nil {
		return w.err
	}
	return c.ok(c.links.Revive(string(c.args[1]), expires))
}

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
