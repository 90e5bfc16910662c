package link

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"reflect"

	"curt/codec"
	"curt/codec/weburl"
	"curt/storage"
)

// ErrOtherStore is returned by Adopt when a store's ids can't mean what they mean in the other one.
var ErrOtherStore = errors.New("the store has ids of its own, or lacks a key")

// Adoption brings the links of another store in with their ids, so that every code stays what it is. No service is open meanwhile.
// Check is safe for concurrent use, the other methods are not.
type Adoption struct {
	store    *storage.Store
	opts     Options
	table    *codec.Table
	reserved uint64 // the other store's counter
}

// Adopt makes a store's ids those of another, whose head it gets. A store that never issued an id takes over epochs, counters and settings; one
// that has the other's epochs already keeps its own and moves its counters up to the other's. It is durable when it returns. Keys are
// those of o.Codes.Ring or of the store; any other store, or a key that is missing, is ErrOtherStore. A dry run changes nothing.
func Adopt(store *storage.Store, o Options, h Head, dry bool) (*Adoption, error) {
	if o.Policy == nil {
		o.Policy = &weburl.Policy{}
	}
	c := &codes{store: store, opts: o.Codes}
	if err := c.loadKeys(); err != nil {
		return nil, err
	}
	epochs := make([]codec.Epoch, len(h.Epochs))
	for i, row := range h.Epochs {
		var err error
		if epochs[i], err = codec.ParseEpoch(row); err != nil {
			return nil, err
		}
	}
	table, err := codec.NewTable(epochs, c.keys)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOtherStore, err)
	}
	a := &Adoption{store: store, opts: o, table: table, reserved: h.Counters[LinkCounter]}
	return a, a.takeHead(h, dry)
}

func (a *Adoption) takeHead(h Head, dry bool) error {
	own, err := ReadHead(a.store)
	if err != nil {
		return err
	}
	unused := len(own.Epochs) == 0 || own.Counters[LinkCounter] == 0 && a.store.Links() == 0
	if !unused && !continues(own, h) {
		return ErrOtherStore
	}
	if dry {
		return nil
	}
	return durably(a.store, func(tx *storage.Tx) error {
		for name, v := range h.Counters {
			if had, ok := own.Counters[name]; !ok || had < v {
				tx.SetCounter(name, v)
			}
		}
		if !unused {
			return nil
		}
		for i, row := range h.Epochs {
			tx.PutEpoch(uint8(i), row)
		}
		for name, v := range h.Settings {
			tx.PutSetting(name, v)
		}
		return nil
	})
}

// continues reports that every id of h means the same in own.
func continues(own, h Head) bool {
	if len(own.Epochs) < len(h.Epochs) || own.Counters[LinkCounter] < h.Counters[LinkCounter] {
		return false
	}
	for i, row := range h.Epochs {
		if !bytes.Equal(row, own.Epochs[i]) {
			return false
		}
	}
	if len(own.Epochs) == len(h.Epochs) {
		return true
	}
	next, err := codec.ParseEpoch(own.Epochs[len(h.Epochs)])
	return err == nil && next.First > h.Counters[LinkCounter]
}

// Adopted is a link as the other store has it.
type Adopted struct {
	storage.Link
	Code    string // generated, "" when it has none
	History storage.History
}

// Check says what is wrong with a link, by itself: its target must pass the policy as it is.
func (a *Adoption) Check(l *Adopted) error {
	generated := l.Flags&storage.Generated != 0
	switch {
	case l.ID == 0 || l.ID > a.reserved:
		return &ArgError{fmt.Sprintf("id %d was never reserved", l.ID)}
	case generated && string(a.table.AppendCode(nil, l.ID)) != l.Code:
		return &ArgError{"the code is not that of the id"}
	case !generated && l.Name == "":
		return &ArgError{"the link has neither a code nor a name"}
	case l.Name != "" && !ValidName(l.Name):
		return ErrBadName
	case l.Name != "" && IsOwnRoute(l.Name):
		return ErrReserved
	case l.MaxVisits > MaxVisitsCap:
		return &ArgError{"MAXVISITS must be 1 to 2147483648"}
	}
	if sum := l.History.Buckets(); sum.Visits != l.History.Total.Visits || sum.Bots != l.History.Total.Bots {
		return &ArgError{"the hours and days do not add up to the visits"}
	}
	if l.Target != "" || l.Flags&storage.Reserved == 0 {
		target, err := a.opts.Policy.Check(l.Target)
		if err != nil {
			return err
		}
		if target != l.Target {
			return &ArgError{"the target is not serialised"}
		}
	}
	return cmp.Or(widest.tags(l.Tags), widest.title(l.Title), widest.tenant(l.Tenant), checkText("REASON", l.BanReason, MaxTitle))
}

// Add writes links that passed Check, in one batch. There says that the same link was there already.
func (a *Adoption) Add(links []*Adopted) ([]Imported, error) {
	results := make([]Imported, len(links))
	ids, names := map[uint64]bool{}, map[string]bool{}
	_, err := a.store.Update(func(tx *storage.Tx) error {
		for i, l := range links {
			if ids[l.ID] || l.Name != "" && names[l.Name] {
				results[i].Err = ErrExists
				continue
			}
			var err error
			if results[i], err = a.add(tx, &l.Link, &l.History); err != nil {
				return err
			}
			ids[l.ID], names[l.Name] = true, true
		}
		return nil
	})
	return results, err
}

func (a *Adoption) add(tx *storage.Tx, l *storage.Link, h *storage.History) (Imported, error) {
	had, ok, err := tx.Link(l.ID)
	if err != nil {
		return Imported{}, err
	}
	if ok {
		if reflect.DeepEqual(had, *l) {
			return Imported{There: true}, nil
		}
		return Imported{Err: ErrExists}, nil
	}
	if l.Name != "" {
		if _, ok, err := tx.Name(l.Name); err != nil || ok {
			return Imported{Err: ErrExists}, err
		}
		tx.PutName(l.Name, l.ID)
	}
	if l.Flags&storage.Plain != 0 && a.opts.Dedup != DedupOff {
		keys := keysOf(l.Tenant, l.Target)
		tx.PutDedup(keys.strict, l.ID)
		if a.opts.Dedup == DedupLoose {
			tx.PutDedup(keys.loose, l.ID)
		}
	}
	if key, ok := importKeyOf(l); ok {
		tx.PutDedup(key, l.ID)
	}
	tx.PutHistory(l.ID, h)
	return Imported{}, tx.PutLink(nil, l)
}

// BanName leaves a tombstone: nobody can take the name.
func (a *Adoption) BanName(name string) error {
	if !ValidName(name) {
		return ErrBadName
	}
	_, err := a.store.Update(func(tx *storage.Tx) error {
		id, ok, err := tx.Name(name)
		if err == nil && ok && id != storage.Tombstone {
			err = ErrExists
		}
		tx.PutName(name, storage.Tombstone)
		return err
	})
	return err
}

// BanTarget bans a target of a tenant.
func (a *Adoption) BanTarget(b storage.Ban) error {
	if err := checkBannedTarget(b); err != nil {
		return err
	}
	_, err := a.store.Update(func(tx *storage.Tx) error {
		tx.PutBannedTarget(makeKey(b.Tenant, b.Target), b)
		return nil
	})
	return err
}

// BanHost bans a host.
func (a *Adoption) BanHost(host string, b storage.Ban) error {
	_, err := a.store.Update(func(tx *storage.Tx) error { tx.PutBannedHost(host, b); return nil })
	return err
}
