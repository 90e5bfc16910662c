// Package transfer moves links in and out: exports as JSON lines, imports of those and of what other shorteners export.
//
// An export (export.go) begins with a header: epochs, counters and settings, never a key. Then comes a line for each link, in the order of
// ids, and for each ban (record.go). It is written from one pass over the store and needs no memory that grows with it.
//
// An import (import.go) reads rows of some format (csv.go, json.go, lines.go; formats.go says which column means what) and brings
// them in through link.Service, in runs, under the rules that hold for every new link. An export goes into an empty store that has its keys
// with ids and codes unchanged (link.Adopt). A row that can't come in is reported with its place and the reason; the others do.
package transfer
