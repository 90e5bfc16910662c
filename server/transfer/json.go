package transfer

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// jsonSource finds links in JSON, however it nests them: every object that has a URL under one of the format's names is one. It reads
// from token to token and holds one object at a time.
type jsonSource struct {
	tokens  *json.Decoder
	columns map[string]field
	now     int64
	number  int
	found   [][]value // links that were read and not yet returned
	stack   []*object
}

// object is one on the way to the token that comes next. An array is one without a key.
type object struct {
	array  bool
	key    string   // of the value to come
	path   string   // of the keys above it, each with a dot
	values []value  // if it is a link
	outer  []value  // if it is part of one
	link   bool     // it has a URL
	list   []string // strings of an array
}

// maxDepth bounds how deep objects nest.
const maxDepth = 100

func newJSONSource(format Format, r *bufio.Reader, now int64) *jsonSource {
	d := json.NewDecoder(r)
	d.UseNumber()
	return &jsonSource{tokens: d, columns: format.columns(), now: now}
}

func (s *jsonSource) next() (raw any, place string, err error) {
	for len(s.found) == 0 {
		token, err := s.tokens.Token()
		if errors.Is(err, io.EOF) && len(s.stack) == 0 {
			return nil, "", io.EOF
		}
		switch {
		case err == nil:
			err = s.step(token)
		case errors.Is(err, io.EOF):
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, "", fmt.Errorf("bad JSON behind record %d, at byte %d: %w", s.number, s.tokens.InputOffset(), err)
		}
	}
	values := s.found[0]
	s.found = s.found[1:]
	s.number++
	return values, "record " + strconv.Itoa(s.number), nil
}

func (s *jsonSource) decode(raw any) (*row, error) {
	r, err := newRow(raw.([]value), s.now)
	if err == nil && strings.ContainsRune(r.URL, utf8.RuneError) {
		return nil, errUTF8 // this is what the decoder puts for bytes that are none
	}
	return r, err
}

// top is the innermost object or array, nil outside of all.
func (s *jsonSource) top() *object {
	if len(s.stack) == 0 {
		return nil
	}
	return s.stack[len(s.stack)-1]
}

func (s *jsonSource) step(token json.Token) error {
	top := s.top()
	if delim, ok := token.(json.Delim); ok {
		switch delim {
		case '{', '[':
			return s.enter(delim == '[')
		}
		s.leave()
		return nil
	}
	switch {
	case top == nil: // a value beside all objects
	case top.array:
		if text, ok := token.(string); ok {
			top.list = append(top.list, text)
		}
	case top.key == "":
		top.key = plainName(token.(string))
		if top.key == "" {
			top.key = "?"
		}
	default:
		s.put(top, value{text: scalar(token)})
	}
	return nil
}

func scalar(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	case string:
		return v
	}
	return ""
}

// put ends a key of an object with its value.
func (s *jsonSource) put(o *object, v value) {
	o.link = o.link || s.columns[o.key] == fieldURL // an empty URL is one that will be refused
	if v.text != "" || len(v.list) > 0 {
		if v.field = s.columns[o.key]; v.field != fieldNone {
			o.values = append(o.values, v)
		}
		if v.field = s.columns[o.path+o.key]; v.field != fieldNone && o.path != "" {
			o.outer = append(o.outer, v)
		}
	}
	o.key = ""
}

func (s *jsonSource) enter(array bool) error {
	if len(s.stack) == maxDepth {
		return fmt.Errorf("it nests deeper than %d", maxDepth)
	}
	o := &object{array: array}
	if top := s.top(); top != nil && !top.array && !array {
		o.path = top.key + "."
	}
	s.stack = append(s.stack, o)
	return nil
}

// leave ends an object: a link is found; what another says may belong to the one around it.
func (s *jsonSource) leave() {
	o := s.top()
	s.stack = s.stack[:len(s.stack)-1]
	outer := s.top()
	switch {
	case o.array:
		if outer != nil && !outer.array {
			s.put(outer, value{list: o.list})
		}
		return
	case o.link:
		s.found = append(s.found, o.values)
	case outer != nil && !outer.array:
		outer.values = append(outer.values, o.outer...)
	}
	if outer != nil && !outer.array {
		outer.key = ""
	}
}
