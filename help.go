package main

import (
	"fmt"
	"io"
	"strings"
)

// printHelp explains the program, or the subcommand that is named.
func printHelp(s *settings, out io.Writer) error {
	list := subcommands()
	if len(s.args) == 0 {
		return list[0].help(out)
	}
	for _, c := range list {
		if c.name == s.args[0] && len(s.args) == 1 {
			return c.help(out)
		}
	}
	return fmt.Errorf("there is no help on %q: `curt help` lists the commands", strings.Join(s.args, " "))
}

// help lists the options of a subcommand with their defaults; serve's help lists the subcommands too.
func (c *subcommand) help(out io.Writer) error {
	var b strings.Builder
	if c.options == nil {
		introduce(&b)
		printOptions(&b, serveOptions())
	} else {
		fmt.Fprintf(&b, "curt %s: %s.\n\nUsage: curt %s", c.name, c.summary, c.name)
		shared, own := optionsOf(c.options)
		if len(shared)+len(own) > 0 {
			b.WriteString(" [options]")
		}
		b.WriteString(strings.TrimRight(" "+c.words, " ") + "\n")
		if len(shared)+len(own) > 0 {
			b.WriteString("\nOptions:\n")
		}
		for i := range shared {
			shared[i].section = ""
		}
		printOptions(&b, own)
		printOptions(&b, shared)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func introduce(b *strings.Builder) {
	b.WriteString("Curt is a short-link server that speaks the Redis protocol.\n\nUsage: curt [command] [options]\n\nCommands:\n")
	for _, c := range subcommands() {
		fmt.Fprintf(b, "  %-12s %s\n", c.name, c.summary)
	}
	b.WriteString("\n`curt help COMMAND` lists a command's options. Each option of serve is a flag (--sync no), a variable (CURT_SYNC=no) or a line of the\n" +
		"--config file (sync no). Flags go before variables, variables before the file. An empty variable is as if unset.\n")
}

func printOptions(b *strings.Builder, options []option) {
	for _, o := range options {
		if o.section != "" {
			fmt.Fprintf(b, "\n%s:\n", o.section)
		}
		fmt.Fprintf(b, "  %-30s %s", strings.TrimRight("--"+o.name+" "+o.value, " "), o.usage)
		if o.def != "" {
			fmt.Fprintf(b, " (default %s)", o.def)
		}
		b.WriteByte('\n')
	}
}
