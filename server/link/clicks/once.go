package clicks

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/cespare/xxhash/v2"
)

// once remembers who visited what not long ago, in a table of fixed size: the newest visits, when there are too many to keep.
// A nil once has seen nobody. One goroutine uses it at a time.
type once struct {
	window int64 // ms
	slots  []visited
}

type visited struct {
	who   uint64
	until int64 // unix ms
}

const (
	onceSlots = 1 << 18 // 4 MiB
	onceWays  = 4       // places where one visitor may stand
	disorder  = 10_000  // ms by which visits may come out of order
)

func newOnce(window time.Duration) *once {
	return &once{window: max(window.Milliseconds(), 1), slots: make([]visited, onceSlots)}
}

// seen reports whether a visit from the same network (IPv4 /24, IPv6 /48) to the same link was counted within the window, and
// remembers this one if not. Visits from nowhere always count.
func (o *once) seen(id uint64, client netip.Addr, at int64) bool {
	if o == nil || !client.IsValid() {
		return false
	}
	bits := 24
	client = client.Unmap()
	if client.Is6() {
		bits = 48
	}
	network := netip.PrefixFrom(client, bits).Masked().Addr().As16()
	var key [24]byte
	binary.BigEndian.PutUint64(key[:], id)
	copy(key[8:], network[:])
	who := xxhash.Sum64(key[:])
	start := who % (onceSlots / onceWays) * onceWays
	ways := o.slots[start : start+onceWays]
	place := &ways[0]
	for i := range ways {
		w := &ways[i]
		if w.who == who {
			if w.until > at && w.until <= at+o.window+disorder { // further ahead only after the clock stepped back
				return true
			}
			place = w
			break
		}
		if w.until < place.until {
			place = w
		}
	}
	*place = visited{who, at + o.window}
	return false
}
