package transfer

import (
	"context"

	"curt/server/link"
	"curt/storage"
)

// adopt brings an export in with its ids. It returns link.ErrOtherStore, and has done nothing, when the store can't take it.
func adopt(ctx context.Context, store *storage.Store, links link.Options, head *Head, from source, o *ImportOptions) (Summary, error) {
	to, err := head.head()
	if err != nil {
		return Summary{}, err
	}
	adoption, err := link.Adopt(store, links, to, o.DryRun)
	if err != nil {
		return Summary{}, err
	}
	sum, err := run(ctx, from, &storeSink{adoption: adoption, store: store, dry: o.DryRun}, nil, o)
	sum.Adopted = true
	return sum, err
}

// storeSink brings rows in as they were.
type storeSink struct {
	adoption *link.Adoption
	store    *storage.Store
	dry      bool
	commits  int
}

func (s *storeSink) prepare(items []*item) any {
	for _, i := range items {
		if i.err != nil || i.row.Type != "" {
			continue
		}
		l, err := i.row.link()
		if err == nil {
			i.adopted = &link.Adopted{Link: *l, Code: i.row.Code}
			i.adopted.History, err = i.row.history()
		}
		if err == nil {
			err = s.adoption.Check(i.adopted)
		}
		i.err = err
	}
	return items
}

func (s *storeSink) commit(_ context.Context, prepared any) error {
	var links []*link.Adopted
	var of []*item
	for _, i := range prepared.([]*item) {
		switch {
		case i.err != nil:
		case i.row.Type != "":
			if !s.dry {
				i.err = s.ban(&i.row.Record)
			}
		default:
			links, of = append(links, i.adopted), append(of, i)
		}
	}
	if s.dry {
		return nil
	}
	results, err := s.adoption.Add(links)
	if err != nil {
		return err
	}
	for n, r := range results {
		of[n].err, of[n].there = r.Err, r.There
	}
	if s.commits++; s.commits%durableEvery == 0 {
		return s.finish()
	}
	return nil
}

func (s *storeSink) finish() error { return s.store.WaitSynced(s.store.Ticket()) }

func (s *storeSink) ban(r *Record) error {
	b := r.ban()
	switch r.Type {
	case typeBannedName:
		return s.adoption.BanName(r.Alias)
	case typeBannedTarget:
		return s.adoption.BanTarget(b)
	case typeBannedHost:
		b.Tenant, b.Target = "", ""
		return s.adoption.BanHost(r.Host, b)
	}
	return unknownType(r.Type)
}
