package server

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// infoSections are INFO's, in order. A section that is not shown by default is asked for by name or by "all".
var infoSections = []struct {
	name      string
	byDefault bool
	write     func(*Server, *strings.Builder)
}{
	{"Server", true, (*Server).infoServer},
	{"Clients", true, (*Server).infoClients},
	{"Memory", true, (*Server).infoMemory},
	{"Persistence", true, (*Server).infoPersistence},
	{"Stats", true, (*Server).infoStats},
	{"Replication", true, (*Server).infoReplication},
	{"CPU", true, (*Server).infoCPU},
	{"Commandstats", false, (*Server).infoCommandstats},
	{"Errorstats", true, (*Server).infoErrorstats},
	{"Latencystats", false, (*Server).infoLatencystats},
	{"Cluster", true, func(_ *Server, b *strings.Builder) { b.WriteString("cluster_enabled:0\r\n") }},
	{"Keyspace", true, (*Server).infoKeyspace},
	{"Curt", true, (*Server).infoCurt},
}

func info(c *call) error {
	wanted := map[string]bool{}
	for _, word := range c.args[1:] {
		wanted[strings.ToLower(string(word))] = true
	}
	all := wanted["all"] || wanted["everything"]
	byDefault := len(wanted) == 0 || wanted["default"]
	var b strings.Builder
	for _, s := range infoSections {
		if c.links.Tenant() != "" && !forTenants(s.name) {
			continue
		}
		if !all && !wanted[strings.ToLower(s.name)] && (!byDefault || !s.byDefault) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString("# " + s.name + "\r\n")
		s.write(c.Server, &b)
	}
	c.w.Verbatim("txt", b.String())
	return nil
}

func line(b *strings.Builder, name string, value any) { fmt.Fprintf(b, "%s:%v\r\n", name, value) }

func (s *Server) infoServer(b *strings.Builder) {
	up := int64(s.now().Sub(s.started).Seconds())
	line(b, "redis_version", redisVersion)
	line(b, "server_name", "curt")
	line(b, "curt_version", Version)
	line(b, "redis_mode", "standalone")
	line(b, "os", runtime.GOOS+" "+runtime.GOARCH)
	line(b, "arch_bits", strconv.IntSize)
	line(b, "go_version", runtime.Version())
	line(b, "process_id", os.Getpid())
	line(b, "run_id", s.runID)
	line(b, "process_supervised", "no")
	line(b, "tcp_port", s.tcpPort.Load())
	line(b, "server_time_usec", s.now().UnixMicro())
	line(b, "uptime_in_seconds", up)
	line(b, "uptime_in_days", up/86400)
}

// human writes bytes as Redis does: 512B, 1.50K, 3.25M.
func human(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	f := float64(n)
	for _, unit := range "KMGTP" {
		if f /= 1 << 10; f < 1<<10 {
			return fmt.Sprintf("%.2f%c", f, unit)
		}
	}
	return fmt.Sprintf("%dB", n)
}

func (s *Server) infoClients(b *strings.Builder) {
	line(b, "connected_clients", s.resp.Count())
	line(b, "maxclients", s.resp.Limits().MaxClients.Load())
	line(b, "blocked_clients", s.blocked.Load())
	line(b, "tracking_clients", s.tracking.on.Load())
}

func (s *Server) infoMemory(b *strings.Builder) {
	m := memory()
	used := m.Sys - m.HeapReleased
	line(b, "used_memory", used)
	line(b, "used_memory_human", human(used))
	if rss, peak, ok := residentMemory(); ok {
		line(b, "used_memory_rss", rss)
		line(b, "used_memory_rss_human", human(rss))
		line(b, "used_memory_peak", peak)
		line(b, "used_memory_peak_human", human(peak))
	}
	line(b, "used_memory_heap", m.HeapAlloc)
	line(b, "maxmemory", 0)
	line(b, "maxmemory_human", "0B")
	line(b, "maxmemory_policy", "noeviction")
	line(b, "mem_allocator", "go")
}

func (s *Server) infoStats(b *strings.Builder) {
	t := s.traffic()
	r := s.rates.now()
	line(b, "total_connections_received", s.stats.connections.Load())
	line(b, "total_commands_processed", s.stats.processed())
	line(b, "instantaneous_ops_per_sec", int64(r.commands))
	line(b, "total_net_input_bytes", t.BytesIn)
	line(b, "total_net_output_bytes", t.BytesOut)
	line(b, "instantaneous_input_kbps", fmt.Sprintf("%.2f", r.in/1024))
	line(b, "instantaneous_output_kbps", fmt.Sprintf("%.2f", r.out/1024))
	line(b, "rejected_connections", t.RejectedClients+t.RejectedAdmission)
	line(b, "expired_keys", s.expirations())
	line(b, "evicted_keys", 0)
	line(b, "keyspace_hits", s.stats.keyHits.Load())
	line(b, "keyspace_misses", s.stats.keyMisses.Load())
	line(b, "total_error_replies", s.stats.errorCount())
	for i, name := range [...]string{"auth", "cmd", "key", "channel"} {
		line(b, "acl_access_denied_"+name, s.stats.refusals[i].Load())
	}
	line(b, "curt_logins_delayed", s.stats.delayedLogins.Load())
	tracked := s.tracking.counts()
	line(b, "pubsub_channels", s.pubsub.count(channels))
	line(b, "pubsub_patterns", s.pubsub.count(patterns))
	line(b, "tracking_total_keys", tracked.keys)
	line(b, "tracking_total_items", tracked.items)
	line(b, "tracking_total_prefixes", tracked.prefixes)
	line(b, "client_output_buffer_limit_disconnections", t.PushOverflows)
}

func (s *Server) infoReplication(b *strings.Builder) {
	line(b, "role", "master")
	line(b, "connected_slaves", 0)
	line(b, "master_repl_offset", 0)
}

func (s *Server) infoKeyspace(b *strings.Builder) {
	if n := s.links.Links(); n > 0 {
		fmt.Fprintf(b, "db0:keys=%d,expires=%d,avg_ttl=0\r\n", n, s.store.Expiring())
	}
}

func (s *Server) infoCommandstats(b *strings.Builder) {
	for _, c := range s.table.each() {
		st := &s.stats.commands[c.index]
		calls, rejected := st.took.Count(), st.rejected.Load()
		if calls+rejected == 0 {
			continue
		}
		usec := float64(st.nanos.Load()) / 1000
		fmt.Fprintf(b, "cmdstat_%s:calls=%d,usec=%.0f,usec_per_call=%.2f,rejected_calls=%d,failed_calls=%d\r\n",
			c.fullName(), calls, usec, usec/float64(max(calls, 1)), rejected, st.failed.Load())
	}
}

func (s *Server) infoLatencystats(b *strings.Builder) {
	for _, c := range s.table.each() {
		took := s.stats.commands[c.index].took.Read()
		if took.Count() == 0 {
			continue
		}
		p := func(q float64) float64 { return took.Quantile(q).Seconds() * 1e6 }
		fmt.Fprintf(b, "latency_percentiles_usec_%s:p50=%.3f,p99=%.3f,p99.9=%.3f\r\n", c.fullName(), p(.5), p(.99), p(.999))
	}
}

func (s *Server) infoErrorstats(b *strings.Builder) {
	for _, e := range s.stats.errorList() {
		fmt.Fprintf(b, "errorstat_%s:count=%d\r\n", e.word, e.count)
	}
}

func (s *Server) infoCurt(b *strings.Builder) {
	st := s.store.Stats()
	cache := s.links.CacheStats()
	line(b, "curt_version", Version)
	line(b, "curt_links", s.links.Links())
	line(b, "curt_reserved_ids", s.links.ReservedIDs())
	epochs := s.links.Epochs()
	line(b, "curt_epochs", len(epochs))
	for _, e := range epochs {
		fmt.Fprintf(b, "curt_epoch_%d:first=%d,key=%s,length=%d,alphabet=%s\r\n", e.Number, e.First, e.KeyID, e.Length, e.Alphabet)
	}
	line(b, "curt_random_retries", s.links.Retries())
	line(b, "curt_cache_hits", cache.Hits)
	line(b, "curt_cache_misses", cache.Misses)
	line(b, "curt_store_reads", st.StoreReads)
	line(b, "curt_block_reads", st.CacheMisses)
	line(b, "curt_block_cache_bytes", st.CacheBytes)
	line(b, "curt_filter_bytes", s.links.FilterBytes())
	line(b, "curt_filters_ready", truth(s.links.FiltersReady()))
	line(b, "curt_fsyncs", st.Fsyncs)
	line(b, "curt_disk_low", truth(s.store.DiskLow()))
	line(b, "curt_store_stalled", truth(st.Stalled))
	line(b, "curt_store_errors", st.BackgroundErrors)
	s.infoDoors(b)
	s.infoClicks(b)
}
