package transfer

import (
	"encoding/hex"
	"fmt"
	"slices"

	"curt/codec"
	"curt/server/link"
	"curt/storage"
)

// formatVersion is the version of the export format. A reader refuses a later one.
const formatVersion = 1

// What a line that is no link is, in Record.Type.
const (
	typeHead         = "curt-export"
	typeBannedName   = "banned-name"   // a tombstone: nobody can take the name
	typeBannedTarget = "banned-target" // no link of the tenant may lead there
	typeBannedHost   = "banned-host"
)

// Record is one line of an export. Times are unix milliseconds UTC; what is absent is zero. Of a link that comes from elsewhere, url and
// alias say enough.
type Record struct {
	Type string `json:"type,omitempty"` // empty: a link
	*Head

	ID        uint64   `json:"id,omitempty"`
	Code      string   `json:"code,omitempty"`  // generated
	Alias     string   `json:"alias,omitempty"` // alias or other name
	URL       string   `json:"url,omitempty"`
	Host      string   `json:"host,omitempty"` // of a banned host
	Source    string   `json:"source,omitempty"`
	Flags     []string `json:"flags,omitempty"`
	Created   int64    `json:"created,omitempty"`
	Expires   int64    `json:"expires,omitempty"`
	Ended     int64    `json:"ended,omitempty"`
	Banned    int64    `json:"banned,omitempty"`
	Reason    string   `json:"reason,omitempty"`
	MaxVisits uint64   `json:"maxvisits,omitempty"`
	Visits    uint64   `json:"visits,omitempty"` // by people
	Bots      uint64   `json:"bots,omitempty"`
	Last      int64    `json:"lastvisit,omitempty"`
	Granted   uint64   `json:"granted,omitempty"` // visits handed out of maxvisits
	Tenant    string   `json:"tenant,omitempty"`
	Creator   string   `json:"creator,omitempty"`
	Title     string   `json:"title,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	Revision  uint64   `json:"revision,omitempty"`
	Request   string   `json:"request,omitempty"` // fingerprint of what an alias was asked with, in hex

	Hours  [][4]int64       `json:"hours,omitempty"` // start, visits, bots, last visit
	Days   [][4]int64       `json:"days,omitempty"`  // those whose hours were rolled up
	Months map[string]Month `json:"months,omitempty"`
}

// Month are the top values of a month, by dimension.
type Month map[string][]Top

// Top is a value with the visits that had it.
type Top struct {
	Value  string `json:"value"`
	Visits int64  `json:"visits"`
}

// Head is the rest of the first line.
type Head struct {
	Version  int               `json:"version"`
	Links    int64             `json:"links"` // about how many lines follow
	Epochs   []Epoch           `json:"epochs,omitempty"`
	Counters map[string]uint64 `json:"counters,omitempty"`
	Settings map[string]string `json:"settings,omitempty"`
}

// Epoch is a row of the epochs table: which ids were made into codes how. The check value tells nothing about the key.
type Epoch struct {
	Number   uint8  `json:"number"`
	First    uint64 `json:"first"`
	Key      string `json:"key"`
	Length   int    `json:"length"`
	Alphabet string `json:"alphabet"`
	Tweak    string `json:"tweak,omitempty"`
	Check    string `json:"check"`
}

// newHead describes a store.
func newHead(store *storage.Store) (*Head, error) {
	from, err := link.ReadHead(store)
	if err != nil {
		return nil, err
	}
	h := &Head{Version: formatVersion, Links: store.Links(), Counters: from.Counters, Settings: from.Settings}
	for _, row := range from.Epochs {
		e, err := codec.ParseEpoch(row)
		if err != nil {
			return nil, err
		}
		h.Epochs = append(h.Epochs, Epoch{e.Number, e.First, e.KeyID, e.Length, e.Alphabet, hex.EncodeToString(e.Tweak), hex.EncodeToString(e.Check[:])})
	}
	return h, nil
}

// head is what a store adopts.
func (h *Head) head() (link.Head, error) {
	to := link.Head{Counters: h.Counters, Settings: h.Settings}
	for _, e := range h.Epochs {
		row := codec.Epoch{Number: e.Number, First: e.First, KeyID: e.Key, Length: e.Length, Alphabet: e.Alphabet}
		tweak, err := hex.DecodeString(e.Tweak)
		if err != nil {
			return to, fmt.Errorf("epoch %d: tweak: %w", e.Number, err)
		}
		if len(tweak) > 0 {
			row.Tweak = tweak
		}
		check, err := hex.DecodeString(e.Check)
		if err != nil || len(check) != len(row.Check) {
			return to, fmt.Errorf("epoch %d: the check value is not %d bytes in hex", e.Number, len(row.Check))
		}
		copy(row.Check[:], check)
		stored, err := row.AppendBinary(nil)
		if err != nil {
			return to, err
		}
		to.Epochs = append(to.Epochs, stored)
	}
	return to, nil
}

// flagNames are the flags of a link that an export names, in its order. Generated shows in the code.
var flagNames = [...]struct {
	flag storage.Flags
	name string
}{
	{storage.Plain, "plain"}, {storage.Reserved, "reserved"}, {storage.Forward, "forward"},
	{storage.Expired, "expired"}, {storage.UsedUp, "used-up"}, {storage.Banned, "banned"}, {storage.OwnBan, ownBan},
}

// ownBan is the flag of a ban that a tenant set by itself.
const ownBan = "own-ban"

// banOf describes the ban of a target.
func banOf(b storage.Ban) Record {
	r := Record{Type: typeBannedTarget, URL: b.Target, Tenant: b.Tenant, Banned: b.Since, Reason: b.Reason}
	if b.Own {
		r.Flags = []string{ownBan}
	}
	return r
}

// ban is what banOf describes.
func (r *Record) ban() storage.Ban {
	return storage.Ban{Since: r.Banned, Reason: r.Reason, Tenant: r.Tenant, Target: r.URL, Own: slices.Contains(r.Flags, ownBan)}
}

// sourceNames are the names of storage.Source, by value. That of the generated code is left out.
var sourceNames = [...]string{"", "alias", "random", "hash", "snowflake", "import"}

// newRecord describes a link; code is its generated code.
func newRecord(l *storage.Link, code string) Record {
	r := Record{
		ID: l.ID, Code: code, Alias: l.Name, URL: l.Target, Source: sourceNames[min(int(l.Source), len(sourceNames)-1)],
		Created: l.Created, Expires: l.Expires, Ended: l.Ended, Banned: l.BannedAt, Reason: l.BanReason, MaxVisits: l.MaxVisits,
		Tenant: l.Tenant, Creator: l.Creator, Title: l.Title, Tags: l.Tags, Revision: l.Revision, Request: hex.EncodeToString(l.Fingerprint),
	}
	for _, f := range flagNames {
		if l.Flags&f.flag != 0 {
			r.Flags = append(r.Flags, f.name)
		}
	}
	return r
}

// link is what a store keeps of a record that newRecord wrote.
func (r *Record) link() (*storage.Link, error) {
	l := &storage.Link{
		ID: r.ID, Name: r.Alias, Target: r.URL, Created: r.Created, Expires: r.Expires, Ended: r.Ended, BannedAt: r.Banned, BanReason: r.Reason,
		MaxVisits: r.MaxVisits, Tenant: r.Tenant, Creator: r.Creator, Title: r.Title, Tags: r.Tags, Revision: r.Revision,
	}
	flags, err := r.flags()
	if err != nil {
		return nil, err
	}
	l.Flags = flags
	source := slices.Index(sourceNames[:], r.Source)
	if source < 0 {
		return nil, fmt.Errorf("source %q is not known", r.Source)
	}
	l.Source = storage.Source(source)
	if r.Request != "" {
		if l.Fingerprint, err = hex.DecodeString(r.Request); err != nil {
			return nil, fmt.Errorf("request: %w", err)
		}
	}
	return l, nil
}

func (r *Record) flags() (flags storage.Flags, err error) {
	if r.Code != "" {
		flags = storage.Generated
	}
next:
	for _, name := range r.Flags {
		for _, f := range flagNames {
			if f.name == name {
				flags |= f.flag
				continue next
			}
		}
		return 0, fmt.Errorf("flag %q is not known", name)
	}
	return flags, nil
}
