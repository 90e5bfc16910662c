//lint:file-ignore ST1005 the texts go to clients as Redis words them

// Package acl knows who may do what: users with their passwords, the commands, keys and channels that each may use, and the
// tenant that one may be confined to. It follows Redis's ACL (https://redis.io/docs/latest/operate/oss_and_stack/management/security/acl/).
//
// Users is the list of them. A User is what one may do at a moment and never changes; an Account is who a connection is, and
// leads to the User of that name as it now stands. The package knows commands by their position in a table and neither
// runs nor replies to anything. Log keeps what was refused, Failures slows down those who guess passwords.
package acl

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Default is the user of connections that have not said who they are. It can't be deleted.
const Default = "default"

// Limits of users.
const (
	MaxUsers = 10_000
	MaxName  = 128 // bytes of a user's name
)

// Command is what rules need to know of one command.
type Command struct {
	Name       string   // lower case; a subcommand's is `parent|name`
	Categories []string // without @
}

// Options are what users are made with.
type Options struct {
	Commands   []Command                          // by position, as User.May takes it
	Categories []string                           // every name that may stand behind @, without it
	Match      func(pattern, subject string) bool // the glob of patterns
}

// Account is a user's place in the list. It outlives changes of the user, and its deletion.
type Account struct {
	Name string
	user atomic.Pointer[User]
}

// User is what the account may do now. A deleted user may do nothing.
func (a *Account) User() *User { return a.user.Load() }

// Users is the list of all users. It is safe for concurrent use.
type Users struct {
	book     *book
	mu       sync.RWMutex
	accounts map[string]*Account // guarded by mu
}

// New makes a list with the default user, who may do everything: with the password, or without any when it is empty.
func New(o Options, password string) *Users {
	us := &Users{book: newBook(o), accounts: map[string]*Account{}}
	us.put(us.book.defaultUser(password))
	return us
}

// put gives a user its account, under mu or before anybody knows the list.
func (us *Users) put(u *User) *Account {
	a := us.accounts[u.Name]
	if a == nil {
		a = &Account{Name: u.Name}
		us.accounts[u.Name] = a
	}
	a.user.Store(u)
	return a
}

// Account returns a user's account, nil when there is none.
func (us *Users) Account(name string) *Account {
	us.mu.RLock()
	defer us.mu.RUnlock()
	return us.accounts[name]
}

// Open reports that a connection is let in without a word.
func (us *Users) Open() bool {
	u := us.Account(Default).User()
	return u.on && u.nopass
}

// NoPassword reports that any password is right for the default user.
func (us *Users) NoPassword() bool { return us.Account(Default).User().nopass }

// Authenticate returns the account of an enabled user with this password, nil for all others. Who does not exist takes as long.
func (us *Users) Authenticate(name string, password []byte) *Account {
	given := sha256.Sum256(password)
	a := us.Account(name)
	u := &User{hashes: [][sha256.Size]byte{{}}}
	if a != nil {
		u = a.User()
	}
	right := 0
	for _, hash := range u.hashes {
		right |= subtle.ConstantTimeCompare(given[:], hash[:])
	}
	if a == nil || !u.on || !u.nopass && right == 0 {
		return nil
	}
	return a
}

// Change is what happened to one account.
type Change struct {
	Account  *Account
	Was, Now *User // Was is nil for a new user; Now may do nothing when the user was deleted
	Deleted  bool
}

// Set changes a user, or makes one, by rules: all of them or, with an error, none.
func (us *Users) Set(name string, rules []string) (Change, error) {
	if err := checkName(name); err != nil {
		return Change{}, err
	}
	us.mu.Lock()
	defer us.mu.Unlock()
	var was *User
	u := us.book.newUser(name)
	if a := us.accounts[name]; a != nil {
		was = a.User()
		u = was.clone()
	} else if len(us.accounts) >= MaxUsers {
		return Change{}, errors.New("There are 10000 users already") //nolint:staticcheck // the reply begins with it
	}
	for _, rule := range rules {
		if err := us.book.apply(u, rule); err != nil {
			return Change{}, fmt.Errorf("Error in ACL SETUSER modifier '%s': %w", shown(rule), err) //nolint:staticcheck // Redis's text
		}
	}
	return Change{Account: us.put(u), Was: was, Now: u}, nil
}

// shown is a rule as an error may show it: a password is not.
func shown(rule string) string {
	if rule != "" && strings.ContainsRune("><#!", rune(rule[0])) {
		return rule[:1] + "(redacted)"
	}
	return rule
}

func checkName(name string) error {
	if strings.ContainsAny(name, " \t\n\v\f\r\x00") {
		return errors.New("Usernames can't contain spaces or null characters") //nolint:staticcheck // Redis's text
	}
	if len(name) > MaxName {
		return errors.New("Usernames can't be longer than 128 bytes") //nolint:staticcheck // as the one above
	}
	return nil
}

// Delete deletes users and returns those that there were.
func (us *Users) Delete(names []string) ([]Change, error) {
	if slices.Contains(names, Default) {
		return nil, errors.New("The 'default' user cannot be removed") //nolint:staticcheck // Redis's text
	}
	us.mu.Lock()
	defer us.mu.Unlock()
	var list []Change
	for _, name := range names {
		if a := us.accounts[name]; a != nil {
			delete(us.accounts, name)
			list = append(list, us.retire(a))
		}
	}
	return list, nil
}

// retire leaves an account that is out of the list without rights.
func (us *Users) retire(a *Account) Change {
	ch := Change{Account: a, Was: a.User(), Now: us.book.newUser(a.Name), Deleted: true}
	ch.Now.tenant = ch.Was.tenant
	a.user.Store(ch.Now)
	return ch
}

// replace puts other users in the place of all, and returns what changed.
func (us *Users) replace(list map[string]*User) []Change {
	us.mu.Lock()
	defer us.mu.Unlock()
	var changes []Change
	for name, a := range us.accounts {
		if list[name] == nil {
			delete(us.accounts, name)
			changes = append(changes, us.retire(a))
		}
	}
	for name, u := range list {
		ch := Change{Now: u}
		if a := us.accounts[name]; a != nil {
			ch.Was = a.User()
		}
		ch.Account = us.put(u)
		changes = append(changes, ch)
	}
	return changes
}

// All returns the users, sorted by name.
func (us *Users) All() []*User {
	us.mu.RLock()
	defer us.mu.RUnlock()
	list := make([]*User, 0, len(us.accounts))
	for _, name := range slices.Sorted(maps.Keys(us.accounts)) {
		list = append(list, us.accounts[name].User())
	}
	return list
}

// MaxPassword is how many bits GeneratePassword gives at most.
const MaxPassword = 4096

// GeneratePassword returns random hexadecimal digits of at least so many bits, 1 to MaxPassword.
func GeneratePassword(bits int) string {
	digits := (bits + 3) / 4
	b := make([]byte, (digits+1)/2)
	rand.Read(b)
	return hex.EncodeToString(b)[:digits]
}
