package transfer

import (
	"errors"
	"fmt"
	"strings"
)

// Format is a way to write links down.
type Format string

// The formats that can be read. Those of other shorteners come as CSV or as JSON, which the first byte tells.
const (
	JSONL  Format = "jsonl"  // an export, or a JSON object a line with the names of Record
	CSV    Format = "csv"    // header: url, alias, created, expires, visits, tags, title, tenant, maxvisits
	YOURLS Format = "yourls" // its table or API (keyword, url, title, timestamp, clicks), or the export plugin (source, target, hits)
	Shlink Format = "shlink" // its web client's CSV, or pages of GET /short-urls
	Kutt   Format = "kutt"   // pages of GET /links
	Bitly  Format = "bitly"  // its CSV, or pages of GET /groups/{guid}/bitlinks
)

// Formats are all of them.
func Formats() []Format { return []Format{JSONL, CSV, YOURLS, Shlink, Kutt, Bitly} }

// field is something that a row can say.
type field uint8

const (
	fieldNone field = iota
	fieldURL
	fieldAlias    // the code itself
	fieldShortURL // a URL that ends in the code
	fieldCreated
	fieldStarts // the link is good from then on
	fieldExpires
	fieldVisits
	fieldTotal // visits and bots, where they are not told apart
	fieldBots
	fieldTags
	fieldTitle
	fieldTenant
	fieldMaxVisits
	fieldForward
	fieldBanned
	fieldPassword // the link asks for a password
	fieldMore     // further codes of the same link
)

// columns says which name means what in a format: a column of CSV, or a key of JSON with those above it before a dot, in lower case and without
// blanks, _ and -.
func (f Format) columns() map[string]field {
	switch f {
	case CSV:
		return map[string]field{
			"url": fieldURL, "alias": fieldAlias, "created": fieldCreated, "expires": fieldExpires, "visits": fieldVisits, "tags": fieldTags,
			"title": fieldTitle, "tenant": fieldTenant, "maxvisits": fieldMaxVisits,
		}
	case YOURLS:
		return map[string]field{
			"url": fieldURL, "keyword": fieldAlias, "shorturl": fieldShortURL, "title": fieldTitle, "timestamp": fieldCreated, "clicks": fieldVisits,
			"source": fieldShortURL, "target": fieldURL, "hits": fieldVisits,
		}
	case Shlink:
		return map[string]field{
			"longurl": fieldURL, "shortcode": fieldAlias, "shorturl": fieldShortURL, "datecreated": fieldCreated, "createdat": fieldCreated,
			"tags": fieldTags, "title": fieldTitle, "visits": fieldVisits, "visitscount": fieldTotal,
			"visitssummary.nonbots": fieldVisits, "visitssummary.bots": fieldBots,
			"meta.validsince": fieldStarts, "meta.validuntil": fieldExpires, "meta.maxvisits": fieldMaxVisits, "forwardquery": fieldForward,
		}
	case Kutt:
		return map[string]field{
			"target": fieldURL, "address": fieldAlias, "link": fieldShortURL, "createdat": fieldCreated, "expirein": fieldExpires, "visitcount": fieldVisits,
			"description": fieldTitle, "banned": fieldBanned, "password": fieldPassword,
		}
	case Bitly:
		return map[string]field{
			"longurl": fieldURL, "destinationurl": fieldURL, "destination": fieldURL, "link": fieldShortURL, "bitlink": fieldShortURL, "shortlink": fieldShortURL,
			"id": fieldShortURL, "title": fieldTitle, "createdat": fieldCreated, "created": fieldCreated, "datecreated": fieldCreated, "createddate": fieldCreated,
			"clicks": fieldVisits, "totalclicks": fieldVisits, "engagements": fieldVisits, "totalengagements": fieldVisits,
			"tags": fieldTags, "custombitlinks": fieldMore,
		}
	}
	return nil
}

// plainName is a name as columns has it.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case ' ', '_', '-', '\t':
			return -1
		}
		return r
	}, strings.ToLower(strings.TrimSpace(name)))
}

// value is what a row says of one field.
type value struct {
	field field
	text  string
	list  []string // of JSON, instead of text
}

var errPassword = errors.New("the link asks for a password, which Curt can't")

// newRow makes a row of its values. Of two values for one field the later counts, and a code goes before a URL that ends in one.
func newRow(values []value, now int64) (*row, error) {
	r := &row{}
	short := ""
	for _, v := range values {
		if err := r.take(v, &short, now); err != nil {
			return nil, err
		}
	}
	if r.Alias == "" {
		r.Alias = short
	}
	if r.Visits == 0 && r.Bots == 0 {
		r.Visits = r.total
	}
	return r, nil
}

func (r *row) take(v value, short *string, now int64) (err error) {
	fail := func(what string) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return nil
	}
	switch v.field {
	case fieldURL:
		r.URL = v.text
	case fieldAlias:
		r.Alias = strings.TrimSpace(v.text)
	case fieldShortURL:
		*short = lastSegment(v.text)
	case fieldCreated:
		r.Created, err = parseTime(v.text)
		return fail("created")
	case fieldExpires:
		r.Expires, err = parseTime(v.text)
		return fail("expires")
	case fieldStarts:
		var at int64
		if at, err = parseTime(v.text); err == nil && at > now {
			err = errors.New("the link is not good yet, and Curt's are from the start")
		}
		return fail("valid since")
	case fieldVisits:
		r.Visits, err = parseCount(v.text)
		return fail("visits")
	case fieldTotal:
		r.total, err = parseCount(v.text)
		return fail("visits")
	case fieldBots:
		r.Bots, err = parseCount(v.text)
		return fail("bots")
	case fieldMaxVisits:
		r.MaxVisits, err = parseCount(v.text)
		return fail("maxvisits")
	case fieldTags:
		if r.Tags = cleanTags(v.list); v.list == nil {
			r.Tags = parseTags(v.text)
		}
	case fieldTitle:
		r.Title, r.titleCut = cleanTitle(v.text)
	case fieldTenant:
		r.Tenant = strings.TrimSpace(v.text)
	case fieldForward:
		if isYes(v.text) {
			r.Flags = append(r.Flags, "forward")
		}
	case fieldBanned:
		if isYes(v.text) {
			r.Banned = now
		}
	case fieldPassword:
		if isYes(v.text) {
			return errPassword
		}
	case fieldMore:
		for _, text := range v.list {
			r.more = append(r.more, lastSegment(text))
		}
	}
	return nil
}

func isYes(text string) bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "", "0", "false", "no", "null":
		return false
	}
	return true
}
