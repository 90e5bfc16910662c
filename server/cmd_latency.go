package server

import "fmt"

// latencyCommand has the shapes that monitoring tools ask for: events are not recorded, INFO commandstats and SLOWLOG
// tell what takes long.
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
			sub("histogram", -2, "[command [command ...]]", "Returns the latencies of commands: none are kept", "empty map", func(c *call) error { c.w.Map(0); return nil }),
			sub("doctor", 2, "", "Says where to look for what takes long", "text", func(c *call) error {
				c.w.Verbatim("txt", "Latency events are not recorded. SLOWLOG GET and INFO commandstats tell what takes long.\n")
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
