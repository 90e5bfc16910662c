package link

import (
	"cmp"
	"errors"
	"fmt"
)

// The widest that a link's record, and the protocol, allow.
const (
	MaxTags      = 16
	MaxTag       = 64
	MaxTitle     = 256
	MaxTenant    = 64
	MaxVisitsCap = 1 << 31
	MinLength    = 4 // of a random or hash code
	MaxLength    = 32
	MaxReserve   = 1000 // codes of one Reserve
)

// Limits bound what those who make and edit links may say; a zero field is the widest. Links that are there already, and those
// that are imported, may go beyond them.
type Limits struct {
	Name   int // bytes of an alias; 0: 128
	Tags   int // of a link; 0: 16
	Tag    int // bytes of one; 0: 64
	Title  int // bytes; 0: 256
	Tenant int // bytes of its name; 0: 64
	Length int // of a random or hash code, from 4; 0: 32
	Visits int // of MAXVISITS; 0: 2^31
}

// widest are the limits of the record itself.
var widest = Limits{Name: MaxName, Tags: MaxTags, Tag: MaxTag, Title: MaxTitle, Tenant: MaxTenant, Length: MaxLength, Visits: MaxVisitsCap}

func (l Limits) withDefaults() Limits {
	return Limits{cmp.Or(l.Name, widest.Name), cmp.Or(l.Tags, widest.Tags), cmp.Or(l.Tag, widest.Tag), cmp.Or(l.Title, widest.Title),
		cmp.Or(l.Tenant, widest.Tenant), cmp.Or(l.Length, widest.Length), cmp.Or(l.Visits, widest.Visits)}
}

// Limits are those that count, the defaults filled in.
func (s *Service) Limits() Limits { return s.opts.Limits }

// Validate reports every limit that is wider than the record, or none at all.
func (l Limits) Validate() error {
	var errs []error
	for _, n := range []struct {
		name           string
		n, least, most int
	}{
		{"max-name-bytes", l.Name, 1, widest.Name}, {"max-tags", l.Tags, 1, widest.Tags}, {"max-tag-bytes", l.Tag, 1, widest.Tag}, {"max-title-bytes", l.Title, 1, widest.Title},
		{"max-tenant-bytes", l.Tenant, 1, widest.Tenant}, {"max-random-length", l.Length, madeLength, widest.Length}, {"max-visits", l.Visits, 1, widest.Visits},
	} {
		if n.n != 0 && (n.n < n.least || n.n > n.most) {
			errs = append(errs, fmt.Errorf("%s: %d is not within %d to %d", n.name, n.n, n.least, n.most))
		}
	}
	return errors.Join(errs...)
}

// name checks a name that somebody wants.
func (l *Limits) name(name string) error {
	if len(name) > l.Name || !ValidName(name) {
		return ErrBadName
	}
	return nil
}

func (l *Limits) title(text string) error { return checkText("TITLE", text, l.Title) }

func (l *Limits) tenant(text string) error { return checkText("TENANT", text, l.Tenant) }

func (l *Limits) tags(tags []string) error {
	if err := l.count(len(tags)); err != nil {
		return err
	}
	for _, t := range tags {
		if t == "" {
			return &ArgError{"a tag must not be empty"}
		}
		if err := checkText("TAG", t, l.Tag); err != nil {
			return err
		}
	}
	return nil
}

// count checks how many tags a link would have.
func (l *Limits) count(tags int) error {
	if tags > l.Tags {
		return &ArgError{fmt.Sprintf("a link has at most %d tags", l.Tags)}
	}
	return nil
}

// request looks at everything but the URL, which has its own rules.
func (l *Limits) request(r *Request) error {
	if r.HasAlias {
		if err := l.name(r.Alias); err != nil {
			return err
		}
	}
	if r.Length != 0 && (r.Length < MinLength || r.Length > l.Length) {
		return &ArgError{fmt.Sprintf("LENGTH must be %d to %d", MinLength, l.Length)}
	}
	if r.MaxVisits > uint64(l.Visits) {
		return &ArgError{fmt.Sprintf("MAXVISITS must be 1 to %d", l.Visits)}
	}
	return cmp.Or(l.tags(r.Tags), l.title(r.Title), l.tenant(r.Tenant))
}
