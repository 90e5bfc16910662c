package tests

import (
	"slices"
	"strings"
	"testing"

	"curt/server"
)

// notCompared are the commands that Redis has too and whose good replies TestSameAsRedis can't compare, with the reason.
func notCompared() map[string]string {
	const (
		ours  = "it tells of what this server has and Redis has not"
		text  = "each has its own figures or sentences"
		newer = "Debian's Redis is older"
	)
	return map[string]string{
		"client|help": ours, "command|help": ours, "module|help": ours, "pubsub|help": ours, "xinfo|help": ours, "acl|cat": ours,
		"latency|doctor": text, "memory|doctor": text, "memory|stats": text, "memory|malloc-stats": text,
		"client|no-touch": newer, "client|capa": newer,
		"readonly": "Redis refuses it outside of a cluster; clients send it to any replica", "readwrite": "as READONLY",
	}
}

// TestEveryCommandOfRedisIsCompared: what Redis has too is in sameAsRedis, so that a command can't differ unnoticed.
func TestEveryCommandOfRedisIsCompared(t *testing.T) {
	redis := dial(t, startRedis(t))
	n := start(t, func(o *server.Options) { o.AllowKeys, o.AllowFlush = true, true })
	compared := map[string]bool{}
	for _, lines := range sameAsRedis {
		for line := range strings.Lines(lines) {
			words := strings.Fields(strings.ToLower(line))
			if len(words) > 0 {
				compared[words[0]] = true
			}
			if len(words) > 1 {
				compared[words[0]+"|"+words[1]] = true
			}
		}
	}
	common := 0
	for _, name := range n.Must("COMMAND", "LIST").texts() {
		info := redis.Do("COMMAND", "INFO", name)
		if len(info.list) != 1 || info.list[0].isNull() {
			continue // ours alone
		}
		common++
		if notCompared()[name] == "" && !compared[name] {
			t.Errorf("%s is not compared: add it to sameAsRedis, or say in notCompared why not", name)
		}
	}
	t.Logf("%d commands and subcommands in common", common)
	if common < 100 {
		t.Error("too few")
	}
}

// TestCommandTableFitsRedis: a client that routes and caches by COMMAND finds the same arity and the same keys as with Redis, and no
// word that Redis has not.
func TestCommandTableFitsRedis(t *testing.T) {
	theirs, ours := commandTable(dial(t, startRedis(t))), commandTable(start(t).Dial())
	words := map[string]bool{}
	for _, cmd := range theirs {
		for _, w := range specFlags(cmd) {
			words[w] = true
		}
	}
	common := 0
	for name, cmd := range ours {
		for _, w := range specFlags(cmd) {
			if !words[w] {
				t.Errorf("%s: %s is no flag of a key specification", name, w)
			}
		}
		redis, known := theirs[name]
		if !known || slices.Contains([]string{"xadd", "xdel", "xtrim"}, name) { // these are refused whatever they say
			continue
		}
		common++
		for i, what := range map[int]string{1: "arity", 3: "first key", 4: "last key", 5: "step"} {
			if got, want := cmd.list[i].text, redis.list[i].text; got != want {
				t.Errorf("%s: %s is %s, with Redis %s", name, what, got, want)
			}
		}
	}
	if common < 100 {
		t.Errorf("only %d in common", common)
	}
}

// commandTable is what COMMAND tells, by name.
func commandTable(c *client) map[string]reply {
	table := map[string]reply{}
	var add func(list []reply)
	add = func(list []reply) {
		for _, cmd := range list {
			table[cmd.list[0].text] = cmd
			add(cmd.list[9].list)
		}
	}
	c.Do("HELLO", "3")
	add(c.Do("COMMAND").list)
	return table
}

// specFlags are the flags of a command's key specifications.
func specFlags(cmd reply) (flags []string) {
	for _, spec := range cmd.list[8].list {
		flags = append(flags, spec.field("flags").texts()...)
	}
	return flags
}
