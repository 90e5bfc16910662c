// Package storage keeps links on disk, in one Pebble store per data folder.
//
// It has no opinion on what a good link is: it stores records, names, dedup hints, bans, counters,
// epochs, keys and settings, and keeps every index in step with the records. A change is one batch,
// visible when Update returns and durable once WaitSynced has returned for its ticket; one syncer
// serves everybody who waits. Whatever goes wrong with the log ends the process: after a restart
// nothing that was acknowledged is missing. keys.go has the keyspace, link.go the record.
package storage
