package server

import (
	"context"

	"curt/server/link"
)

func stringCommands() []*command {
	const set = flagWrite | flagDenyOOM
	const refusals = "-BADURL, -BADNAME, -BANNED, -EXISTS, -RESERVED, -OVERLOADED, -THROTTLED"
	return []*command{{
		name: "get", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns the target of a live link: the form of RESOLVE that a client may cache",
		reply:   "bulk: the target; null for every code that is not live. Never an error",
		run:     get,
	}, {
		name: "mget", arity: -2, flags: flagReadonly | flagFast, keys: manyKeys, group: "string", since: "0.1.0", complexity: "O(N) with N the number of codes",
		syntax:  "code [code ...]",
		summary: "Returns the targets of live links",
		reply:   "array, in order: the target, null for every code that is not live",
		run:     func(c *call) error { return c.writeTargets(c.args[1:]) },
	}, {
		name: "strlen", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns how long the target of a live link is",
		reply:   "integer: bytes; 0 for every code that is not live",
		run:     strlen,
	}, {
		name: "getrange", arity: 4, flags: flagReadonly, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(N) with N the length of the target",
		syntax:  "code start end",
		summary: "Returns a part of the target of a live link",
		reply:   "bulk: the bytes from start to end, both included, negative ones counted from the end; empty for every code that is not live",
		run:     getrange,
	}, {
		name: "set", arity: -3, flags: set, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)", newLinks: oneLink,
		discloses: hasWord("get"),
		syntax:    "code url [NX | XX] [GET] [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
		summary:   "Sends a live link elsewhere, or makes one with this name. The expiry is replaced, what was counted stays",
		reply:     "OK; null when NX or XX did not hold. With GET: the target before, or null. " + refusals,
		run:       set3,
	}, {
		name: "setnx", arity: 3, flags: set | flagFast, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)", newLinks: oneLink,
		syntax:  "code url",
		summary: "Makes a link with this name, unless a live one is there",
		reply:   "integer: 1 made, 0 not. " + refusals,
		run:     setnx,
	}, {
		name: "setex", arity: 4, flags: set, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)", newLinks: oneLink,
		syntax:  "code seconds url",
		summary: "As SET with EX",
		reply:   "OK. " + refusals,
		run:     func(c *call) error { return c.setExpiring("ex") },
	}, {
		name: "psetex", arity: 4, flags: set, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)", newLinks: oneLink,
		syntax:  "code milliseconds url",
		summary: "As SET with PX",
		reply:   "OK. " + refusals,
		run:     func(c *call) error { return c.setExpiring("px") },
	}, {
		name: "getset", arity: 3, flags: set | flagFast, keys: oneKey, group: "string", since: "0.1.0", complexity: "O(1)", newLinks: oneLink,
		discloses: always,
		syntax:    "code url",
		summary:   "As SET with GET",
		reply:     "bulk: the target before; null when there was no live link. " + refusals,
		run:       func(c *call) error { return c.set(&setOptions{get: true}, c.args[2]) },
	}}
}

// live returns the target of a live link, nil for every other code, and counts the look-up.
func (c *call) live(code []byte) (*link.Target, error) {
	t, state, err := c.links.Lookup(code)
	if err != nil {
		return nil, err
	}
	c.stats.looked(state == link.Live)
	if state != link.Live {
		return nil, nil
	}
	return t, nil
}

func get(c *call) error {
	t, err := c.live(c.args[1])
	if err != nil {
		return err
	}
	if t != nil {
		c.w.BulkString(t.URL)
	} else {
		c.w.Null()
	}
	return nil
}

func strlen(c *call) error {
	t, err := c.live(c.args[1])
	if err != nil {
		return err
	}
	n := 0
	if t != nil {
		n = len(t.URL)
	}
	c.w.Int(int64(n))
	return nil
}

func getrange(c *call) error {
	start, err := parseInt(c.args[2])
	if err != nil {
		return err
	}
	end, err := parseInt(c.args[3])
	if err != nil {
		return err
	}
	t, err := c.live(c.args[1])
	if err != nil {
		return err
	}
	part := ""
	if t != nil {
		part = substring(t.URL, start, end)
	}
	c.w.BulkString(part)
	return nil
}

// substring is what GETRANGE cuts out of s.
func substring(s string, start, end int64) string {
	n := int64(len(s))
	if start < 0 && end < 0 && start > end {
		return ""
	}
	if start < 0 {
		start = max(n+start, 0)
	}
	if end < 0 {
		end = max(n+end, 0)
	}
	end = min(end, n-1)
	if start > end {
		return ""
	}
	return s[start : end+1]
}

// setOptions are the options of SET.
type setOptions struct {
	when    link.SetIf
	get     bool
	keep    bool
	expires int64 // unix ms, 0: none
}

func set3(c *call) error {
	o, err := c.setOptions(c.args[3:])
	if err != nil {
		return err
	}
	return c.set(o, c.args[2])
}

// setOptions reads all the words before it looks at the number of the expiry, as Redis does.
func (c *call) setOptions(list [][]byte) (*setOptions, error) {
	o := &setOptions{}
	var unit string
	var number []byte
	w := words{list: list}
	for option := range w.options() {
		switch option {
		case "nx":
			w.once("condition")
			o.when = link.SetNX
		case "xx":
			w.once("condition")
			o.when = link.SetXX
		case "get":
			w.once("get")
			o.get = true
		case "keepttl":
			w.once("expiry")
			o.keep = true
		case "ex", "px", "exat", "pxat":
			w.once("expiry")
			unit, number = option, w.value()
		default:
			w.fail(errSyntax)
		}
	}
	if w.err != nil || unit == "" {
		return o, w.err
	}
	return o, c.setExpiry(o, unit, number)
}

func (c *call) setExpiry(o *setOptions, unit string, number []byte) error {
	n, err := parseInt(number)
	if err != nil {
		return err
	}
	o.expires, err = expiry(unit, n, c.now(), c.cmd.name)
	return err
}

// set carries out SET and writes its reply.
func (c *call) set(o *setOptions, url []byte) error {
	result, err := c.setLink(o, url)
	switch {
	case err != nil:
		return err
	case o.get && result.Had:
		c.w.BulkString(result.Old)
	case o.get || !result.Done:
		c.w.Null()
	default:
		c.w.SimpleString("OK")
	}
	return nil
}

func (c *call) setLink(o *setOptions, url []byte) (link.SetResult, error) {
	return c.links.Set(context.Background(), &link.SetRequest{
		Code: string(c.args[1]), URL: string(url), If: o.when, Expires: o.expires, KeepExpiry: o.keep, Creator: c.session.user(),
	})
}

func setnx(c *call) error {
	result, err := c.setLink(&setOptions{when: link.SetNX}, c.args[2])
	if err != nil {
		return err
	}
	c.writeFlag(result.Done)
	return nil
}

// setExpiring is SETEX and PSETEX, whose number stands before the url.
func (c *call) setExpiring(unit string) error {
	o := &setOptions{}
	if err := c.setExpiry(o, unit, c.args[2]); err != nil {
		return err
	}
	return c.set(o, c.args[3])
}
