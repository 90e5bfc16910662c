package storage

import "fmt"

// Ban says why and since when (unix ms) a target or a host is refused. Tenant and Target are empty for hosts.
type Ban struct {
	Since  int64
	Reason string
	Tenant string
	Target string
	Own    bool // the tenant banned it by itself, and may lift that
}

// The first byte of a ban says whose it is.
const (
	operatorsBan = 1
	ownBan       = 2
)

// appendBan appends: the first byte, Since, Reason, Tenant, Target.
func appendBan(b []byte, ban Ban) []byte {
	first := byte(operatorsBan)
	if ban.Own {
		first = ownBan
	}
	b = append(b, first)
	b = appendUint(b, uint64(max(ban.Since, 0)))
	b = appendText(b, ban.Reason)
	b = appendText(b, ban.Tenant)
	return appendText(b, ban.Target)
}

func decodeBan(b []byte) (Ban, error) {
	c := cursor{rest: string(b)}
	first := c.byte()
	if c.err == nil && first != operatorsBan && first != ownBan {
		return Ban{}, fmt.Errorf("ban record version %d is not known", first)
	}
	ban := Ban{Own: first == ownBan, Since: c.time(), Reason: c.text(), Tenant: c.text(), Target: c.text()}
	if err := c.end(); err != nil {
		return Ban{}, fmt.Errorf("ban: %w", err)
	}
	return ban, nil
}
