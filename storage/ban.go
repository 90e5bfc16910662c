package storage

import "fmt"

// Ban says why and since when (unix ms) a target or a host is refused. Tenant and Target are empty for hosts.
type Ban struct {
	Since  int64
	Reason string
	Tenant string
	Target string
}

const banVersion = 1

// appendBan appends: version byte, Since, Reason, Tenant, Target.
func appendBan(b []byte, ban Ban) []byte {
	b = append(b, banVersion)
	b = appendUint(b, uint64(max(ban.Since, 0)))
	b = appendText(b, ban.Reason)
	b = appendText(b, ban.Tenant)
	return appendText(b, ban.Target)
}

func decodeBan(b []byte) (Ban, error) {
	c := cursor{rest: string(b)}
	if v := c.byte(); c.err == nil && v != banVersion {
		return Ban{}, fmt.Errorf("ban record version %d is not known", v)
	}
	ban := Ban{Since: c.time(), Reason: c.text(), Tenant: c.text(), Target: c.text()}
	if err := c.end(); err != nil {
		return Ban{}, fmt.Errorf("ban: %w", err)
	}
	return ban, nil
}
