// Package link is the service: every rule of the product, and nothing of how it is spoken.
//
// A Service sits on a storage.Store and answers two questions: what does a code lead to now
// (Lookup, Resolve), and may this change be made (Shorten, Ban, Retarget, ...). Reads go
// through a cache and take no lock shared by all readers. Changes take the stripes of
// every text, id and dedup key they touch, decide on what they then read, apply one batch, and
// drop what the cache knew before they let go. Durability is the caller's: a reply that
// tells of a change waits for Ticket.
//
// # Reading order
//
// service.go holds the parts together, codes.go makes ids and codes, lookup.go reads, change.go
// and stripes.go write, and shorten.go, edit.go, ban.go and keys.go are the rules by verb.
package link
