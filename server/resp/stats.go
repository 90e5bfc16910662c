package resp

import "sync/atomic"

// Stats counts since the start of the server.
type Stats struct {
	Accepted          int64 // connections that were let in
	RejectedClients   int64 // refused by MaxClients
	RejectedAdmission int64 // refused by Config.Admit
	AcceptErrors      int64 // failed accepts (out of descriptors, mostly)
	HandshakeErrors   int64 // TLS handshakes that failed or took too long
	ProtocolErrors    int64 // connections closed with "Protocol error", those over a limit aside
	OverLimits        int64 // connections closed with "Protocol error" because of a limit: of bytes or words
	CrossProtocol     int64 // connections closed because they spoke HTTP
	PushOverflows     int64 // connections closed because pushes piled up
	WriteTimeouts     int64 // connections closed because the peer took nothing
	ReadTimeouts      int64 // connections closed inside a command
	IdleTimeouts      int64 // connections closed because they were idle
	GateErrors        int64 // connections closed because a sync failed
	FullWindows       int64 // times that a connection stopped being read, its replies being too many
	Panics            int64 // handlers that panicked
	BytesIn           int64 // read from sockets (plain text, when TLS)
	BytesOut          int64 // written to sockets (plain text, when TLS)
}

type counter = atomic.Int64

type counters struct {
	accepted, rejectedClients, rejectedAdmission, acceptErrors counter
	handshakeErrors, protocolErrors, crossProtocol             counter
	overLimits, fullWindows                                    counter
	pushOverflows, writeTimeouts, readTimeouts, idleTimeouts   counter
	gateErrors, panics                                         counter
	closedIn, closedOut                                        counter // bytes of connections that are gone
	foreign                                                    counter // times redcon wrote bytes of its own: must stay 0
}

// Stats returns the counters, those of live connections included.
func (s *Server) Stats() Stats {
	n := &s.count
	st := Stats{
		Accepted:          n.accepted.Load(),
		RejectedClients:   n.rejectedClients.Load(),
		RejectedAdmission: n.rejectedAdmission.Load(),
		AcceptErrors:      n.acceptErrors.Load(),
		HandshakeErrors:   n.handshakeErrors.Load(),
		ProtocolErrors:    n.protocolErrors.Load(),
		OverLimits:        n.overLimits.Load(),
		FullWindows:       n.fullWindows.Load(),
		CrossProtocol:     n.crossProtocol.Load(),
		PushOverflows:     n.pushOverflows.Load(),
		WriteTimeouts:     n.writeTimeouts.Load(),
		ReadTimeouts:      n.readTimeouts.Load(),
		IdleTimeouts:      n.idleTimeouts.Load(),
		GateErrors:        n.gateErrors.Load(),
		Panics:            n.panics.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.BytesIn, st.BytesOut = n.closedIn.Load(), n.closedOut.Load()
	for _, c := range s.conns {
		st.BytesIn += c.bytesIn.Load()
		st.BytesOut += c.bytesOut.Load()
	}
	return st
}
