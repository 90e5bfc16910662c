package transfer

import (
	"context"
	"fmt"
	"slices"

	"curt/server/link"
	"curt/storage"
)

// serviceSink brings rows in as new links.
type serviceSink struct {
	links   *link.Service
	store   *storage.Store
	dry     bool
	commits int
}

// parts are the rows of a batch as the service takes them: a link with more than one code is several.
type parts struct {
	items []*item
	of    []*item // by row of run: whose it is
	run   *link.ImportRun
}

func (s *serviceSink) prepare(items []*item) any {
	p := &parts{items: items}
	var rows []*link.Incoming
	for _, i := range items {
		if i.err != nil || i.row.Type != "" {
			continue
		}
		list, err := i.row.incoming()
		if err != nil {
			i.err = err
			continue
		}
		i.asName = i.row.Code != ""
		for range list {
			p.of = append(p.of, i)
		}
		rows = append(rows, list...)
	}
	p.run = s.links.PrepareImport(rows)
	return p
}

// durableEvery is how many batches go between two syncs.
const durableEvery = 512

func (s *serviceSink) commit(ctx context.Context, prepared any) error {
	p := prepared.(*parts)
	results, err := s.links.Import(ctx, p.run, s.dry)
	if err != nil {
		return err
	}
	seen := map[*item]bool{}
	for n, r := range results {
		i := p.of[n]
		switch {
		case !seen[i]:
			seen[i] = true
			i.err, i.there = r.Err, r.There
		case r.Err != nil:
			i.lost = fmt.Errorf("its other code: %w", r.Err)
		}
	}
	for _, i := range p.items {
		if i.err == nil && i.row.Type != "" {
			i.there, i.err = s.ban(&i.row.Record)
		}
	}
	if s.commits++; s.commits%durableEvery == 0 {
		return s.finish()
	}
	return nil
}

func (s *serviceSink) finish() error { return s.store.WaitSynced(s.store.Ticket()) }

// ban brings in a line that is no link, and reports whether it was there already.
func (s *serviceSink) ban(r *Record) (there bool, err error) {
	if s.dry {
		return false, nil
	}
	switch r.Type {
	case typeBannedName:
		return s.links.ImportTombstone(r.Alias)
	case typeBannedTarget:
		return s.links.ImportBannedTarget(r.ban())
	case typeBannedHost:
		return s.links.ImportBannedHost(r.Host, r.ban())
	}
	return false, unknownType(r.Type)
}

func unknownType(name string) error {
	if name == typeHead {
		return errNotHere
	}
	return &link.ArgError{Text: fmt.Sprintf("the type %.40q is not known", name)}
}

// incoming are the links that a row makes: the first is the link itself, each more has another of its codes.
func (r *row) incoming() ([]*link.Incoming, error) {
	if r.Code == "" && len(r.more) == 0 {
		in, err := r.Record.incoming()
		return []*link.Incoming{in}, err
	}
	var list []*link.Incoming
	for _, single := range r.singles() {
		in, err := single.incoming()
		if err != nil {
			return nil, err
		}
		list = append(list, in)
	}
	return list, nil
}

// singles are the row as links that have one code each, which is a name. Only the first has what was counted.
func (r *row) singles() []Record {
	first := r.Record
	first.Code = ""
	list := []Record{first}
	codes := slices.Clone(r.more)
	if r.Code != "" {
		codes = append(codes, r.Code)
	}
	for _, code := range codes {
		if list[0].Alias == "" {
			list[0].Alias, list[0].Source, list[0].Request = code, sourceNames[storage.SourceImport], ""
		} else if code != list[0].Alias {
			other := list[0]
			other.Alias, other.Source, other.Request = code, sourceNames[storage.SourceImport], ""
			other.Visits, other.Bots, other.Last, other.Granted, other.Hours, other.Days, other.Months = 0, 0, 0, 0, nil, nil, nil
			list = append(list, other)
		}
	}
	return list
}

// incoming is the link that a record without a generated code makes.
func (r *Record) incoming() (*link.Incoming, error) {
	l, err := r.link()
	if err != nil {
		return nil, err
	}
	in := &link.Incoming{
		Request: link.Request{
			URL: l.Target, Alias: l.Name, HasAlias: l.Name != "", Expires: l.Expires, MaxVisits: l.MaxVisits, Tenant: l.Tenant, Creator: l.Creator,
			Title: l.Title, Tags: l.Tags, Forward: l.Flags&storage.Forward != 0,
		},
		Source: l.Source, Created: l.Created, Ended: l.Ended, UsedUp: l.Flags&storage.UsedUp != 0, Reserved: l.Flags&storage.Reserved != 0,
		Banned: l.BannedAt, Reason: l.BanReason,
	}
	if l.Name != "" {
		in.Print = l.Fingerprint
	}
	in.History, err = r.history()
	return in, err
}
