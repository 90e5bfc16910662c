package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"curt/codec"
	"curt/storage"
)

// pageLines are the lines that Export reads at a time.
const pageLines = 1000

// Export writes a store as JSON lines: the header, links by id, tombstones, banned targets, banned hosts. The same store gives the
// same bytes. progress, if any, is told of each link. The codes need the keys: those of ring or, when it is nil, of the store.
func Export(store *storage.Store, ring *codec.Ring, to io.Writer, progress func()) error {
	w := bufio.NewWriterSize(to, 1<<20)
	for cursor := startCursor; ; {
		records, next, err := Page(store, ring, cursor, pageLines)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		for _, r := range records {
			line, err := r.Line()
			if err != nil {
				return fmt.Errorf("export: %w", err)
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			if r.Type == "" && progress != nil {
				progress()
			}
		}
		if cursor = next; cursor == startCursor {
			break
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

// Line is the record as a line of an export, without its end.
func (r *Record) Line() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}
