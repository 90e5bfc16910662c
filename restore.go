package main

import (
	"fmt"
	"io"

	"curt/server/link"
	"curt/storage"
)

// restore makes the data folder --dir of a backup, with every counter moved ahead.
func restore(s *settings, out io.Writer) error {
	if len(s.args) != 1 {
		return fmt.Errorf("restore takes one BACKUP, a folder that SAVE or BGSAVE made, not %d", len(s.args))
	}
	bar := newBar(-1, "bytes")
	defer bar.finish()
	var links int64
	var to link.Ahead
	err := storage.Restore(s.storeOptions(), s.args[0], bar.set, func(store *storage.Store) (err error) {
		links = store.Links()
		to, err = link.MoveAhead(store, s.LinkOptions(), s.ahead)
		return err
	})
	if err != nil {
		return err
	}
	bar.finish()
	_, err = fmt.Fprintf(out, "%d links are in %s. Ids go on behind %d, new codes have %d characters.\n"+
		"Make a backup of it soon: if this one had to be restored once more, that would need --ahead %d --code-length %d.\n",
		links, s.Dir, to.Reserved, to.Length, 2*s.ahead, to.Length+1)
	return err
}
