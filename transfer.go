package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"curt/server/link"
	"curt/server/transfer"
	"curt/storage"
)

// export writes all links of a store, or of a running server, as JSON lines.
func export(s *settings, out io.Writer) error {
	if s.target.addr != "" {
		return exportFrom(s, out)
	}
	return s.withStore(func(store *storage.Store) error {
		bar := newBar(store.Links(), "links")
		defer bar.finish()
		return transfer.Export(store, s.Codes.Ring, out, bar.add)
	})
}

func exportFrom(s *settings, out io.Writer) error {
	ctx, release := interruptible()
	defer release()
	from, err := s.target.dial(ctx)
	if err != nil {
		return err
	}
	defer from.Close()
	bar := newBar(-1, "lines")
	defer bar.finish()
	return transfer.ExportFrom(ctx, from, out, bar.add)
}

// interruptible is a context that a signal ends; a second one ends the process at once.
func interruptible() (context.Context, context.CancelFunc) {
	ctx, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	context.AfterFunc(ctx, release)
	return ctx, release
}

// interruptibly reads from r until ctx ends: a terminal or a pipe may have nothing to say for ever. Then nobody waits for the read under way.
func interruptibly(ctx context.Context, r io.Reader) io.Reader {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		in.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })
	return out
}

// importLinks brings the links of a file into a store. Rows that can't come in are listed on stderr; that is no error.
func importLinks(s *settings, out io.Writer) error {
	if len(s.args) != 1 {
		return fmt.Errorf("import takes one FILE, or - for the standard input, not %d", len(s.args))
	}
	file, size, err := openInput(s.args[0])
	if err != nil {
		return err
	}
	defer file.Close()
	ctx, release := interruptible()
	defer release()
	var from io.Reader = file
	if size < 0 {
		from = interruptibly(ctx, file)
	}
	bar := newBar(size, "bytes")
	o := transfer.ImportOptions{Format: s.format, DryRun: s.dryRun, Refused: func(r transfer.Refusal) {
		bar.clear()
		fmt.Fprintf(os.Stderr, "%s: %s\n", r.Place, transfer.Explain(r.Err))
	}}
	sum, err := s.importInto(ctx, bar.reader(from), o)
	bar.finish()
	if err != nil {
		return fmt.Errorf("%w (%d imported, %d refused until then)", err, sum.Imported, sum.Refused)
	}
	return transfer.WriteSummary(out, sum, s.dryRun)
}

// importInto goes to a running server, or opens the store of --dir, or makes it. A dry run into a folder that has none works on a store in memory.
func (s *settings) importInto(ctx context.Context, from io.Reader, o transfer.ImportOptions) (sum transfer.Summary, err error) {
	if s.target.addr != "" {
		to, err := s.target.dial(ctx)
		if err != nil {
			return sum, err
		}
		defer to.Close()
		return transfer.ImportTo(ctx, to, from, o)
	}
	s.Logger = quietLogger()
	if s.Dedup != link.DedupOff && os.Getenv("GOGC") == "" {
		debug.SetGCPercent(importGCPercent)
	}
	run := func(store *storage.Store) error {
		sum, err = transfer.Import(ctx, store, s.LinkOptions(), from, o)
		return err
	}
	options := s.importOptions()
	if _, statErr := os.Stat(s.Dir); s.dryRun && os.IsNotExist(statErr) {
		options.FS = storage.NewMemFS()
	}
	return sum, withStore(options, run)
}

// What an import writes needs no cache, and few of its rows are read again: it fills a small one, so that its memory does not grow with the lines.
const (
	importCacheBytes    = 24 << 20
	importMemtableBytes = 4 << 20
)

// With dedup nearly all that lives is a filter without a pointer: garbage need not grow to as much again before it is collected.
const importGCPercent = 40

// importOptions are those of the store that an import makes or goes on with. It takes what it needs of --cache-bytes.
func (s *settings) importOptions() storage.Options {
	o := s.storeOptions()
	o.MustExist = false
	if o.CacheBytes > importCacheBytes {
		o.CacheBytes, o.MemtableBytes = importCacheBytes, importMemtableBytes
	}
	return o
}

func openInput(name string) (file *os.File, size int64, err error) {
	if name == "-" {
		return os.Stdin, -1, nil
	}
	if file, err = os.Open(name); err != nil {
		return nil, 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return file, -1, nil
	}
	return file, info.Size(), nil
}
