package main

import (
	"fmt"
	"io"
	"strings"
)

// printHelp lists the subcommands and the options with their defaults.
func printHelp(out io.Writer) error {
	var b strings.Builder
	b.WriteString("Curt is a short-link server that speaks the Redis protocol.\n\nUsage: curt [command] [options]\n\nCommands:\n")
	for _, c := range subcommands() {
		fmt.Fprintf(&b, "  %-10s %s\n", c.name, c.summary)
	}
	b.WriteString("\nEach option of serve is a flag (--sync no), a variable (CURT_SYNC=no) or a line of the --config file (sync no).\n" +
		"Flags go before variables, variables before the file. An empty variable is as if unset.\n")
	for _, o := range serveOptions() {
		if o.section != "" {
			fmt.Fprintf(&b, "\n%s:\n", o.section)
		}
		fmt.Fprintf(&b, "  %-30s %s", "--"+o.name+" "+o.value, o.usage)
		if o.def != "" {
			fmt.Fprintf(&b, " (default %s)", o.def)
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(out, b.String())
	return err
}
