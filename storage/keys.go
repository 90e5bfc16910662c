package storage

import "encoding/binary"

// The keyspace. The first byte is the kind; ids and times are 8 bytes big-endian; (text) is a length byte
// and the text. Keys in upper case outlive DeleteAllLinks, keys in lower case do not.
//
//	M v                        format version (uvarint); missing: the first batch was never written
//	M n                        number of stored links, and of those with an expiry (count, see count.go)
//	M s name                   setting
//	M k id                     key of the ring, 32 bytes
//	M e number(1)              row of the epochs table
//	M c segment                counter of a segment (uvarint)
//	M a totals, M a buckets    all that was ever counted, as added to totals and to buckets (count)
//	M p                        state of the click stream (stream.go)
//	l id                       link record (link.go)
//	n name                     id (uvarint); 0: tombstone of a deleted banned name
//	d dedup key(16)            id (uvarint)
//	b target key(16)           ban (ban.go)
//	h host                     ban
//	x Expires id               links that expire and have not Ended
//	e Ended id                 links announced as expired or used up
//	k id                       links with BannedAt
//	t (tenant) id              links of a tenant
//	o (tenant)                 number of a tenant's links (count)
//	g (tenant) (tag) id        links of a tenant with a tag
//	g (empty) (tag) id         links of every tenant with a tag
//	c id                       click totals (count)
//	c id h hour(4)             an hour of clicks (count)
//	c id d day(4)              a day of clicks, once its hours are old (count)
//	c id m month(4)            top values of a month (top.go)
//	j part(1) number(8)        clicks that are not in the rows above and the index yet (journal.go)
//	m id                       visits handed out of MaxVisits (uvarint)
//	p day(4) ...               a day of the click stream (stream.go)
//	r id Revision(8)           a version of a link that the click stream names (stream.go)
const (
	kindMeta         = 'M'
	kindLink         = 'l'
	kindName         = 'n'
	kindDedup        = 'd'
	kindBannedTarget = 'b'
	kindBannedHost   = 'h'
	kindExpires      = 'x'
	kindEnded        = 'e'
	kindBannedLink   = 'k'
	kindTenant       = 't'
	kindTag          = 'g'
	kindClicks       = 'c'
	kindJournal      = 'j'
	kindGrant        = 'm'
	kindStream       = 'p'
	kindVersion      = 'r'
	kindTenantLinks  = 'o'

	metaVersion = 'v'
	metaLinks   = 'n'
	metaSetting = 's'
	metaKey     = 'k'
	metaEpoch   = 'e'
	metaCounter = 'c'
	metaClicks  = 'a'
	metaStream  = 'p'
)

// All that DeleteAllLinks removes lies in [linksFrom, linksTo).
const (
	linksFrom = "a"
	linksTo   = "{"
)

func appendID(b []byte, id uint64) []byte { return binary.BigEndian.AppendUint64(b, id) }

func appendShort(b []byte, s string) []byte { return append(append(b, byte(len(s))), s...) }

func linkKey(b []byte, id uint64) []byte { return appendID(append(b, kindLink), id) }

func nameKey(b []byte, text string) []byte { return append(append(b, kindName), text...) }

func hashKey(b []byte, kind byte, key [16]byte) []byte { return append(append(b, kind), key[:]...) }

func hostKey(b []byte, host string) []byte { return append(append(b, kindBannedHost), host...) }

func metaKeyOf(b []byte, what byte, name string) []byte {
	return append(append(b, kindMeta, what), name...)
}

// timePrefix starts the keys of one time in the expiry or ended index.
func timePrefix(b []byte, kind byte, at int64) []byte { return appendID(append(b, kind), uint64(at)) }

func tenantPrefix(b []byte, tenant string) []byte { return appendShort(append(b, kindTenant), tenant) }

func tenantLinksKey(b []byte, tenant string) []byte {
	return appendShort(append(b, kindTenantLinks), tenant)
}

func tagPrefix(b []byte, tenant, tag string) []byte {
	return appendShort(appendShort(append(b, kindTag), tenant), tag)
}

// after returns the first key behind every key that starts with prefix.
func after(prefix []byte) []byte {
	end := append([]byte(nil), prefix...)
	for i := len(end) - 1; i >= 0; i-- {
		end[i]++
		if end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// lastID returns the id an index key ends with.
func lastID(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// indexKeys returns the keys of every index entry that follows from the record: most links have none.
func (l *Link) indexKeys() [][]byte {
	var keys [][]byte
	if l.Ended != 0 {
		keys = append(keys, appendID(timePrefix(nil, kindEnded, l.Ended), l.ID))
	} else if l.Expires != 0 {
		keys = append(keys, appendID(timePrefix(nil, kindExpires, l.Expires), l.ID))
	}
	if l.BannedAt != 0 {
		keys = append(keys, appendID([]byte{kindBannedLink}, l.ID))
	}
	if l.Tenant != "" {
		keys = append(keys, appendID(tenantPrefix(nil, l.Tenant), l.ID))
	}
	for _, tag := range l.Tags {
		keys = append(keys, appendID(tagPrefix(nil, "", tag), l.ID))
		if l.Tenant != "" {
			keys = append(keys, appendID(tagPrefix(nil, l.Tenant, tag), l.ID))
		}
	}
	return keys
}
