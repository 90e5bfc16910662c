package acl

import (
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unsafe"
)

func match(pattern, s string) bool { ok, _ := path.Match(pattern, s); return ok }

func testUsers(password string) *Users {
	return New(Options{Categories: []string{"read", "write", "geo"}, Match: match, Commands: []Command{
		{Name: "get", Categories: []string{"read"}}, {Name: "config"}, {Name: "config|get", Categories: []string{"read"}}, {Name: "config|set", Categories: []string{"write"}},
	}}, password)
}

func mustSet(t *testing.T, us *Users, name string, rules ...string) Change {
	t.Helper()
	ch, err := us.Set(name, rules)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// What a file says is what was saved, for whatever rules, and no password is in it (Z08).
func TestSaveAndLoad(t *testing.T) {
	us := testUsers("secret")
	mustSet(t, us, "ann", "on", ">a", ">b", "~x*", "%R~y", "%W~z", "&c", "+@all", "-config", "+config|get", "tenant:acme")
	mustSet(t, us, "bob", "nopass", "allkeys", "allchannels", "-@all", "+@geo")
	var want []string
	for _, u := range us.All() {
		want = append(want, u.String())
	}
	file := filepath.Join(t.TempDir(), "users.acl")
	if err := us.Save(file); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "secret") {
		t.Errorf("%v: %s", err, text)
	}
	again := testUsers("")
	if _, err := again.Load(file, ""); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, u := range again.All() {
		got = append(got, u.String())
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("loaded\n%s\nsaved\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if again.Authenticate(Default, []byte("secret")) == nil || again.Authenticate(Default, nil) != nil {
		t.Error("the default user's password was lost")
	}
}

// One wrong line, and nothing of the file counts; no password is shown.
func TestLoadIsAllOrNothing(t *testing.T) {
	us := testUsers("")
	mustSet(t, us, "ann", "on", "nopass")
	for _, text := range []string{"user bob on\nusr eve on", "user bob on\nuser bob off", "user bob +nosuch", "user bob #hunter2", "user", "user bob on ~* ~a"} {
		file := filepath.Join(t.TempDir(), "users.acl")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := us.Load(file, "")
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
		if us.Account("ann") == nil || us.Account("bob") != nil {
			t.Errorf("%q changed something", text)
		}
	}
	if _, err := us.Load(filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a file that does not exist was loaded")
	}
}

// A rule that fails leaves the user as it was, and makes no new one.
func TestSetIsAllOrNothing(t *testing.T) {
	us := testUsers("")
	before := mustSet(t, us, "ann", "on", ">a").Now.String()
	for _, name := range []string{"ann", "new"} {
		if _, err := us.Set(name, []string{"reset", "+@all", "+nosuch"}); err == nil {
			t.Error("the rule was taken")
		}
	}
	if got := us.Account("ann").User().String(); got != before || us.Account("new") != nil {
		t.Errorf("%s, it was %s", got, before)
	}
}

// Who is deleted or loses rights has lost them for those who hold the account, too; a deleted tenant's user stays its tenant's.
func TestAccountsFollow(t *testing.T) {
	us := testUsers("")
	a := mustSet(t, us, "ann", "on", "nopass", "+get", "tenant:acme").Account
	mustSet(t, us, "ann", "-get")
	if a.User().May(0) {
		t.Error("the right is still there")
	}
	mustSet(t, us, "ann", "+@all")
	if _, err := us.Delete([]string{"ann"}); err != nil {
		t.Fatal(err)
	}
	if u := a.User(); u.May(0) || u.Tenant() != "acme" || us.Authenticate("ann", nil) != nil {
		t.Error("a deleted user may do something")
	}
}

func TestAuthenticate(t *testing.T) {
	us := testUsers("")
	mustSet(t, us, "ann", "on", ">a", ">b")
	mustSet(t, us, "off", "off", ">a")
	mustSet(t, us, "none", "on")
	f := func(name, password string, want bool) {
		t.Helper()
		if got := us.Authenticate(name, []byte(password)) != nil; got != want {
			t.Errorf("%s with %q: %v", name, password, got)
		}
	}
	f("ann", "a", true)
	f("ann", "b", true)
	f("ann", "", false)
	f("off", "a", false)
	f("none", "", false)
	f("nobody", "a", false)
	f(Default, "anything", true)
}

// Five wrong passwords are free; then a whole network waits, for a minute after the last, and no other one does.
func TestFailures(t *testing.T) {
	var f Failures
	now := time.Unix(1_900_000_000, 0)
	v4, near, far := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:192.0.2.77"), netip.MustParseAddr("192.0.3.1")
	for range freeFailures {
		if d := f.Delay(v4, now); d != 0 {
			t.Fatalf("waits %v", d)
		}
		f.Failed(v4, now)
	}
	if f.Delay(v4, now) != failureDelay || f.Delay(near, now) != failureDelay || f.Delay(far, now) != 0 {
		t.Error("not the network waits")
	}
	if f.Delay(v4, now.Add(failureMemory)) != 0 {
		t.Error("nothing is forgotten")
	}
	f.Failed(v4, now.Add(failureMemory))
	if f.Delay(v4, now.Add(failureMemory)) != 0 {
		t.Error("forgotten failures count")
	}
	f.Failed(netip.Addr{}, now) // a unix socket's peer
	for i := range 2 * maxNetworks {
		f.Failed(netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 1}), now)
	}
	if n := len(f.networks); n > maxNetworks {
		t.Errorf("%d networks are remembered", n)
	}
}

// Equal refusals of a minute are one entry, and old entries make room.
func TestLog(t *testing.T) {
	var l Log
	e := Entry{Reason: DeniedKey, Context: "toplevel", Object: "k", Username: "ann"}
	l.Add(e, 0)
	l.Add(e, logGroup)
	l.Add(e, 2*logGroup+1)
	if got := l.Last(10); len(got) != 2 || got[0].ID != 1 || got[1].Count != 2 {
		t.Errorf("%+v", got)
	}
	e.Object = strings.Repeat("x", 1000)
	for i := range int64(2 * logLength) {
		l.Add(e, i*2*logGroup+10*logGroup)
	}
	if got := l.Last(1 << 20); len(got) != logLength || len(got[0].Object) != maxLogField {
		t.Errorf("%d entries", len(got))
	}
	if got := l.Last(1); unsafe.StringData(got[0].Object) == unsafe.StringData(e.Object) {
		t.Error("an entry keeps the whole of a long key")
	}
}
