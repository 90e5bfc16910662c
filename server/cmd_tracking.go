package server

import (
	"fmt"
	"strings"
)

// trackingSubcommands are those of CLIENT about client-side caching and replies.
func trackingSubcommands() []*command {
	sub := func(name string, arity int, syntax, summary, reply string, run func(*call) error) *command {
		return &command{name: name, arity: arity, flags: flagLoading | flagStale, since: "0.1.0", complexity: "O(1)",
			syntax: syntax, summary: summary, reply: reply, run: run}
	}
	tracking := sub("tracking", -3, "<ON | OFF> [REDIRECT client-id] [PREFIX prefix [PREFIX prefix ...]] [BCAST] [OPTIN] [OPTOUT] [NOLOOP]",
		"Tells the client when what it read has changed, so that it may cache it", "OK", clientTracking)
	tracking.wide = hasWord("bcast")
	return []*command{
		tracking,
		sub("caching", 3, "<YES | NO>", "Says whether the next command's keys are tracked, with OPTIN or OPTOUT", "OK", clientCaching),
		sub("getredir", 2, "", "Returns the client that invalidations go to", "integer: its id; 0: this one; -1: tracking is off", clientGetRedir),
		sub("trackinginfo", 2, "", "Returns how tracking is set", "map: flags, redirect, prefixes", clientTrackingInfo),
		sub("reply", 3, "<ON | OFF | SKIP>", "Says which replies are sent", "OK for ON; nothing for OFF and SKIP", clientReply),
	}
}

// errManyPrefixes is ours: Redis has no limit.
const errManyPrefixes replyError = "ERR a client may have at most 1000 prefixes"

// Texts of CLIENT TRACKING and CACHING, exactly Redis's.
const (
	errTwoRedirects  replyError = "ERR A client can only redirect to a single other client"
	errNoRedirect    replyError = "ERR The client ID you want redirect to does not exist"
	errPrefixBcast   replyError = "ERR PREFIX option requires BCAST mode to be enabled"
	errSwitchBcast   replyError = "ERR You can't switch BCAST mode on/off before disabling tracking for this client, and then re-enabling it with a different mode."
	errOptBcast      replyError = "ERR OPTIN and OPTOUT are not compatible with BCAST"
	errBothOpts      replyError = "ERR You can't specify both OPTIN mode and OPTOUT mode"
	errSwitchOpts    replyError = "ERR You can't switch OPTIN/OPTOUT mode before disabling tracking for this client, and then re-enabling it with a different mode."
	errCachingMode   replyError = "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT mode enabled"
	errCachingOptin  replyError = "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode."
	errCachingOptout replyError = "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode."
)

func clientTracking(c *call) error {
	o, err := c.trackingOptions(c.args[3:])
	if err != nil {
		return err
	}
	tr := &c.session.tracker
	switch {
	case equalFold(c.args[2], "on"):
		if err := o.fit(tr.options.Load()); err != nil {
			return err
		}
		if o.bcast && len(o.prefixes) == 0 {
			o.prefixes = []string{""}
		}
		c.tracking.start(c.session, o)
	case equalFold(c.args[2], "off"):
		c.tracking.stop(tr)
	default:
		return errSyntax
	}
	return c.ok(nil)
}

func (c *call) trackingOptions(list [][]byte) (o trackingOptions, err error) {
	w := words{list: list}
	for {
		word, ok := w.next()
		if !ok {
			return o, w.err
		}
		switch strings.ToLower(string(word)) {
		case "redirect":
			if o.redirect != 0 {
				w.fail(errTwoRedirects)
			}
			o.redirect = w.integer(-1<<63, 1<<63-1)
			if w.err == nil && c.sessionOf(o.redirect) == nil {
				w.fail(errNoRedirect)
			}
		case "prefix":
			o.prefixes = append(o.prefixes, string(w.value()))
		case "bcast":
			o.bcast = true
		case "optin":
			o.optin = true
		case "optout":
			o.optout = true
		case "noloop":
			o.noloop = true
		default:
			w.fail(errSyntax)
		}
	}
}

// sessionOf is the session of a client's id, nil when there is none.
func (s *Server) sessionOf(id int64) *session {
	conn := s.resp.Find(id)
	if conn == nil {
		return nil
	}
	return conn.Session.(*session)
}

// fit checks options, also against those that are in force (nil: tracking is off).
func (o *trackingOptions) fit(had *trackingOptions) error {
	switch {
	case len(o.prefixes) > 0 && !o.bcast:
		return errPrefixBcast
	case had != nil && had.bcast != o.bcast:
		return errSwitchBcast
	case o.bcast && (o.optin || o.optout):
		return errOptBcast
	case len(o.prefixes) > maxPrefixes, had != nil && len(had.prefixes)+len(o.prefixes) > maxPrefixes:
		return errManyPrefixes
	case o.optin && o.optout:
		return errBothOpts
	case had != nil && (o.optin && had.optout || o.optout && had.optin):
		return errSwitchOpts
	}
	for i, p := range o.prefixes {
		if had != nil {
			for _, q := range had.prefixes {
				if overlap(p, q) {
					return replyError(fmt.Sprintf("ERR Prefix '%s' overlaps with an existing prefix '%s'. Prefixes for a single client must not overlap.", p, q))
				}
			}
		}
		for _, q := range o.prefixes[i+1:] {
			if overlap(p, q) {
				return replyError(fmt.Sprintf("ERR Prefix '%s' overlaps with another provided prefix '%s'. Prefixes for a single client must not overlap.", p, q))
			}
		}
	}
	return nil
}

func overlap(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

func clientCaching(c *call) error {
	o := c.session.tracker.options.Load()
	if o == nil {
		return errCachingMode
	}
	switch {
	case equalFold(c.args[2], "yes"):
		if !o.optin {
			return errCachingOptin
		}
	case equalFold(c.args[2], "no"):
		if !o.optout {
			return errCachingOptout
		}
	default:
		return errSyntax
	}
	c.session.caching = true
	return c.ok(nil)
}

// redirect is what GETREDIR answers. Safe from any goroutine.
func (t *tracker) redirect() int64 {
	if o := t.options.Load(); o != nil {
		return o.redirect
	}
	return -1
}

func clientGetRedir(c *call) error {
	c.w.Int(c.session.tracker.redirect())
	return nil
}

func clientTrackingInfo(c *call) error {
	tr, w := &c.session.tracker, c.w
	flags := []string{"off"}
	var prefixes []string
	if o := tr.options.Load(); o != nil {
		flags, prefixes = o.flags(c.session.caching), o.prefixes
		if tr.broken.Load() {
			flags = append(flags, "broken_redirect")
		}
	}
	w.Map(3)
	w.BulkString("flags")
	w.Set(len(flags))
	for _, f := range flags {
		w.BulkString(f)
	}
	w.BulkString("redirect")
	w.Int(tr.redirect())
	w.BulkString("prefixes")
	w.Array(len(prefixes))
	for _, p := range prefixes {
		w.BulkString(p)
	}
	return nil
}

// flags are TRACKINGINFO's words; caching says that CLIENT CACHING was given.
func (o *trackingOptions) flags(caching bool) []string {
	flags := []string{"on"}
	add := func(set bool, word string) {
		if set {
			flags = append(flags, word)
		}
	}
	add(o.bcast, "bcast")
	add(o.optin, "optin")
	add(o.optin && caching, "caching-yes")
	add(o.optout, "optout")
	add(o.optout && caching, "caching-no")
	add(o.noloop, "noloop")
	return flags
}

func clientReply(c *call) error {
	sess := c.session
	switch {
	case equalFold(c.args[2], "on"):
		sess.replies = repliesOn
		return c.ok(nil)
	case equalFold(c.args[2], "off"):
		sess.replies = repliesOff
	case equalFold(c.args[2], "skip"):
		if sess.replies != repliesOff {
			sess.replies = skipNext
		}
	default:
		return errSyntax
	}
	return nil
}
