package codec

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// Ring is a set of keys of which one, the active, is for new epochs.
type Ring struct {
	Keys   map[string]Key // by key id
	Active string         // id of the active key
}

// ParseKeyring reads a key file:
//
//	# comments and blank lines are ignored
//	2025  6f0c...  (64 hexadecimal digits)
//	2026  91ab...
//
// One `id hex64` a line, the id as in ValidKeyID; the last line is the active key.
// A bad line, an id or a key that comes twice and a file without keys are errors.
// They name the line and show nothing of it: a mistyped line may be the key.
func ParseKeyring(r io.Reader) (Ring, error) {
	p := ringParser{keys: map[string]Key{}, ids: map[string]int{}, secrets: map[Key]int{}}
	lines := bufio.NewScanner(r)
	n := 0
	for lines.Scan() {
		n++
		if err := p.line(n, bytes.TrimSpace(lines.Bytes())); err != nil {
			return Ring{}, fmt.Errorf("key file line %d: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return Ring{}, fmt.Errorf("key file after line %d: %w", n, err)
	}
	if len(p.keys) == 0 {
		return Ring{}, errors.New("key file: it has no key")
	}
	return Ring{Keys: p.keys, Active: p.active}, nil
}

type ringParser struct {
	keys    map[string]Key
	active  string
	ids     map[string]int // id -> its line
	secrets map[Key]int    // key -> its line
}

func (p *ringParser) line(n int, line []byte) error {
	if len(line) == 0 || line[0] == '#' {
		return nil
	}
	words := bytes.Fields(line)
	if len(words) != 2 {
		return fmt.Errorf("want `id hex64`, found %d words", len(words))
	}
	id := string(words[0])
	if !ValidKeyID(id) {
		return errors.New("the id must be 1..32 of A-Z a-z 0-9 . _ -")
	}
	var key Key
	if len(words[1]) != hex.EncodedLen(len(key)) {
		return fmt.Errorf("the key must have 64 hexadecimal digits, found %d bytes", len(words[1]))
	}
	if _, err := hex.Decode(key[:], words[1]); err != nil {
		return errors.New("the key must have 64 hexadecimal digits, found another character")
	}
	if other, ok := p.ids[id]; ok {
		return fmt.Errorf("the id is that of line %d", other)
	}
	if other, ok := p.secrets[key]; ok {
		return fmt.Errorf("the key is that of line %d", other)
	}
	p.keys[id], p.ids[id], p.secrets[key] = key, n, n
	p.active = id
	return nil
}
