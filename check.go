package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"curt/server/link"
	"curt/storage"
)

// check compares everything in a store with everything else. What does not fit is listed, and makes the exit code 1.
func check(s *settings, out io.Writer) error {
	return s.withStore(func(store *storage.Store) error {
		w := bufio.NewWriter(out)
		problems := 0
		err := link.Check(store, s.Codes.Ring, func(text string) bool {
			problems++
			fmt.Fprintln(w, text)
			return true
		})
		if problems > 0 {
			err = errors.Join(err, fmt.Errorf("%d problems in %s", problems, s.Dir))
		} else if err == nil {
			fmt.Fprintf(w, "%d links, no problem\n", store.Links())
		}
		return errors.Join(err, w.Flush())
	})
}
