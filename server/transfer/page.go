package transfer

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"curt/codec"
	"curt/server/link"
	"curt/storage"
)

// ErrCursor is returned by Page for a cursor that it did not make.
var ErrCursor = errors.New("invalid cursor")

// The parts of an export, in order. A cursor is a part, a colon and where in it to go on; of links, also the highest id, as the header
// has it: later links are not part of the export.
const (
	partLinks   = "links"
	partNames   = "names"
	partTargets = "targets"
	partHosts   = "hosts"

	startCursor = "0"     // of the first page; behind the last one
	looksPerOne = 10      // names that a page looks at for each line, since few are tombstones
	pageBytes   = 1 << 20 // about as long a page gets; a link with a long history is longer by itself
)

// page is a part of an export on its way.
type page struct {
	store   *storage.Store
	table   *codec.Table
	count   int
	bytes   int // about so many so far
	records []Record
	next    string
}

// Page returns some lines of an export, about count, and the cursor of those that follow: "0" to begin with and at the end. Changes
// made meanwhile may be in it or not; every link that is there all the time is in it once. The codes need the keys: those of ring or, when it is
// nil, of the store.
func Page(store *storage.Store, ring *codec.Ring, cursor string, count int) (records []Record, next string, err error) {
	p := &page{store: store, count: count}
	if p.table, _, err = link.CodeTable(store, ring); err != nil {
		return nil, "", err
	}
	part, at, _ := strings.Cut(cursor, ":")
	switch part {
	case startCursor:
		err = p.head()
	case partLinks:
		err = p.links(at)
	case partNames:
		err = p.names(at)
	case partTargets:
		err = p.targets(at)
	case partHosts:
		err = p.hosts(at)
	default:
		err = ErrCursor
	}
	return p.records, p.next, err
}

// full reports that the page has its lines; the next begins with what was not added.
func (p *page) full(part, at string) bool {
	if len(p.records) < p.count && p.bytes < pageBytes {
		return false
	}
	p.next = part + ":" + at
	return true
}

func (p *page) add(r Record) {
	const fields, bucket, month = 300, 40, 5000
	p.records = append(p.records, r)
	p.bytes += fields + len(r.URL) + len(r.Title) + bucket*(len(r.Hours)+len(r.Days)) + month*len(r.Months)
}

func (p *page) head() error {
	head, err := newHead(p.store)
	if err != nil {
		return err
	}
	p.add(Record{Type: typeHead, Head: head})
	p.next = fmt.Sprintf("%s:%d:1", partLinks, head.Counters[link.LinkCounter])
	return nil
}

func (p *page) links(at string) error {
	limitText, fromText, _ := strings.Cut(at, ":")
	limit, err1 := strconv.ParseUint(limitText, 10, 64)
	from, err2 := strconv.ParseUint(fromText, 10, 64)
	if err1 != nil || err2 != nil {
		return ErrCursor
	}
	histories, err := p.store.Histories()
	if err != nil {
		return err
	}
	defer histories.Close()
	p.next = partNames + ":"
	var failed error
	err = p.store.EachLink(from, false, func(l *storage.Link) bool {
		if l.ID > limit || p.full(partLinks, limitText+":"+strconv.FormatUint(l.ID, 10)) {
			return false
		}
		var r Record
		r, failed = p.record(l, histories)
		p.add(r)
		return failed == nil
	})
	return errors.Join(err, failed)
}

func (p *page) record(l *storage.Link, histories *storage.Histories) (Record, error) {
	code := ""
	if l.Flags&storage.Generated != 0 {
		var buf [codec.MaxLength]byte
		code = string(p.table.AppendCode(buf[:0], l.ID))
	}
	history, err := histories.Of(l.ID)
	r := newRecord(l, code)
	r.setHistory(&history)
	return r, err
}

func (p *page) names(at string) error {
	p.next = partTargets + ":" + strings.Repeat("0", 32)
	looks := 0
	return p.store.EachName(at, func(name string, id uint64) bool {
		if looks++; looks > p.count*looksPerOne {
			p.next = partNames + ":" + name
			return false
		}
		if id != storage.Tombstone {
			return true
		}
		if p.full(partNames, name) {
			return false
		}
		p.add(Record{Type: typeBannedName, Alias: name})
		return true
	})
}

func (p *page) targets(at string) error {
	var from [16]byte
	if n, err := hex.Decode(from[:], []byte(at[:min(len(at), 32)])); err != nil || n != len(from) {
		return ErrCursor
	}
	p.next = partHosts + ":"
	return p.store.EachBannedTarget(from, func(key [16]byte, b storage.Ban) bool {
		if p.full(partTargets, hex.EncodeToString(key[:])) {
			return false
		}
		p.add(banOf(b))
		return true
	})
}

func (p *page) hosts(at string) error {
	p.next = startCursor
	return p.store.EachBannedHost(at, func(host string, b storage.Ban) bool {
		if p.full(partHosts, host) {
			return false
		}
		p.add(Record{Type: typeBannedHost, Host: host, Banned: b.Since, Reason: b.Reason})
		return true
	})
}
