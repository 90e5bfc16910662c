package server

import (
	"strconv"
	"strings"
)

func banCommands() []*command {
	return []*command{{
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
		run:     func(c *call) error { return c.ok(c.links.Unban(string(c.args[1]))) },
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
		reply:   "integer: 1, or 0 when there was none",
		run:     func(c *call) error { return c.yes(c.links.UnbanHost(string(c.args[1]))) },
	}, {
		name: "bans", arity: -1, flags: flagReadonly, group: "link", since: "0.1.0", complexity: "O(N) with N the bans returned",
		syntax: "[HOSTS | CODES] [CURSOR cursor] [COUNT count]", wide: hasWord("hosts"),
		summary: "Lists banned hosts, banned codes, or the hosts and then the codes",
		reply:   "array: the next cursor (0: done), and an array of [what, reason or null, since in unix milliseconds]",
		run:     bans,
	}}
}

func ban(c *call) error {
	reason, err := c.reason(c.args[2:])
	if err != nil {
		return err
	}
	return c.ok(c.links.Ban(string(c.args[1]), reason))
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
	hosts, codes, cursor, count := c.links.Tenant() == "", true, "0", int64(scanCount)
	for {
		word, ok := w.next()
		if !ok {
			break
		}
		switch option := strings.ToLower(string(word)); option {
		case "hosts", "codes":
			w.once("kind")
			hosts, codes = option == "hosts", option == "codes"
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
	list, next, err := c.bansFrom(hosts, codes, cursor, int(count))
	if err != nil {
		return err
	}
	c.w.Array(2)
	c.w.BulkString(next)
	c.w.Array(len(list))
	for _, b := range list {
		c.w.Array(3)
		c.w.BulkString(b.what)
		if b.reason == "" {
			c.w.Null()
		} else {
			c.w.BulkString(b.reason)
		}
		c.w.Int(b.since)
	}
	return nil
}

type banLine struct {
	what, reason string
	since        int64
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
			list = append(list, banLine{b.Host, b.Reason, b.Since})
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
		list = append(list, banLine{l.Code, l.BanReason, l.BannedAt})
	}
	return list, strconv.FormatUint(more, 10), err
}
