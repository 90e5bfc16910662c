package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"curt/server/link"
	"curt/storage"
)

// ImportOptions say how rows are read and what is done with them.
type ImportOptions struct {
	Format   Format           // empty: JSONL
	DryRun   bool             // nothing is written
	Refused  func(Refusal)    // told of each row that does not come in; nil: nobody is
	Progress func()           // told of each row; nil: nobody is
	Now      func() time.Time // nil: time.Now
}

// Refusal is a row, or a code of one, that did not come in.
type Refusal struct {
	Place string // as "line 12"
	Err   error
}

// Summary counts the rows of an import.
type Summary struct {
	Imported  int64 // links and bans that are new
	There     int64 // were there already
	Refused   int64
	AsNames   int64 // generated codes of another store that came in as names
	CodesLost int64 // links that came in by one of their codes, and without another
	TitlesCut int64
	Adopted   bool // the store took over ids and codes
	// NotAdopted is why it did not take over those of an export.
	NotAdopted error
}

// Import brings the rows of r into a store that nobody else uses, under the rules that a service with these options has. An export goes
// with its ids into a store that can take it (link.Adopt): codes stay generated codes. Into any other store they come as names, where that is
// allowed. It is all durable when Import returns.
func Import(ctx context.Context, store *storage.Store, links link.Options, r io.Reader, o ImportOptions) (Summary, error) {
	from, first, head, err := o.open(r)
	if err != nil {
		return Summary{}, err
	}
	var notAdopted error
	if head != nil && len(head.Epochs) > 0 {
		sum, err := adopt(ctx, store, links, head, from, &o)
		if !errors.Is(err, link.ErrOtherStore) {
			return sum, err
		}
		notAdopted = err
	}
	links.FilterRoom = importRoom
	service, err := link.Open(store, links)
	if err != nil {
		return Summary{}, err
	}
	defer service.Close()
	sum, err := run(ctx, from, &serviceSink{links: service, store: store, dry: o.DryRun}, first, &o)
	sum.NotAdopted = notAdopted
	return sum, err
}

// importRoom is for how many names, or dedup keys, an import makes a filter: 40 MiB. Up to half of them it is as good as exact, so that few new rows
// are looked up in the store, whose cache stays small.
const importRoom = 1 << 25

// sink is where rows go.
type sink interface {
	// prepare looks at rows. It is safe for concurrent use.
	prepare(rows []*item) any
	// commit brings in what prepare returned, in the order of the file, and leaves the outcome in each item. An error ends the import.
	commit(ctx context.Context, prepared any) error
	// finish returns when everything is durable.
	finish() error
}

// item is one row of the file with its outcome.
type item struct {
	place   string
	raw     any
	row     *row
	adopted *link.Adopted // of a storeSink
	err     error
	there   bool
	// Beside the link itself:
	asName bool  // its generated code came in as a name
	lost   error // one more of its codes did not
}

// importBatch is how many rows go the way together.
const importBatch = 256

// job is a batch on its way from the reader through a worker to the writer.
type job struct {
	items    []*item
	prepared any
	done     chan struct{} // closed when prepared is there
	err      error         // the reader's last: nothing follows
}

// run reads rows, has them prepared by as many workers as there are processors, and commits them in order.
func run(ctx context.Context, from source, to sink, first *item, o *ImportOptions) (sum Summary, err error) {
	ctx, cancel := context.WithCancel(ctx)
	workers := max(runtime.GOMAXPROCS(0), 2)
	work, order := make(chan *job), make(chan *job, 2*workers)
	var wait sync.WaitGroup
	defer wait.Wait()
	defer cancel()
	for range workers {
		wait.Go(func() {
			for j := range work {
				j.prepare(from, to)
			}
		})
	}
	wait.Go(func() {
		defer close(work)
		defer close(order)
		readJobs(ctx, from, first, work, order)
	})
	for j := range order {
		<-j.done
		if j.prepared == nil {
			break // ctx has ended, and nobody prepared it
		}
		if err := to.commit(ctx, j.prepared); err != nil {
			return sum, errors.Join(err, to.finish())
		}
		for _, i := range j.items {
			sum.count(i, o)
		}
		if j.err != nil {
			return sum, errors.Join(j.err, to.finish())
		}
	}
	return sum, errors.Join(context.Cause(ctx), to.finish())
}

func (j *job) prepare(from source, to sink) {
	defer close(j.done)
	for _, i := range j.items {
		if i.err == nil && i.row == nil {
			i.row, i.err = from.decode(i.raw)
		}
	}
	j.prepared = to.prepare(j.items)
}

// readJobs reads until the end, an error, or ctx's end. Each job goes to a worker and, in the order of the file, to the writer.
func readJobs(ctx context.Context, from source, first *item, work, order chan<- *job) {
	for end := false; !end; {
		j := &job{done: make(chan struct{})}
		if first != nil {
			j.items, first = append(j.items, first), nil
		}
		for len(j.items) < importBatch {
			raw, place, err := from.next()
			var bad *rowError
			if err != nil && !errors.As(err, &bad) {
				end = true
				if !errors.Is(err, io.EOF) {
					j.err = err
				}
				break
			}
			i := &item{place: place, raw: raw}
			if bad != nil {
				i.err = bad.err
			}
			j.items = append(j.items, i)
		}
		select {
		case <-ctx.Done():
			return
		case order <- j:
		}
		select {
		case <-ctx.Done():
			close(j.done) // nobody will prepare it; the writer has left, or ends with this one
			return
		case work <- j:
		}
	}
}

func (s *Summary) count(i *item, o *ImportOptions) {
	if o.Progress != nil {
		o.Progress()
	}
	switch {
	case i.err != nil:
		s.Refused++
		o.refuse(i.place, i.err)
		return
	case i.there:
		s.There++
	default:
		s.Imported++
	}
	if i.asName && !i.there {
		s.AsNames++
	}
	if i.row != nil && i.row.titleCut {
		s.TitlesCut++
	}
	if i.lost != nil {
		s.CodesLost++
		o.refuse(i.place, i.lost)
	}
}

func (o *ImportOptions) refuse(place string, err error) {
	if o.Refused != nil {
		o.Refused(Refusal{place, err})
	}
}

// open reads up to the first row. head is not nil when that is the header of an export.
func (o *ImportOptions) open(r io.Reader) (from source, first *item, head *Head, err error) {
	if o.Format == "" {
		o.Format = JSONL
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if from, err = openSource(o.Format, r, o.Now().UnixMilli()); err != nil || o.Format != JSONL {
		return from, nil, nil, err
	}
	raw, place, err := from.next()
	var bad *rowError
	switch {
	case errors.As(err, &bad):
		return from, &item{place: place, err: bad.err}, nil, nil
	case errors.Is(err, io.EOF):
		return from, nil, nil, nil
	case err != nil:
		return from, nil, nil, err
	}
	first = &item{place: place, raw: raw}
	first.row, first.err = from.decode(raw)
	if first.err != nil || first.row.Type != typeHead {
		return from, first, nil, nil
	}
	if head = first.row.Head; head == nil || head.Version != formatVersion {
		return nil, nil, nil, fmt.Errorf("%s: this version reads exports of version %d", place, formatVersion)
	}
	return from, nil, head, nil
}

// errNotHere says that a line is of a kind that its place does not allow.
var errNotHere = &link.ArgError{Text: "a header may only be the first line"}
