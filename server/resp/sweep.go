package resp

import "time"

// restAfter is how long a connection keeps large buffers it does not use.
const restAfter = 5 * time.Second

// leap is how much later than expected a sweep is when the process must have
// been stopped meanwhile. Whatever was under way has until the next sweep then:
// it looks as if it had taken all that time.
const leap = 2 * time.Second

// sweep ends connections that are late, twice a second by default, until the
// server has drained. It also moves the coarse clock.
func (s *Server) sweep() {
	defer close(s.swept)
	tick := time.NewTicker(s.cfg.Sweep)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			now := s.elapsed(s.cfg.Now())
			leapt := now-s.clock.Swap(now) > int64(s.cfg.Sweep+leap)
			if !leapt {
				s.sweepOnce(now)
			}
		case <-s.drained:
			return
		}
	}
}

// elapsed returns what the coarse clock shows at t: nanoseconds since the start,
// and 1 at the start, since 0 means never. It is not moved by a step of the
// system's clock.
func (s *Server) elapsed(t time.Time) int64 { return int64(t.Sub(s.born)) + 1 }

// timeAt is the reverse of elapsed.
func (s *Server) timeAt(clock int64) time.Time { return s.born.Add(time.Duration(clock - 1)) }

func (s *Server) sweepOnce(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		if why := c.late(now); why != nil {
			c.kill(why)
		}
	}
}

// late returns the counter of the deadline that c has missed, or nil.
func (c *Conn) late(now int64) *counter {
	cfg, n := &c.srv.cfg, &c.srv.count
	over := func(since int64, limit time.Duration) bool {
		return since != 0 && limit > 0 && now-since > int64(limit)
	}
	active := c.lastActive.Load()
	switch {
	case !c.opened.Load():
		if c.tls != nil && over(active, cfg.HandshakeTimeout) {
			return &n.handshakeErrors
		}
	case over(c.writeStart.Load(), cfg.WriteTimeout):
		return &n.writeTimeouts
	case !c.reading.Load():
	case over(c.cmdStart.Load(), cfg.CommandTimeout):
		return &n.readTimeouts
	case c.cmdStart.Load() == 0 && !c.patient.Load() && over(active, c.srv.idleTimeout()) && c.silent():
		return &n.idleTimeouts
	case c.roomy.Load() && over(active, restAfter):
		c.shrink.Store(true)
		c.wake()
	}
	return nil
}

// silent reports that nothing is on its way to the peer.
func (c *Conn) silent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.out.writing
}

func (s *Server) idleTimeout() time.Duration { return time.Duration(s.limits.IdleTimeout.Load()) }
