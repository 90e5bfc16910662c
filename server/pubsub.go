package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"curt/server/acl"
	"curt/server/link"
	"curt/server/resp"
)

// topicKind says what a subscription names.
type topicKind int

const (
	channels topicKind = iota
	patterns
)

// subscribers are the sessions behind one channel or pattern.
type subscribers map[*session]struct{}

// pubsub brings messages to subscribers. It is safe for concurrent use. A publisher pays for every subscriber's queue, and never
// waits for one: whoever does not read is dropped at the limit of pushes.
type pubsub struct {
	mu     sync.RWMutex
	topics [2]map[string]subscribers // by kind and name; guarded by mu, as each session's own are where another reads them
	short  map[string]string         // of the patterns that have another one; guarded by mu
}

func newPubsub() *pubsub {
	return &pubsub{topics: [2]map[string]subscribers{channels: {}, patterns: {}}, short: map[string]string{}}
}

// Limits of subscriptions.
const (
	maxSubscriptions = 100_000
	maxTopic         = 4096 // bytes of a channel or pattern
)

// subscribe adds a subscription. It is no error to have it already.
func (p *pubsub) subscribe(sess *session, kind topicKind, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if sess.topics[kind] == nil {
		sess.topics[kind] = map[string]struct{}{}
	}
	sess.topics[kind][name] = struct{}{}
	by := p.topics[kind][name]
	if by == nil {
		by = subscribers{}
		p.topics[kind][name] = by
		if short := shortGlob(name); kind == patterns && short != name {
			p.short[name] = short
		}
	}
	by[sess] = struct{}{}
}

// unsubscribe ends a subscription: when it returns, no more messages are queued for it.
func (p *pubsub) unsubscribe(sess *session, kind topicKind, name string) {
	if _, ok := sess.topics[kind][name]; !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(sess.topics[kind], name)
	by := p.topics[kind][name]
	delete(by, sess)
	if len(by) == 0 {
		delete(p.topics[kind], name)
		if kind == patterns {
			delete(p.short, name)
		}
	}
}

// leave ends all subscriptions.
func (p *pubsub) leave(sess *session) {
	for kind := range sess.topics {
		for name := range sess.topics[kind] {
			p.unsubscribe(sess, topicKind(kind), name)
		}
	}
}

// audience says which sessions that are confined to a tenant hear a message. The others hear all.
type audience struct {
	everybody bool
	tenant    string // those of this one, "": none
}

// everybody is the audience of what a client publishes.
var everybody = audience{everybody: true}

func (a audience) has(sess *session) bool {
	tenant := sess.may().Tenant()
	return a.everybody || tenant == "" || tenant == a.tenant
}

// publish queues a message for all of an audience who hear channel, to leave when ticket is synced, and returns how many they are: a
// session counts once for the channel and once for each pattern.
func (p *pubsub) publish(channel string, to audience, ticket uint64, message []byte) (receivers int) {
	p.match(channel, func(pattern string, by subscribers) {
		f := &frame{write: func(w *resp.Writer) { writeMessage(w, pattern, channel, message) }}
		for sess := range by {
			if to.has(sess) {
				sess.push(ticket, f)
				receivers++
			}
		}
	})
	return receivers
}

func writeMessage(w *resp.Writer, pattern, channel string, message []byte) {
	if pattern == "" {
		w.Push(3)
		w.BulkString("message")
	} else {
		w.Push(4)
		w.BulkString("pmessage")
		w.BulkString(pattern)
	}
	w.BulkString(channel)
	w.Bulk(message)
}

// receivers is what publish would return.
func (p *pubsub) receivers(channel string, to audience) (n int) {
	p.match(channel, func(_ string, by subscribers) {
		for sess := range by {
			if to.has(sess) {
				n++
			}
		}
	})
	return n
}

// match calls fn, which must not block, for the channel itself (pattern "") and for each pattern that it fits, where there are
// subscribers.
func (p *pubsub) match(channel string, fn func(pattern string, by subscribers)) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if by := p.topics[channels][channel]; len(by) > 0 {
		fn("", by)
	}
	for pattern, by := range p.topics[patterns] {
		short := pattern
		if len(p.short) > 0 {
			short = cmp.Or(p.short[pattern], pattern)
		}
		if globMatch(short, channel) {
			fn(pattern, by)
		}
	}
}

// overhears reports that a session listens to a channel or a pattern that its user may not listen to.
func (p *pubsub) overhears(sess *session, u *acl.User) bool {
	if u.AllChannels() {
		return false
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	for kind := range sess.topics {
		for name := range sess.topics[kind] {
			if !u.MayChannel(name, topicKind(kind) == patterns) {
				return true
			}
		}
	}
	return false
}

// channels lists the channels that have subscribers and fit a pattern, sorted.
func (p *pubsub) channels(pattern string) []string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var list []string
	pattern = shortGlob(pattern)
	for name := range p.topics[channels] {
		if globMatch(pattern, name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// subscribed is the number of a channel's subscribers, those of patterns aside.
func (p *pubsub) subscribed(channel string) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[channels][channel])
}

// count is the number of different channels or patterns that have subscribers.
func (p *pubsub) count(kind topicKind) int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.topics[kind])
}

// linkEvent and hostEvent are the messages of the channels link:<code> and host:<host>.
type linkEvent struct {
	Event  string `json:"event"` // created, retargeted, renamed, banned, unbanned, expired, used-up, revived, deleted
	Code   string `json:"code"`
	Target string `json:"target"`
	Tenant string `json:"tenant"`
	Time   int64  `json:"time"` // unix ms UTC
}

type hostEvent struct {
	Event string `json:"event"` // banned, unbanned
	Host  string `json:"host"`
	Time  int64  `json:"time"` // unix ms UTC
}

// events publishes what happened, to leave when ticket is synced: nobody hears of a change that a crash could take back.
func (p *pubsub) events(list []link.Event, ticket func() uint64) {
	if len(list) == 0 || p.count(channels)+p.count(patterns) == 0 {
		return
	}
	for _, e := range list {
		if e.Host != "" {
			p.publish("host:"+e.Host, audience{}, ticket(), eventText(hostEvent{e.Kind, e.Host, e.Time}))
		} else {
			p.publish("link:"+e.Code, audience{tenant: e.Tenant}, ticket(), eventText(linkEvent{e.Kind, e.Code, e.Target, e.Tenant, e.Time}))
		}
	}
}

// eventText is an event as JSON on one line, with & < > as they are.
func eventText(event any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(event); err != nil {
		panic(err) // strings and numbers always encode
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// sorted lists the names of a session's subscriptions.
func sorted(set map[string]struct{}) []string { return slices.Sorted(maps.Keys(set)) }
