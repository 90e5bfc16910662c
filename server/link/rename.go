package link

import (
	"errors"

	"curt/storage"
)

// Rename gives a live link the name alias. What it counted moves along; a generated code keeps working beside the name, the name
// it had before is free. Nothing is overwritten: ErrExists when the name is taken. Renaming a link to its own
// generated code takes its name away.
func (s *Service) Rename(code, alias string) error {
	return s.rename(code, alias, nil)
}

// RenameNX is Rename that reports false when the name is taken, also by the link itself.
func (s *Service) RenameNX(code, alias string) (renamed bool, err error) {
	err = s.rename(code, alias, ErrExists)
	if errors.Is(err, ErrExists) {
		return false, nil
	}
	return err == nil, err
}

// rename returns own when alias is a text of the link itself already.
func (s *Service) rename(code, alias string, own error) error {
	if err := s.opts.Limits.name(alias); err != nil {
		return err
	}
	var taken *storage.Link // who has the name now; read again under the locks
	more := func(set *stripeSet, _ *storage.Link) {
		set.text(alias)
		if taken, _ = s.find(s.reader(), alias); taken != nil {
			s.stripesOf(set, taken)
		}
	}
	return s.edit(code, more, func(c *change, old *storage.Link) error {
		if state := s.stateNow(old); state != Live && state != Reserved {
			return absentErr(state)
		}
		owner, err := s.owner(&c.tx.Reader, alias)
		switch {
		case err != nil:
			return err
		case owner == nil:
			return c.rename(old, alias)
		case owner.ID == old.ID:
			if own != nil || alias == s.codeOf(old) {
				return own
			}
			return c.rename(old, "")
		case owner.Name != alias || owner.Tenant != old.Tenant || !s.ended(owner):
			return ErrExists
		case !same(taken, owner):
			return errAgain
		}
		if err := s.release(c, owner); err != nil {
			return err
		}
		return c.rename(old, alias)
	})
}

// absentErr is what a command gets for which ended links do not exist.
func absentErr(state State) error {
	if state == Banned {
		return ErrBanned
	}
	return ErrNotFound
}

// rename writes the link under its new name; "" leaves it the generated code only.
func (c *change) rename(old *storage.Link, name string) error {
	l := *old
	l.Name = name
	if err := c.unplain(&l); err != nil {
		return err
	}
	if old.Name != "" {
		c.tx.DeleteName(old.Name)
	}
	if name != "" {
		c.addName(name) // before the commit: "no" must never be wrong
		c.tx.PutName(name, l.ID)
	}
	c.event("renamed", &l)
	return c.save(old, &l)
}
