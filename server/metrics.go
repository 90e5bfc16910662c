package server

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"curt/server/histogram"
	"curt/server/link"
	"curt/server/resp"
	"curt/server/web"
	"curt/storage"
)

// metrics is what Prometheus reads. The labels come from closed lists: the command table, the error words, the states. No code, host or address is one.
type metrics struct{ *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("curt_"+name, help, labels, nil)
}

// figure is a metric without labels: where its value comes from.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(*snapshot) float64
}

func counter(name, help string, read func(*snapshot) float64) figure {
	return figure{describe(name, help), prometheus.CounterValue, read}
}

func gauge(name, help string, read func(*snapshot) float64) figure {
	return figure{describe(name, help), prometheus.GaugeValue, read}
}

func (m *metrics) figures() []figure {
	return []figure{
		gauge("links", "Stored links, in whatever state.", func(s *snapshot) float64 { return float64(m.links.Links()) }),
		gauge("reserved_ids", "The last id that is reserved for links.", func(s *snapshot) float64 { return float64(m.links.ReservedIDs()) }),
		gauge("epochs", "Rows of the epochs table.", func(s *snapshot) float64 { return float64(len(m.links.Epochs())) }),
		gauge("up_seconds", "Seconds since the start.", func(s *snapshot) float64 { return m.now().Sub(m.started).Seconds() }),
		gauge("ready", "1 when the server can do its whole work.", func(s *snapshot) float64 { return truth(m.ready() == nil) }),
		gauge("disk_low", "1 while commands that grow the store are refused.", func(s *snapshot) float64 { return truth(m.store.DiskLow()) }),
		gauge("disk_free_bytes", "Bytes of the disk that are free for the store.", func(*snapshot) float64 { return m.diskFree() }),
		gauge("store_stalled", "1 while the store holds writers back.", func(s *snapshot) float64 { return truth(s.store.Stalled) }),
		gauge("store_bytes", "Bytes of the store on the disk.", func(s *snapshot) float64 { return float64(s.store.DiskBytes) }),
		gauge("store_read_amplification", "Tables a read may look at.", func(s *snapshot) float64 { return float64(s.store.ReadAmp) }),
		gauge("store_compaction_debt_bytes", "Bytes that wait for compaction.", func(s *snapshot) float64 { return float64(s.store.CompactionDebt) }),
		counter("store_reads_total", "Reads of links, names and dedup keys that reached the store.", func(s *snapshot) float64 { return float64(s.store.StoreReads) }),
		counter("store_errors_total", "Failed flushes and compactions.", func(s *snapshot) float64 { return float64(s.store.BackgroundErrors) }),
		counter("fsyncs_total", "Syncs of the log.", func(s *snapshot) float64 { return float64(s.store.Fsyncs) }),
		counter("cache_hits_total", "Look-ups that found their link in memory.", func(s *snapshot) float64 { return float64(s.cache.Hits) }),
		counter("cache_misses_total", "Look-ups that did not.", func(s *snapshot) float64 { return float64(s.cache.Misses) }),
		gauge("block_cache_bytes", "Memory of the store's blocks; --cache-bytes is its limit.", func(s *snapshot) float64 { return float64(s.store.CacheBytes) }),
		gauge("filter_bytes", "Memory of the filters over names, dedup keys and banned targets.", func(*snapshot) float64 { return float64(m.links.FilterBytes()) }),
		counter("random_retries_total", "Random and hash codes that were taken.", func(s *snapshot) float64 { return float64(m.links.Retries()) }),
		counter("expired_total", "Links announced as expired.", func(s *snapshot) float64 { return float64(m.links.Expirations()) }),
		gauge("resp_connections", "RESP connections.", func(s *snapshot) float64 { return float64(m.resp.Count()) }),
		counter("resp_connections_total", "RESP connections let in.", func(s *snapshot) float64 { return float64(s.resp.Accepted) }),
		counter("resp_input_bytes_total", "Bytes read from RESP connections.", func(s *snapshot) float64 { return float64(s.resp.BytesIn) }),
		counter("resp_output_bytes_total", "Bytes written to RESP connections.", func(s *snapshot) float64 { return float64(s.resp.BytesOut) }),
		gauge("http_connections", "HTTP connections.", func(s *snapshot) float64 { return float64(s.web.Conns) }),
		counter("misses_limited_total", "Requests refused because their network had missed too often.", func(s *snapshot) float64 { return float64(s.web.MissesLimited) }),
	}
}

// diskFree is NaN where the file system can't tell.
func (s *Server) diskFree() float64 {
	free, _, err := s.store.DiskSpace()
	if err != nil {
		return math.NaN()
	}
	return float64(free)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// snapshot is what costs something to read, read once a scrape.
type snapshot struct {
	store storage.Stats
	cache link.CacheStats
	resp  resp.Stats
	web   web.Stats
}

var (
	descCommands = describe("commands_total", "Commands carried out.", "command")
	descFailed   = describe("commands_failed_total", "Commands that ended in an error.", "command")
	descRejected = describe("commands_rejected_total", "Commands that were not carried out.", "command")
	descSeconds  = describe("commands_seconds_total", "Time in command handlers.", "command")
	descErrors   = describe("errors_total", "Error replies by their first word.", "word")
	descHTTP     = describe("http_responses_total", "HTTP answers by what they were.", "kind")
	descRefused  = describe("connections_refused_total", "Connections ended by the server.", "why")
	descLatency  = describe("redirect_seconds", "From a request being read to its redirect being handed on.")
)

// Describe sends nothing: the collector is an unchecked one, whose command list is known when it collects.
func (m *metrics) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything once.
func (m *metrics) Collect(out chan<- prometheus.Metric) {
	s := &snapshot{m.store.Stats(), m.links.CacheStats(), m.resp.Stats(), m.web.Stats()}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, f := range m.figures() {
		send(f.desc, f.kind, f.read(s))
	}
	for _, c := range m.table.each() {
		st := &m.stats.commands[c.index]
		send(descCommands, prometheus.CounterValue, float64(st.took.Count()), c.fullName())
		send(descFailed, prometheus.CounterValue, float64(st.failed.Load()), c.fullName())
		send(descRejected, prometheus.CounterValue, float64(st.rejected.Load()), c.fullName())
		send(descSeconds, prometheus.CounterValue, time.Duration(st.nanos.Load()).Seconds(), c.fullName())
	}
	for _, e := range m.stats.errorList() {
		send(descErrors, prometheus.CounterValue, float64(e.count), e.word)
	}
	for _, t := range answered(&s.web) {
		send(descHTTP, prometheus.CounterValue, float64(t.n), t.name)
	}
	for _, t := range refused(&s.resp, &s.web) {
		send(descRefused, prometheus.CounterValue, float64(t.n), t.name)
	}
	out <- latency(&s.web.RedirectTime)
}

// latency is the histogram of redirects, in the buckets that operators ask for.
func latency(h *histogram.Histogram) prometheus.Metric {
	bounds := []time.Duration{10 * time.Microsecond, 25 * time.Microsecond, 50 * time.Microsecond, 100 * time.Microsecond, 250 * time.Microsecond, 500 * time.Microsecond,
		time.Millisecond, 2500 * time.Microsecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, time.Second}
	counts := make(map[float64]uint64, len(bounds))
	for _, b := range bounds {
		counts[b.Seconds()] = h.Below(b)
	}
	return prometheus.MustNewConstHistogram(descLatency, h.Count(), h.Sum().Seconds(), counts)
}
