package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"text/tabwriter"

	"curt/server/link"
	"curt/storage"
)

// storeOptions are those of a subcommand that works on the store of --dir alone; it must be there.
func (s *settings) storeOptions() storage.Options {
	return storage.Options{Dir: s.Dir, CacheBytes: s.CacheBytes, MustExist: true, Logger: quietLogger()}
}

func quietLogger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
}

// withStore runs fn on the store of --dir and closes it.
func (s *settings) withStore(fn func(*storage.Store) error) error {
	return withStore(s.storeOptions(), fn)
}

func withStore(o storage.Options, fn func(*storage.Store) error) error {
	store, err := storage.Open(o)
	if errors.Is(err, storage.ErrLocked) {
		return fmt.Errorf("%w: stop the server first", err)
	}
	if err != nil {
		return err
	}
	return errors.Join(fn(store), store.Close())
}

// rotateKey adds a random key to the ring in the store.
func rotateKey(s *settings, out io.Writer) error {
	if s.keyFile != "" {
		return fmt.Errorf("keys in a key file are rotated by hand: add a last line `ID HEX64` to %s, for instance with: "+
			`echo "NEW-ID $(openssl rand -hex 32)" >> %s`, s.keyFile, s.keyFile)
	}
	return s.withStore(func(store *storage.Store) error {
		id, err := link.RotateKey(store)
		if err == nil {
			_, err = fmt.Fprintf(out, "Key %s is in the store. Codes are made with it from the next block of ids on, after the next start; old codes stay as they are.\n", id)
		}
		return err
	})
}

// printEpochs shows the table of epochs, and never a key.
func printEpochs(s *settings, out io.Writer) error {
	return s.withStore(func(store *storage.Store) error {
		rows, asked, opens, err := link.Epochs(store, s.Codes.Ring)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "EPOCH\tFIRST ID\tRESERVED\tOF CODES\tSHARE\tLENGTH\tALPHABET\tKEY")
		for _, r := range rows {
			fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%.2g%%\t%d\t%s\t%s (%s)\n", r.Number, r.First, r.Reserved, r.Codes,
				100*float64(r.Reserved)/float64(r.Codes), r.Length, r.Alphabet, r.KeyID, r.Key)
		}
		if opens {
			fmt.Fprintf(w, "The next block of ids opens epoch %d: key %s, length %d, alphabet %s.\n", len(rows), asked.Key, asked.Length, asked.Alphabet)
		}
		return w.Flush()
	})
}
