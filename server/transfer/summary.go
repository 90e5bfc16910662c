package transfer

import (
	"errors"
	"fmt"
	"io"

	"curt/codec/weburl"
	"curt/server/link"
)

// WriteSummary says what came of an import. The last line is "N imported, M refused".
func WriteSummary(w io.Writer, s Summary, dry bool) error {
	line := func(n int64, format string) {
		if n > 0 {
			fmt.Fprintf(w, format+"\n", n)
		}
	}
	if s.Adopted {
		fmt.Fprintln(w, "The store took over ids and codes.")
	}
	if s.NotAdopted != nil {
		fmt.Fprintf(w, "The ids were not taken over: %v.\n", s.NotAdopted)
	}
	line(s.AsNames, "%d generated codes came in as names.")
	line(s.There, "%d were there already.")
	line(s.CodesLost, "%d links came in without one of their codes.")
	line(s.TitlesCut, "%d titles were cut.")
	if dry {
		fmt.Fprintln(w, "Nothing was written.")
	}
	_, err := fmt.Fprintf(w, "%d imported, %d refused\n", s.Imported, s.Refused)
	return err
}

// Explain is a refusal's error as the protocol would say it: the word first.
func Explain(err error) string {
	var bad *weburl.Error
	if errors.As(err, &bad) {
		return "BADURL " + err.Error()
	}
	for _, known := range []struct {
		err  error
		word string
	}{
		{link.ErrBadName, "BADNAME"}, {link.ErrExists, "EXISTS"}, {link.ErrReserved, "RESERVED"}, {link.ErrBanned, "BANNED"}, {link.ErrExhausted, "EXHAUSTED"},
	} {
		if errors.Is(err, known.err) {
			return known.word + " " + err.Error()
		}
	}
	return err.Error()
}
