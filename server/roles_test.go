package server

import (
	"bufio"
	goflag "flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

var rewriteRoles = goflag.Bool("rewrite-roles", false, "write testdata/roles.txt anew from what the server does")

const rolesFile = "testdata/roles.txt"

// wire is a client that knows as much of RESP as this test needs.
type wire struct {
	t *testing.T
	c net.Conn
	r *bufio.Reader
}

func dialWire(t *testing.T, addr string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &wire{t, c, bufio.NewReader(c)}
}

// do returns the text of a reply that is no aggregate.
func (w *wire) do(words ...string) string {
	w.t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := w.c.Write([]byte(b.String())); err != nil {
		w.t.Fatal(err)
	}
	line := w.line()
	if n, err := strconv.Atoi(strings.TrimPrefix(line, "$")); err == nil && line[0] == '$' && n >= 0 {
		return w.line()
	}
	return line
}

func (w *wire) line() string {
	w.t.Helper()
	line, err := w.r.ReadString('\n')
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSuffix(line, "\r\n")
}

// roles are the lines `role name rule ...` of the file; the others are rows: a letter for each role and a command, with the words
// that matter. + runs it, - is NOPERM, a is NOAUTH.
type roles struct {
	head  []string // comments and roles, as they stand
	names []string
	rules [][]string
	rows  map[string]string // letters by command line
	order []string
}

func readRoles(t *testing.T) *roles {
	t.Helper()
	text, err := os.ReadFile(rolesFile)
	if err != nil {
		t.Fatal(err)
	}
	r := &roles{rows: map[string]string{}}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			r.head = append(r.head, line)
		case words[0] == "role":
			r.head = append(r.head, line)
			r.names, r.rules = append(r.names, words[1]), append(r.rules, words[2:])
		default:
			command := strings.Join(words[1:], " ")
			r.rows[command] = words[0]
			r.order = append(r.order, command)
		}
	}
	return r
}

// words are a command line with as many words as the command takes at least.
func (r *roles) words(t *testing.T, table *table, line string) []string {
	t.Helper()
	name, more, _ := strings.Cut(line, " ")
	cmd := table.full([]byte(name))
	if cmd == nil || cmd.run == nil {
		t.Fatalf("%s: there is no command %s: take its row out", rolesFile, name)
	}
	words := append(strings.Split(name, "|"), strings.Fields(more)...)
	for need := max(cmd.arity, -cmd.arity); len(words) < need; {
		words = append(words, "x")
	}
	return words
}

// Every command is allowed to exactly the roles that the file says. What is refused is sent by the role itself; of what is not, it is
// enough that ACL DRYRUN, which asks the same question, says so.
func TestRoles(t *testing.T) {
	s := openServer(t, Options{Password: "secret"})
	addr := serveOn(t, s.Serve)
	r := readRoles(t)
	for _, cmd := range s.table.each() {
		if _, ok := r.rows[cmd.fullName()]; !ok && cmd.run != nil {
			if *rewriteRoles {
				r.order = append(r.order, cmd.fullName())
				continue
			}
			t.Errorf("%s is new: say in server/%s who may run it (-rewrite-roles writes what is so), and see that a tenant learns nothing of others by it", cmd.fullName(), rolesFile)
		}
	}
	admin := dialWire(t, addr)
	admin.do("AUTH", "secret")
	got := map[string]string{}
	for i, name := range r.names {
		stranger := r.rules[i][0] == "nobody"
		role := dialWire(t, addr)
		if !stranger {
			if r.rules[i][0] != "default" {
				if reply := admin.do(append([]string{"ACL", "SETUSER", name}, r.rules[i]...)...); reply != "+OK" {
					t.Fatalf("%s: %s", name, reply)
				}
			}
			if reply := role.do("AUTH", name, "secret"); reply != "+OK" {
				t.Fatalf("%s: %s", name, reply)
			}
		}
		for _, line := range r.order {
			words := r.words(t, s.table, line)
			got[line] += letter(t, admin, role, name, stranger, words, s.table.full([]byte(strings.Split(line, " ")[0])))
		}
	}
	r.compare(t, got)
}

// letter is what a role gets for a command.
func letter(t *testing.T, admin, role *wire, name string, stranger bool, words []string, cmd *command) string {
	t.Helper()
	if stranger {
		if cmd.flags&flagNoAuth != 0 {
			return "+"
		}
		if reply := role.do(words...); !strings.Contains(reply, "NOAUTH ") {
			t.Errorf("%v before AUTH: %s", words, reply)
		}
		return "a"
	}
	if admin.do(append([]string{"ACL", "DRYRUN", name}, words...)...) == "+OK" {
		return "+"
	}
	if reply := role.do(words...); !strings.Contains(reply, "NOPERM ") {
		t.Errorf("%s: %v: %s", name, words, reply)
	}
	return "-"
}

func (r *roles) compare(t *testing.T, got map[string]string) {
	t.Helper()
	var b strings.Builder
	b.WriteString(strings.Join(r.head, "\n") + "\n")
	for _, line := range r.order {
		b.WriteString(got[line] + " " + line + "\n")
		if !*rewriteRoles && got[line] != r.rows[line] {
			t.Errorf("%s: %s is what the roles %v get, the file says %s", line, got[line], r.names, r.rows[line])
		}
	}
	if *rewriteRoles {
		if err := os.WriteFile(rolesFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
