package transfer

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
)

// csvSource reads comma-separated values with a header (RFC 4180), or with semicolons or tabs where the header has them.
type csvSource struct {
	lines
	comma  rune
	fields []field // by column
	now    int64
}

// maxRowLines is how many lines a row with quoted line breaks has at most. A quote that is never closed would swallow all the rest.
const maxRowLines = 1000

func newCSVSource(format Format, r *bufio.Reader, now int64) (*csvSource, error) {
	s := &csvSource{lines: lines{r: r}, comma: ',', now: now}
	head, err := s.lines.next()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("the file is empty: it should begin with a header as url,alias,title")
	}
	if err != nil {
		return nil, err
	}
	if !bytes.ContainsRune(head, ',') && bytes.ContainsAny(head, ";\t") {
		s.comma = ';'
		if bytes.ContainsRune(head, '\t') {
			s.comma = '\t'
		}
	}
	names, err := s.split(head)
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	hasURL := false
	columns := format.columns()
	for _, name := range names {
		f := columns[plainName(name)]
		hasURL = hasURL || f == fieldURL
		s.fields = append(s.fields, f)
	}
	if !hasURL {
		return nil, fmt.Errorf("the header %.80q names no column with URLs: %s", head, strings.Join(format.urlColumns(), ", "))
	}
	return s, nil
}

// urlColumns are the names that a column of URLs may have.
func (f Format) urlColumns() []string {
	var names []string
	for name, field := range f.columns() {
		if field == fieldURL {
			names = append(names, name)
		}
	}
	return names
}

func (s *csvSource) split(record []byte) ([]string, error) {
	if !bytes.ContainsAny(record, "\"\r\n") {
		return strings.Split(string(record), string(s.comma)), nil // as most rows are
	}
	r := csv.NewReader(bytes.NewReader(record))
	r.Comma, r.FieldsPerRecord = s.comma, -1
	fields, err := r.Read()
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		err = bad.Err
	}
	if err == nil {
		if _, more := r.Read(); more != io.EOF {
			err = csv.ErrQuote
		}
	}
	return fields, err
}

// next joins the lines of one row: those between which a quote stands open.
func (s *csvSource) next() (raw any, place string, err error) {
	first, err := s.lines.next()
	for err == nil && len(bytes.TrimSpace(first)) == 0 {
		first, err = s.lines.next()
	}
	place = s.place()
	if err != nil {
		return nil, place, err
	}
	record := first
	var more [][]byte
	for open := odd(first); open; {
		line, err := s.lines.next()
		if err != nil && err != io.EOF {
			return nil, place, err
		}
		if err == io.EOF || len(more) == maxRowLines || len(record) > maxLine {
			if err == nil {
				more = append(more, line)
			}
			s.unread(more)
			return nil, place, &rowError{errors.New("a quote is not closed")}
		}
		more = append(more, line)
		record = append(append(record[:len(record):len(record)], '\n'), line...)
		open = odd(line) != open
	}
	if len(more) > 0 {
		// The quote that was taken for an open one may have been a stray.
		if _, err := s.split(record); err != nil {
			s.unread(more)
			return nil, place, &rowError{err}
		}
	}
	return record, place, nil
}

// odd reports that a line has an odd number of quotes.
func odd(line []byte) bool { return bytes.Count(line, []byte{'"'})%2 == 1 }

func (s *csvSource) decode(raw any) (*row, error) {
	texts, err := s.split(raw.([]byte))
	if err != nil {
		return nil, err
	}
	if len(texts) > len(s.fields) {
		return nil, fmt.Errorf("it has %d columns, the header has %d", len(texts), len(s.fields))
	}
	values := make([]value, 0, len(texts))
	for i, text := range texts {
		if s.fields[i] != fieldNone && text != "" {
			values = append(values, value{field: s.fields[i], text: text})
		}
	}
	return newRow(values, s.now)
}
