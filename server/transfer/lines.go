package transfer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"curt/codec/weburl"
)

// errUTF8 refuses what JSON's decoder would change without a word. It is mostly a URL that is to blame.
var errUTF8 error = &weburl.Error{Reason: weburl.BadUTF8, Explanation: "the row is not valid UTF-8"}

// lineSource reads JSON lines: an export, or links that somebody wrote in its manner.
type lineSource struct{ lines }

func (s *lineSource) next() (raw any, place string, err error) {
	for {
		line, err := s.lines.next()
		if err != nil {
			return nil, s.place(), err
		}
		if len(bytes.TrimSpace(line)) > 0 {
			return line, s.place(), nil
		}
	}
}

func (s *lineSource) decode(raw any) (*row, error) {
	r := &row{}
	if !utf8.Valid(raw.([]byte)) {
		return nil, errUTF8
	}
	d := json.NewDecoder(bytes.NewReader(raw.([]byte)))
	d.DisallowUnknownFields()
	if err := d.Decode(&r.Record); err != nil {
		return nil, fmt.Errorf("bad JSON: %w", err)
	}
	if d.More() {
		return nil, fmt.Errorf("bad JSON: more than one value")
	}
	return r, nil
}
