package server

import (
	"sync"
	"sync/atomic"
	"time"

	"curt/server/acl"
	"curt/server/link"
	"curt/server/resp"
)

// session is what a connection's commands know of it. Only its own handler uses it, except where a field says otherwise.
type session struct {
	conn          *resp.Conn
	links         *link.Service               // in the session's name: its changes are known to be its own
	who           atomic.Pointer[acl.Account] // safe from any goroutine
	authenticated bool
	shown

	running    call         // the command that runs, EXEC's own aside
	clock      time.Time    // when the last command ended, or the running batch began
	word       []byte       // the last command's name as it was sent
	found      *command     // and what it names
	mark       int          // length of the connection's writer before it
	replies    replyMode    // CLIENT REPLY
	tx         *transaction // nil outside MULTI
	watch      watcher      // WATCH
	tracker    tracker      // CLIENT TRACKING
	caching    bool         // CLIENT CACHING, for what comes next
	topics     [2]map[string]struct{}
	monitoring bool

	counts counts // safe from any goroutine

	pushing sync.Mutex // held while a frame is encoded and queued, and while the protocol changes
}

// shown is what other connections see of a session, in CLIENT LIST. All of it is safe for concurrent use.
type shown struct {
	name    text // CLIENT SETNAME
	libName text // CLIENT SETINFO
	libVer  text
	noEvict atomic.Bool
	noTouch atomic.Bool
	lastCmd atomic.Pointer[command]
	waiting atomic.Pointer[chan error] // what wakes its blocking command; nil: none waits
}

// block says that the session's command waits from now on, and returns what wakes it: nil is the end of its time, anything else
// its error. unblocked follows.
func (s *shown) block(count *atomic.Int64) <-chan error {
	count.Add(1)
	wake := make(chan error, 1)
	s.waiting.Store(&wake)
	return wake
}

func (s *shown) unblocked(count *atomic.Int64) {
	s.waiting.Store(nil)
	count.Add(-1)
}

// wake ends the wait of the session's command with err; false when none waits.
func (s *shown) wake(err error) bool {
	wake := s.waiting.Swap(nil)
	if wake == nil {
		return false
	}
	*wake <- err
	return true
}

// text is a string that others may read while it is replaced. The zero value is empty.
type text struct{ p atomic.Pointer[string] }

func (t *text) get() string {
	if p := t.p.Load(); p != nil {
		return *p
	}
	return ""
}

func (t *text) set(s string) { t.p.Store(&s) }

// counts are what CLIENT LIST shows of a session's state.
type counts struct {
	channels, patterns atomic.Int32
	queued             atomic.Int32 // commands queued plus one, 0 outside MULTI
	monitoring         atomic.Bool
}

// Opened gives a new connection its session.
func (s *Server) Opened(c *resp.Conn) {
	s.stats.connections.Add(1)
	sess := &session{conn: c}
	sess.links = s.links.For(sess)
	s.begin(sess)
	c.Session = sess
}

// Closed forgets a connection.
func (s *Server) Closed(c *resp.Conn) {
	s.leave(c.Session.(*session))
}

// leave takes a session out of every table that leads to it.
func (s *Server) leave(sess *session) {
	s.endTransaction(sess)
	s.pubsub.leave(sess)
	s.tracking.stop(&sess.tracker)
	if sess.monitoring {
		sess.monitoring = false
		s.monitors.remove(sess)
	}
}

// onlySubscribes reports that the client can tell messages from replies only while it sends nothing but subscriptions.
func (s *session) onlySubscribes() bool {
	return s.subscriptions() > 0 && s.conn.W.Proto() == 2
}

func (s *session) subscriptions() int { return len(s.topics[channels]) + len(s.topics[patterns]) }

// subscribed reports whether messages may be pushed to the session. Safe from any goroutine.
func (s *session) subscribed() bool {
	return s.counts.channels.Load()+s.counts.patterns.Load() > 0
}

// settle tells the connection and CLIENT LIST what the session listens to. Who only listens is not idle.
func (s *session) settle() {
	s.pushing.Lock()
	defer s.pushing.Unlock()
	s.counts.channels.Store(int32(len(s.topics[channels])))
	s.counts.patterns.Store(int32(len(s.topics[patterns])))
	s.counts.monitoring.Store(s.monitoring)
	s.conn.SetPatient(s.monitoring || s.subscriptions() > 0)
}

// frame is one out-of-band message, encoded at most once for each protocol. It belongs to one goroutine.
type frame struct {
	write func(w *resp.Writer)
	made  [2][]byte
}

// bytes is the frame as protocol version proto has it.
func (f *frame) bytes(proto int) []byte {
	b := &f.made[proto-2]
	if *b == nil {
		w := resp.NewWriter(proto)
		f.write(w)
		*b = w.Bytes()
	}
	return *b
}

// push queues a frame for the client, to leave when ticket is synced and behind the replies of the commands that run. It
// never blocks; a client that does not read is dropped at the limit. Safe from any goroutine.
func (s *session) push(ticket uint64, f *frame) {
	s.pushing.Lock()
	defer s.pushing.Unlock()
	s.conn.PushAfter(ticket, f.bytes(s.conn.W.Proto()))
}

// pushInvalidation is push for what only RESP3 clients can tell from a reply. Redirected from another client, it also
// reaches RESP2 clients that listen to anything, as a message.
func (s *session) pushInvalidation(f *frame, redirected bool) {
	s.pushing.Lock()
	defer s.pushing.Unlock()
	proto := s.conn.W.Proto()
	if proto == 3 || redirected && s.subscribed() {
		s.conn.Push(f.bytes(proto))
	}
}

// setProto changes the protocol. Frames in the old one leave before what the command replies.
func (s *session) setProto(v int) {
	s.pushing.Lock()
	defer s.pushing.Unlock()
	s.release()
	s.conn.W.SetProto(v)
}

// release lets pushes that came so far leave before what the command replies.
func (s *session) release() {
	s.conn.Release()
	s.mark = min(s.mark, s.conn.W.Len())
}

// watchPeer is the connection's Watch, for a command that is about to wait: what was replied before it leaves.
func (s *session) watchPeer() (gone <-chan struct{}, stop func()) {
	gone, stop = s.conn.Watch()
	s.mark = min(s.mark, s.conn.W.Len())
	return gone, stop
}

// replyMode is what CLIENT REPLY asked for.
type replyMode uint8

const (
	repliesOn replyMode = iota
	repliesOff
	skipNext // the running command asked for it
	skipThis
)

// dropReply takes the running command's reply back if the client does not want it.
func (s *session) dropReply() {
	if s.replies == repliesOn {
		return
	}
	s.conn.W.Truncate(s.mark)
	switch s.replies {
	case skipNext:
		s.replies = skipThis
	case skipThis:
		s.replies = repliesOn
	}
}
