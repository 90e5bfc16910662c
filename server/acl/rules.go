//lint:file-ignore ST1005 the texts go to clients as Redis words them

package acl

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
)

// What can be wrong with a rule, in Redis's words.
//
//nolint:staticcheck // the texts are Redis's
var (
	errUnknown     = errors.New("Unknown command or category name in ACL")
	errSyntax      = errors.New("Syntax error")
	errAllKeys     = errors.New("Adding a pattern after the * pattern (or the 'allkeys' flag) is not valid and does not have any effect. Try 'resetkeys' to start with an empty list of patterns")
	errAllChannels = errors.New("Adding a pattern after the * pattern (or the 'allchannels' flag) is not valid and does not have any effect. Try 'resetchannels' to start with an empty list of channels")
	errNoPassword  = errors.New("The password you are trying to remove from the user does not exist")
	errHash        = errors.New("The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters")
	errTenant      = errors.New("A tenant is 1 to 64 printable bytes without spaces")
)

const (
	tenantPrefix = "tenant:"
	maxTenant    = 64
)

// book is what rules are read with.
type book struct {
	match      func(pattern, subject string) bool
	commands   map[string]int   // by name
	subs       map[int][]int    // of containers
	categories map[string][]int // by name
	count      int
}

func newBook(o Options) *book {
	b := &book{match: o.Match, commands: map[string]int{}, subs: map[int][]int{}, categories: map[string][]int{}, count: len(o.Commands)}
	for _, name := range o.Categories {
		b.categories[name] = nil
	}
	for i, c := range o.Commands {
		b.commands[c.Name] = i
		if parent, _, isSub := strings.Cut(c.Name, "|"); isSub {
			b.subs[b.commands[parent]] = append(b.subs[b.commands[parent]], i)
		}
		for _, name := range c.Categories {
			b.categories[name] = append(b.categories[name], i)
		}
	}
	return b
}

// newUser is a user who may do nothing yet.
func (b *book) newUser(name string) *User {
	return &User{Name: name, book: b, allowed: make([]uint64, (b.count+63)/64)}
}

func (b *book) defaultUser(password string) *User {
	u := b.newUser(Default)
	u.on, u.nopass, u.allKeys, u.allChans = true, password == "", true, true
	if password != "" {
		u.hashes = append(u.hashes, sha256.Sum256([]byte(password)))
	}
	b.allCommands(u, true)
	return u
}

// plainRules are the rules that are one word.
var plainRules = map[string]func(b *book, u *User){
	"on":            func(_ *book, u *User) { u.on = true },
	"off":           func(_ *book, u *User) { u.on = false },
	"nopass":        func(_ *book, u *User) { u.nopass, u.hashes = true, nil },
	"resetpass":     func(_ *book, u *User) { u.nopass, u.hashes = false, nil },
	"allkeys":       func(_ *book, u *User) { u.allKeys, u.keys = true, nil },
	"~*":            func(_ *book, u *User) { u.allKeys, u.keys = true, nil },
	"resetkeys":     func(_ *book, u *User) { u.allKeys, u.keys = false, nil },
	"allchannels":   func(_ *book, u *User) { u.allChans, u.channels = true, nil },
	"&*":            func(_ *book, u *User) { u.allChans, u.channels = true, nil },
	"resetchannels": func(_ *book, u *User) { u.allChans, u.channels = false, nil },
	"alltenants":    func(_ *book, u *User) { u.tenant = "" },
	"allcommands":   func(b *book, u *User) { b.allCommands(u, true) },
	"+@all":         func(b *book, u *User) { b.allCommands(u, true) },
	"nocommands":    func(b *book, u *User) { b.allCommands(u, false) },
	"-@all":         func(b *book, u *User) { b.allCommands(u, false) },
	"reset":         func(b *book, u *User) { *u = *b.newUser(u.Name) },
	// Words of Redis's files that mean nothing here: there is no RESTORE and there are no selectors.
	"skip-sanitize-payload": func(*book, *User) {},
	"sanitize-payload":      func(*book, *User) {},
	"clearselectors":        func(*book, *User) {},
}

// apply changes u by one rule. With an error u may be half changed, and must be dropped.
func (b *book) apply(u *User, rule string) error {
	if rule == "" {
		return nil
	}
	if fn := plainRules[strings.ToLower(rule)]; fn != nil {
		fn(b, u)
		return nil
	}
	if len(rule) > len(tenantPrefix) && strings.EqualFold(rule[:len(tenantPrefix)], tenantPrefix) {
		return u.confine(rule[len(tenantPrefix):])
	}
	switch rule[0] {
	case '>', '#', '<', '!':
		return u.password(rule[0], rule[1:])
	case '~':
		return u.addKeys(rule[1:], Read|Write)
	case '%':
		return u.addKeysWithAccess(rule[1:])
	case '&':
		return u.addChannels(rule[1:])
	case '+', '-':
		return b.command(u, strings.ToLower(rule))
	}
	return errSyntax
}

func (u *User) confine(tenant string) error {
	for _, c := range []byte(tenant) {
		if c <= ' ' || c == 0x7f {
			return errTenant
		}
	}
	if len(tenant) > maxTenant {
		return errTenant
	}
	u.tenant = tenant
	return nil
}

// password adds or removes one: > and < take it as it is, # and ! its hash.
func (u *User) password(sign byte, text string) error {
	hash := sha256.Sum256([]byte(text))
	if sign == '#' || sign == '!' {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != sha256.Size || strings.ToLower(text) != text {
			return errHash
		}
		hash = [sha256.Size]byte(raw)
	}
	at := slices.Index(u.hashes, hash)
	if sign == '<' || sign == '!' {
		if at < 0 {
			return errNoPassword
		}
		u.hashes = slices.Delete(u.hashes, at, at+1)
		return nil
	}
	if at < 0 {
		u.hashes = append(u.hashes, hash)
	}
	u.nopass = false
	return nil
}

func (u *User) addKeys(glob string, access Access) error {
	if u.allKeys {
		return errAllKeys
	}
	if hasSpace(glob) {
		return errSyntax
	}
	for i := range u.keys {
		if u.keys[i].glob == glob {
			u.keys[i].access |= access
			return nil
		}
	}
	u.keys = append(u.keys, keyPattern{glob, access})
	return nil
}

// addKeysWithAccess reads `R~glob`, `W~glob` or `RW~glob`.
func (u *User) addKeysWithAccess(rule string) error {
	letters, glob, ok := strings.Cut(rule, "~")
	access := map[string]Access{"R": Read, "W": Write, "RW": Read | Write, "WR": Read | Write}[strings.ToUpper(letters)]
	if !ok || access == 0 {
		return errSyntax
	}
	return u.addKeys(glob, access)
}

func (u *User) addChannels(glob string) error {
	switch {
	case u.allChans:
		return errAllChannels
	case hasSpace(glob):
		return errSyntax
	case !slices.Contains(u.channels, glob):
		u.channels = append(u.channels, glob)
	}
	return nil
}

func hasSpace(s string) bool { return strings.ContainsAny(s, " \t\n\v\f\r\x00") }

func (b *book) allCommands(u *User, yes bool) {
	u.all, u.rules = yes, nil
	for i := range b.count {
		u.allow(i, yes)
	}
}

// command carries out +name, -name, +name|sub, +@category and the like. A command stands for its subcommands too; a category for
// exactly the commands and subcommands that are in it.
func (b *book) command(u *User, rule string) error {
	yes, name := rule[0] == '+', rule[1:]
	if category, ok := strings.CutPrefix(name, "@"); ok {
		list, known := b.categories[category]
		if !known {
			return errUnknown
		}
		for _, i := range list {
			u.allow(i, yes)
		}
	} else {
		i, known := b.commands[name]
		if !known {
			return errUnknown
		}
		u.allow(i, yes)
		for _, sub := range b.subs[i] {
			u.allow(sub, yes)
		}
	}
	u.rules = slices.DeleteFunc(u.rules, func(r string) bool {
		return r[1:] == name || strings.HasPrefix(r[1:], name+"|")
	})
	u.rules = append(u.rules, rule)
	return nil
}
