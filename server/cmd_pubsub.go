package server

import "bytes"

func pubsubCommands() []*command {
	const flags = flagPubSub | flagLoading | flagStale
	one := func(name string, arity int, syntax, summary, reply string, run func(*call) error) *command {
		return &command{name: name, arity: arity, flags: flags, group: "pubsub", since: "0.1.0", complexity: "O(N) with N the number of names",
			syntax: syntax, summary: summary, reply: reply, run: run}
	}
	const acks = "push, one for each: kind, name, how many subscriptions there are now"
	list := []*command{
		one("subscribe", -2, "channel [channel ...]", "Listens to channels", acks, subscribeTo(channels)),
		one("psubscribe", -2, "pattern [pattern ...]", "Listens to the channels that fit patterns", acks, subscribeTo(patterns)),
		one("unsubscribe", -1, "[channel [channel ...]]", "Stops listening to channels, or to all", acks, unsubscribeFrom(channels)),
		one("punsubscribe", -1, "[pattern [pattern ...]]", "Stops listening to patterns, or to all", acks, unsubscribeFrom(patterns)),
		{
			name: "publish", arity: 3, flags: flagFast | flagLoading | flagStale, group: "pubsub", since: "0.1.0",
			complexity: "O(N+M) with N the number of the channel's subscribers and M the number of patterns",
			syntax:     "channel message",
			summary:    "Sends a message to all who listen to a channel",
			reply:      "integer: how often it was received",
			run:        publish,
			channels:   oneKey,
		},
		pubsubCommand(),
	}
	list[0].channels, list[1].channels = manyKeys, manyKeys // leaving is always allowed
	return list
}

func pubsubCommand() *command {
	sub := func(name string, arity int, syntax, summary, reply string, run func(*call) error) *command {
		return &command{name: name, arity: arity, flags: flagLoading | flagStale, since: "0.1.0", complexity: "O(N) with N the number of channels",
			syntax: syntax, summary: summary, reply: reply, run: run}
	}
	list := sub("channels", -2, "[pattern]", "Lists the channels that have subscribers", "array of bulk", pubsubChannels)
	list.wide = always // their names tell of other tenants' codes
	return &command{name: "pubsub", arity: -2, group: "pubsub", since: "0.1.0", complexity: "Depends on subcommand",
		summary: "A container for commands about who listens",
		subs: []*command{
			list,
			sub("numsub", -2, "[channel [channel ...]]", "Counts the subscribers of channels, those of patterns aside", "array: channel, count, ...", pubsubNumsub),
			sub("numpat", 2, "", "Counts the patterns that have subscribers", "integer", func(c *call) error { c.w.Int(int64(c.pubsub.count(patterns))); return nil }),
			sub("help", 2, "", "Lists the subcommands", "array of lines", pubsubHelp),
		}}
}

// ackWords are the kinds of acknowledgements, to subscribe and to unsubscribe.
var ackWords = [2][2]string{channels: {"subscribe", "unsubscribe"}, patterns: {"psubscribe", "punsubscribe"}}

// acknowledge writes the reply for one name, nil when there was none to name.
func (c *call) acknowledge(word string, name []byte, subscriptions int) {
	c.w.Push(3)
	c.w.BulkString(word)
	if name == nil {
		c.w.Null()
	} else {
		c.w.Bulk(name)
	}
	c.w.Int(int64(subscriptions))
}

const errLongTopic replyError = "ERR a channel or pattern is at most 4096 bytes"

func subscribeTo(kind topicKind) func(*call) error {
	return func(c *call) error {
		for _, name := range c.args[1:] {
			if len(name) > maxTopic {
				return errLongTopic
			}
		}
		if c.session.subscriptions()+len(c.args)-1 > maxSubscriptions {
			return replyError("ERR a connection may have at most 100000 subscriptions")
		}
		for _, name := range c.args[1:] {
			c.pubsub.subscribe(c.session, kind, string(name))
			c.acknowledge(ackWords[kind][0], name, c.session.subscriptions())
		}
		c.session.settle()
		return nil
	}
}

func unsubscribeFrom(kind topicKind) func(*call) error {
	return func(c *call) error {
		sess, word := c.session, ackWords[kind][1]
		names := c.args[1:]
		if len(names) == 0 {
			names = nil
			for _, name := range sorted(sess.topics[kind]) {
				names = append(names, []byte(name))
			}
		}
		if len(names) == 0 {
			c.acknowledge(word, nil, sess.subscriptions())
			return nil
		}
		left := make([]int, len(names))
		for i, name := range names {
			c.pubsub.unsubscribe(sess, kind, string(name))
			left[i] = sess.subscriptions()
		}
		sess.settle()
		if c.w.Proto() == 2 {
			sess.release() // a message behind the last acknowledgement would be taken for a reply
		}
		for i, name := range names {
			c.acknowledge(word, name, left[i])
		}
		return nil
	}
}

// publish sends at once, but inside EXEC only when what it may tell of can be seen.
func publish(c *call) error {
	channel := string(c.args[1])
	if len(channel) > maxTopic {
		return errLongTopic
	}
	if c.tx == nil {
		c.w.Int(int64(c.pubsub.publish(channel, everybody, 0, bytes.Clone(c.args[2]))))
		return nil
	}
	message := c.args[2]
	c.tx.after = append(c.tx.after, func() { c.pubsub.publish(channel, everybody, 0, message) })
	c.w.Int(int64(c.pubsub.receivers(channel, everybody)))
	return nil
}

func pubsubChannels(c *call) error {
	pattern := "*"
	switch len(c.args) {
	case 2:
	case 3:
		pattern = string(c.args[2])
	default:
		return replyError("ERR unknown subcommand or wrong number of arguments for '" + cut(c.args[1], 128) + "'. Try PUBSUB HELP.")
	}
	list := c.pubsub.channels(pattern)
	c.w.Array(len(list))
	for _, name := range list {
		c.w.BulkString(name)
	}
	return nil
}

func pubsubNumsub(c *call) error {
	c.w.Array(2 * len(c.args[2:]))
	for _, name := range c.args[2:] {
		c.w.Bulk(name)
		c.w.Int(int64(c.pubsub.subscribed(string(name))))
	}
	return nil
}

func pubsubHelp(c *call) error {
	c.lines("PUBSUB <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
		"CHANNELS [<pattern>]",
		"    Return the currently active channels matching a <pattern> (default: '*').",
		"NUMPAT",
		"    Return number of subscriptions to patterns.",
		"NUMSUB [<channel> ...]",
		"    Return the number of subscribers for the specified channels, excluding",
		"    pattern subscriptions(default: no channels).",
		"HELP",
		"    Prints this help.")
	return nil
}

// lines writes an array of statuses, as HELP answers.
func (c *call) lines(list ...string) {
	c.w.Array(len(list))
	for _, l := range list {
		c.w.SimpleString(l)
	}
}
