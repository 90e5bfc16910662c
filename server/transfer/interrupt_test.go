package transfer

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

// slowSink prepares nothing before hold is closed.
type slowSink struct {
	hold      chan struct{}
	unready   int // batches that came to commit without having been prepared
	committed int
}

func (s *slowSink) prepare(items []*item) any {
	<-s.hold
	return items
}

func (s *slowSink) commit(_ context.Context, prepared any) error {
	if prepared == nil {
		s.unready++
	}
	s.committed++
	return nil
}

func (s *slowSink) finish() error { return nil }

// endless is a source whose rows never end. It calls fn when n were read.
type endless struct {
	n  int
	fn func()
}

func (s *endless) next() (raw any, place string, err error) {
	if s.n--; s.n == 0 {
		s.fn()
	}
	return nil, "", nil
}

func (s *endless) decode(any) (*row, error) { return &row{}, nil }

// TestInterrupted: an import that is told to end while all workers are at work commits what was prepared, and nothing else.
func TestInterrupted(t *testing.T) {
	stop := errors.New("told to end")
	for range 50 {
		ctx, cancel := context.WithCancelCause(t.Context())
		to := &slowSink{hold: make(chan struct{})}
		batches := max(runtime.GOMAXPROCS(0), 2) + 1 // one more than are at work: it waits for a worker
		from := &endless{batches * importBatch, func() {
			go func() {
				for range 100 {
					runtime.Gosched()
				}
				cancel(stop)
				close(to.hold)
			}()
		}}
		sum, err := run(ctx, from, to, nil, &ImportOptions{})
		if !errors.Is(err, stop) || to.unready != 0 || sum.Imported != int64(to.committed)*importBatch {
			t.Fatalf("%v: %d batches committed, %d of them not prepared, %d rows imported", err, to.committed, to.unready, sum.Imported)
		}
	}
}
