package server

import (
	"math"
	"strings"

	"curt/server/link"
)

// expireCommands are the part of Redis's generic group that is about expiry.
func expireCommands() []*command {
	read := func(name, summary, reply string, unit func(c *call, at int64) int64) *command {
		return &command{name: name, arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
			syntax: "code", summary: summary, reply: "integer: " + reply + "; -1 without expiry; -2 when it is not live",
			run: func(c *call) error { return c.writeExpiry(unit) }}
	}
	write := func(name, syntax, summary, unit string) *command {
		return &command{name: name, arity: -3, flags: flagWrite | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
			syntax: "code " + syntax + " [NX | XX | GT | LT]", summary: summary,
			reply: "integer: 1 set, 0 when it is not live or the condition does not hold. A time that has passed ends the link now",
			run:   func(c *call) error { return c.expire(unit) }}
	}
	left := func(c *call, at int64) int64 { return max(at-c.now().UnixMilli(), 0) }
	return []*command{
		read("ttl", "Returns how long a link still lives, in seconds", "seconds, rounded", func(c *call, at int64) int64 { return rounded(left(c, at)) }),
		read("pttl", "Returns how long a link still lives, in milliseconds", "milliseconds", left),
		read("expiretime", "Returns when a link ends, in seconds", "unix time in seconds, rounded", func(_ *call, at int64) int64 { return rounded(at) }),
		read("pexpiretime", "Returns when a link ends, in milliseconds", "unix time in milliseconds", func(_ *call, at int64) int64 { return at }),
		write("expire", "seconds", "Ends a live link after a number of seconds", "ex"),
		write("pexpire", "milliseconds", "Ends a live link after a number of milliseconds", "px"),
		write("expireat", "unix-time-seconds", "Ends a live link at a time in seconds", "exat"),
		write("pexpireat", "unix-time-milliseconds", "Ends a live link at a time in milliseconds", "pxat"),
		{name: "persist", arity: 2, flags: flagWrite | flagFast, keys: oneKey, group: "generic", since: "0.1.0", complexity: "O(1)",
			syntax: "code", summary: "Takes the expiry of a live link away",
			reply: "integer: 1 taken away, 0 when it is not live or had none", run: persist},
	}
}

// rounded turns milliseconds into seconds as Redis does. There are times so far off that adding to them would go round.
func rounded(ms int64) int64 { return ms/1000 + (ms%1000+500)/1000 }

// writeExpiry writes a live link's expiry as shown by unit. A stream has none.
func (c *call) writeExpiry(unit func(c *call, at int64) int64) error {
	if link.IsStreamKey(c.args[1]) {
		return c.writeStreamExpiry()
	}
	t, err := c.live(c.args[1])
	switch {
	case err != nil:
		return err
	case t == nil:
		c.w.Int(-2)
	case t.Expires == 0:
		c.w.Int(-1)
	default:
		c.w.Int(unit(c, t.Expires))
	}
	return nil
}

func (c *call) writeStreamExpiry() error {
	there, err := c.there(c.args[1])
	switch {
	case err != nil:
		return err
	case there:
		c.w.Int(-1)
	default:
		c.w.Int(-2)
	}
	return nil
}

// expire reads the conditions before the number, as Redis does.
func (c *call) expire(unit string) error {
	when, err := expireConditions(c.args[3:])
	if err != nil {
		return err
	}
	n, err := parseInt(c.args[2])
	if err != nil {
		return err
	}
	at, err := c.expireAt(unit, n)
	if err != nil {
		return err
	}
	changed, err := c.links.Expire(string(c.args[1]), at, when)
	if err != nil {
		return err
	}
	c.writeFlag(changed)
	return nil
}

func expireConditions(list [][]byte) (link.ExpireIf, error) {
	bits := map[string]link.ExpireIf{"nx": link.ExpireNX, "xx": link.ExpireXX, "gt": link.ExpireGT, "lt": link.ExpireLT}
	var when link.ExpireIf
	for _, word := range list {
		bit, ok := bits[strings.ToLower(string(word))]
		if !ok {
			return 0, replyError("ERR Unsupported option " + cut(word, 128))
		}
		when |= bit
	}
	switch {
	case when&link.ExpireNX != 0 && when != link.ExpireNX:
		return 0, replyError("ERR NX and XX, GT or LT options at the same time are not compatible")
	case when&link.ExpireGT != 0 && when&link.ExpireLT != 0:
		return 0, replyError("ERR GT and LT options at the same time are not compatible")
	}
	return when, nil
}

// expireAt is the time that EXPIRE's number means, in unix ms. Unlike SET's it may have passed: then it is the first
// millisecond there is, since 0 means no expiry.
func (c *call) expireAt(unit string, n int64) (int64, error) {
	u := expiryUnits[unit]
	perUnit := u.unit.Milliseconds()
	if n > math.MaxInt64/perUnit || n < math.MinInt64/perUnit {
		return 0, errExpireTime(c.cmd.name)
	}
	at := n * perUnit
	if u.relative {
		now := c.now().UnixMilli()
		if at > math.MaxInt64-now {
			return 0, errExpireTime(c.cmd.name)
		}
		at += now
	}
	return max(at, 1), nil
}

func persist(c *call) error {
	changed, err := c.links.Expire(string(c.args[1]), 0, link.ExpireAlways)
	if err != nil {
		return err
	}
	c.writeFlag(changed)
	return nil
}
