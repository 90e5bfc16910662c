package server

import (
	"errors"
	"strconv"

	"curt/server/link"
	"curt/storage"
)

func listCommands() []*command {
	return []*command{{
		name: "linkinfo", arity: 2, flags: flagReadonly | flagFast, keys: oneKey, group: "link", since: "0.1.0", complexity: "O(1)",
		syntax:  "code",
		summary: "Returns everything known about a link, in whatever state it is",
		reply:   "map: code, id, target, state, created, expires, max-visits, visits, bots, last-visit, tenant, tags, title, ban-reason, plain, code-source, creator; null when there is no such link",
		run:     linkinfo,
	}, {
		name: "links", arity: -2, flags: flagReadonly, gathers: hasWord("fields"), group: "link", since: "0.1.0", complexity: "O(1) for every call, O(N) for a complete iteration",
		syntax:  "cursor [MATCH pattern] [COUNT count] [REV] [TENANT tenant] [TAG tag] [HOST host] [STATE state] [FIELDS]",
		summary: "Lists links in whatever state, oldest first or newest first, those that pass every filter",
		reply:   "array: the next cursor (0: done), and an array of codes, or of maps as LINKINFO's. A call may return fewer than COUNT, even none, and a cursor. -BADURL for a HOST that is none",
		run:     listLinks,
	}}
}

var linkStates = map[string]link.State{"live": link.Live, "expired": link.Expired, "used-up": link.UsedUp, "banned": link.Banned, "reserved": link.Reserved}

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
	if err := c.links.MergeClicks(l.ID); err != nil {
		return err
	}
	return c.writeInfo(l)
}

// writeInfo writes a link as a map, with what was counted as of the last MergeClicks.
func (c *call) writeInfo(l *link.Info) error {
	counted, err := c.links.CountOf(l.ID)
	if err != nil {
		return err
	}
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
	w.Int(counted.Visits)
	w.BulkString("bots")
	w.Int(counted.Bots)
	c.number64("last-visit", counted.Last)
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
	return nil
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

func listLinks(c *call) error {
	cursor, err := strconv.ParseUint(string(c.args[1]), 10, 64)
	if err != nil {
		return errInvalidCur
	}
	w := words{list: c.args[2:]}
	f, count, fields := link.Filter{}, int64(scanCount), false
	for option := range w.options() {
		w.once(option)
		switch option {
		case "match":
			pattern := shortGlob(string(w.value()))
			f.Match = func(code string) bool { return globMatch(pattern, code) }
		case "count":
			count = w.integer(1, maxScanCount)
		case "rev":
			f.Reverse = true
		case "tenant":
			f.HasTenant, f.Tenant = true, string(w.value())
		case "tag":
			if f.Tag = string(w.value()); f.Tag == "" {
				w.fail(errSyntax)
			}
		case "host":
			if f.Host = string(w.value()); f.Host == "" {
				w.fail(errSyntax)
			}
		case "state":
			f.State = choose(&w, linkStates)
		case "fields":
			fields = true
		default:
			w.fail(errSyntax)
		}
	}
	if w.err != nil {
		return w.err
	}
	list, next, err := c.links.List(cursor, int(count), f)
	if err != nil {
		return err
	}
	if fields {
		err = c.links.MergeClicks(0)
	}
	c.w.Array(2)
	c.w.BulkUint(next)
	c.w.Array(len(list))
	for _, l := range list {
		if !fields {
			c.w.BulkString(l.Code)
		} else if err == nil {
			err = c.writeInfo(l)
		}
	}
	return err
}
