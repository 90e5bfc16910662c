// Package weburl turns the text of a URL into the target of a link.
//
// A raw URL is parsed as browsers do it (WHATWG URL Standard, http and https,
// no base), written out again, and that serialisation is judged: address class,
// local names, ports, own host. The serialised string is what gets judged,
// stored and sent; the raw input is never looked at again, so no second parser
// can disagree about where a link leads. Nothing here resolves names: a public
// name that points to a private address can not be seen from its text.
package weburl

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"unicode/utf8"
)

// DefaultMaxBytes is the longest serialised target of a Policy that names none.
const DefaultMaxBytes = 2048

// minRawBytes is the least cap on the raw input, whatever MaxBytes says.
const minRawBytes = 8192

// maxNameBytes and maxLabelBytes are the limits of DNS (RFC 1035 section 2.3.4).
const (
	maxNameBytes  = 253
	maxLabelBytes = 63
)

// A Policy says which targets are acceptable. The zero value accepts public
// hosts only. It must not change while in use; Check is then safe for
// concurrent use.
type Policy struct {
	// MaxBytes is the longest serialised target, in bytes; 0 means
	// DefaultMaxBytes. Raw input is capped at 4 times as much, or 8192 bytes
	// where that is more.
	MaxBytes int

	// Allow lists hosts that may be targets although private, local or
	// single-label. Empty means none.
	Allow []Allowed

	// Self lists the names this server answers at, in any form ParseHost
	// takes. A target there would be a loop and is refused, with or without
	// "www.", at any port. An entry that ParseHost refuses matches nothing;
	// see Validate.
	Self []string
}

// Validate reports every field that makes no sense.
func (p *Policy) Validate() error {
	var errs []error
	if p.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("maximum URL length %d is negative", p.MaxBytes))
	}
	for _, self := range p.Self {
		if _, err := ParseHost(self); err != nil {
			errs = append(errs, fmt.Errorf("own host name %q: %w", self, err))
		}
	}
	return errors.Join(errs...)
}

// Check returns the target that raw stands for: printable ASCII, at most
// MaxBytes long, sharing no memory with raw, and its own target (checking it
// again returns it unchanged). The error is an *Error. Where several reasons
// apply, the one met first is given, in the order of this function.
func (p *Policy) Check(raw string) (target string, err error) {
	maxBytes := p.maxBytes()
	if len(raw) > max(4*maxBytes, minRawBytes) {
		return "", tooLong(maxBytes)
	}
	if !utf8.ValidString(raw) {
		return "", errUTF8
	}
	raw = strings.Trim(raw, " \t\r\n")
	if raw == "" {
		return "", errEmpty
	}
	if hasControl(raw) {
		return "", errControl
	}
	var u parsed
	if e := u.parse(raw); e != nil {
		return "", e
	}
	if len(u.text) > maxBytes {
		return "", tooLong(maxBytes)
	}
	if u.credentials {
		return "", errCredentials
	}
	target = string(u.text)
	if e := p.judge(&u, target[u.hostStart:u.hostEnd]); e != nil {
		return "", e
	}
	return target, nil
}

func (p *Policy) maxBytes() int {
	if p.MaxBytes <= 0 {
		return DefaultMaxBytes
	}
	return p.MaxBytes
}

// hasControl reports whether s holds an ASCII control character. Browsers
// delete tab, LF and CR anywhere in a URL, which is how "java\tscript:" and
// "exa\nmple.com" get past filters; such input is refused, never mended.
func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] == 0x7F {
			return true
		}
	}
	return false
}

// judge says whether a well-formed URL with the given host may be a target.
func (p *Policy) judge(u *parsed, host string) *Error {
	var e *Error
	if u.addr.IsValid() {
		e = p.judgeAddr(u.addr.Unmap())
	} else {
		e = p.judgeName(strings.TrimSuffix(host, "."))
	}
	switch {
	case e != nil:
		return e
	case p.isSelf(canonicalHost(host)):
		return errSelf
	case isBadPort(u.port):
		return errUnsafePort
	}
	return nil
}

func (p *Policy) judgeAddr(addr netip.Addr) *Error {
	if !isPublic(addr) && !p.allowsAddr(addr) {
		return errPrivate
	}
	return nil
}

func (p *Policy) judgeName(name string) *Error {
	if e := checkName(name); e != nil {
		return e
	}
	local, single := isLocal(name), strings.IndexByte(name, '.') < 0
	switch {
	case !local && !single, p.allowsName(name):
		return nil
	case local:
		return errLocal
	default:
		return errSingleLabel
	}
}

// isSelf compares a canonical host with the server's own names. The "www." of
// either side is ignored: it names the same site.
func (p *Policy) isSelf(host string) bool {
	host = strings.TrimPrefix(host, "www.")
	for _, self := range p.Self {
		own, err := ParseHost(self)
		if err == nil && strings.TrimPrefix(own, "www.") == host {
			return true
		}
	}
	return false
}
