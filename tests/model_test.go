package tests

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"curt/server"
)

var modelTime = flag.Duration("model", 0, "run TestModel for so long, as 10m; 0: a fixed number of runs")

// TestModel runs random commands against the server and against a map, with restarts, power cuts and the clock jumping to and fro, and
// compares every reply and, after each step, what some code leads to. A failure prints how to run it again.
func TestModel(t *testing.T) {
	if *modelTime == 0 {
		modelRuns(t)
	}
	for end := time.Now().Add(*modelTime); time.Now().Before(end) && !t.Failed(); {
		modelRuns(t)
	}
}

func modelRuns(t *testing.T) {
	checks := flag.Lookup("rapid.checks")
	if before := checks.Value.String(); before == checks.DefValue { // one that was given goes before ours
		flag.Set("rapid.checks", fmt.Sprint(scale(8, 25, 5000)))
		defer flag.Set("rapid.checks", before)
	}
	rapid.Check(t, func(r *rapid.T) {
		m := newMachine(t)
		defer m.forget()
		r.Repeat(map[string]func(*rapid.T){
			"":           m.check,
			"SHORTEN":    m.shorten,
			"SHORTEN AS": m.shortenAs,
			"RETARGET":   m.retarget,
			"SET":        m.set,
			"DEL":        m.del,
			"RENAME":     m.rename,
			"BAN":        m.ban,
			"UNBAN":      m.unban,
			"BANHOST":    m.banHost,
			"EXPIRE":     m.expire,
			"PERSIST":    m.persist,
			"REVIVE":     m.revive,
			"TITLE":      m.title,
			"time":       m.time,
			"jump":       m.jump,
			"restart":    m.restart,
			"crash":      m.crash,
		})
		m.checkAll(r)
	})
}

// modelLink is what the model knows of a link.
type modelLink struct {
	target, tenant string
	name           string // "" or its alias
	code           string // "" or its generated code
	expires        time.Time
	title          string
	banned         bool
	plain          bool
	words          string // of an alias request that is unchanged
	announced      bool   // it stays expired although the clock went back before its end
	doubt          bool   // whether it was announced is not known
}

type dedupKey struct{ tenant, target string }

// machine is the server and the model of it.
type machine struct {
	node    *node
	names   map[string]*modelLink // nil: nobody may have it until UNBAN
	codes   map[string]*modelLink // nil: was issued and deleted
	hints   map[dedupKey]*modelLink
	targets map[dedupKey]bool // banned
	hosts   map[string]bool   // banned
	links   int
}

func newMachine(t *testing.T) *machine {
	forever := func(o *server.Options) { o.Retention = 100 * 365 * 24 * time.Hour } // when an ended link is removed is the sweeper's to choose
	return &machine{node: start(t, forever), names: map[string]*modelLink{}, codes: map[string]*modelLink{}, hints: map[dedupKey]*modelLink{},
		targets: map[dedupKey]bool{}, hosts: map[string]bool{}}
}

var (
	modelNames   = []string{"alpha", "beta", "Alpha", "delta-1"}
	modelTargets = rapid.SampledFrom([]string{"https://one.example.com/", "https://one.example.com/b", "https://two.example.com/?q=1", "https://sub.two.example.com/"})
	modelTenants = rapid.SampledFrom([]string{"", "", "shop"})
	modelHosts   = rapid.SampledFrom([]string{"one.example.com", "two.example.com"})
)

// text draws a name or a code that was issued.
func (m *machine) text(r *rapid.T) string {
	return rapid.SampledFrom(append(slices.Clone(modelNames), slices.Sorted(maps.Keys(m.codes))...)).Draw(r, "text")
}

func (m *machine) find(text string) *modelLink {
	if l := m.names[text]; l != nil {
		return l
	}
	return m.codes[text]
}

func (m *machine) state(l *modelLink) string {
	switch {
	case l == nil:
		return "absent"
	case l.banned || m.hostBanned(l.target):
		return "banned"
	case !l.expires.IsZero() && !l.expires.After(m.node.clock.Now()):
		return "expired"
	}
	if m.settle(l); l.announced {
		return "expired"
	}
	return "live"
}

// settle asks whether a link was announced as expired, where this is in doubt and shows.
func (m *machine) settle(l *modelLink) {
	if !l.doubt || l.banned || m.hostBanned(l.target) || !l.expires.After(m.node.clock.Now()) {
		return
	}
	text := l.name
	if text == "" {
		text = l.code
	}
	l.announced, l.doubt = m.node.Do("LINKINFO", text).field("state").text == "expired", false
}

// inDoubt settles for every link whether it is announced as expired, if its time was over at some moment.
func (m *machine) inDoubt(at time.Time) {
	for _, links := range []map[string]*modelLink{m.names, m.codes} {
		for _, l := range links {
			if l != nil && !l.expires.IsZero() && (l.announced || !l.expires.After(at)) {
				l.doubt, l.announced = true, false
				m.settle(l)
			}
		}
	}
}

func (m *machine) hostBanned(target string) bool {
	host, _, _ := strings.Cut(strings.TrimPrefix(target, "https://"), "/")
	for banned := range m.hosts {
		if host == banned || strings.HasSuffix(host, "."+banned) {
			return true
		}
	}
	return false
}

func (m *machine) refused(tenant, target string) bool {
	return m.hostBanned(target) || m.targets[dedupKey{tenant, target}]
}

// edited makes a link somebody's own.
func (m *machine) edited(l *modelLink) {
	if l.plain && m.hints[dedupKey{l.tenant, l.target}] == l {
		delete(m.hints, dedupKey{l.tenant, l.target})
	}
	l.plain, l.words = false, ""
}

// want compares a reply, as redis-cli shows it, by its beginning.
func (m *machine) want(r *rapid.T, want string, words ...string) {
	if got := m.node.Do(words...).String(); !strings.HasPrefix(got, want) {
		r.Fatalf("%q\n got: %s\nwant: %s", words, got, want)
	}
}

func (m *machine) shorten(r *rapid.T) {
	target, tenant := modelTargets.Draw(r, "target"), modelTenants.Draw(r, "tenant")
	words := []string{"SHORTEN", target, "TENANT", tenant}
	l := &modelLink{target: target, tenant: tenant, plain: true}
	dedup := true
	switch rapid.IntRange(0, 4).Draw(r, "options") {
	case 1:
		words, dedup = append(words, "DEDUP", "OFF"), false
	case 2:
		words = append(words, "TITLE", "t")
		l.plain, l.title = false, "t"
	case 3:
		seconds := rapid.IntRange(1, 100).Draw(r, "seconds")
		words = append(words, "EX", fmt.Sprint(seconds))
		l.plain, l.expires = false, m.node.clock.Now().Add(time.Duration(seconds)*time.Second)
	}
	if m.refused(tenant, target) {
		m.want(r, "(error) BANNED ", words...)
		return
	}
	key := dedupKey{tenant, target}
	if hint := m.hints[key]; l.plain && dedup && hint != nil && m.state(hint) == "live" {
		m.want(r, quote(hint.code), words...)
		return
	}
	reply := m.node.Do(words...)
	if _, issued := m.codes[reply.text]; reply.kind != '$' || len(reply.text) != 7 || issued {
		r.Fatalf("%q answers %s; issued before: %v", words, reply, issued)
	}
	l.code = reply.text
	m.codes[l.code] = l
	m.links++
	if l.plain && dedup {
		m.hints[key] = l
	}
}

// owner says who keeps others from a name: a link, or an error word.
func (m *machine) owner(name string) (*modelLink, string) {
	if l, taken := m.names[name]; taken {
		if l == nil {
			return nil, "RESERVED"
		}
		return l, ""
	}
	if l, issued := m.codes[name]; issued {
		if m.state(l) != "live" {
			return nil, "RESERVED"
		}
		return l, ""
	}
	return nil, ""
}

// takeName makes room for a link of this tenant that wants a name. It returns the error word when there is none.
func (m *machine) takeName(name, tenant string) string {
	owner, word := m.owner(name)
	switch {
	case word != "":
		return word
	case owner == nil:
		return ""
	case owner.name == name && owner.tenant == tenant && m.state(owner) == "expired":
		delete(m.names, name)
		if owner.name = ""; owner.code == "" {
			m.links--
		}
		return ""
	}
	return "EXISTS"
}

func (m *machine) shortenAs(r *rapid.T) {
	name := m.text(r)
	target, tenant := modelTargets.Draw(r, "target"), modelTenants.Draw(r, "tenant")
	words := []string{"SHORTEN", target, "AS", name, "TENANT", tenant}
	l := &modelLink{target: target, tenant: tenant, name: name}
	if rapid.Bool().Draw(r, "expires") {
		words = append(words, "EX", "50")
		l.expires = m.node.clock.Now().Add(50 * time.Second)
	}
	l.words = strings.Join(words, " ")
	if m.refused(tenant, target) {
		m.want(r, "(error) BANNED ", words...)
		return
	}
	if old, _ := m.owner(name); old != nil && old.name == name && old.words == l.words && m.state(old) == "live" {
		m.want(r, quote(name), words...)
		return
	}
	if word := m.takeName(name, tenant); word != "" {
		m.want(r, "(error) "+word+" ", words...)
		return
	}
	m.want(r, quote(name), words...)
	m.names[name] = l
	m.links++
}

func (m *machine) retarget(r *rapid.T) {
	text, target := m.text(r), modelTargets.Draw(r, "target")
	words := []string{"RETARGET", text, target}
	l := m.find(text)
	switch state := m.state(l); {
	case state == "absent":
		m.want(r, "(error) ERR no such key", words...)
	case state == "expired":
		m.want(r, "(error) GONE expired", words...)
	case state == "banned" || m.refused(l.tenant, target):
		m.want(r, "(error) BANNED ", words...)
	default:
		m.want(r, "OK", words...)
		m.edited(l)
		l.target = target
	}
}

func (m *machine) set(r *rapid.T) {
	text, target := m.text(r), modelTargets.Draw(r, "target")
	words := []string{"SET", text, target}
	condition := rapid.SampledFrom([]string{"", "", "NX", "XX"}).Draw(r, "condition")
	if condition != "" {
		words = append(words, condition)
	}
	keep := rapid.Bool().Draw(r, "KEEPTTL")
	if keep {
		words = append(words, "KEEPTTL")
	}
	l := m.find(text)
	switch state := m.state(l); {
	case state == "banned":
		m.want(r, "(error) BANNED ", words...)
	case state == "live" && condition == "NX", state != "live" && condition == "XX":
		m.want(r, "(nil)", words...)
	case state == "live" && m.refused(l.tenant, target), state != "live" && m.refused("", target):
		m.want(r, "(error) BANNED ", words...)
	case state == "live":
		m.want(r, "OK", words...)
		m.edited(l)
		if l.target = target; !keep {
			l.expires = time.Time{}
		}
	default:
		if word := m.takeName(text, ""); word != "" {
			m.want(r, "(error) "+word+" ", words...)
			return
		}
		m.want(r, "OK", words...)
		m.names[text] = &modelLink{target: target, name: text}
		m.links++
	}
}

func (m *machine) del(r *rapid.T) {
	text := m.text(r)
	l := m.find(text)
	if state := m.state(l); state == "absent" || state == "expired" {
		m.want(r, "(integer) 0", "DEL", text)
		return
	}
	m.want(r, "(integer) 1", "DEL", text)
	m.edited(l)
	m.links--
	if l.name != "" {
		delete(m.names, l.name)
		if l.banned {
			m.names[l.name] = nil
		}
	}
	if l.code != "" {
		m.codes[l.code] = nil
	}
}

func (m *machine) rename(r *rapid.T) {
	text, name := m.text(r), m.text(r)
	words := []string{"RENAME", text, name}
	l := m.find(text)
	switch m.state(l) {
	case "absent", "expired":
		m.want(r, "(error) ERR no such key", words...)
		return
	case "banned":
		m.want(r, "(error) BANNED ", words...)
		return
	}
	if owner, _ := m.owner(name); owner == l {
		m.want(r, "OK", words...)
		if l.name != "" && l.name != name { // to its own code: the name goes
			delete(m.names, l.name)
			l.name = ""
			m.edited(l)
		}
		return
	}
	if word := m.takeName(name, l.tenant); word != "" {
		m.want(r, "(error) "+word+" ", words...)
		return
	}
	m.want(r, "OK", words...)
	if l.name != "" {
		delete(m.names, l.name)
	}
	l.name = name
	m.names[name] = l
	m.edited(l)
}

func (m *machine) ban(r *rapid.T) {
	text := m.text(r)
	l := m.find(text)
	if l == nil {
		m.want(r, "(error) ERR no such key", "BAN", text)
		return
	}
	m.want(r, "OK", "BAN", text)
	if !l.banned {
		l.banned = true
		m.targets[dedupKey{l.tenant, l.target}] = true
	}
}

func (m *machine) unban(r *rapid.T) {
	text := m.text(r)
	l := m.find(text)
	tombstone, named := m.names[text]
	switch {
	case l != nil:
		m.want(r, "OK", "UNBAN", text)
		delete(m.targets, dedupKey{l.tenant, l.target})
		l.banned = false
	case named && tombstone == nil:
		m.want(r, "OK", "UNBAN", text)
		delete(m.names, text)
	default:
		m.want(r, "(error) ERR no such key", "UNBAN", text)
	}
}

func (m *machine) banHost(r *rapid.T) {
	host := modelHosts.Draw(r, "host")
	if rapid.IntRange(0, 2).Draw(r, "way") > 0 { // mostly lifted, or soon nothing goes
		want := "(integer) 0"
		if m.hosts[host] {
			want = "(integer) 1"
		}
		m.want(r, want, "UNBANHOST", host)
		delete(m.hosts, host)
		return
	}
	want := "(integer) 1"
	if m.hosts[host] {
		want = "(integer) 0"
	}
	m.want(r, want, "BANHOST", host)
	m.hosts[host] = true
}

func (m *machine) expire(r *rapid.T) {
	text := m.text(r)
	seconds := rapid.IntRange(-1, 100).Draw(r, "seconds")
	l := m.find(text)
	if m.state(l) != "live" {
		m.want(r, "(integer) 0", "EXPIRE", text, fmt.Sprint(seconds))
		return
	}
	m.want(r, "(integer) 1", "EXPIRE", text, fmt.Sprint(seconds))
	m.edited(l)
	l.expires = m.node.clock.Now().Add(time.Duration(seconds) * time.Second)
}

func (m *machine) persist(r *rapid.T) {
	text := m.text(r)
	l := m.find(text)
	if m.state(l) != "live" || l.expires.IsZero() {
		m.want(r, "(integer) 0", "PERSIST", text)
		return
	}
	m.want(r, "(integer) 1", "PERSIST", text)
	m.edited(l)
	l.expires = time.Time{}
}

func (m *machine) revive(r *rapid.T) {
	text := m.text(r)
	l := m.find(text)
	state := m.state(l)
	switch {
	case state == "absent":
		m.want(r, "(error) ERR no such key", "REVIVE", text)
	case state == "live":
		m.want(r, "(error) ERR the link has not ended", "REVIVE", text)
	case state == "banned" || m.refused(l.tenant, l.target):
		m.want(r, "(error) BANNED ", "REVIVE", text)
	case state == "expired":
		m.want(r, "OK", "REVIVE", text, "EX", "30")
		m.edited(l)
		l.expires, l.announced, l.doubt = m.node.clock.Now().Add(30*time.Second), false, false
	}
}

func (m *machine) title(r *rapid.T) {
	text := m.text(r)
	l := m.find(text)
	if l == nil {
		m.want(r, "(error) ERR no such key", "TITLE", text, "new")
		return
	}
	m.want(r, "OK", "TITLE", text, "new")
	m.edited(l)
	l.title = "new"
}

func (m *machine) time(r *rapid.T) {
	m.node.Advance(time.Duration(rapid.IntRange(1, 60_000).Draw(r, "milliseconds")) * time.Millisecond)
}

// jump moves the clock by a lot, or back. A link whose time was over may have been announced as expired, and then stays so.
func (m *machine) jump(r *rapid.T) {
	by := time.Duration(rapid.Int64Range(1, 40*24*3600).Draw(r, "seconds")) * time.Second
	if rapid.Bool().Draw(r, "back") {
		by = -by / 100
	}
	before := m.node.clock.Now()
	m.node.Advance(by)
	m.want(r, "OK", "MULTI") // EXEC waits for a sweep that began before
	m.want(r, "QUEUED", "UNBANHOST", "nobody.example")
	m.want(r, "1) (integer) 0", "EXEC")
	m.inDoubt(before)
	m.checkAll(r)
}

func (m *machine) restart(r *rapid.T) {
	m.node.Restart()
	m.checkAll(r)
}

// crash cuts the power: with sync always, what was acknowledged is there.
func (m *machine) crash(r *rapid.T) {
	m.node.Crash(rapid.IntRange(0, 100).Draw(r, "keep"), rapid.Uint64().Draw(r, "seed"))
	m.inDoubt(m.node.clock.Now()) // nobody waited for what the sweeper wrote
	m.checkAll(r)
}

// check compares what one text leads to.
func (m *machine) check(r *rapid.T) { m.checkText(r, m.text(r)) }

func (m *machine) checkAll(r *rapid.T) {
	for _, name := range modelNames {
		m.checkText(r, name)
	}
	for code := range m.codes {
		m.checkText(r, code)
	}
	m.want(r, fmt.Sprintf("(integer) %d", m.links), "DBSIZE")
}

func (m *machine) checkText(r *rapid.T, text string) {
	l := m.find(text)
	state := m.state(l)
	want := map[string]string{"absent": "(nil)", "banned": "(error) BANNED ", "expired": "(error) GONE expired"}[state]
	get, exists, ttl := "(nil)", "(integer) 0", "(integer) -2"
	if state == "live" {
		want = quote(l.target)
		get, exists, ttl = want, "(integer) 1", "(integer) -1"
		if !l.expires.IsZero() {
			ttl = fmt.Sprintf("(integer) %d", l.expires.Sub(m.node.clock.Now()).Milliseconds())
		}
	}
	m.want(r, want, "RESOLVE", text)
	m.want(r, get, "GET", text)
	m.want(r, exists, "EXISTS", text)
	m.want(r, ttl, "PTTL", text)
	info := m.node.Do("LINKINFO", text)
	if l == nil {
		if !info.isNull() {
			r.Fatalf("LINKINFO of %s, which does not exist: %s", text, info)
		}
		return
	}
	name := l.name
	if name == "" {
		name = l.code
	}
	plain := "0"
	if l.plain {
		plain = "1"
	}
	for field, want := range map[string]string{"code": name, "target": l.target, "state": state, "tenant": l.tenant, "title": l.title, "plain": plain} {
		if got := info.field(field).text; got != want {
			r.Fatalf("%s of %s is %q, want %q", field, text, got, want)
		}
	}
}

// forget lets go of the server and its disk, of which there are many.
func (m *machine) forget() {
	m.node.down()
	m.node.memory, m.node.disk = nil, nil
}
