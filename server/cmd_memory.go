package server

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"curt/server/link"
)

func memoryCommand() *command {
	sub := func(name string, arity int, syntax, summary, reply string, run func(*call) error) *command {
		return &command{name: name, arity: arity, flags: flagReadonly, since: "0.1.0", complexity: "O(1)", syntax: syntax, summary: summary, reply: reply, run: run,
			wide: always}
	}
	usage := sub("usage", -3, "code [SAMPLES count]", "Returns about how many bytes a live link takes in the store, uncompressed", "integer; null when it is not live", memoryUsage)
	usage.keys, usage.wide = keySpan{2, 2, 1}, nil
	return &command{name: "memory", arity: -2, group: "server", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about memory",
		subs: []*command{
			usage,
			sub("stats", 2, "", "Returns how the process uses its memory", "map: name, integer", memoryStats),
			sub("doctor", 2, "", "Returns a sentence on the process's memory", "text", memoryDoctor),
			sub("malloc-stats", 2, "", "Returns the allocator's figures", "text", memoryMalloc),
			sub("purge", 2, "", "Gives memory that is not used back to the system", "OK", func(c *call) error { debug.FreeOSMemory(); return c.ok(nil) }),
			helpCommand("MEMORY",
				"DOCTOR",
				"    Return memory problems reports.",
				"MALLOC-STATS",
				"    Return internal statistics report from the memory allocator.",
				"PURGE",
				"    Attempt to purge dirty pages for reclamation by the allocator.",
				"STATS",
				"    Return information about the memory usage of the server.",
				"USAGE <key> [SAMPLES <count>]",
				"    Return memory in bytes used by <key> and its value. Nested values are",
				"    sampled up to <count> times (default: 5, 0 means sample all)."),
		}}
}

func memoryUsage(c *call) error {
	for args := c.args[3:]; len(args) > 0; args = args[2:] {
		if len(args) < 2 || !equalFold(args[0], "samples") {
			return errSyntax
		}
		n, err := parseInt(args[1])
		if err != nil {
			return err
		}
		if n < 0 {
			return errSyntax
		}
	}
	l, err := c.links.Info(string(c.args[2]))
	switch {
	case errors.Is(err, link.ErrNotFound) || err == nil && l.State != link.Live:
		c.w.Null()
	case err != nil:
		return err
	default:
		c.w.Int(int64(l.Size()))
	}
	return nil
}

// memory is what the Go runtime says of the process. Pebble's cache is part of it, unless it was built with cgo.
func memory() (m runtime.MemStats) {
	runtime.ReadMemStats(&m)
	return m
}

func memoryStats(c *call) error {
	m, st := memory(), c.store.Stats()
	stats := []struct {
		name string
		n    int64
	}{
		{"total.allocated", int64(m.Sys - m.HeapReleased)},
		{"heap.allocated", int64(m.HeapAlloc)},
		{"heap.idle", int64(m.HeapIdle - m.HeapReleased)},
		{"stacks", int64(m.StackInuse)},
		{"store.cache", st.CacheBytes},
		{"store.memtables", int64(st.MemtableBytes)},
		{"clients", int64(c.resp.Count())},
		{"keys.count", c.links.Links()},
	}
	c.w.Map(len(stats))
	for _, s := range stats {
		c.w.BulkString(s.name)
		c.w.Int(s.n)
	}
	return nil
}

func memoryDoctor(c *call) error {
	m := memory()
	text := "Hi, I can't find any memory issue in this instance."
	if idle := m.HeapIdle - m.HeapReleased; idle > m.HeapInuse && idle > 256<<20 {
		text = fmt.Sprintf("Hi, %d MiB of the heap lie idle: MEMORY PURGE gives them back to the system.", idle>>20)
	}
	c.w.Verbatim("txt", text+"\n")
	return nil
}

func memoryMalloc(c *call) error {
	m := memory()
	var b strings.Builder
	for _, f := range []struct {
		name string
		n    uint64
	}{{"heap_alloc", m.HeapAlloc}, {"heap_inuse", m.HeapInuse}, {"heap_idle", m.HeapIdle}, {"heap_released", m.HeapReleased}, {"heap_objects", m.HeapObjects}, {"mallocs", m.Mallocs}, {"frees", m.Frees}, {"num_gc", uint64(m.NumGC)}} {
		fmt.Fprintf(&b, "%s:%d\n", f.name, f.n)
	}
	c.w.Verbatim("txt", b.String())
	return nil
}
