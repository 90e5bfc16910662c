// Package clicks counts visits: in memory, off the redirect's path, and into the store about once a second.
//
// Add puts a visit into one of several buffers, under a lock that few share, and returns. A goroutine collects the buffers:
// it tells programs from people (agent.go), finds referrers and countries, and counts equal visits together. Once a second
// what was counted is written to the store's journal (journal.go), and the raw clicks are appended to the stream (append.go).
// From the journal visits are merged into their links' rows, totals and buckets always in one batch: some links a second, in turn,
// and those that somebody reads. A flush that fails keeps what it could not write and tries again.
//
// # What is lost
//
// A clean Close loses nothing. A crash loses at most what came since the last flush: what it leaves in the journal is merged when
// the store is opened. When the collector can't keep up
// the visitor that fills a buffer empties it itself: nothing is dropped, it only gets slower.
package clicks
