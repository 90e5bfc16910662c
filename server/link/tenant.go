package link

import "curt/storage"

// Within returns the same service confined to a tenant: its links are all there is. A code of another tenant is unknown to every read
// and every change, though its name is taken; new links are the tenant's; what is about all tenants is ErrTenant. An
// empty tenant means no limit.
func (s *Service) Within(tenant string) *Service {
	view := *s
	view.tenant = tenant
	return &view
}

// Tenant is what the service is confined to, "" when it is not.
func (s *Service) Tenant() string { return s.tenant }

// sees reports that a link of this tenant exists for the service.
func (s *Service) sees(tenant string) bool { return s.tenant == "" || s.tenant == tenant }

// own is the tenant of what is made when this one is asked for.
func (s *Service) own(asked string) (string, error) {
	if asked != "" && !s.sees(asked) {
		return "", ErrTenant
	}
	if asked == "" {
		return s.tenant, nil
	}
	return asked, nil
}

// find returns the link that text names, in whatever state, nil when there is none or it is another tenant's.
func (s *Service) find(r *storage.Reader, text string) (*storage.Link, error) {
	l, err := s.record(r, text)
	if err != nil || l == nil || !s.sees(l.Tenant) {
		return nil, err
	}
	return l, nil
}

// each walks the links of the service by id, upwards from one on or in reverse, until fn returns false.
func (s *Service) each(from uint64, reverse bool, fn func(*storage.Link) bool) error {
	r := s.reader()
	if s.tenant == "" {
		return r.EachLink(from, reverse, fn)
	}
	return byID(r, fn, func(visit func(uint64) bool) error { return r.EachTenantLink(s.tenant, from, reverse, visit) })
}

// byID calls fn for the links whose ids walk visits.
func byID(r *storage.Reader, fn func(*storage.Link) bool, walk func(visit func(id uint64) bool) error) (err error) {
	walkErr := walk(func(id uint64) bool {
		l, ok, lerr := r.Link(id)
		if lerr != nil || !ok {
			err = lerr
			return lerr == nil
		}
		return fn(&l)
	})
	if err == nil {
		err = walkErr
	}
	return err
}
