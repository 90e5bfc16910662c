package transfer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// row is one link, or ban, on its way in.
type row struct {
	Record
	more     []string // further codes of the link
	total    uint64   // visits, until it is known that nobody tells bots apart
	titleCut bool
}

// source reads rows of one format.
type source interface {
	// next returns the next row as it stands there, and where: "line 12". io.EOF is the end; an error of the row itself is a *rowError, and any other
	// one ends the import.
	next() (raw any, place string, err error)
	// decode makes a row of what next returned. It is safe for concurrent use.
	decode(raw any) (*row, error)
}

// rowError is an error after which the next row can be read.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }

const (
	maxLine    = 4 << 20 // bytes of one line, or of one row of CSV
	bomBytes   = "\xEF\xBB\xBF"
	headLength = 512
)

// openSource looks at the first bytes and returns the source of a format.
func openSource(format Format, from io.Reader, now int64) (source, error) {
	r := bufio.NewReaderSize(from, 1<<20)
	if head, _ := r.Peek(len(bomBytes)); string(head) == bomBytes {
		r.Discard(len(bomBytes))
	}
	switch format {
	case JSONL:
		return &lineSource{lines: lines{r: r}}, nil
	case CSV:
		return newCSVSource(format, r, now)
	case YOURLS, Shlink, Kutt, Bitly:
		head, err := r.Peek(headLength)
		if len(head) == 0 && err != nil && err != io.EOF {
			return nil, err
		}
		if head = bytes.TrimSpace(head); len(head) > 0 && (head[0] == '{' || head[0] == '[') {
			return newJSONSource(format, r, now), nil
		}
		return newCSVSource(format, r, now)
	}
	return nil, fmt.Errorf("the format %q is not known", format)
}

// lines reads lines and counts them. A line may end in \n or \r\n.
type lines struct {
	r      *bufio.Reader
	number int      // of the line that came last
	back   [][]byte // lines to be read again
}

// next returns a line without its end, which is the caller's to keep. One that is too long is passed over, and is a *rowError.
func (l *lines) next() ([]byte, error) {
	if len(l.back) > 0 {
		line := l.back[0]
		l.back = l.back[1:]
		l.number++
		return line, nil
	}
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		if err == bufio.ErrBufferFull && len(line) < maxLine {
			continue
		}
		if err == bufio.ErrBufferFull {
			for err == bufio.ErrBufferFull {
				_, err = l.r.ReadSlice('\n')
			}
			if err != nil && err != io.EOF {
				return nil, err
			}
			l.number++
			return nil, &rowError{fmt.Errorf("it is longer than %d bytes", maxLine)}
		}
		if err != nil && (err != io.EOF || len(line) == 0) {
			return nil, err
		}
		l.number++
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
	}
}

// place is where the line stands that came last.
func (l *lines) place() string { return "line " + strconv.Itoa(l.number) }

// unread gives lines back, which the next calls return again.
func (l *lines) unread(list [][]byte) {
	l.back = append(list, l.back...)
	l.number -= len(list)
}
