package link

import (
	"strings"

	"curt/codec/weburl"
	"curt/storage"
)

// Filter says which links List returns. The zero value means all.
type Filter struct {
	Match     func(code string) bool // nil: every code
	Tenant    string                 // with HasTenant: of this tenant, "" being the links of none
	HasTenant bool
	Tag       string // empty: whatever their tags
	Host      string // their target's host, or a domain above it; empty: any
	State     State  // Absent: any
	Reverse   bool   // newest first
}

// listLooks is how many links one List looks at, at most, beyond those it returns.
const listLooks = 1000

// List returns up to count links that pass the filter, in the order of their ids, and the cursor to go on from: 0 to
// begin with and at the end. The work of a call is bounded, so it may return fewer, even none, and a cursor.
func (s *Service) List(cursor uint64, count int, f Filter) (list []*Info, next uint64, err error) {
	if f.Host != "" {
		if f.Host, err = weburl.ParseHost(f.Host); err != nil {
			return nil, 0, err
		}
	}
	if f.Tenant, err = s.own(f.Tenant); err != nil {
		return nil, 0, err
	}
	f.HasTenant = f.HasTenant || s.tenant != ""
	looked := 0
	visit := func(l *storage.Link) bool {
		if len(list) == count || looked == count+listLooks {
			next = l.ID
			return false
		}
		looked++
		if info := s.info(l); f.passes(info) {
			list = append(list, info)
		}
		return true
	}
	return list, next, s.eachLink(cursor, &f, visit)
}

// eachLink walks the narrowest index that a filter has.
func (s *Service) eachLink(cursor uint64, f *Filter, visit func(*storage.Link) bool) error {
	r := s.reader()
	switch {
	case f.Tag != "":
		return byID(r, visit, func(fn func(uint64) bool) error { return r.EachTagLink(f.Tenant, f.Tag, cursor, f.Reverse, fn) })
	case f.Tenant != "":
		return s.Within(f.Tenant).each(cursor, f.Reverse, visit)
	}
	return s.each(cursor, f.Reverse, visit)
}

func (f *Filter) passes(l *Info) bool {
	if l.Code == "" || f.State != Absent && f.State != l.State || f.HasTenant && f.Tenant != l.Tenant {
		return false
	}
	if f.Host != "" {
		host := weburl.Host(l.Target)
		if host != f.Host && !strings.HasSuffix(host, "."+f.Host) {
			return false
		}
	}
	return f.Match == nil || f.Match(l.Code)
}

func (s *Service) info(l *storage.Link) *Info {
	return &Info{Link: *l, Code: s.codeOf(l), State: s.stateNow(l)}
}

// BannedHost is a line of BannedHosts.
type BannedHost struct {
	Host string
	storage.Ban
}

// BannedHosts returns up to count banned hosts from one on, in their order, and the host to go on from, "" at the end.
func (s *Service) BannedHosts(from string, count int) (list []BannedHost, next string, err error) {
	if s.tenant != "" {
		return nil, "", ErrTenant
	}
	err = s.reader().EachBannedHost(from, func(host string, b storage.Ban) bool {
		if len(list) == count {
			next = host
			return false
		}
		list = append(list, BannedHost{host, b})
		return true
	})
	return list, next, err
}

// BannedLinks returns up to count links that were banned by their code, from an id on, and the id to go on from, 0 at the end.
// The work of a call is bounded as List's is.
func (s *Service) BannedLinks(from uint64, count int) (list []*Info, next uint64, err error) {
	looked := 0
	r := s.reader()
	err = byID(r, func(l *storage.Link) bool {
		if len(list) == count || looked == count+listLooks {
			next = l.ID
			return false
		}
		looked++
		if s.sees(l.Tenant) {
			list = append(list, s.info(l))
		}
		return true
	}, func(fn func(uint64) bool) error { return r.EachBannedLink(from, false, fn) })
	return list, next, err
}
