package acl

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Access is what a command does with a key. The bits may be joined.
type Access uint8

const (
	Read Access = 1 << iota
	Write
)

// User is what one user may do. It does not change once it is in a list.
type User struct {
	Name     string
	book     *book
	on       bool
	nopass   bool
	hashes   [][sha256.Size]byte
	allKeys  bool
	keys     []keyPattern
	allChans bool
	channels []string
	tenant   string   // that the user is confined to; empty: none
	all      bool     // the rules begin with +@all, not with -@all
	rules    []string // what follows, as "+get" and "-@admin"
	allowed  []uint64 // a bit for each command, which follows from all and rules
}

type keyPattern struct {
	glob   string
	access Access
}

func (u *User) clone() *User {
	c := *u
	c.hashes, c.keys, c.channels = slices.Clone(u.hashes), slices.Clone(u.keys), slices.Clone(u.channels)
	c.rules, c.allowed = slices.Clone(u.rules), slices.Clone(u.allowed)
	return &c
}

// May reports whether the user may run the command at a position of the table.
func (u *User) May(command int) bool { return u.allowed[command/64]&(1<<(command%64)) != 0 }

func (u *User) allow(command int, yes bool) {
	if bit := uint64(1) << (command % 64); yes {
		u.allowed[command/64] |= bit
	} else {
		u.allowed[command/64] &^= bit
	}
}

// AllKeys reports that MayKey holds for every key.
func (u *User) AllKeys() bool { return u.allKeys }

// MayKey reports whether one pattern of the user lets all of access at a key.
func (u *User) MayKey(key []byte, access Access) bool {
	return u.allKeys || slices.ContainsFunc(u.keys, func(p keyPattern) bool {
		return p.access&access == access && u.book.match(p.glob, string(key))
	})
}

// AllChannels reports that MayChannel holds for every channel.
func (u *User) AllChannels() bool { return u.allChans }

// MayChannel reports whether the user may use a channel. What is itself a pattern must be one of the user's, letter for letter.
func (u *User) MayChannel(name string, pattern bool) bool {
	return u.allChans || slices.ContainsFunc(u.channels, func(p string) bool {
		return p == name || !pattern && u.book.match(p, name)
	})
}

// Tenant is the tenant that the user is confined to, "" when it is not.
func (u *User) Tenant() string { return u.tenant }

// Flags are the words of ACL GETUSER.
func (u *User) Flags() []string {
	flags := []string{"off"}
	if u.on {
		flags[0] = "on"
	}
	if u.nopass {
		flags = append(flags, "nopass")
	}
	return flags
}

// Passwords are the SHA-256 hashes of the user's passwords in hexadecimal.
func (u *User) Passwords() []string {
	list := make([]string, len(u.hashes))
	for i, h := range u.hashes {
		list[i] = hex.EncodeToString(h[:])
	}
	return list
}

// Commands are the rules about commands.
func (u *User) Commands() string {
	first := "-@all"
	if u.all {
		first = "+@all"
	}
	return strings.Join(append([]string{first}, u.rules...), " ")
}

// Keys are the rules about keys, "" when the user may use none.
func (u *User) Keys() string {
	if u.allKeys {
		return "~*"
	}
	var list []string
	for _, p := range u.keys {
		list = append(list, map[Access]string{Read: "%R~", Write: "%W~", Read | Write: "~"}[p.access]+p.glob)
	}
	return strings.Join(list, " ")
}

// Channels are the rules about channels, "" when the user may use none.
func (u *User) Channels() string {
	if u.allChans {
		return "&*"
	}
	var list []string
	for _, p := range u.channels {
		list = append(list, "&"+p)
	}
	return strings.Join(list, " ")
}

// String is the user as a line of the ACL file.
func (u *User) String() string {
	words := append([]string{"user", u.Name}, u.Flags()...)
	for _, h := range u.Passwords() {
		words = append(words, "#"+h)
	}
	if keys := u.Keys(); keys != "" {
		words = append(words, keys)
	}
	if !u.allChans {
		words = append(words, "resetchannels")
	}
	if channels := u.Channels(); channels != "" {
		words = append(words, channels)
	}
	if u.tenant != "" {
		words = append(words, tenantPrefix+u.tenant)
	}
	return strings.Join(append(words, u.Commands()), " ")
}
