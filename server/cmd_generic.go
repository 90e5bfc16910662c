package server

import (
	"slices"

	"curt/server/link"
)

// genericCommands are Redis's generic group; its larger parts have files of their own.
func genericCommands() []*command {
	const perCode = "O(N) with N the number of codes"
	deletes := func(name, summary string) *command {
		return &command{name: name, arity: -2, flags: flagWrite, keys: manyKeys, group: "generic", since: "0.1.0", complexity: perCode,
			syntax: "code [code ...]", summary: summary, reply: "integer: links deleted", run: del}
	}
	return slices.Concat([]*command{
		deletes("del", "Deletes links for good; their generated codes are never issued again"),
		deletes("unlink", "As DEL"),
		{
			name: "exists", arity: -2, flags: flagReadonly | flagFast, keys: manyKeys, group: "generic", since: "0.1.0", complexity: perCode,
			syntax:  "code [code ...]",
			summary: "Counts the codes that are live, each as often as it is named",
			reply:   "integer",
			run:     exists,
		}, {
			name: "touch", arity: -2, flags: flagReadonly | flagFast, keys: manyKeys, group: "generic", since: "0.1.0", complexity: perCode,
			syntax:  "code [code ...]",
			summary: "Counts the codes that are live, as EXISTS does",
			reply:   "integer",
			run:     exists,
		}, {
			name: "type", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
			syntax:  "code",
			summary: "Returns the type of what is stored at a code",
			reply:   "status: string, stream or none",
			run:     typeOf,
		}, {
			name: "rename", arity: 3, flags: flagWrite, keys: twoKeys, group: "generic", since: "0.1.0", complexity: "O(1)", discloses: always,
			syntax:  "code alias",
			summary: "Gives a live link another name. Nothing is overwritten; a generated code keeps working beside the name",
			reply:   "OK. -ERR no such key, -EXISTS, -RESERVED, -BADNAME, -BANNED",
			run:     func(c *call) error { return c.ok(c.links.Rename(string(c.args[1]), string(c.args[2]))) },
		}, {
			name: "renamenx", arity: 3, flags: flagWrite | flagFast, keys: twoKeys, group: "generic", since: "0.1.0", complexity: "O(1)", discloses: always,
			syntax:  "code alias",
			summary: "As RENAME, and no error when the name is taken",
			reply:   "integer: 1 renamed, 0 when the name is taken. -ERR no such key, -RESERVED, -BADNAME, -BANNED",
			run:     renamenx,
		},
	}, expireCommands(), scanCommands(), []*command{objectCommand()})
}

func del(c *call) error {
	n := 0
	for _, code := range c.args[1:] {
		deleted, err := c.links.Delete(string(code))
		if err != nil {
			return err
		}
		if deleted {
			n++
		}
	}
	c.w.Int(int64(n))
	return nil
}

func exists(c *call) error {
	n := 0
	for _, code := range c.args[1:] {
		there, err := c.there(code)
		if err != nil {
			return err
		}
		if there {
			n++
		}
	}
	c.w.Int(int64(n))
	return nil
}

// there reports whether a code is live, or names a stream.
func (c *call) there(code []byte) (bool, error) {
	if link.IsStreamKey(code) {
		_, ok, err := c.links.Stream(string(code))
		return ok, err
	}
	t, err := c.live(code)
	return t != nil, err
}

func typeOf(c *call) error {
	if _, ok, err := c.links.Stream(string(c.args[1])); err != nil || ok {
		if ok {
			c.w.SimpleString("stream")
		}
		return err
	}
	t, err := c.live(c.args[1])
	if err != nil {
		return err
	}
	if t != nil {
		c.w.SimpleString("string")
	} else {
		c.w.SimpleString("none")
	}
	return nil
}

func renamenx(c *call) error {
	return c.yes(c.links.RenameNX(string(c.args[1]), string(c.args[2])))
}
