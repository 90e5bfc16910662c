//lint:file-ignore ST1005 the texts go to clients as Redis words them

package acl

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Load puts the users of a file in the place of all, and returns what changed. The file has a line `user name rule ...` for
// each; empty lines are fine, and the default user is password's when the file does not name it. When anything is
// wrong with the file the error says all of it and nothing changes.
func (us *Users) Load(path, password string) ([]Change, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("Error loading ACLs, opening file '%s': %w", path, errors.Unwrap(err)) //nolint:staticcheck // Redis's text
	}
	list, complaints := us.book.parse(path, string(text))
	if len(complaints) > 0 {
		return nil, errors.New(strings.Join(complaints, " ") + " WARNING: ACL errors detected, no change to the previously active ACL rules was performed")
	}
	if list[Default] == nil {
		list[Default] = us.book.defaultUser(password)
	}
	return us.replace(list), nil
}

// parse reads the lines of a file.
func (b *book) parse(path, text string) (list map[string]*User, complaints []string) {
	list = map[string]*User{}
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		complain := func(format string, args ...any) {
			complaints = append(complaints, fmt.Sprintf("%s:%d", path, n+1)+fmt.Sprintf(format, args...)+".")
		}
		switch {
		case len(words) < 2 || words[0] != "user":
			complain(" should start with user keyword followed by the username")
			continue
		case checkName(words[1]) != nil:
			complain(": %v", checkName(words[1]))
			continue
		case list[words[1]] != nil:
			complain(": duplicate user '%s'", words[1])
			continue
		case len(list) == MaxUsers:
			complain(": there are more than %d users", MaxUsers)
			return list, complaints
		}
		u := b.newUser(words[1])
		list[u.Name] = u
		for _, rule := range words[2:] {
			if err := b.apply(u, rule); err != nil {
				complain(": Error in applying operation '%s': %v", shown(rule), err)
				break
			}
		}
	}
	return list, complaints
}

// Save writes all users to a file of mode 0600, in one step: whenever the machine stops, the file is the old or the new one.
func (us *Users) Save(path string) (err error) {
	var b strings.Builder
	for _, u := range us.All() {
		b.WriteString(u.String() + "\n")
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".tmp-*") // its mode is 0600
	if err != nil {
		return fmt.Errorf("save users: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("save users: %w", err)
		}
	}()
	_, err = f.WriteString(b.String())
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
