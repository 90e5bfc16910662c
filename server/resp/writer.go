package resp

import (
	"math"
	"strconv"
	"sync/atomic"
)

// A Writer collects replies in the connection's protocol version: RESP2 (the
// default) or RESP3 (https://redis.io/docs/latest/develop/reference/protocol-spec).
// Types that RESP2 lacks are written in the form Redis gives them there. Every
// method appends; nothing allocates beyond the growth of the buffer. Only the
// goroutine that runs the handler may use it, except for Proto.
type Writer struct {
	b     []byte
	proto atomic.Int32
}

// NewWriter returns a Writer of protocol version proto, 2 or 3, that belongs
// to no connection.
func NewWriter(proto int) *Writer {
	w := &Writer{}
	w.SetProto(proto)
	return w
}

// Proto returns the protocol version, 2 or 3. Safe from any goroutine.
func (w *Writer) Proto() int { return int(w.proto.Load()) }

// SetProto switches to version 2 or 3 for what is written from now on.
func (w *Writer) SetProto(v int) { w.proto.Store(int32(v)) }

func (w *Writer) resp3() bool { return w.proto.Load() == 3 }

// Len returns the number of bytes collected and not yet flushed.
func (w *Writer) Len() int { return len(w.b) }

// Truncate cuts what was written after Len was n. A larger n cuts nothing.
func (w *Writer) Truncate(n int) {
	if n < len(w.b) {
		w.b = w.b[:n]
	}
}

// Bytes returns what was collected; it is valid until the next write or flush.
func (w *Writer) Bytes() []byte { return w.b }

// Raw appends bytes as they are.
func (w *Writer) Raw(p []byte) { w.b = append(w.b, p...) }

// SimpleString appends a status (+OK); CR and LF become spaces.
func (w *Writer) SimpleString(s string) { w.line('+', s) }

// Error appends an error. msg begins with its code ("ERR ...") and carries no
// minus; CR and LF become spaces, so a message can't forge a reply.
func (w *Writer) Error(msg string) { w.line('-', msg) }

func (w *Writer) line(kind byte, s string) {
	w.b = append(w.b, kind)
	start := len(w.b)
	w.b = append(w.b, s...)
	for i, c := range w.b[start:] {
		if c == '\r' || c == '\n' {
			w.b[start+i] = ' '
		}
	}
	w.crlf()
}

// Int appends an integer.
func (w *Writer) Int(n int64) {
	w.b = append(w.b, ':')
	w.b = strconv.AppendInt(w.b, n, 10)
	w.crlf()
}

// Bulk appends a binary string. nil is the empty string, not null.
func (w *Writer) Bulk(p []byte) {
	w.head('$', len(p))
	w.b = append(w.b, p...)
	w.crlf()
}

// BulkString appends a binary string.
func (w *Writer) BulkString(s string) {
	w.head('$', len(s))
	w.b = append(w.b, s...)
	w.crlf()
}

// BulkUint appends n in decimal as a binary string.
func (w *Writer) BulkUint(n uint64) {
	var digits [20]byte
	w.Bulk(strconv.AppendUint(digits[:0], n, 10))
}

// BulkInt appends n in decimal as a binary string.
func (w *Writer) BulkInt(n int64) {
	var digits [20]byte
	w.Bulk(strconv.AppendInt(digits[:0], n, 10))
}

// Array opens an array; n replies must follow.
func (w *Writer) Array(n int) { w.head('*', n) }

// Map opens a map; n keys, each with its value, must follow. In RESP2 it is an
// array of 2n.
func (w *Writer) Map(n int) {
	if w.resp3() {
		w.head('%', n)
	} else {
		w.head('*', 2*n)
	}
}

// Set opens a set; n replies must follow. In RESP2 it is an array.
func (w *Writer) Set(n int) { w.head3('~', n) }

// Push opens an out-of-band message; n replies must follow. In RESP2 it is an
// array.
func (w *Writer) Push(n int) { w.head3('>', n) }

// Null appends the absent value: $-1 in RESP2, _ in RESP3.
func (w *Writer) Null() { w.null("$-1\r\n") }

// NullArray appends the absent array: *-1 in RESP2, _ in RESP3.
func (w *Writer) NullArray() { w.null("*-1\r\n") }

func (w *Writer) null(resp2 string) {
	if w.resp3() {
		w.b = append(w.b, "_\r\n"...)
	} else {
		w.b = append(w.b, resp2...)
	}
}

// Bool appends a truth value; in RESP2 the integers 1 and 0.
func (w *Writer) Bool(v bool) {
	switch {
	case w.resp3() && v:
		w.b = append(w.b, "#t\r\n"...)
	case w.resp3():
		w.b = append(w.b, "#f\r\n"...)
	case v:
		w.Int(1)
	default:
		w.Int(0)
	}
}

// Double appends f in the shortest decimal form; inf, -inf and nan are written
// so. In RESP2 it is a binary string.
func (w *Writer) Double(f float64) {
	var digits [32]byte
	text := appendDouble(digits[:0], f)
	if !w.resp3() {
		w.Bulk(text)
		return
	}
	w.b = append(w.b, ',')
	w.b = append(w.b, text...)
	w.crlf()
}

func appendDouble(b []byte, f float64) []byte {
	switch {
	case math.IsInf(f, 1):
		return append(b, "inf"...)
	case math.IsInf(f, -1):
		return append(b, "-inf"...)
	case math.IsNaN(f):
		return append(b, "nan"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// Verbatim appends text with its format, three letters such as txt or mkd. In
// RESP2 it is a binary string without the format.
func (w *Writer) Verbatim(format, s string) {
	if !w.resp3() {
		w.BulkString(s)
		return
	}
	w.head('=', len(format)+1+len(s))
	w.b = append(w.b, format...)
	w.b = append(w.b, ':')
	w.b = append(w.b, s...)
	w.crlf()
}

func (w *Writer) head3(kind byte, n int) {
	if !w.resp3() {
		kind = '*'
	}
	w.head(kind, n)
}

func (w *Writer) head(kind byte, n int) {
	w.b = append(w.b, kind)
	w.b = strconv.AppendInt(w.b, int64(n), 10)
	w.crlf()
}

func (w *Writer) crlf() { w.b = append(w.b, '\r', '\n') }
