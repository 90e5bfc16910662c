package link

import (
	"errors"

	"curt/storage"
)

// What a caller can be told. Everything else that a method returns is a fault: its text is for the
// log and never for a client.
var (
	// ErrTenant is returned when a service that is confined to a tenant is asked for more.
	ErrTenant = errors.New("not within the tenant")
	// ErrOperatorsBan is returned when a tenant would lift a ban that is not its own.
	ErrOperatorsBan = errors.New("the ban is an operator's")
	// ErrNotFound is returned when no link has the code.
	ErrNotFound = errors.New("no such key")
	// ErrExpired is returned when the link's time is over.
	ErrExpired = errors.New("expired")
	// ErrUsedUp is returned when the link's visits are spent.
	ErrUsedUp = errors.New("used up")
	// ErrBanned is returned when the link, its target or its host is banned.
	ErrBanned = errors.New("banned")
	// ErrExists is returned when another link has the name.
	ErrExists = errors.New("the name is taken")
	// ErrReserved is returned when a name belongs to a generated code that was or will be issued,
	// to a banned name, or to one of the server's own routes.
	ErrReserved = errors.New("the name is reserved")
	// ErrBadName is returned when a text can't be a name.
	ErrBadName = errors.New("a name is 1 to 128 of A-Z a-z 0-9 - . _ ~ and not dots only")
	// ErrExhausted is returned when no free code could be found.
	ErrExhausted = errors.New("no free code was found")
	// ErrOverloaded is returned when the store can't keep up; nothing was changed.
	ErrOverloaded = errors.New("the store is busy, try again later")
	// ErrThrottled is returned when a creator makes links faster than allowed.
	ErrThrottled = errors.New("too many new links")
	// ErrDiskLow is returned when a change would grow a store whose disk is nearly full.
	ErrDiskLow = errors.New("the disk is nearly full, only commands that do not grow the store are accepted")
)

// ArgError is returned when a request breaks a limit that its words alone show.
type ArgError struct{ Text string }

func (e *ArgError) Error() string { return e.Text }

// errCorrupt marks a store whose parts contradict each other.
var errCorrupt = errors.New("the store contradicts itself")

// State says what a code leads to now.
type State uint8

// The states of a link. A link that does not exist is Absent.
const (
	Absent State = iota
	Live
	Expired
	UsedUp
	Banned
	Reserved // owned, waiting for its first target
)

var stateNames = [...]string{"absent", "live", "expired", "used-up", "banned", "reserved"}

func (s State) String() string { return stateNames[s] }

// Err is the error that a read of a link in this state gets, nil when it is Live.
func (s State) Err() error {
	switch s {
	case Live:
		return nil
	case Expired:
		return ErrExpired
	case UsedUp:
		return ErrUsedUp
	case Banned:
		return ErrBanned
	}
	return ErrNotFound
}

// stateOf is the one place that says what a record's flags and dates mean at a time (unix ms).
func stateOf(flags storage.Flags, expires, now int64, hostBanned bool) State {
	switch {
	case flags&storage.Banned != 0 || hostBanned:
		return Banned
	case flags&storage.Reserved != 0:
		return Reserved
	case flags&storage.UsedUp != 0:
		return UsedUp
	case flags&storage.Expired != 0 || expires != 0 && expires <= now:
		return Expired
	}
	return Live
}
