package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
)

// bar shows on stderr how far a long run is, if that is a terminal. Its zero value shows nothing.
type bar struct{ *progressbar.ProgressBar }

// newBar makes a bar for a number of things; -1: nobody knows how many.
func newBar(most int64, things string) bar {
	if info, err := os.Stderr.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return bar{}
	}
	options := []progressbar.Option{
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionThrottle(200 * time.Millisecond), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionClearOnFinish(),
		progressbar.OptionSpinnerType(14),
	}
	if things == "bytes" {
		options = append(options, progressbar.OptionShowBytes(true))
	} else {
		options = append(options, progressbar.OptionSetItsString(things), progressbar.OptionShowIts())
	}
	return bar{progressbar.NewOptions64(most, options...)}
}

func (b bar) add() {
	if b.ProgressBar != nil {
		b.Add(1) //nolint:errcheck // a bar that can't be drawn stops nothing
	}
}

// set says how much is done of what.
func (b bar) set(done, all int64) {
	if b.ProgressBar != nil {
		b.ChangeMax64(all)
		b.Set64(done) //nolint:errcheck // as add
	}
}

// reader counts what is read of r.
func (b bar) reader(r io.Reader) io.Reader {
	if b.ProgressBar == nil {
		return r
	}
	reader := progressbar.NewReader(r, b.ProgressBar)
	return &reader
}

// clear makes room for a line.
func (b bar) clear() {
	if b.ProgressBar != nil {
		b.Clear() //nolint:errcheck // as add
	}
}

func (b bar) finish() {
	if b.ProgressBar != nil {
		b.Finish() //nolint:errcheck // as add
	}
}
