package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"curt/codec/weburl"
	"curt/storage"
)

// Incoming is a link that comes from elsewhere: what is asked for, and what it has been through. The zero value of a field is "nothing".
type Incoming struct {
	Request
	Source   storage.Source // of a name; SourceSequence: SourceImport
	Created  int64          // unix ms UTC, 0: now
	Ended    int64          // when it was announced as expired or, with UsedUp, as used up
	UsedUp   bool
	Reserved bool // owned, without a target yet: URL is empty
	Banned   int64
	Reason   string
	Print    []byte // what an alias was asked with, where this is known
	// History is what was counted; of a total that is more than its hours and days the rest goes to the hour when the link was made.
	History storage.History
}

// Imported is what one row of an import got.
type Imported struct {
	Code  string
	There bool // the link was there already, nothing was changed
	Err   error
}

// ImportRun is a number of rows on their way.
type ImportRun struct {
	plans []*plan
	done  []Result
}

// PrepareImport checks rows and looks them up. It changes nothing and is safe for concurrent use.
//
// A row is held to the rules of a new link. The same row again is the same link: with an alias when a link of the tenant has it and leads there,
// without one, unless dedup is off, when a plain link leads there (a plain row) or when the link that such a row made is as it was (any other).
func (s *Service) PrepareImport(rows []*Incoming) *ImportRun {
	run := &ImportRun{plans: make([]*plan, len(rows)), done: make([]Result, len(rows))}
	for i, in := range rows {
		p := &plan{req: &in.Request, in: in, out: &run.done[i]}
		run.plans[i] = p
		p.there, p.out.Err = s.prepareIncoming(p)
	}
	return run
}

// Import makes the links of a run, in order and in one batch as a rule. Each row has its own result; nothing is rolled back. A dry run makes
// nothing, and says what would come of each row if it were the first. It waits while the store is busy. An error ends the import: a fault of the
// store, a low disk, or ctx.
func (s *Service) Import(ctx context.Context, run *ImportRun, dry bool) ([]Imported, error) {
	open := make([]*plan, 0, len(run.plans))
	for _, p := range run.plans {
		if p.out.Err == nil && !p.there {
			open = append(open, p)
		}
	}
	if dry {
		s.wouldImport(open)
		open = nil
	}
	for len(open) > 0 {
		if err := s.admit(ctx, true); err != nil && !errors.Is(err, ErrOverloaded) {
			return nil, err
		}
		tried := slices.Clone(open)
		open = s.attempt(ctx, open)
		for _, p := range tried {
			if errors.Is(p.out.Err, ErrOverloaded) {
				open = append(open, p)
			}
		}
	}
	results := make([]Imported, len(run.plans))
	for i, p := range run.plans {
		if fault(p.out.Err) && !isRefusal(p.out.Err) {
			return nil, p.out.Err
		}
		results[i] = Imported{Code: p.out.Code, There: p.there && p.out.Err == nil, Err: p.out.Err}
	}
	return results, nil
}

// isRefusal reports an error that a URL's policy gave.
func isRefusal(err error) bool {
	var bad *weburl.Error
	return errors.As(err, &bad)
}

// wouldImport says which aliases are taken.
func (s *Service) wouldImport(plans []*plan) {
	names := map[string]bool{}
	for _, p := range plans {
		if !p.req.HasAlias {
			continue
		}
		owner, err := s.owner(&s.store.Reader, p.name)
		switch {
		case err != nil:
			p.out.Err = err
		case owner != nil && owner.Name == p.name && s.sameRequest(owner, p):
			p.there = true
		case owner != nil && !s.mayRetake(owner, p) || names[p.name]:
			p.out.Err = ErrExists
		}
		names[p.name] = true
	}
}

// prepareIncoming is prepare for a row of an import.
func (s *Service) prepareIncoming(p *plan) (there bool, err error) {
	in := p.in
	if err := cmp.Or(widest.request(&in.Request), checkText("REASON", in.Reason, MaxTitle), checkText("CREATOR", in.Creator, maxCreator)); err != nil {
		return false, err
	}
	if sum := in.History.Buckets(); in.History.Total.Visits < sum.Visits || in.History.Total.Bots < sum.Bots {
		return false, &ArgError{"the hours and days have more visits than the total"}
	}
	if in.Created < 0 || in.Expires < 0 || in.Ended < 0 || in.Banned < 0 {
		return false, &ArgError{"a time lies before 1970"}
	}
	if in.URL != "" || !in.Reserved {
		if p.target, err = s.opts.Policy.Check(in.URL); err != nil {
			return false, err
		}
	}
	p.plain = in.plain() && in.Ended == 0 && in.Banned == 0 && !in.Reserved
	p.kind = CodeSequence
	p.dedup = cmp.Or(in.Dedup, s.opts.Dedup)
	p.tenant = in.Tenant
	p.keys.strict = makeKey(p.tenant, p.target)
	if p.plain && p.dedup == DedupLoose {
		p.keys = keysOf(p.tenant, p.target)
	}
	if in.HasAlias {
		p.name, p.text, p.print = in.Alias, in.Alias, in.Print
	} else if !p.plain && p.dedup != DedupOff {
		p.print = fingerprint(p.target, in.words())
	}
	if in.Banned == 0 {
		if err := s.refuseBanned(s.reader(), p.keys.strict, p.target); err != nil {
			return false, err
		}
	}
	l, err := s.duplicate(s.reader(), p)
	if err != nil || l == nil {
		return false, err
	}
	p.out.Code = s.codeOf(l)
	return true, nil
}

const maxCreator = 255

// words are what tells a row without an alias from another for the same target.
func (in *Incoming) words() []byte {
	tags := slices.Clone(in.Tags)
	slices.Sort(tags)
	return fmt.Appendf(nil, "import %d %d %d %d %d %t %q %q %q", in.Created, in.Expires, in.MaxVisits, in.Ended, in.Banned, in.Forward, in.Title, in.Creator, strings.Join(tags, "\x00"))
}

// importKey is the dedup key of a row that is not plain and has no alias: by it the same row finds its link again.
func importKey(tenant string, print []byte) dedupKey {
	return makeKey(tenant, "import\x00"+string(print))
}

// importKeyOf is a link's, if it came in so and was not edited since.
func importKeyOf(l *storage.Link) (dedupKey, bool) {
	if l.Source != storage.SourceImport || l.Name != "" || len(l.Fingerprint) == 0 {
		return dedupKey{}, false
	}
	return importKey(l.Tenant, l.Fingerprint), true
}

// findAgain returns the link that the same row made.
func (s *Service) findAgain(r *storage.Reader, p *plan) (*storage.Link, error) {
	l, err := s.hinted(r, importKey(p.tenant, p.print))
	if err != nil || l == nil {
		return nil, err
	}
	if l.Tenant != p.tenant || l.Target != p.target || !slices.Equal(l.Fingerprint, p.print) {
		return nil, nil
	}
	return l, nil
}

// again reports a row that finds its link by importKey.
func (p *plan) again() bool { return p.in != nil && !p.req.HasAlias && len(p.print) > 0 }

// dress gives a new link what it has been through.
func (p *plan) dress(c *change, l *storage.Link) {
	in := p.in
	l.Source = cmp.Or(in.Source, storage.SourceImport)
	l.Created = cmp.Or(in.Created, l.Created)
	if in.Ended != 0 {
		l.Ended = in.Ended
		l.Flags |= storage.Expired
		if in.UsedUp {
			l.Flags ^= storage.Expired | storage.UsedUp
		}
	}
	if in.Reserved && l.Target == "" {
		l.Flags |= storage.Reserved
	}
	if in.Banned != 0 {
		l.Flags |= storage.Banned
		l.BannedAt, l.BanReason = in.Banned, in.Reason
		if l.Target != "" {
			c.banTarget(c.tx, storage.Ban{Since: l.BannedAt, Reason: l.BanReason, Tenant: l.Tenant, Target: l.Target})
		}
	}
	if p.again() {
		c.hintAt(importKey(l.Tenant, l.Fingerprint), l.ID)
	}
	in.remember(c, l)
}

// remember writes what was counted of a link. One whose visits are spent has ended.
func (in *Incoming) remember(c *change, l *storage.Link) {
	h := in.History
	rest := h.Total
	sum := h.Buckets()
	rest.Visits, rest.Bots = rest.Visits-sum.Visits, rest.Bots-sum.Bots
	if rest.Visits > 0 || rest.Bots > 0 {
		h.Hours = append(slices.Clone(h.Hours), storage.Bucket{Start: l.Created, Count: rest})
	}
	if l.MaxVisits != 0 {
		h.Granted = min(max(h.Granted, uint64(h.Total.Visits)), l.MaxVisits)
		if h.Granted == l.MaxVisits && l.Ended == 0 {
			l.Flags |= storage.UsedUp
			l.Ended = c.now
		}
	}
	c.tx.PutHistory(l.ID, &h)
}

// ImportTombstone closes a free name for ever, as that of a banned link that was deleted. It reports true when it was closed already.
func (s *Service) ImportTombstone(name string) (there bool, err error) {
	if !ValidName(name) {
		return false, ErrBadName
	}
	var set stripeSet
	set.text(name)
	err = s.apply(&set, func(c *change) error {
		if id, ok, err := c.tx.Name(name); err != nil || ok && id == storage.Tombstone {
			there = ok
			return err
		}
		owner, err := s.owner(&c.tx.Reader, name)
		if err == nil && owner != nil {
			err = ErrExists
		}
		if err != nil {
			return err
		}
		s.addName(name)
		c.tx.PutName(name, storage.Tombstone)
		return nil
	})
	return there, err
}

// ImportBannedTarget bans a target of a tenant. It reports true when it was banned already: nothing is changed then, but that an operator's
// ban takes the place of the tenant's own.
func (s *Service) ImportBannedTarget(b storage.Ban) (there bool, err error) {
	if err := checkBannedTarget(b); err != nil {
		return false, err
	}
	key := makeKey(b.Tenant, b.Target)
	var set stripeSet
	set.key(key)
	err = s.apply(&set, func(c *change) error {
		had, banned, err := c.tx.BannedTarget(key)
		if err != nil {
			return err
		}
		if there = banned && (b.Own || !had.Own); !there {
			c.banTarget(c.tx, b)
		}
		return nil
	})
	return there, err
}

// ImportBannedHost bans a host as from a time (unix ms, 0: now). It reports true when it was banned already.
func (s *Service) ImportBannedHost(host string, b storage.Ban) (there bool, err error) {
	if err := checkText("REASON", b.Reason, MaxTitle); err != nil {
		return false, err
	}
	if b.Since < 0 {
		return false, &ArgError{"a time lies before 1970"}
	}
	fresh, err := s.setHostBan(host, func(now int64) *storage.Ban {
		return &storage.Ban{Reason: b.Reason, Since: cmp.Or(b.Since, now)}
	})
	return !fresh && err == nil, err
}

func checkBannedTarget(b storage.Ban) error {
	if b.Target == "" {
		return &ArgError{"a banned target must not be empty"}
	}
	return nil
}
