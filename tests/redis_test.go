package tests

import (
	"bufio"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"curt/server"
)

// startRedis runs a real redis-server on a free port and returns its address. A test that can't have one is skipped.
func startRedis(t *testing.T, args ...string) string {
	t.Helper()
	path, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("missing program: redis-server")
	}
	command := func(port string) *exec.Cmd {
		return exec.Command(path, append([]string{"--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", t.TempDir(), "--databases", "1"}, args...)...)
	}
	return onFreePort(t, command, func(_, said string) bool { return strings.Contains(said, "Ready to accept connections") })
}

// onFreePort starts a program that must be told its port, waits until it is ready and returns its address. Somebody else may take the port in
// between: the program ends then, and another port is tried. ready gets the address and what the program has said so far.
func onFreePort(t *testing.T, command func(port string) *exec.Cmd, ready func(addr, said string) bool) (addr string) {
	t.Helper()
	for range 5 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		addr = ln.Addr().String()
		ln.Close()
		_, port, _ := net.SplitHostPort(addr)
		cmd := command(port)
		p := begin(t, cmd)
		up := false
		eventually(t, cmd.Path+" is ready or has ended", func() bool {
			up = ready(addr, p.stdout.String())
			return up || p.hasEnded()
		})
		if up {
			return addr
		}
		t.Logf("%q: another port is tried: %s", cmd.Args, p.stdout)
	}
	t.Fatal("it ended five times")
	return ""
}

// sameAsRedis is what Curt must answer exactly as Redis does, a command a line. Each group runs in order on a new connection.
var sameAsRedis = map[string]string{
	"connection": `
		PING
		ping
		PING hello
		PING a b
		ECHO hello
		ECHO "\x00\r\n\xff"
		ECHO ""
		ECHO
		ECHO a b
		SELECT 0
		SELECT 1
		SELECT 99999999999
		SELECT x
		SELECT
		SELECT 0 0
		HELLO 4
		HELLO 1
		HELLO x
		HELLO 3x
		HELLO 2 WHAT
		HELLO 2 AUTH
		HELLO 2 AUTH a
		HELLO 2 AUTH nobody x
		HELLO 2 SETNAME
		HELLO 2 SETNAME "a b"
		CLIENT GETNAME
		CLIENT SETNAME worker
		CLIENT GETNAME
		CLIENT SETNAME "two words"
		CLIENT SETNAME "a\r\nb"
		CLIENT GETNAME
		CLIENT SETNAME ""
		CLIENT GETNAME
		CLIENT SETNAME
		CLIENT GETNAME x
		CLIENT ID x
		CLIENT SETINFO LIB-NAME go-redis(,go1.26.8)
		CLIENT SETINFO lib-ver 9.1
		CLIENT SETINFO LIB-NAME "a b"
		CLIENT SETINFO WHAT x
		CLIENT SETINFO LIB-NAME
		CLIENT
		CLIENT NOSUCH
		CLIENT NOSUCH a b
		AUTH
		AUTH x
		AUTH default x
		AUTH nobody x
		AUTH a b c
		RESET
		PING
		RESET x
		QUIT`,
	"unknown": `
		NOSUCH
		nosuch
		NOSUCH a
		NOSUCH a "b c" ""
		NOSUCH {a*100} {b*100} {c*100}
		NOSUCH {a*127} b
		NOSUCH {a*126} b c
		{x*300}
		{x*300} y
		"NO\r\nSUCH" "a\r\nb"
		""
		"" ""
		" PING"
		COMMAND NOSUCH
		CONFIG
		CONFIG NOSUCH
		CONFIG NOSUCH x
		CONFIG GET
		OBJECT
		OBJECT NOSUCH
		OBJECT NOSUCH x
		PUBSUB
		PUBSUB NOSUCH
		SENTINEL masters
		FCALL_NOSUCH x`,
	"strings": `
		GET home
		SET home https://example.com/
		GET home
		SET home https://example.com/2
		GET home
		SET home https://example.com/3 NX
		SET away https://example.com/3 XX
		SET away https://example.com/3 NX
		SET away https://example.com/4 XX
		SET home https://example.com/5 GET
		SET fresh https://example.com/5 GET
		SET home https://example.com/6 XX GET
		SET home https://example.com/6 NX GET
		SET newer https://example.com/6 NX GET
		SET home https://example.com/7 EX 100
		TTL home
		SET home https://example.com/7 KEEPTTL
		TTL home
		SET home https://example.com/7 GET KEEPTTL
		SET home https://example.com/7
		TTL home
		SET home https://example.com/7 PX 100000
		TTL home
		SET home https://example.com/7 EXAT 33177117420
		EXPIRETIME home
		SET home https://example.com/7 PXAT 33177117420000
		PEXPIRETIME home
		SET home https://example.com/7 EX 0
		SET home https://example.com/7 EX -1
		SET home https://example.com/7 EX x
		SET home https://example.com/7 EX 1.5
		SET home https://example.com/7 EX +1
		SET home https://example.com/7 EX 9223372036854775807
		SET home https://example.com/7 PX 9223372036854775807
		SET home https://example.com/7 EX 10 PX 10
		SET home https://example.com/7 EX 10 KEEPTTL
		SET home https://example.com/7 NX XX
		SET home https://example.com/7 EX
		SET home https://example.com/7 WHAT
		SET home
		SET
		GETSET home https://example.com/8
		GETSET unseen https://example.com/8
		SETNX home https://example.com/9
		SETNX ninth https://example.com/9
		SETEX timed 100 https://example.com/10
		TTL timed
		SETEX timed 0 https://example.com/10
		SETEX timed -5 https://example.com/10
		SETEX timed x https://example.com/10
		SETEX timed 100
		PSETEX timed 100000 https://example.com/10
		TTL timed
		PSETEX timed 0 https://example.com/10
		GET home
		GET
		GET a b
		MGET home away nothere home
		MGET nothere
		MGET
		STRLEN home
		STRLEN nothere
		STRLEN
		GETRANGE home 0 4
		GETRANGE home 0 -1
		GETRANGE home -5 -1
		GETRANGE home -1 -5
		GETRANGE home 5 2
		GETRANGE home 100 200
		GETRANGE home -100 3
		GETRANGE home 0 x
		GETRANGE nothere 0 -1
		GETRANGE home 0`,
	"generic": `
		SET home https://example.com/
		SET away https://example.com/a
		EXISTS home
		EXISTS home home away nothere
		EXISTS nothere
		EXISTS
		TYPE home
		TYPE nothere
		TYPE
		TOUCH home nothere
		TTL home
		TTL nothere
		PTTL home
		PTTL nothere
		EXPIRETIME home
		EXPIRETIME nothere
		PEXPIRETIME home
		TTL
		EXPIRE home 100
		TTL home
		EXPIRE home 200 NX
		EXPIRE home 200 XX
		TTL home
		EXPIRE home 100 GT
		EXPIRE home 300 GT
		EXPIRE home 400 LT
		EXPIRE home 100 LT
		EXPIRE home 50 XX LT
		EXPIRE home 60 XX GT
		TTL home
		EXPIRE nothere 100
		EXPIRE home 100 NX XX
		EXPIRE home 100 NX GT
		EXPIRE home 100 GT LT
		EXPIRE home 100 WHAT
		EXPIRE home x
		EXPIRE home 1.5
		EXPIRE home 9223372036854775807
		EXPIRE home -9223372036854775808
		EXPIRE home
		PEXPIRE home 100000
		TTL home
		PEXPIRE home 9223372036854775807
		EXPIREAT home 33177117420
		EXPIRETIME home
		PEXPIREAT home 33177117420123
		PEXPIRETIME home
		PEXPIREAT home 9223372036854775807
		EXPIRETIME home
		PEXPIRETIME home
		EXPIREAT home x
		PERSIST home
		PERSIST home
		PERSIST nothere
		TTL home
		EXPIRE home 100 XX
		EXPIRE home 100 GT
		EXPIRE home 100 LT
		EXPIRE home 0
		EXISTS home
		GET home
		SET home https://example.com/
		EXPIREAT home 1
		GET home
		SET home https://example.com/
		PEXPIREAT home -1
		TTL home
		SET home https://example.com/
		OBJECT ENCODING home
		OBJECT ENCODING nothere
		OBJECT REFCOUNT home
		OBJECT FREQ home
		OBJECT FREQ nothere
		OBJECT IDLETIME nothere
		OBJECT ENCODING
		RENAME home moved
		GET home
		GET moved
		RENAME nothere elsewhere
		RENAME home
		RENAMENX moved away
		RENAMENX moved moved2
		RENAMENX nothere x
		DEL moved2 nothere
		DEL moved2
		DEL
		UNLINK away away
		UNLINK
		DBSIZE
		DBSIZE x
		RANDOMKEY
		SET one https://example.com/
		RANDOMKEY
		SCAN 0
		SCAN 0 COUNT 100
		SCAN 0 MATCH o*
		SCAN 0 MATCH x*
		SCAN 0 TYPE string
		SCAN 0 TYPE list
		SCAN 0 COUNT 0
		SCAN 0 COUNT -1
		SCAN 0 COUNT x
		SCAN 0 COUNT
		SCAN 0 WHAT 1
		SCAN x
		SCAN
		SCAN 0 MATCH o* COUNT 10 TYPE string
		KEYS *
		KEYS x
		KEYS
		KEYS a b`,
	"transactions": `
		EXEC
		DISCARD
		EXEC x
		MULTI x
		MULTI
		MULTI
		SET home https://example.com/
		GET home
		NOSUCHCMD
		EXEC
		MULTI
		SET home https://example.com/
		GET home
		MGET home nothere
		DEL home
		PING
		ECHO x
		EXEC
		MULTI
		GET
		EXEC
		MULTI
		WATCH home
		DISCARD
		MULTI
		EXEC
		WATCH
		WATCH home away
		UNWATCH
		UNWATCH x
		WATCH home
		SET home https://example.com/2
		MULTI
		GET home
		EXEC
		WATCH home
		MULTI
		GET home
		EXEC
		MULTI
		EXPIRE home x
		GET home
		EXEC
		MULTI
		SELECT 0
		SELECT 5
		CLIENT GETNAME
		EXEC
		MULTI
		CLIENT SETNAME a
		HELLO 9
		HELLO 3 NOSUCH
		AUTH a b c
		AUTH default x
		AUTH nobody x
		AUTH x
		EXEC
		MULTI
		QUIT`,
	"server": `
		TIME x
		ROLE
		ROLE x
		WAIT 0 0
		WAIT x 1
		WAIT 1 x
		WAIT 0 -1
		WAIT 0
		LASTSAVE x
		SAVE x
		BGSAVE what
		BGSAVE SCHEDULE x
		FLUSHALL what
		FLUSHALL ASYNC x
		FLUSHALL ASYNC
		FLUSHDB SYNC
		FLUSHDB
		SHUTDOWN what
		SHUTDOWN ABORT
		SHUTDOWN ABORT NOW
		SHUTDOWN SAVE NOSAVE
		ACL WHOAMI
		ACL WHOAMI x
		ACL
		MODULE LIST
		MODULE
		CLUSTER
		CLUSTER INFO
		CLUSTER SLOTS
		CLUSTER NODES
		LATENCY LATEST
		LATENCY HISTORY command
		LATENCY GRAPH command
		LATENCY RESET
		LATENCY RESET command
		LATENCY HISTOGRAM nosuch
		LATENCY HELP
		LATENCY HISTORY
		LATENCY NOSUCH
		MEMORY USAGE nothere
		MEMORY USAGE nothere SAMPLES
		MEMORY USAGE nothere SAMPLES x
		MEMORY USAGE nothere SAMPLES -1
		MEMORY USAGE nothere SAMPLES 5
		MEMORY USAGE nothere WHAT 5
		MEMORY USAGE
		MEMORY PURGE
		MEMORY HELP
		MEMORY NOSUCH
		OBJECT HELP
		OBJECT HELP x
		SLOWLOG RESET
		SLOWLOG GET x
		SLOWLOG GET -2
		SLOWLOG GET 1 2
		SLOWLOG HELP
		SLOWLOG LEN x
		SLOWLOG NOSUCH`,
	"config": `
		SLOWLOG RESET
		CONFIG GET save
		CONFIG GET databases
		CONFIG GET nosuch
		CONFIG GET time[nop]ut
		CONFIG SET
		CONFIG SET timeout
		CONFIG SET timeout 5 maxclients
		CONFIG SET nosuch 1
		CONFIG SET timeout 5 nosuch 1
		CONFIG GET timeout
		CONFIG SET databases 3
		CONFIG SET maxclients x
		CONFIG SET maxclients 0
		CONFIG SET maxclients 5000000000
		CONFIG SET MaxClients ""
		CONFIG SET timeout 5 timeout 6
		CONFIG SET timeout -1
		CONFIG SET timeout 7
		CONFIG GET timeout
		CONFIG SET timeout 0
		CONFIG SET slowlog-log-slower-than x
		CONFIG SET slowlog-log-slower-than -1
		CONFIG GET slowlog-log-slower-than
		CONFIG SET slowlog-log-slower-than 0 slowlog-max-len 2
		SLOWLOG LEN
		CONFIG SET slowlog-log-slower-than 10000 slowlog-max-len 128
		SLOWLOG LEN
		CONFIG SET proto-max-bulk-len x
		CONFIG SET proto-max-bulk-len 2mb
		CONFIG GET proto-max-bulk-len
		CONFIG GET slowlog-max-len
		CONFIG RESETSTAT
		CONFIG RESETSTAT x
		CONFIG REWRITE
		CONFIG HELP`,
	"clients": `
		CLIENT KILL
		CLIENT KILL 1.1.1.1:2
		CLIENT KILL ID 0
		CLIENT KILL ID x
		CLIENT KILL ID 99999
		CLIENT KILL TYPE nosuch
		CLIENT KILL TYPE master
		CLIENT KILL TYPE pubsub
		CLIENT KILL USER nosuch
		CLIENT KILL ADDR 1.1.1.1:2
		CLIENT KILL LADDR 1.1.1.1:2
		CLIENT KILL SKIPME maybe
		CLIENT KILL SKIPME YES ID
		CLIENT KILL WHAT x
		CLIENT LIST TYPE nosuch
		CLIENT LIST TYPE replica
		CLIENT LIST ID
		CLIENT LIST ID x
		CLIENT LIST ID 0
		CLIENT LIST ID 99999
		CLIENT LIST WHAT
		CLIENT INFO x
		CLIENT NO-EVICT ON
		CLIENT NO-EVICT OFF
		CLIENT NO-EVICT maybe
		CLIENT UNBLOCK x
		CLIENT UNBLOCK 99999
		CLIENT UNBLOCK 99999 ERROR
		CLIENT UNBLOCK 99999 maybe
		CLIENT MAINT_NOTIFICATIONS ON
		CLIENT GETREDIR
		CLIENT TRACKINGINFO
		CLIENT TRACKING maybe
		CLIENT CACHING YES
		CLIENT KILL ID 99999 SKIPME no`,
	"command": `
		COMMAND COUNT x
		COMMAND INFO nosuch
		COMMAND INFO nosuch nosuch|x get|x
		COMMAND DOCS nosuch
		COMMAND LIST FILTERBY
		COMMAND LIST FILTERBY NOSUCH x
		COMMAND LIST FILTERBY ACLCAT nosuch
		COMMAND LIST FILTERBY MODULE nosuch
		COMMAND LIST FILTERBY PATTERN nosuch*
		COMMAND GETKEYS
		COMMAND GETKEYS get
		COMMAND GETKEYS get a
		COMMAND GETKEYS GET a b
		COMMAND GETKEYS mget a b c
		COMMAND GETKEYS nosuch a
		COMMAND GETKEYS echo a
		COMMAND GETKEYS object encoding a
		COMMAND GETKEYS memory usage a
		COMMAND GETKEYS rename a b
		COMMAND GETKEYS set a b EX 5
		COMMAND GETKEYS xread COUNT 2 STREAMS a b 0 0
		COMMAND NOSUCH`,
	"tools": `
		SET a https://example.com/
		CLIENT LIST TYPE nonsense
		CLIENT LIST ID x
		CLIENT KILL 192.0.2.1:5
		CLIENT KILL ID x
		CLIENT KILL ID 999999
		CLIENT KILL USER nobody
		CLIENT KILL
		CLIENT UNBLOCK 999999
		CLIENT UNBLOCK 999999 WHAT
		CLIENT UNBLOCK x
		CLIENT NO-EVICT MAYBE
		CLIENT NO-EVICT ON
		CLIENT REPLY MAYBE
		CLIENT GETREDIR
		CLIENT GETREDIR x
		CLIENT TRACKINGINFO
		CLIENT TRACKINGINFO x
		COMMAND GETKEYS NOSUCH
		COMMAND GETKEYS NOSUCH x
		COMMAND GETKEYS PING
		COMMAND GETKEYS PING x
		COMMAND GETKEYS GET
		COMMAND GETKEYS GET a
		COMMAND GETKEYS GET a b
		COMMAND GETKEYS MGET a b
		COMMAND GETKEYS
		COMMAND COUNT x
		COMMAND INFO nosuch
		COMMAND DOCS nosuch
		CONFIG REWRITE
		CONFIG SET nosuch x
		CONFIG SET maxclients x
		CONFIG SET maxclients
		CONFIG SET
		CONFIG RESETSTAT
		CONFIG RESETSTAT x
		CONFIG GET nosuch
		CONFIG GET databases
		LATENCY LATEST
		LATENCY GRAPH nosuch
		LATENCY HISTORY nosuch
		LATENCY RESET
		LATENCY NOSUCH
		LATENCY
		MEMORY USAGE nothere
		MEMORY USAGE
		MEMORY USAGE a SAMPLES
		MEMORY USAGE a SAMPLES x
		MEMORY NOSUCH
		MEMORY
		OBJECT FREQ a
		PUBSUB NUMPAT x
		PUBSUB NOSUCH
		SLOWLOG GET -5
		SLOWLOG GET x
		SLOWLOG GET 1 2
		SLOWLOG LEN x
		SLOWLOG RESET
		SLOWLOG NOSUCH
		SLOWLOG
		WAIT 0 x
		WAIT 0 -1
		WAIT x 0
		WAIT 0 10
		WAIT 0
		SHUTDOWN ABORT
		SHUTDOWN WHAT
		SHUTDOWN NOSAVE SAVE
		CLUSTER INFO
		CLUSTER
		ROLE
		ROLE x
		TIME x
		LASTSAVE x
		MODULE LIST
		MODULE NOSUCH
		ACL WHOAMI
		ACL NOSUCH
		ACL`,
	"tracking": `
		CLIENT TRACKING ON REDIRECT 999 REDIRECT 998
		CLIENT TRACKING ON REDIRECT 999
		CLIENT TRACKING ON REDIRECT x
		CLIENT TRACKING ON REDIRECT
		CLIENT TRACKING ON PREFIX a
		CLIENT TRACKING ON BCAST OPTIN
		CLIENT TRACKING ON OPTIN OPTOUT
		CLIENT TRACKING ON WHAT
		CLIENT TRACKING MAYBE
		CLIENT TRACKING
		CLIENT CACHING YES
		CLIENT CACHING MAYBE
		CLIENT TRACKING ON OPTOUT
		CLIENT CACHING YES
		CLIENT TRACKING ON OPTIN
		CLIENT TRACKING ON BCAST
		CLIENT CACHING NO
		CLIENT TRACKINGINFO
		CLIENT TRACKING OFF
		CLIENT TRACKING ON BCAST PREFIX a PREFIX ab
		CLIENT TRACKING ON BCAST PREFIX a
		CLIENT TRACKING ON BCAST PREFIX ab
		CLIENT TRACKING ON BCAST PREFIX b
		CLIENT TRACKINGINFO
		CLIENT GETREDIR
		CLIENT TRACKING OFF
		CLIENT TRACKING ON OPTIN
		CLIENT CACHING NO
		CLIENT CACHING YES
		CLIENT TRACKINGINFO
		CLIENT TRACKING OFF
		CLIENT CACHING YES`,
	"flush": `
		SET one https://example.com/
		FLUSHALL WHAT
		DBSIZE
		FLUSHALL
		DBSIZE
		RANDOMKEY
		SET one https://example.com/
		FLUSHDB
		GET one
		FLUSHDB ASYNC
		FLUSHALL SYNC
		FLUSHALL SYNC ASYNC`,
	"pubsub": `
		PUBLISH channel message
		PUBLISH channel
		PUBSUB CHANNELS
		PUBSUB CHANNELS x*
		PUBSUB NUMSUB
		PUBSUB NUMSUB a b
		PUBSUB NUMPAT
		PUBSUB NUMPAT x
		SUBSCRIBE
		PSUBSCRIBE
		SUBSCRIBE one
		PING
		PING x
		PSUBSCRIBE t*
		UNSUBSCRIBE one
		PUNSUBSCRIBE t*
		UNSUBSCRIBE
		PUNSUBSCRIBE
		UNSUBSCRIBE nothere
		PING
		PUBSUB CHANNELS a b
		SUBSCRIBE one
		GET nothere
		EVALUATE
		GET
		MULTI
		RESET x
		RESET
		MULTI
		SUBSCRIBE one
		PUBLISH two x
		UNSUBSCRIBE one
		EXEC
		CLIENT TRACKING ON BCAST NOLOOP
		CLIENT TRACKINGINFO
		RESET
		CLIENT TRACKINGINFO
		CLIENT REPLY WHAT
		CLIENT REPLY
		CLIENT REPLY ON`,
	"help": `
		CONFIG HELP
		LATENCY HELP
		MEMORY HELP
		OBJECT HELP
		SLOWLOG HELP
		ACL HELP
		CLIENT HELP x
		XINFO
		XINFO NOSUCH`,
	"acl": `
		ACL CAT nosuch
		ACL CAT read write
		ACL DELUSER
		ACL DELUSER nobody
		ACL DELUSER default
		ACL DRYRUN nobody get a
		ACL DRYRUN default nosuch
		ACL DRYRUN default get
		ACL DRYRUN default get a
		ACL DRYRUN
		ACL GENPASS x
		ACL GENPASS 0
		ACL GENPASS 5000
		ACL GETUSER nobody
		ACL GETUSER
		ACL LIST
		ACL LIST x
		ACL LOAD
		ACL LOG
		ACL LOG x
		ACL LOG RESET
		ACL SAVE
		ACL SETUSER
		ACL SETUSER bob nonsense
		ACL SETUSER bob >
		ACL SETUSER bob on >pw ~a* &c* +get
		ACL USERS
		ACL DRYRUN bob get abc
		ACL SETUSER bob reset
		ACL DELUSER bob nobody
		ACL USERS
		ACL WHOAMI`,
	"more": `
		CLIENT NO-EVICT
		READONLY x
		MONITOR x
		LATENCY DOCTOR x
		MEMORY STATS x
		MEMORY DOCTOR x
		MEMORY MALLOC-STATS x
		INFO nosuch`,
	"streams": `
		XLEN clicks:nothere
		XLEN
		XLEN a b
		XRANGE clicks:nothere - +
		XRANGE clicks:nothere - + COUNT 5
		XRANGE clicks:nothere - + COUNT x
		XRANGE clicks:nothere - + COUNT -1
		XRANGE clicks:nothere - + COUNT
		XRANGE clicks:nothere - + WHAT 5
		XRANGE clicks:nothere x +
		XRANGE clicks:nothere 1-x +
		XRANGE clicks:nothere (1 (2
		XRANGE clicks:nothere ( +
		XRANGE clicks:nothere -
		XREVRANGE clicks:nothere + -
		XREVRANGE clicks:nothere + x
		XREVRANGE clicks:nothere + - COUNT 0
		XREAD STREAMS clicks:nothere 0
		XREAD COUNT 1 STREAMS clicks:nothere 0
		XREAD COUNT x STREAMS clicks:nothere 0
		XREAD BLOCK x STREAMS clicks:nothere 0
		XREAD BLOCK -1 STREAMS clicks:nothere 0
		XREAD STREAMS clicks:nothere x
		XREAD STREAMS clicks:nothere
		XREAD clicks:nothere 0
		XREAD BLOCK 1 STREAMS clicks:nothere $
		XREAD
		XINFO STREAM
		XINFO GROUPS nothere
		SET link https://example.com/
		XLEN link
		XRANGE link - +
		XREVRANGE link + -
		XREAD STREAMS link 0
		XREAD STREAMS clicks:nothere link 0 0
		XINFO STREAM link
		XINFO STREAM nothere
		XINFO STREAM link WHAT
		XADD link * a b
		XDEL link 1-1
		XTRIM link MAXLEN 5
		XADD
		XDEL
		XTRIM`,
}

// TestSameAsRedis sends the same commands to a real redis-server and to Curt, and compares the bytes that come back.
func TestSameAsRedis(t *testing.T) {
	redis := startRedis(t)
	for _, proto := range []string{"2", "3"} {
		for name, lines := range sameAsRedis {
			t.Run("RESP"+proto+"/"+name, func(t *testing.T) {
				n := start(t, func(o *server.Options) { o.AllowKeys, o.AllowFlush, o.Now = true, true, time.Now })
				theirs, ours := dial(t, redis), n.Dial()
				theirs.Do("FLUSHALL")
				theirs.Do("ACL", "LOG", "RESET")
				for _, c := range []*client{theirs, ours} {
					c.Do("HELLO", proto)
				}
				lines := bufio.NewScanner(strings.NewReader(strings.TrimSpace(lines)))
				for lines.Scan() {
					words, err := splitLine(repeat(strings.TrimSpace(lines.Text())))
					if err != nil {
						t.Fatal(err)
					}
					theirs.Do(words...)
					ours.Do(words...)
					if strings.Contains(theirs.Raw(), "unknown subcommand 'SETINFO'") {
						continue // Redis has it since 7.2
					}
					if theirs.Raw() != ours.Raw() {
						t.Errorf("%s\n Curt: %q\nRedis: %q", strings.TrimSpace(lines.Text()), ours.Raw(), theirs.Raw())
					}
				}
			})
		}
	}
}
