package transfer

import (
	"context"

	"curt/server/link"
)

// ImportLines brings lines of an export, or links as somebody wrote them in its manner, into a service that others use meanwhile. A
// generated code comes in as a name. Each line has its own result; may, if any, says why a name must not be taken. An error is one that
// says nothing of a line: the store's, or of ctx. What came in before it stays. A header is no line of this kind.
func ImportLines(ctx context.Context, links *link.Service, lines [][]byte, may func(name string) error) ([]link.Imported, error) {
	items := make([]*item, len(lines))
	var source lineSource
	for n, line := range lines {
		i := &item{}
		if i.row, i.err = source.decode(line); i.err != nil && i.err != errUTF8 {
			i.err = &link.ArgError{Text: i.err.Error()}
		} else if i.err == nil && may != nil {
			i.err = i.row.mayTake(may)
		}
		items[n] = i
	}
	to := &serviceSink{links: links}
	if err := to.commit(ctx, to.prepare(items)); err != nil {
		return nil, err
	}
	results := make([]link.Imported, len(items))
	for n, i := range items {
		results[n] = link.Imported{There: i.there, Err: i.err}
		if i.err == nil && i.lost != nil {
			results[n].Err = i.lost
		}
	}
	return results, nil
}

// mayTake asks for each name that the row would take.
func (r *row) mayTake(may func(name string) error) error {
	for _, single := range r.singles() {
		if single.Alias != "" {
			if err := may(single.Alias); err != nil {
				return err
			}
		}
	}
	return nil
}
