package link

import (
	"strings"

	"curt/server/link/clicks"
	"curt/storage"
)

// StreamKey is the key of the stream of all clicks; with a colon and a code behind it, of one link's.
const StreamKey = "clicks"

// IsStreamKey reports whether a key can be a stream's only. No name can be one.
func IsStreamKey(key []byte) bool {
	return len(key) >= len(StreamKey) && string(key[:len(StreamKey)]) == StreamKey && (len(key) == len(StreamKey) || key[len(StreamKey)] == ':')
}

// Stream is a stream of clicks, oldest first. The zero value is the one of all links.
type Stream struct {
	link uint64 // id; 0: all
}

// Stream finds the stream that a key names; within a tenant the one of all links is ErrTenant. A link has one in whatever state it is, also when nobody clicked yet.
func (s *Service) Stream(key string) (Stream, bool, error) {
	if key == StreamKey {
		if s.tenant != "" {
			return Stream{}, false, ErrTenant
		}
		return Stream{}, true, nil
	}
	code, ok := strings.CutPrefix(key, StreamKey+":")
	if !ok {
		return Stream{}, false, nil
	}
	l, err := s.find(s.reader(), code)
	if err != nil || l == nil {
		return Stream{}, false, err
	}
	return Stream{l.ID}, true, nil
}

// StreamLen is the number of entries in a stream.
func (s *Service) StreamLen(of Stream) (int64, error) {
	if err := s.indexClicks(of); err != nil {
		return 0, err
	}
	return s.reader().StreamLen(of.link)
}

// indexClicks makes a stream of a link complete, before it is read.
func (s *Service) indexClicks(of Stream) error {
	if of.link == 0 {
		return nil
	}
	return s.bringUp(func() error { return s.clicks.Index(of.link) }, func() error { return s.clicks.IndexGuarded(of.link) })
}

// StreamState says what outlives the entries of the stream of all links.
func (s *Service) StreamState() storage.StreamState { return s.clicks.StreamState() }

// ReadStream returns at most n entries from low to high, both included, the newest first in reverse.
func (s *Service) ReadStream(of Stream, low, high storage.StreamID, reverse bool, n int) ([]clicks.Click, error) {
	if n <= 0 {
		return nil, nil
	}
	if err := s.indexClicks(of); err != nil {
		return nil, err
	}
	r := streamReader{Service: s, links: map[uint64]*storage.Link{}, words: map[dayWord]string{}, targets: map[linkVersion]storage.Version{}}
	var entries []storage.Entry
	err := s.reader().EachEntry(of.link, low, high, reverse, func(e storage.Entry) bool {
		entries = append(entries, e)
		return len(entries) < n
	})
	if err != nil {
		return nil, err
	}
	list := make([]clicks.Click, len(entries))
	for i := range entries {
		if list[i], err = r.click(&entries[i]); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// streamReader puts words in the place of an entry's numbers. It reads each once.
type streamReader struct {
	*Service
	links   map[uint64]*storage.Link // nil: it is gone
	words   map[dayWord]string
	targets map[linkVersion]storage.Version
}

type dayWord struct{ day, number uint32 }

type linkVersion struct{ id, revision uint64 }

func (r *streamReader) click(e *storage.Entry) (clicks.Click, error) {
	day := e.ID.Day()
	var texts [3]string
	for i, n := range []uint32{e.Referrer, e.Agent, e.Country} {
		var err error
		if texts[i], err = r.word(day, n); err != nil {
			return clicks.Click{}, err
		}
	}
	code, target, err := r.version(e.Link, e.Revision)
	if err != nil {
		return clicks.Click{}, err
	}
	c := clicks.Click{ID: e.ID, At: int64(e.ID.Ms), Code: code, Target: target, Referrer: texts[0], Country: texts[2], Agent: clicks.ParseAgent(texts[1])}
	c.Bot = e.Bot
	return c, nil
}

func (r *streamReader) word(day, number uint32) (string, error) {
	if number == 0 {
		return "", nil
	}
	key := dayWord{day, number}
	word, known := r.words[key]
	if known {
		return word, nil
	}
	word, err := r.reader().Word(day, number)
	r.words[key] = word
	return word, err
}

// version returns what a link is called now, and where it led in a revision. Of a link that is gone, what it was called then.
func (r *streamReader) version(id, revision uint64) (code, target string, err error) {
	l, known := r.links[id]
	if !known {
		found, ok, err := r.reader().Link(id)
		if err != nil {
			return "", "", err
		}
		if ok {
			l = &found
		}
		r.links[id] = l
	}
	if l != nil && l.Revision == revision {
		return r.codeOf(l), l.Target, nil
	}
	key := linkVersion{id, revision}
	v, known := r.targets[key]
	if !known {
		if v, _, err = r.reader().Version(id, revision); err != nil {
			return "", "", err
		}
		r.targets[key] = v
	}
	if l != nil {
		return r.codeOf(l), v.Target, nil
	}
	return v.Code, v.Target, nil
}

// Alone reports that this view is inside Exec or Still, where nobody may wait.
func (s *Service) Alone() bool { return s.batch != nil || s.still }
