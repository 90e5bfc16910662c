package storage

import (
	"errors"
	"fmt"
)

// Flags are the yes/no facts of a link. Bits are persisted: never renumber.
type Flags uint32

const (
	Generated Flags = 1 << iota // its FF1 code was really issued
	Plain                       // may answer a dedup hit
	Banned                      // taken down, by an operator or with OwnBan by its tenant
	UsedUp                      // announced as used up
	Expired                     // announced as expired; stays so when the clock steps back
	Reserved                    // owned, no target yet
	Forward                     // the visitor's query is appended to the target
	OwnBan                      // with Banned: by its own tenant, which may lift it
)

// Source says where the link's code came from. Values are persisted: never renumber.
type Source uint8

const (
	SourceSequence Source = iota
	SourceAlias
	SourceRandom
	SourceHash
	SourceSnowflake
	SourceImport
)

// Link is one stored short link. Times are unix milliseconds UTC and never negative, 0 means "not".
type Link struct {
	ID     uint64 // never 0: that is the tombstone of a name
	Flags  Flags
	Source Source

	Target  string
	Name    string // alias or other name; "" means the generated code only
	Tenant  string // at most 255 bytes; "" means none
	Creator string
	Title   string
	Tags    []string // each 1..255 bytes

	Created  int64
	Expires  int64 // 0: never
	Ended    int64 // when it was announced expired or used up
	BannedAt int64

	MaxVisits   uint64 // 0: no limit
	BanReason   string
	Fingerprint []byte // empty or 16 bytes: what an idempotent AS was asked with
	Revision    uint64 // version of the target, starts at 0
}

// A record is: version byte, head, Created, the fields whose head bit is set in the order of the bits,
// Target. Numbers are shortest uvarints, texts have their length in front. The two flags of the most
// common link live in the head, so that it costs 9 bytes over its target. A field with the zero value
// has no bit: a link has exactly one encoding.
const recordVersion = 1

const (
	headFlags    = uint64(Generated | Plain)
	headOthers   = 1 << (iota + 1) // the other flags, shifted down by 2
	headName                       // Name
	headExpires                    // Expires
	headTenant                     // Tenant
	headSource                     // Source
	headCreator                    // Creator
	headTitle                      // Title
	headTags                       // number of tags, then each
	headEnded                      // Ended
	headBanned                     // BannedAt
	headVisits                     // MaxVisits
	headReason                     // BanReason
	headPrint                      // Fingerprint
	headRevision                   // Revision
	headEnd
)

const otherFlagsShift = 2

// maxIndexed is the longest tenant or tag an index key can hold.
const maxIndexed = 255

// check refuses what the encoding or an index could not hold.
func (l *Link) check() error {
	switch {
	case l.ID == 0:
		return errors.New("link has id 0")
	case l.Created < 0, l.Expires < 0, l.Ended < 0, l.BannedAt < 0:
		return fmt.Errorf("link %d has a time before 1970", l.ID)
	case len(l.Tenant) > maxIndexed:
		return fmt.Errorf("link %d has a tenant of %d bytes", l.ID, len(l.Tenant))
	case len(l.Fingerprint) != 0 && len(l.Fingerprint) != 16:
		return fmt.Errorf("link %d has a fingerprint of %d bytes", l.ID, len(l.Fingerprint))
	}
	for _, tag := range l.Tags {
		if tag == "" || len(tag) > maxIndexed {
			return fmt.Errorf("link %d has a tag of %d bytes", l.ID, len(tag))
		}
	}
	return nil
}

// head returns the head of l's record.
func (l *Link) head() uint64 {
	h := uint64(l.Flags) & headFlags
	set := func(bit uint64, on bool) {
		if on {
			h |= bit
		}
	}
	set(headOthers, l.Flags>>otherFlagsShift != 0)
	set(headName, l.Name != "")
	set(headExpires, l.Expires != 0)
	set(headTenant, l.Tenant != "")
	set(headSource, l.Source != 0)
	set(headCreator, l.Creator != "")
	set(headTitle, l.Title != "")
	set(headTags, len(l.Tags) != 0)
	set(headEnded, l.Ended != 0)
	set(headBanned, l.BannedAt != 0)
	set(headVisits, l.MaxVisits != 0)
	set(headReason, l.BanReason != "")
	set(headPrint, len(l.Fingerprint) != 0)
	set(headRevision, l.Revision != 0)
	return h
}

// appendLink appends the record of l, which has passed check.
func appendLink(b []byte, l *Link) []byte {
	h := l.head()
	b = append(b, recordVersion)
	b = appendUint(b, h)
	b = appendUint(b, uint64(l.Created))
	b = appendUintIf(b, h&headOthers, uint64(l.Flags>>otherFlagsShift))
	b = appendTextIf(b, l.Name)
	b = appendUintIf(b, h&headExpires, uint64(l.Expires))
	b = appendTextIf(b, l.Tenant)
	b = appendUintIf(b, h&headSource, uint64(l.Source))
	b = appendTextIf(b, l.Creator)
	b = appendTextIf(b, l.Title)
	b = appendUintIf(b, h&headTags, uint64(len(l.Tags)))
	for _, tag := range l.Tags {
		b = appendText(b, tag)
	}
	b = appendUintIf(b, h&headEnded, uint64(l.Ended))
	b = appendUintIf(b, h&headBanned, uint64(l.BannedAt))
	b = appendUintIf(b, h&headVisits, l.MaxVisits)
	b = appendTextIf(b, l.BanReason)
	b = append(b, l.Fingerprint...)
	b = appendUintIf(b, h&headRevision, l.Revision)
	return appendText(b, l.Target)
}

// decodeLink reads a record. It never panics, refuses what appendLink does not write, and copies b.
func decodeLink(id uint64, b []byte) (Link, error) {
	c := cursor{rest: string(b)}
	if v := c.byte(); c.err == nil && v != recordVersion {
		return Link{}, fmt.Errorf("link %d: record version %d is not known", id, v)
	}
	l := Link{ID: id}
	h := c.uint()
	l.Created = c.time()
	l.Flags = Flags(h & headFlags)
	if h&headOthers != 0 {
		l.Flags |= Flags(c.upTo(1<<(32-otherFlagsShift)-1)) << otherFlagsShift
	}
	l.Name = c.textIf(h & headName)
	l.Expires = c.timeIf(h & headExpires)
	l.Tenant = c.textIf(h & headTenant)
	l.Source = Source(c.upToIf(h&headSource, 255))
	l.Creator = c.textIf(h & headCreator)
	l.Title = c.textIf(h & headTitle)
	l.Tags = c.textsIf(h & headTags)
	l.Ended = c.timeIf(h & headEnded)
	l.BannedAt = c.timeIf(h & headBanned)
	l.MaxVisits = c.uintIf(h & headVisits)
	l.BanReason = c.textIf(h & headReason)
	if h&headPrint != 0 {
		l.Fingerprint = []byte(c.take(16))
	}
	l.Revision = c.uintIf(h & headRevision)
	l.Target = c.text()
	if err := c.end(); err != nil {
		return Link{}, fmt.Errorf("link %d: %w", id, err)
	}
	if h >= headEnd || h != l.head() {
		return Link{}, fmt.Errorf("link %d: record with a wrong head %#x", id, h)
	}
	if err := l.check(); err != nil {
		return Link{}, err
	}
	return l, nil
}
