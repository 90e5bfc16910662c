package tests

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"curt/server"
)

// TestAFullDisk: what grows the store is refused while there is no room; what takes away, and reads, go on; with room again all
// is as before, without a restart.
func TestAFullDisk(t *testing.T) { // O01
	n := start(t)
	for _, name := range []string{"a", "b", "c"} {
		n.Must("SHORTEN", "https://example.com/"+name, "AS", name)
	}
	n.disk.free.Store(100 << 20)
	n.Advance(2 * time.Second)
	for _, words := range [][]string{
		{"SHORTEN", "https://example.com/new"},
		{"SHORTEN", "https://example.com/new", "AS", "new"},
		{"RETARGET", "a", "https://example.com/new"},
		{"SET", "a", "https://example.com/new"},
		{"SET", "new", "https://example.com/new"},
	} {
		n.WantError("MISCONF ", words...)
	}
	if r := n.Do("MSHORTEN", "1", "https://example.com/new"); !strings.Contains(r.String(), "(error) MISCONF ") {
		t.Errorf("MSHORTEN answers %s", r)
	}
	n.Want(`"https://example.com/a"`, "RESOLVE", "a")
	n.Want("OK", "BAN", "a")
	n.Want("OK", "UNBAN", "a")
	n.Want("(integer) 1", "DEL", "b")
	n.Want("(integer) 1", "EXPIRE", "c", "100")
	n.wantTarget("a", "https://example.com/a")
	n.Want("(nil)", "GET", "new")
	n.disk.free.Store(50 << 30)
	n.Advance(2 * time.Second)
	n.Want(`"new"`, "SHORTEN", "https://example.com/new", "AS", "new")
	n.wantTarget("new", "https://example.com/new")
	survived(t, "less than 256 MiB or 2 % of the disk is free", "MISCONF to what grows the store; BAN, UNBAN, DEL, EXPIRE and reads go on; with room again all does, without a restart")
}

// TestReadErrors: a disk that can't read makes one request fail, not the next, and says nothing of itself to strangers.
func TestReadErrors(t *testing.T) { // O01
	n := start(t, func(o *server.Options) { o.CacheBytes, o.LinkCache = 8<<20, 1<<20 })
	url := func(i int) string { return fmt.Sprintf("https://example.com/%d/%s", i, strings.Repeat("x", 1500)) }
	for i := range 200 {
		n.Must("SHORTEN", url(i), "AS", fmt.Sprintf("n%d", i))
	}
	n.Restart() // all is in tables now, and only the first blocks of them in a cache
	n.disk.failReads.Store(true)
	n.WantError("ERR internal error", "RESOLVE", "n100")
	n.WantError("ERR internal error", "GET", "n100")
	n.WantError("ERR internal error", "MGET", "nothere", "n100")
	n.WantError("ERR internal error", "LINKINFO", "n100")
	n.WantError("ERR internal error", "RETARGET", "n100", "https://example.com/new")
	for _, method := range []string{"GET", "HEAD"} {
		a := n.request(method, "/n100")
		if a.status != 503 || a.header.Get("Retry-After") == "" || strings.Contains(a.body, "disk") {
			t.Errorf("%s answers %d %v %s", method, a.status, a.header, a.body)
		}
		checkHeaders(t, method, a)
	}
	n.Want("(nil)", "RESOLVE", "nothere") // needs no read
	n.Want("PONG", "PING")
	n.disk.failReads.Store(false)
	for i := range 200 {
		n.Want(quote(url(i)), "RESOLVE", fmt.Sprintf("n%d", i))
	}
	n.wantTarget("n100", url(100))
	if !strings.Contains(n.log.String(), errRead.Error()) {
		t.Error("the log says nothing of what happened")
	}
	survived(t, "reads of tables fail for a while", "`ERR internal error` and 503 for links that are not in memory; the next request after it works")
}

// TestFailedSaveIsLogged: a backup that fails because visits can't be brought to their links is in the log too, as the reply says.
func TestFailedSaveIsLogged(t *testing.T) {
	n := start(t, onDemand, func(o *server.Options) { o.CacheBytes, o.LinkCache = 8<<20, 1<<20 })
	for i := range 200 {
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d/%s", i, strings.Repeat("x", 1500)), "AS", fmt.Sprintf("n%d", i))
		n.Must("VISIT", fmt.Sprintf("n%d", i), "UA", somebody)
	}
	n.Restart()
	n.Must("VISIT", "n100", "UA", somebody)
	n.disk.failReads.Store(true)
	n.WantError("ERR the backup failed, the log says why", "SAVE")
	n.disk.failReads.Store(false)
	if !strings.Contains(n.log.String(), "msg=backup err=") {
		t.Errorf("the log does not say why: %s", n.log)
	}
	n.Want("OK", "SAVE")
}

// TestErrorsAreStable: one word for each cause, the same on every way.
func TestErrorsAreStable(t *testing.T) { // O07
	n := start(t)
	n.Must("SHORTEN", "https://example.com/", "AS", "taken")
	n.Must("SHORTEN", "https://example.com/over", "AS", "over", "PX", "1")
	n.Must("SHORTEN", "https://example.com/shut", "AS", "shut")
	n.Must("BAN", "shut")
	n.Advance(time.Second)
	for range 3 { // the second time is like the first
		for _, c := range []struct {
			want  string
			words []string
		}{
			{"EXISTS ", []string{"SHORTEN", "https://example.com/x", "AS", "taken"}},
			{"EXISTS ", []string{"RENAME", "taken", "shut"}},
			{"RESERVED ", []string{"SHORTEN", "https://example.com/x", "AS", "healthz"}},
			{"BADNAME ", []string{"SHORTEN", "https://example.com/x", "AS", "a b"}},
			{"BADURL bad_scheme: ", []string{"SHORTEN", "ftp://example.com/"}},
			{"BADURL bad_scheme: ", []string{"RETARGET", "taken", "ftp://example.com/"}},
			{"GONE expired", []string{"RESOLVE", "over"}},
			{"BANNED ", []string{"RESOLVE", "shut"}},
			{"BANNED ", []string{"SHORTEN", "https://example.com/shut"}},
			{"BANNED ", []string{"SHORTEN", "https://example.com/shut", "DEDUP", "OFF"}},
			{"BANNED ", []string{"RETARGET", "taken", "https://example.com/shut"}},
			{"ERR no such key", []string{"RETARGET", "nothere", "https://example.com/"}},
			{"ERR no such key", []string{"BAN", "nothere"}},
			{"ERR no such key", []string{"RENAME", "nothere", "else"}},
			{"ERR syntax error", []string{"SHORTEN", "https://example.com/", "NONSENSE"}},
			{"ERR unknown command", []string{"NONSENSE"}},
		} {
			n.WantError(c.want, c.words...)
		}
	}
	closed := start(t, func(o *server.Options) { o.Password = "secret" })
	for _, words := range [][]string{{"PING"}, {"GET", "a"}, {"SHORTEN", "https://example.com/"}, {"NONSENSE"}, {"INFO"}, {"COMMAND"}, {"CLIENT", "ID"}} {
		closed.WantError("NOAUTH ", words...)
	}
	closed.WantError("WRONGPASS ", "AUTH", "wrong")
	closed.Want("OK", "AUTH", "secret")
	closed.Want("PONG", "PING")
}

// TestProtectedMode: without a password only this machine is let in; others are told why, and what to do. An address of this machine
// that is not the loopback one counts as another's.
func TestProtectedMode(t *testing.T) {
	outside := outsideAddress(t)
	for _, c := range []struct {
		name      string
		protected bool
		password  string
		want      string
	}{
		{"protected", true, "", "(error) DENIED "},
		{"with a password", true, "secret", "(error) NOAUTH "},
		{"not protected", false, "", "PONG"},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := start(t, func(o *server.Options) { o.ProtectedMode, o.Password = c.protected, c.password })
			ln, err := net.Listen("tcp", net.JoinHostPort(outside, "0"))
			if err != nil {
				t.Fatal(err)
			}
			n.serving.Go(func() {
				if err := n.server.Serve(ln); err != nil {
					t.Error(err)
				}
			})
			conn := dial(t, ln.Addr().String())
			r, err := conn.try("PING")
			if err != nil && c.want != "(error) DENIED " {
				t.Fatal(err)
			}
			if err != nil { // the server hung up before it read: its words are there all the same
				r, err = conn.receive()
			}
			if got := r.String(); err != nil || !strings.HasPrefix(got, c.want) {
				t.Errorf("PING from outside answers %s, %v; want %s", got, err, c.want)
			}
			if c.want == "(error) DENIED " && !strings.Contains(r.text, "--requirepass") {
				t.Errorf("no remedy is named: %s", r)
			}
			conn.conn.Close()
			if c.password == "" {
				n.Want("PONG", "PING")
			}
		})
	}
}

// outsideAddress is an address of this machine that is not a loopback one.
func outsideAddress(t *testing.T) string {
	t.Helper()
	list, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range list {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback one")
	return ""
}
