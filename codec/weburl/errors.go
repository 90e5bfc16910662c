package weburl

import "strconv"

// A Reason is the one-word cause of a refusal, stable for programs.
type Reason string

// The reasons, in the order in which they are looked for as far as one URL can
// have several of them.
const (
	TooLong        Reason = "too_long"        // raw input or serialisation above the limit
	BadUTF8        Reason = "bad_utf8"        // not valid UTF-8
	Empty          Reason = "empty"           // nothing but blanks
	ControlChar    Reason = "control_char"    // a byte below 0x20, or 0x7F, inside
	BadScheme      Reason = "bad_scheme"      // neither http: nor https:
	BadHost        Reason = "bad_host"        // no host, or one that neither DNS nor IP knows
	BadPort        Reason = "bad_port"        // not a number up to 65535
	Credentials    Reason = "credentials"     // user:password@
	PrivateAddress Reason = "private_address" // an IP address outside the public Internet
	LocalName      Reason = "local_name"      // localhost, .local, .internal, ...
	SingleLabel    Reason = "single_label"    // a name without a dot
	Self           Reason = "self"            // this server's own host
	UnsafePort     Reason = "unsafe_port"     // a port that browsers refuse to open
)

// Error says why a URL or host was refused.
type Error struct {
	Reason      Reason
	Explanation string // one line for the person who sent the URL; holds nothing of the input
}

// Error returns "reason: explanation", one line.
func (e *Error) Error() string { return string(e.Reason) + ": " + e.Explanation }

// The refusals. They are shared and never changed.
var (
	errUTF8        = &Error{BadUTF8, "the URL is not valid UTF-8"}
	errEmpty       = &Error{Empty, "the URL is empty"}
	errControl     = &Error{ControlChar, "the URL contains a control character; write it percent-encoded, as %0A"}
	errScheme      = &Error{BadScheme, "the URL must begin with http:// or https://"}
	errCredentials = &Error{Credentials, "the URL must not contain a user name or password before the host"}
	errPort        = &Error{BadPort, "the port must be a number from 1 to 65535"}
	errUnsafePort  = &Error{UnsafePort, "browsers refuse to open this port"}
	errPrivate     = &Error{PrivateAddress, "the host is not a public IP address; the operator can allow it"}
	errLocal       = &Error{LocalName, "the host is a local name or one that stands for a local address; the operator can allow it"}
	errSingleLabel = &Error{SingleLabel, "the host has no dot, so it is no public name; the operator can allow it"}
	errSelf        = &Error{Self, "the URL leads back to this server"}

	errNoHost     = &Error{BadHost, "the URL has no host"}
	errHostChar   = &Error{BadHost, "the host contains a character that no host may contain"}
	errHostEscape = &Error{BadHost, "the host is not valid UTF-8 after percent-decoding"}
	errIDNA       = &Error{BadHost, "the host is not a valid international domain name"}
	errIPv4       = &Error{BadHost, "the host ends in a number but is not a valid IPv4 address"}
	errIPv6       = &Error{BadHost, "the host in brackets is not a valid IPv6 address; zones are not allowed"}
	errEmptyLabel = &Error{BadHost, "the host has an empty part between dots"}
	errLongLabel  = &Error{BadHost, "a part of the host between dots is longer than 63 bytes"}
	errLongName   = &Error{BadHost, "the host is longer than 253 bytes"}
	errNameChar   = &Error{BadHost, "the host may contain only letters, digits, '-' and '_' between dots"}
	errHostOnly   = &Error{BadHost, "expected a host alone, without scheme, port, user or path"}
	errAllowed    = &Error{BadHost, "expected a host name, a suffix as .corp, an IP address or a network as 10.0.0.0/8"}
)

func tooLong(maxBytes int) *Error {
	return &Error{TooLong, "the URL is longer than " + strconv.Itoa(maxBytes) + " bytes when percent-encoded"}
}
