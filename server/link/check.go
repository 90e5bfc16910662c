package link

import (
	"fmt"

	"curt/codec"
	"curt/codec/weburl"
	"curt/storage"
)

// Check reads a whole store that no service is open on, and calls problem for everything that contradicts something else, until that
// returns false: indexes against links and back, visits in totals that are in no bucket (storage.Store.Check), codes that do not decode to their
// link, names that hide a code, dedup hints of another target, states without a date, more visits handed out than there are. A plain link without a hint
// is no problem: it was made without dedup. Codes need the keys: those of ring or, when it is nil, of the store.
func Check(store *storage.Store, ring *codec.Ring, problem func(text string) bool) error {
	c := &checker{codes: &codes{store: store, opts: CodeOptions{Ring: ring}}, problem: problem}
	if err := c.load(); err != nil {
		return err
	}
	if err := store.Check(c.tell); err != nil || c.stopped {
		return err
	}
	err := store.EachLink(0, false, func(l *storage.Link) bool {
		c.link(l)
		return !c.stopped && c.err == nil
	})
	if err == nil && c.err == nil && !c.stopped {
		err = store.EachDedup(func(key [16]byte, id uint64) bool {
			c.hint(key, id)
			return !c.stopped && c.err == nil
		})
	}
	if c.err != nil {
		return c.err
	}
	return err
}

type checker struct {
	*codes
	problem func(string) bool
	stopped bool
	err     error // of a read
}

func (c *checker) tell(text string) bool {
	c.stopped = c.stopped || !c.problem(text)
	return !c.stopped
}

func (c *checker) say(l *storage.Link, format string, args ...any) {
	c.tell(fmt.Sprintf("link %d ", l.ID) + fmt.Sprintf(format, args...))
}

func (c *checker) link(l *storage.Link) {
	if l.Flags&storage.Generated != 0 {
		c.code(l)
	}
	if reserved := c.reserved.Load(); l.ID > reserved {
		c.say(l, "has an id above the reserved %d", reserved)
	}
	if l.MaxVisits != 0 {
		c.granted(l)
	}
	switch {
	case l.Name != "" && !ValidName(l.Name):
		c.say(l, "has the name %q, which can't be one", l.Name)
	case l.Name == "" && l.Flags&storage.Generated == 0:
		c.say(l, "has neither a code nor a name")
	case (l.Target == "") != (l.Flags&storage.Reserved != 0):
		c.say(l, "is reserved and has a target, or is not and has none")
	case (l.BannedAt != 0) != (l.Flags&storage.Banned != 0):
		c.say(l, "is banned without a date, or is not and has one")
	case (l.Ended != 0) != (l.Flags&(storage.Expired|storage.UsedUp) != 0):
		c.say(l, "has ended without a date, or has not and has one")
	case l.Target != "" && weburl.Host(l.Target) == "":
		c.say(l, "has a target without a host")
	}
}

func (c *checker) granted(l *storage.Link) {
	granted, err := c.store.Granted(l.ID)
	if err != nil {
		c.err = err
	} else if granted > l.MaxVisits {
		c.say(l, "may be visited %d times, and %d visits were handed out", l.MaxVisits, granted)
	}
}

// code checks that a generated code leads back to its id, and that no name hides it.
func (c *checker) code(l *storage.Link) {
	code := c.codes.code(l.ID)
	if id, ok := c.lookup([]byte(code)); !ok || id != l.ID || c.shadowed(l.ID) {
		c.say(l, "has the code %q, which does not decode to it", code)
	}
	other, taken, err := c.store.Name(code)
	if err != nil {
		c.err = err
	} else if taken && (other != l.ID || l.Name != code) {
		c.say(l, "has the code %q, which is also a name", code)
	}
}

func (c *checker) hint(key dedupKey, id uint64) {
	l, ok, err := c.store.Link(id)
	if err != nil {
		c.err = err
		return
	}
	if again, is := importKeyOf(&l); !ok || is && key == again {
		return
	}
	if keys := keysOf(l.Tenant, l.Target); key != keys.strict && key != keys.loose {
		c.say(&l, "is hinted at by the dedup key of another target")
	} else if l.Flags&storage.Plain == 0 {
		c.say(&l, "is hinted at by a dedup key and is not plain")
	}
}
