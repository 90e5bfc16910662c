package transfer

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Remote is a running server: Do sends it a command. Errors within an array are elements of it.
type Remote interface {
	Do(ctx context.Context, words ...any) (any, error)
}

var errReply = errors.New("the server answers in a way that is not known")

// ExportFrom is Export of a running server, by its command EXPORT. What changes meanwhile may be in it or not.
func ExportFrom(ctx context.Context, from Remote, to io.Writer, progress func()) error {
	w := bufio.NewWriterSize(to, 1<<20)
	for cursor := startCursor; ; {
		reply, err := from.Do(ctx, "EXPORT", cursor, "COUNT", pageLines)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		parts, _ := reply.([]any)
		if len(parts) != 2 {
			return fmt.Errorf("export: %w", errReply)
		}
		next, ok1 := parts[0].(string)
		lines, ok2 := parts[1].([]any)
		if !ok1 || !ok2 {
			return fmt.Errorf("export: %w", errReply)
		}
		for _, line := range lines {
			if _, err := fmt.Fprintln(w, line); err != nil {
				return fmt.Errorf("export: %w", err)
			}
			if progress != nil {
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

// ImportTo brings the rows of r into a running server, by its command IMPORT, under that server's rules. Generated codes come in as names. What is
// summed up as imported is durable there.
func ImportTo(ctx context.Context, to Remote, r io.Reader, o ImportOptions) (Summary, error) {
	if o.DryRun {
		return Summary{}, errors.New("a running server is not asked what it would do")
	}
	from, first, _, err := o.open(r)
	if err != nil {
		return Summary{}, err
	}
	return run(ctx, from, &remoteSink{to}, first, &o)
}

// remoteSink sends rows to a server.
type remoteSink struct{ to Remote }

// Limits of one IMPORT, well below those of a server.
const (
	sentBytes = 1 << 20
	sentLine  = 512 << 10
)

// sent is one line on its way: the link itself, or another code of it.
type sent struct {
	of   *item
	main bool
	line []byte
}

func (s *remoteSink) prepare(items []*item) any {
	var list []sent
	for _, i := range items {
		if i.err != nil {
			continue
		}
		if i.row.Type == typeHead {
			i.err = errNotHere
			continue
		}
		i.asName = i.row.Type == "" && i.row.Code != ""
		for n, single := range i.row.singles() {
			line, err := single.toSend()
			if err != nil {
				i.err = err
				break
			}
			list = append(list, sent{i, n == 0, line})
		}
	}
	return list
}

// toSend is the record's line, unless it would not arrive as it is.
func (r *Record) toSend() ([]byte, error) {
	for _, text := range append([]string{r.URL, r.Alias, r.Title, r.Tenant, r.Creator, r.Reason, r.Host}, r.Tags...) {
		if !utf8.ValidString(text) {
			return nil, errUTF8
		}
	}
	line, err := r.Line()
	if err == nil && len(line) > sentLine {
		err = errors.New("the row is too long to be sent: import it with --dir")
	}
	return line, err
}

func (s *remoteSink) commit(ctx context.Context, prepared any) error {
	for list := prepared.([]sent); len(list) > 0; {
		words, bytes, n := []any{"IMPORT"}, 0, 0
		for ; n < len(list) && (n == 0 || bytes+len(list[n].line) <= sentBytes); n++ {
			words = append(words, list[n].line)
			bytes += len(list[n].line)
		}
		if err := s.send(ctx, words, list[:n]); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

func (s *remoteSink) send(ctx context.Context, words []any, list []sent) error {
	reply, err := s.to.Do(ctx, words...)
	if err != nil {
		return err
	}
	results, _ := reply.([]any)
	if len(results) != len(list) {
		return errReply
	}
	for n, r := range results {
		i := list[n].of
		err, _ := r.(error)
		switch {
		case i.err != nil: // of its first line
		case list[n].main:
			i.err, i.there = err, r == int64(0)
		case err != nil:
			i.lost = fmt.Errorf("its other code: %w", err)
		}
	}
	return nil
}

func (s *remoteSink) finish() error { return nil }
