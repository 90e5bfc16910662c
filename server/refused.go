package server

import (
	"strconv"
	"strings"
	"time"

	"curt/server/resp"
	"curt/server/web"
)

// tally is one counter of a closed list: a label's value for Prometheus, a line of INFO.
type tally struct {
	name string
	n    uint64
}

// infoName is the tally's name as INFO writes it.
func (t tally) infoName() string { return strings.ReplaceAll(t.name, "-", "_") }

// answered are HTTP's answers by what they were.
func answered(w *web.Stats) []tally {
	return []tally{
		{"redirect", w.Redirects},
		{"not-found", w.Misses},
		{"gone", w.Gone},
		{"banned", w.Banned},
		{"preview", w.Previews},
		{"qr", w.QRCodes},
		{"qr-limited", w.QRLimited},
		{"limited", w.MissesLimited},
		{"bad-request", w.BadRequests},
		{"too-large", w.TooLarge},
		{"timeout", w.ReadTimeouts},
		{"fault", w.Faults + w.Panics},
	}
}

// refused are the connections that the server did not let in or ended itself, by the reason: the limits of both ports.
func refused(r *resp.Stats, w *web.Stats) []tally {
	return []tally{
		{"max-clients", uint64(r.RejectedClients)},
		{"protected-mode", uint64(r.RejectedAdmission)},
		{"accept-failed", uint64(r.AcceptErrors)},
		{"handshake", uint64(r.HandshakeErrors)},
		{"protocol-error", uint64(r.ProtocolErrors)},
		{"over-limit", uint64(r.OverLimits)},
		{"cross-protocol", uint64(r.CrossProtocol)},
		{"read-timeout", uint64(r.ReadTimeouts)},
		{"write-timeout", uint64(r.WriteTimeouts)},
		{"idle", uint64(r.IdleTimeouts)},
		{"push-overflow", uint64(r.PushOverflows)},
		{"sync-failed", uint64(r.GateErrors)},
		{"panic", uint64(r.Panics)},
		{"http-max-conns", w.ConnsRefused},
		{"http-handshake", w.HandshakesFailed},
		{"http-write-timeout", w.WriteTimeouts},
		{"http-idle", w.IdleTimeouts},
	}
}

// infoDoors is what browsers were answered, and whom both ports refused.
func (s *Server) infoDoors(b *strings.Builder) {
	w, r := s.web.Stats(), s.resp.Stats()
	line(b, "curt_redirects", w.Redirects)
	line(b, "curt_redirect_p50_us", inMicros(w.RedirectTime.Quantile(0.5)))
	line(b, "curt_redirect_p99_us", inMicros(w.RedirectTime.Quantile(0.99)))
	line(b, "curt_misses_limited", w.MissesLimited)
	for _, t := range answered(&w) {
		line(b, "curt_http_"+t.infoName(), t.n)
	}
	line(b, "curt_http_connections", w.Conns)
	line(b, "curt_reply_windows_full", r.FullWindows)
	for _, t := range refused(&r, &w) {
		line(b, "curt_refused_"+t.infoName(), t.n)
	}
}

func inMicros(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e3, 'f', 1, 64) }
