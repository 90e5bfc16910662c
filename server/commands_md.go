package server

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"curt/codec/weburl"
)

// WriteCommandsMarkdown writes what a user must know of every command, and of the error words: the project's COMMANDS.md.
func WriteCommandsMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(commandsIntro)
	commands := newTable(families()...).all
	for _, group := range groups(commands) {
		fmt.Fprintf(&b, "\n## %s\n", strings.ToUpper(group[:1])+group[1:])
		for _, c := range commands {
			if c.group != group {
				continue
			}
			c.markdown(&b)
			for _, sub := range c.subs {
				sub.markdown(&b)
			}
		}
	}
	b.WriteString("\n## Error words\n\nThe first word of an error says what kind it is; programs should look at nothing else.\n\n| Word | When |\n| --- | --- |\n")
	for _, e := range errorWords() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.word, e.when)
	}
	b.WriteString("\nThe reasons of `BADURL`:\n\n| Reason | When |\n| --- | --- |\n")
	for _, e := range urlReasons() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", e.word, e.when)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const commandsIntro = `# Commands

Generated from the command table by ` + "`make generate`" + `; do not edit.

Keywords are understood in any case. Ids are bulk strings, counts integers, times integers in unix milliseconds UTC. An absent value is null.
A map is a flat array under RESP2. Repeated or clashing options are ` + "`-ERR syntax error`" + `. Every command may answer ` + "`-NOAUTH`" + ` before
authentication, ` + "`-NOPERM`" + ` to a user who may not do everything, and ` + "`-ERR wrong number of arguments`" + `; one that makes the store grow ` + "`-MISCONF`" + `
while the disk is nearly full. What else it may refuse stands under Errors.
`

// groups are the groups of the commands: the product's own first, then Redis's by name.
func groups(commands []*command) []string {
	var list []string
	for _, c := range commands {
		if !slices.Contains(list, c.group) {
			list = append(list, c.group)
		}
	}
	rank := func(group string) int {
		own := []string{"link", "click", "id"}
		if i := slices.Index(own, group); i >= 0 {
			return i
		}
		return len(own)
	}
	slices.SortFunc(list, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b)) })
	return list
}

// markdown writes a command's section. A container that does nothing itself has only a heading for its subcommands.
func (cmd *command) markdown(b *strings.Builder) {
	name := strings.ToUpper(strings.ReplaceAll(cmd.fullName(), "|", " "))
	fmt.Fprintf(b, "\n### %s\n\n%s.\n", name, cmd.summary)
	if cmd.run == nil {
		return
	}
	fmt.Fprintf(b, "\n```\n%s\n```\n\n", strings.TrimSpace(name+" "+cmd.syntax))
	reply, refusals, _ := strings.Cut(cmd.reply, ". -")
	fmt.Fprintf(b, "- Reply: %s\n", strings.TrimRight(reply, " ."))
	if refusals != "" {
		fmt.Fprintf(b, "- Errors: -%s\n", strings.TrimRight(refusals, " ."))
	}
	if cmd.flags&flagNoMulti != 0 {
		b.WriteString("- Transactions: not allowed in one\n")
	}
	fmt.Fprintf(b, "- Complexity: %s\n- Since: %s\n- Categories: %s\n", cmd.complexity, cmd.since, strings.Join(cmd.categories(), " "))
}

// explained is a word with what it means.
type explained struct{ word, when string }

// errorWords are the first words of all errors.
func errorWords() []explained {
	return []explained{
		{"ERR", "the command, an argument or the protocol is wrong, or the code does not exist; `ERR internal error` is a fault of the server, whose log says more"},
		{"BADURL", "the URL can't be a target; `BADURL reason: explanation`, the reasons stand below"},
		{"BADNAME", "the text can't be a name: names are 1 to 128 of `A-Z a-z 0-9 - . _ ~`, and not dots only"},
		{"EXISTS", "the name is taken"},
		{"RESERVED", "the name may never be taken: it is a generated code, issued or not, a deleted banned name, or a page of the server"},
		{"GONE", "the link has expired (`GONE expired`) or was used up (`GONE used up`)"},
		{"BANNED", "the link, its target or its host is banned"},
		{"EXHAUSTED", "no free code was found"},
		{"OVERLOADED", "the store did not keep up; nothing was changed, try again later"},
		{"THROTTLED", "this user made too many new links (`--max-shorten-rate`); try again later"},
		{"MISCONF", "the disk is nearly full: what grows the store is refused"},
		{"DENIED", "protected mode: without a password only this machine gets in"},
		{"NOAUTH", "authenticate first"},
		{"NOPERM", "the user may not run the command, or not with these codes, channels or this tenant"},
		{"WRONGPASS", "the user or the password is wrong"},
		{"EXECABORT", "the transaction was dropped, because a command was refused while it was queued"},
		{"WRONGTYPE", "a command on strings met a stream, or a command on streams a link"},
		{"UNBLOCKED", "another client ended the wait with CLIENT UNBLOCK"},
		{"NOPROTO", "HELLO asked for a protocol other than 2 and 3"},
	}
}

// urlReasons are the reasons of BADURL.
func urlReasons() []explained {
	list := []struct {
		reason weburl.Reason
		when   string
	}{
		{weburl.Empty, "there is nothing but blanks"},
		{weburl.TooLong, "it is longer than `--max-url-bytes` when percent-encoded"},
		{weburl.BadUTF8, "it is not valid UTF-8"},
		{weburl.ControlChar, "it contains a control character; `%0A` and the like are welcome"},
		{weburl.BadScheme, "it begins with neither `http:` nor `https:`"},
		{weburl.BadHost, "it has no host, or one that neither DNS nor IP knows"},
		{weburl.BadPort, "the port is no number up to 65535"},
		{weburl.Credentials, "it has a user name or a password before the host"},
		{weburl.PrivateAddress, "the host is an address outside the public Internet; `--allow-host` makes exceptions"},
		{weburl.LocalName, "the host is a local name; `--allow-host` makes exceptions"},
		{weburl.SingleLabel, "the host has no dot; `--allow-host` makes exceptions"},
		{weburl.Self, "it leads back to the host of `--base-url`"},
		{weburl.UnsafePort, "browsers refuse to open the port"},
	}
	words := make([]explained, len(list))
	for i, r := range list {
		words[i] = explained{string(r.reason), r.when}
	}
	return words
}
