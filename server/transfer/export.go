package transfer

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"curt/codec"
	"curt/server/link"
	"curt/storage"
)

// Export writes a store as JSON lines: the header, links by id, tombstones, banned targets, banned hosts. The same store gives the
// same bytes. progress, if any, is told of each link. The codes need the keys: those of ring or, when it is nil, of the store.
func Export(store *storage.Store, ring *codec.Ring, to io.Writer, progress func()) error {
	table, _, err := link.CodeTable(store, ring)
	if err != nil {
		return err
	}
	head, err := newHead(store)
	if err != nil {
		return err
	}
	histories, err := store.Histories()
	if err != nil {
		return err
	}
	defer histories.Close()
	e := newExporter(to)
	e.write(Record{Type: typeHead, Head: head})
	var buf [codec.MaxLength]byte
	e.note(store.EachLink(0, false, func(l *storage.Link) bool {
		code := ""
		if l.Flags&storage.Generated != 0 {
			code = string(table.AppendCode(buf[:0], l.ID))
		}
		history, err := histories.Of(l.ID)
		e.note(err)
		r := newRecord(l, code)
		r.setHistory(&history)
		e.write(r)
		if progress != nil {
			progress()
		}
		return e.err == nil
	}))
	e.note(store.EachName("", func(name string, id uint64) bool {
		if id == storage.Tombstone {
			e.write(Record{Type: typeBannedName, Alias: name})
		}
		return e.err == nil
	}))
	e.note(store.EachBannedTarget([16]byte{}, func(_ [16]byte, b storage.Ban) bool {
		return e.write(Record{Type: typeBannedTarget, URL: b.Target, Tenant: b.Tenant, Banned: b.Since, Reason: b.Reason})
	}))
	e.note(store.EachBannedHost("", func(host string, b storage.Ban) bool {
		return e.write(Record{Type: typeBannedHost, Host: host, Banned: b.Since, Reason: b.Reason})
	}))
	return e.flush()
}

// exporter writes lines; its first error sticks.
type exporter struct {
	w    *bufio.Writer
	json *json.Encoder
	err  error
}

func newExporter(to io.Writer) *exporter {
	w := bufio.NewWriterSize(to, 1<<20)
	e := &exporter{w: w, json: json.NewEncoder(w)}
	e.json.SetEscapeHTML(false)
	return e
}

func (e *exporter) note(err error) {
	if e.err == nil && err != nil {
		e.err = fmt.Errorf("export: %w", err)
	}
}

func (e *exporter) write(r Record) bool {
	if e.err == nil {
		e.note(e.json.Encode(r))
	}
	return e.err == nil
}

func (e *exporter) flush() error {
	if e.err == nil {
		e.note(e.w.Flush())
	}
	return e.err
}
