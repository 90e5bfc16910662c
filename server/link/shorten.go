package link

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"

	"curt/storage"
)

// CodeKind says where a new link's code comes from.
type CodeKind uint8

const (
	CodeSequence  CodeKind = iota // the next generated code
	CodeRandom                    // crypto-random text
	CodeHash                      // digits of a hash of the target
	CodeSnowflake                 // base62 of a snowflake id
)

// Request asks for a link.
type Request struct {
	URL       string
	Alias     string // with HasAlias: the name wanted
	HasAlias  bool
	Words     []byte // with HasAlias: the request's options as given; the same words again are the same request
	Expires   int64  // unix ms UTC, 0: never
	MaxVisits uint64 // 0: no limit
	Tenant    string
	Creator   string
	Title     string
	Tags      []string
	Dedup     Dedup
	Code      CodeKind
	HasCode   bool // CODE was given, so the link is not a plain one
	Length    int  // of a random or hash code, 0: 10
	Forward   bool // the visitor's query is passed on
}

// plain reports that the request asks for nothing but a code.
func (r *Request) plain() bool {
	return !r.HasAlias && r.Expires == 0 && r.MaxVisits == 0 && r.Title == "" && len(r.Tags) == 0 && !r.HasCode && !r.Forward
}

// Result is what one URL of a request got.
type Result struct {
	Code string
	Err  error
}

// Shorten makes a link, or finds the one that a plain request may share, and returns its code.
func (s *Service) Shorten(ctx context.Context, r *Request) (string, error) {
	results := s.ShortenMany(ctx, []*Request{r})
	return results[0].Code, results[0].Err
}

// runLength is how many links one batch makes at most, so that a bulk load holds no stripe for long.
const runLength = 64

// ShortenMany makes links in order. Each has its own result; nothing is rolled back.
func (s *Service) ShortenMany(ctx context.Context, requests []*Request) []Result {
	results := make([]Result, len(requests))
	admitted := s.admit(ctx, true)
	for at := 0; at < len(requests); at += runLength {
		end := min(at+runLength, len(requests))
		s.shortenRun(ctx, requests[at:end], results[at:end], admitted)
	}
	return results
}

// plan is one request on its way.
type plan struct {
	req    *Request
	out    *Result
	target string
	tenant string
	keys   dedupKeys
	plain  bool
	dedup  Dedup
	print  []byte // fingerprint of an alias request
	seen   uint64 // changesOf the keys before they were looked up

	kind CodeKind
	id   uint64
	name string // alias or made name; "": the generated code
	text string // the code it will answer at
	// tries counts the codes that were taken by somebody else
	tries int
	taken *storage.Link // an ended link of the tenant that gives up its name

	in    *Incoming // of an import
	there bool      // the link was there already
}

func (s *Service) shortenRun(ctx context.Context, requests []*Request, results []Result, admitted error) {
	plans := make([]*plan, 0, len(requests))
	for i, r := range requests {
		p := &plan{req: r, out: &results[i]}
		done, err := s.prepare(p)
		if err == nil && !done {
			if err = admitted; err == nil {
				err = s.rate.allow(r.Creator, 1, s.now())
			}
		}
		if err != nil || done {
			p.out.Err = err
			continue
		}
		plans = append(plans, p)
	}
	for len(plans) > 0 {
		plans = s.attempt(ctx, plans)
	}
}

// prepare checks a request, and answers it without a lock where a duplicate is there already.
func (s *Service) prepare(p *plan) (done bool, err error) {
	if err := s.opts.Limits.request(p.req); err != nil {
		return false, err
	}
	if p.tenant, err = s.own(p.req.Tenant); err != nil {
		return false, err
	}
	if p.target, err = s.opts.Policy.Check(p.req.URL); err != nil {
		return false, err
	}
	p.plain = p.req.plain()
	if p.kind = p.req.Code; !p.req.HasCode {
		p.kind = s.opts.CodeSource
	}
	p.dedup = cmp.Or(p.req.Dedup, s.opts.Dedup)
	p.keys.strict = makeKey(p.tenant, p.target)
	if p.plain && p.dedup == DedupLoose {
		p.keys = keysOf(p.tenant, p.target)
	}
	if p.req.HasAlias {
		p.name, p.text = p.req.Alias, p.req.Alias
		p.print = fingerprint(p.target, p.req.Words)
	}
	p.seen = s.changesOf(&p.keys)
	l, err := s.look(s.reader(), p)
	if err != nil || l == nil {
		return false, err
	}
	p.out.Code = s.codeOf(l)
	return true, nil
}

// look refuses a banned target, and returns the link that p may share, nil when there is none.
func (s *Service) look(r *storage.Reader, p *plan) (*storage.Link, error) {
	if p.in == nil || p.in.Banned == 0 {
		if err := s.refuseBanned(r, p.keys.strict, p.target); err != nil {
			return nil, err
		}
	}
	return s.duplicate(r, p)
}

// looked reports that what look found in prepare, no ban and no link, is still so.
func (s *Service) looked(p *plan) bool {
	return s.batch == nil && p.in == nil && s.changesOf(&p.keys) == p.seen
}

func fingerprint(target string, words []byte) []byte {
	sum := sha256.Sum256(append(append([]byte(target), 0), words...))
	return sum[:16]
}

// maxAttempts bounds how often a request looks for another free code.
const maxAttempts = 100

// attempt gives each plan a code, makes those links in one batch, and returns the plans whose code
// was taken in the meantime.
func (s *Service) attempt(ctx context.Context, plans []*plan) (again []*plan) {
	ready := plans[:0]
	var set stripeSet
	for _, p := range plans {
		done, err := s.assign(ctx, p)
		if done || err != nil {
			p.there, p.out.Err = done, err
			continue
		}
		s.stripesFor(&set, p)
		ready = append(ready, p)
	}
	if len(ready) == 0 {
		return nil
	}
	run := newRun(len(ready))
	err := s.apply(&set, func(c *change) error {
		for _, p := range ready {
			p.out.Code, p.out.Err = s.make(c, run, p)
			if fault(p.out.Err) {
				return p.out.Err
			}
		}
		return nil
	})
	for _, p := range ready {
		switch {
		case err != nil:
			p.out.Code, p.out.Err = "", err
		case errors.Is(p.out.Err, errAgain):
			if p.tries++; p.tries >= maxAttempts {
				p.out.Err = ErrExhausted
				continue
			}
			if p.kind != CodeSequence {
				s.retries.Add(1)
			}
			again = append(again, p)
		}
	}
	return again
}

// fault reports an error that is the store's, not the request's: the whole batch fails with it.
func fault(err error) bool {
	if err == nil {
		return false
	}
	var arg *ArgError
	for _, known := range []error{errAgain, ErrExists, ErrReserved, ErrBanned, ErrBadName, ErrExhausted} {
		if errors.Is(err, known) {
			return false
		}
	}
	return !errors.As(err, &arg)
}
