package server

// helpCommand is the HELP of a container: Redis's lines, between Redis's first and last ones.
func helpCommand(container string, lines ...string) *command {
	text := append([]string{container + " <subcommand> [<arg> [value] [opt] ...]. Subcommands are:"}, lines...)
	text = append(text, "HELP", "    Prints this help.")
	return &command{name: "help", arity: 2, flags: flagLoading | flagStale, since: "0.1.0", complexity: "O(1)",
		summary: "Returns what the subcommands do", reply: "array of status lines",
		run: func(c *call) error {
			c.w.Array(len(text))
			for _, line := range text {
				c.w.SimpleString(line)
			}
			return nil
		}}
}
