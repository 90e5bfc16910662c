package resp

import (
	"bytes"
	"math"
	"sync/atomic"
)

// A protocolError ends a connection after the replies of earlier commands. Its
// text is Redis's.
type protocolError string

func (e protocolError) Error() string { return "ERR Protocol error: " + string(e) }

// A limitError is a protocolError that a limit is the reason of, not the form.
type limitError protocolError

func (e limitError) Error() string { return protocolError(e).Error() }

const (
	errArrayLength protocolError = "invalid multibulk length"
	errBulkLength  protocolError = "invalid bulk length"
	errQuotes      protocolError = "unbalanced quotes in request"

	errManyWords      limitError = "invalid multibulk length"
	errLongBulk       limitError = "invalid bulk length"
	errAuthArray      limitError = "unauthenticated multibulk length"
	errAuthBulk       limitError = "unauthenticated bulk length"
	errLongArrayLine  limitError = "too big mbulk count string"
	errLongBulkLine   limitError = "too big bulk count string"
	errInlineTooLong  limitError = "too big inline request"
	errCommandTooLong limitError = "too big multibulk request" // ours: Redis bounds its whole query buffer instead
)

// A parser frames commands in buf[r:w]. It remembers where it stopped, so that
// a command which arrives byte by byte is looked at once. It is strict where
// Redis is lax: a word must end in CRLF.
type parser struct {
	limits *Limits
	authed *atomic.Bool

	buf  []byte
	r, w int // the unread bytes; r is where the current command begins
	pos  int // how far the current command is parsed
	scan int // no line end before here (and after pos)

	left  int    // words the current command still lacks; 0: its header is not read
	bulk  int    // length of the current word; -1: its header is not read
	marks []mark // the words so far, relative to r
	args  [][]byte
}

type mark struct{ off, end int }

// next returns the words of the next command, nil when the bytes end before it
// does, or a protocolError, after which the parser must not be used. The words
// are slices of buf.
func (p *parser) next() ([][]byte, error) {
	for p.r < p.w {
		if p.left == 0 {
			if p.buf[p.r] != '*' {
				args, ok, err := p.inline()
				if err != nil || !ok || len(args) > 0 {
					return args, err
				}
				continue // an empty line
			}
			ok, err := p.open()
			if !ok {
				return nil, err
			}
			if p.left == 0 { // *0, *-1
				p.advance()
				continue
			}
		}
		ok, err := p.words()
		if !ok {
			return nil, err
		}
		return p.take(), nil
	}
	return nil, nil
}

// open reads the line *N.
func (p *parser) open() (ok bool, err error) {
	n, ok, err := p.number(errArrayLength, errLongArrayLine)
	if !ok {
		return false, err
	}
	switch {
	case n > math.MaxInt32:
		return false, errArrayLength
	case n > p.limits.PreAuthWords.Load() && !p.authed.Load():
		return false, errAuthArray
	case n > p.limits.MaxWords.Load():
		return false, errManyWords
	case n > 0:
		p.left = int(n)
	}
	p.bulk = -1
	p.marks = p.marks[:0]
	return true, nil
}

// words reads $N and N bytes for every word that is left.
func (p *parser) words() (ok bool, err error) {
	for p.left > 0 {
		if p.bulk < 0 {
			if ok, err := p.openBulk(); !ok {
				return false, err
			}
		}
		end := p.pos + p.bulk
		if end+2 > p.w {
			return false, p.mustBeCRLF(end)
		}
		if p.buf[end] != '\r' || p.buf[end+1] != '\n' {
			return false, errBulkLength
		}
		p.marks = append(p.marks, mark{p.pos - p.r, end - p.r})
		p.pos = end + 2
		p.bulk = -1
		p.left--
	}
	return true, nil
}

// mustBeCRLF looks at the half of a line end that has come, if any.
func (p *parser) mustBeCRLF(end int) error {
	if end < p.w && p.buf[end] != '\r' {
		return errBulkLength
	}
	return nil
}

func (p *parser) openBulk() (ok bool, err error) {
	if p.pos == p.w {
		return false, nil
	}
	if c := p.buf[p.pos]; c != '$' {
		return false, protocolError("expected '$', got '" + string([]byte{c}) + "'")
	}
	n, ok, err := p.number(errBulkLength, errLongBulkLine)
	if !ok {
		return false, err
	}
	switch {
	case n < 0:
		return false, errBulkLength
	case n > p.limits.MaxBulk.Load():
		return false, errLongBulk
	case n > p.limits.PreAuthBulk.Load() && !p.authed.Load():
		return false, errAuthBulk
	case int64(p.pos-p.r)+n+2 > p.limits.MaxCommand.Load():
		return false, errCommandTooLong
	}
	p.bulk = int(n)
	return true, nil
}

// number reads the line at pos, one byte of type and a decimal number, and
// moves behind it. Errors: bad when the number is not canonical, long when the
// line has no end.
func (p *parser) number(bad protocolError, long limitError) (n int64, ok bool, err error) {
	i := p.pos + 1
	for ; i < p.w && i <= p.pos+9 && p.buf[i]-'0' <= 9; i++ {
		n = n*10 + int64(p.buf[i]-'0')
	}
	if i+1 < p.w && p.buf[i] == '\r' && p.buf[i+1] == '\n' && (i == p.pos+2 || p.buf[p.pos+1] != '0') && i > p.pos+1 {
		p.pos = i + 2
		return n, true, nil
	}
	line, ok := p.line()
	if !ok {
		if p.tooLong() {
			return 0, false, long
		}
		return 0, false, nil
	}
	end := len(line) - 1
	if end < 1 || line[end] != '\r' {
		return 0, false, bad
	}
	n, ok = strictInt(line[1:end])
	if !ok {
		return 0, false, bad
	}
	p.pos += len(line) + 1
	return n, true, nil
}

// line returns the bytes from pos to before the next LF.
func (p *parser) line() ([]byte, bool) {
	from := max(p.scan, p.pos)
	i := bytes.IndexByte(p.buf[from:p.w], '\n')
	if i < 0 {
		p.scan = p.w
		return nil, false
	}
	return p.buf[p.pos : from+i], true
}

func (p *parser) tooLong() bool { return int64(p.w-p.pos) > p.limits.MaxInline.Load() }

// take returns the words of the command that is complete and moves behind it.
// A word can be appended to without harm to the next.
func (p *parser) take() [][]byte {
	args := p.args[:0]
	for _, m := range p.marks {
		args = append(args, p.buf[p.r+m.off:p.r+m.end:p.r+m.end])
	}
	p.args = args
	p.advance()
	return args
}

// advance makes pos the beginning of the next command.
func (p *parser) advance() {
	p.r = p.pos
	p.scan = p.pos
}

// move replaces the buffer by one that begins with the unread bytes.
func (p *parser) move(to []byte) {
	n := copy(to, p.buf[p.r:p.w])
	p.buf = to
	p.pos -= p.r
	p.scan -= p.r
	p.r, p.w = 0, n
}

// strictInt reads a decimal as Redis's string2ll: no plus, no leading zero, no
// blank, no overflow.
func strictInt(s []byte) (int64, bool) {
	if len(s) == 1 && s[0] == '0' {
		return 0, true
	}
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 19 || s[0] == '0' {
		return 0, false
	}
	var v uint64
	for _, c := range s {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + uint64(c-'0') // 19 digits fit
	}
	switch {
	case negative && v <= 1<<63:
		return -int64(v), true
	case v <= math.MaxInt64:
		return int64(v), true
	}
	return 0, false
}
