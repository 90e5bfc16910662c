package server

import (
	"fmt"
	"time"
)

// latencyCommand has the shapes that monitoring tools ask for. Events are not recorded; how long commands take is, always.
func latencyCommand() *command {
	const flags = flagAdmin | flagLoading | flagStale
	sub := func(name string, arity int, syntax, summary, reply string, run func(*call) error) *command {
		return &command{name: name, arity: arity, flags: flags, since: "0.1.0", complexity: "O(1)", syntax: syntax, summary: summary, reply: reply, run: run}
	}
	empty := func(c *call) error { c.w.Array(0); return nil }
	return &command{name: "latency", arity: -2, group: "server", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about latency; no events are recorded",
		subs: []*command{
			sub("latest", 2, "", "Returns the latest events: none", "empty array", empty),
			sub("history", 3, "event", "Returns the samples of an event: none", "empty array", empty),
			sub("graph", 3, "event", "Draws the samples of an event: there are none", "-ERR No samples available for event", func(c *call) error {
				return replyError(fmt.Sprintf("ERR No samples available for event '%s'", cut(c.args[2], 128)))
			}),
			sub("reset", -2, "[event [event ...]]", "Forgets events", "integer: 0", func(c *call) error { c.w.Int(0); return nil }),
			sub("histogram", -2, "[command [command ...]]", "Returns how long commands took",
				"map: command, map: calls, integer; histogram_usec, map: microseconds, how many calls took less", latencyHistogram),
			sub("doctor", 2, "", "Says where to look for what takes long", "text", func(c *call) error {
				c.w.Verbatim("txt", "Latency events are not recorded. SLOWLOG GET, LATENCY HISTOGRAM and INFO latencystats tell what takes long.\n")
				return nil
			}),
			helpCommand("LATENCY",
				"DOCTOR",
				"    Return a human readable latency analysis report.",
				"GRAPH <event>",
				"    Return an ASCII latency graph for the <event> class.",
				"HISTORY <event>",
				"    Return time-latency samples for the <event> class.",
				"LATEST",
				"    Return the latest latency samples for all events.",
				"RESET [<event> ...]",
				"    Reset latency data of one or more <event> classes.",
				"    (default: reset all data for all event classes)",
				"HISTOGRAM [COMMAND ...]",
				"    Return a cumulative distribution of latencies in the format of a histogram for the specified command names.",
				"    If no commands are specified then all histograms are replied."),
		}}
}

// latencyHistogram answers for the commands that are named, a container standing for all of its subcommands, or for all.
func latencyHistogram(c *call) error {
	asked := c.table.each()
	if len(c.args) > 2 {
		asked = nil
		for _, name := range c.args[2:] {
			if cmd := c.table.full(name); cmd != nil {
				asked = append(append(asked, cmd), cmd.subs...)
			}
		}
	}
	var called []*command
	for _, cmd := range asked {
		if c.stats.commands[cmd.index].took.Count() > 0 {
			called = append(called, cmd)
		}
	}
	c.w.Map(len(called))
	for _, cmd := range called {
		c.w.BulkString(cmd.fullName())
		c.writeLatencies(cmd)
	}
	return nil
}

// writeLatencies writes the cumulative distribution of a command. As Redis does it takes 1,024 ns for a microsecond, doubles from
// there, and leaves out where nothing comes to what was before.
func (c *call) writeLatencies(cmd *command) {
	type step struct{ usec, calls int64 }
	var steps []step
	took := c.stats.commands[cmd.index].took.Read()
	total, below := int64(took.Count()), int64(0)
	for usec := int64(1); below < total; usec *= 2 {
		n := int64(took.Below(time.Duration(usec) * 1024))
		if usec > 1<<26 { // more than a minute: the last bucket has no end
			n = total
		}
		if n > below {
			steps = append(steps, step{usec, n})
		}
		below = n
	}
	c.w.Map(2)
	c.w.BulkString("calls")
	c.w.Int(total)
	c.w.BulkString("histogram_usec")
	c.w.Map(len(steps))
	for _, s := range steps {
		c.w.Int(s.usec)
		c.w.Int(s.calls)
	}
}
