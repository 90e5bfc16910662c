package storage

// Flags are the yes/no facts of a link. Bits are persisted: never renumber.
type Flags uint32

const (
	Generated Flags = 1 << iota // its FF1 code was really issued
	Plain                       // may answer a dedup hit
	Banned                      // taken down by an operator
	UsedUp                      // announced as used up
	Expired                     // announced as expired; stays so when the clock steps back
	Reserved                    // owned, no target yet
	Forward                     // the visitor's query is appended to the target
)

// Source says where the link's code came from. Values are persisted: never renumber.
type Source uint8

const (
	SourceSequence Source = iota
	SourceAlias
	SourceRandom
	SourceHash
	SourceSnowflake
	SourceImport
)

// Link is one stored short link. Times are unix milliseconds UTC and never negative, 0 means "not".
type Link struct {
	ID     uint64 // never 0
	Flags  Flags
	Source Source

	Target  string
	Name    string // alias or other name; "" means the generated code only
	Tenant  string // at most 255 bytes; "" means none
	Creator string
	Title   string
	Tags    []string // each 1..255 bytes

	Created  int64
	Expires  int64 // 0: never
	Ended    int64 // when it was announced expired or used up
	BannedAt int64

	MaxVisits   uint64 // 0: no limit
	BanReason   string
	Fingerprint []byte // empty or 16 bytes: what an idempotent AS was asked with
	Revision    uint64 // version of the target, starts at 0
}

// Ban says why and since when (unix ms) a target or a host is refused. Tenant and Target are empty for hosts.
type Ban struct {
	Since  int64
	Reason string
	Tenant string
	Target string
}
