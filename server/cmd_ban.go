package server

import (
	"encoding/hex"
	"strconv"

	"curt/server/link"
)

func banCommands() []*command {
	return []*command{{
		name: "ban", arity: -2, flags: flagWrite | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code [REASON reason]",
		summary: "Closes a link and its target at once",
		reply:   "OK, also when it was banned already. -ERR no such key",
		run:     ban,
	}, {
		name: "unban", arity: -2, flags: flagWrite | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "<code | target [TENANT tenant]>",
		summary: "Opens a banned link and its target again, frees the name of a deleted banned link, or opens a target whose links are gone",
		reply:   "OK. -ERR no such key, -NOPERM for a tenant when an operator banned it",
		run:     unban,
	}, {
		name: "banhost", arity: -2, flags: flagWrite | flagAdmin, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "host [REASON reason]",
		summary: "Bans a host with all below it, for existing and for new links, at once",
		reply:   "integer: 1, or 0 when it was banned already. -BADURL, -ERR for a host on the never-ban list",
		run:     banHost,
	}, {
		name: "unbanhost", arity: 2, flags: flagWrite | flagAdmin, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "host",
		summary: "Lifts the ban of exactly this host",
		reply:   "integer: 1, or 0 when there was none. -BADURL",
		run:     func(c *call) error { return c.yes(c.links.UnbanHost(string(c.args[1]))) },
	}, {
		name: "bans", arity: -1, flags: flagReadonly, group: "link", since: "0.1.0", complexity: "O(N) with N the bans returned",
		syntax: "[HOSTS | CODES | TARGETS] [CURSOR cursor] [COUNT count]", wide: hasWord("hosts"),
		summary: "Lists banned hosts, banned codes, or the hosts and then the codes; or the targets that no new link may lead to",
		reply: "array: the next cursor (0: done), and an array of [what, reason or null, since in unix milliseconds]; a target's entry has its " +
			"tenant, or null, as a fourth element",
		run: bans,
	}}
}

func ban(c *call) error {
	reason, err := c.reason(c.args[2:])
	if err != nil {
		return err
	}
	return c.ok(c.links.Ban(string(c.args[1]), reason))
}

// unban takes a code, or a target, which never looks like one.
func unban(c *call) error {
	what, tenant := string(c.args[1]), ""
	if link.ValidName(what) {
		if len(c.args) > 2 {
			return errSyntax
		}
		return c.ok(c.links.Unban(what))
	}
	switch {
	case len(c.args) == 2:
	case len(c.args) == 4 && equalFold(c.args[2], "tenant"):
		tenant = string(c.args[3])
	default:
		return errSyntax
	}
	return c.ok(c.links.UnbanTarget(what, tenant))
}

func banHost(c *call) error {
	reason, err := c.reason(c.args[2:])
	if err != nil {
		return err
	}
	return c.yes(c.links.BanHost(string(c.args[1]), reason))
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

// bans lists hosts first. A cursor of digits goes on among the codes, any other among the hosts, none of which is a number.
func bans(c *call) error {
	w := words{list: c.args[1:]}
	kind, cursor, count := "", "0", int64(scanCount)
	for option := range w.options() {
		switch option {
		case "hosts", "codes", "targets":
			w.once("kind")
			kind = option
		case "cursor":
			w.once(option)
			cursor = string(w.value())
		case "count":
			w.once(option)
			count = w.integer(1, maxScanCount)
		default:
			w.fail(errSyntax)
		}
	}
	if w.err != nil {
		return w.err
	}
	list, next, err := []banLine(nil), "", error(nil)
	if kind == "targets" {
		list, next, err = c.targetBans(cursor, int(count))
	} else {
		list, next, err = c.bansFrom(kind != "codes" && c.links.Tenant() == "", kind != "hosts", cursor, int(count))
	}
	if err != nil {
		return err
	}
	c.w.Array(2)
	c.w.BulkString(next)
	c.w.Array(len(list))
	for _, b := range list {
		c.banLine(&b, kind == "targets")
	}
	return nil
}

// banLine writes an entry.
func (c *call) banLine(b *banLine, tenant bool) {
	text := func(s string) {
		if s == "" {
			c.w.Null()
		} else {
			c.w.BulkString(s)
		}
	}
	if tenant {
		c.w.Array(4)
	} else {
		c.w.Array(3)
	}
	c.w.BulkString(b.what)
	text(b.reason)
	c.w.Int(b.since)
	if tenant {
		text(b.tenant)
	}
}

// targetBans lists banned targets; a cursor is the key to go on from.
func (c *call) targetBans(cursor string, count int) (list []banLine, next string, err error) {
	var from [16]byte
	if cursor != "0" {
		key, err := hex.DecodeString(cursor)
		if err != nil || len(key) != len(from) {
			return nil, "", errInvalidCur
		}
		from = [16]byte(key)
	}
	bans, key, more, err := c.links.BannedTargets(from, count)
	for _, b := range bans {
		list = append(list, banLine{what: b.Target, reason: b.Reason, since: b.Since, tenant: b.Tenant})
	}
	if !more {
		return list, "0", err
	}
	return list, hex.EncodeToString(key[:]), err
}

type banLine struct {
	what, reason string
	since        int64
	tenant       string // of a target
}

func (c *call) bansFrom(hosts, codes bool, cursor string, count int) (list []banLine, next string, err error) {
	id, numErr := strconv.ParseUint(cursor, 10, 64)
	if hosts && (numErr != nil || id == 0) {
		from := cursor
		if numErr == nil {
			from = ""
		}
		banned, more, err := c.links.BannedHosts(from, count)
		if err != nil {
			return nil, "", err
		}
		for _, b := range banned {
			list = append(list, banLine{what: b.Host, reason: b.Reason, since: b.Since})
		}
		if more != "" {
			return list, more, nil
		}
		id = 0
	} else if numErr != nil {
		return nil, "", errInvalidCur
	}
	if !codes {
		return list, "0", nil
	}
	if len(list) == count {
		return list, "1", nil // the codes, from the first id on
	}
	banned, more, err := c.links.BannedLinks(id, count-len(list))
	for _, l := range banned {
		list = append(list, banLine{what: l.Code, reason: l.BanReason, since: l.BannedAt})
	}
	return list, strconv.FormatUint(more, 10), err
}
