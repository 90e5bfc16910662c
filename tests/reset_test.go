package tests

import (
	"testing"

	"curt/server"
)

// TestResetLetsNobodyIn: RESET makes a connection what a new one is, the default user's, who may have to give a password; whether that came
// with an option or by ACL SETUSER.
func TestResetLetsNobodyIn(t *testing.T) {
	n := start(t)
	admin := n.Dial()
	f := func(c *client, want string, words ...string) {
		t.Helper()
		if r := c.Do(words...); r.text != want {
			t.Errorf("%q: got %s, want %s", words, r, want)
		}
	}
	f(admin, "OK", "ACL", "SETUSER", "ann", "on", ">pass", "+@all", "~*")
	ann := n.Dial()
	f(ann, "OK", "AUTH", "ann", "pass")
	f(ann, "RESET", "RESET")
	f(ann, "default", "ACL", "WHOAMI")
	f(admin, "OK", "ACL", "SETUSER", "default", ">secret")
	stranger := n.Dial()
	f(stranger, "RESET", "RESET")
	f(stranger, "NOAUTH Authentication required.", "GET", "a")
	f(ann, "default", "ACL", "WHOAMI") // who was let in stays so, as with Redis
	f(ann, "RESET", "RESET")
	f(ann, "NOAUTH Authentication required.", "GET", "a")
	f(ann, "OK", "AUTH", "ann", "pass")
	f(ann, "ann", "ACL", "WHOAMI")
}

// TestResetAmongUsers: with an option's password taken away again, RESET lets in whom a new connection lets in.
func TestResetAmongUsers(t *testing.T) {
	n := start(t, func(o *server.Options) { o.Password = "secret" })
	c := n.Dial()
	c.Do("AUTH", "secret")
	c.Do("ACL", "SETUSER", "default", "nopass")
	c.Do("RESET")
	if r := c.Do("ACL", "WHOAMI"); r.text != "default" {
		t.Errorf("ACL WHOAMI: %s", r)
	}
}
