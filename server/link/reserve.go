package link

import (
	"cmp"
	"context"

	"curt/storage"
)

// Reserve makes n codes that lead nowhere until Retarget gives each its target: for print first, decide later. They
// are the tenant's and count as links; n is at most MaxReserve.
func (s *Service) Reserve(ctx context.Context, n int, tenant, creator string) ([]string, error) {
	if n < 1 || n > MaxReserve {
		return nil, &ArgError{"a reservation is for 1 to 1000 codes"}
	}
	if err := cmp.Or(s.opts.Limits.tenant(tenant), s.admit(ctx, true)); err != nil {
		return nil, err
	}
	tenant, err := s.own(tenant)
	if err != nil {
		return nil, err
	}
	if err := s.rate.allow(creator, n, s.now()); err != nil {
		return nil, err
	}
	codes := make([]string, 0, n)
	for len(codes) < n {
		made, err := s.reserveRun(ctx, min(n-len(codes), runLength), tenant, creator)
		if err != nil {
			return nil, err
		}
		codes = append(codes, made...)
	}
	return codes, nil
}

// reserveRun makes n codes, or fewer when a name has one of their texts, in one batch.
func (s *Service) reserveRun(ctx context.Context, n int, tenant, creator string) ([]string, error) {
	ids, texts := make([]uint64, n), make([]string, n)
	var set stripeSet
	for i := range n {
		var err error
		if ids[i], texts[i], err = s.nextCode(ctx); err != nil {
			return nil, err
		}
		set.id(ids[i])
		set.text(texts[i])
	}
	var codes []string
	err := s.apply(&set, func(c *change) error {
		codes = codes[:0]
		for i, id := range ids {
			taken, err := c.nameTaken(texts[i])
			if err != nil {
				return err
			}
			if taken {
				continue
			}
			l := &storage.Link{ID: id, Flags: storage.Generated | storage.Reserved, Tenant: tenant, Creator: creator, Created: c.now}
			c.touch(l)
			if err := c.tx.PutLink(nil, l); err != nil {
				return err
			}
			codes = append(codes, texts[i])
		}
		return nil
	})
	return codes, err
}

// nameTaken reports whether a name has the text of a generated code.
func (c *change) nameTaken(text string) (bool, error) {
	if !c.names.maybe(bytesOf(text)) {
		return false, nil
	}
	_, taken, err := c.tx.Name(text)
	return taken, err
}
