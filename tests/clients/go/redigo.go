package main

import (
	"errors"

	"github.com/gomodule/redigo/redis"
)

// redigo uses redigo: RESP2, and a pool that looks with ECHO whether a connection is clean.
func redigo(addr string) {
	pool := &redis.Pool{MaxIdle: 2, Dial: func() (redis.Conn, error) { return redis.Dial("tcp", addr, redis.DialClientName("matrix")) }}
	defer pool.Close()
	client := pool.Get()
	equal(must(redis.String(client.Do("PING"))), "PONG")
	equal(must(redis.String(client.Do("CLIENT", "GETNAME"))), "matrix")
	ok("connect")

	code := must(redis.String(client.Do("SHORTEN", target("one"))))
	equal(must(redis.String(client.Do("SHORTEN", target("one")))), code)
	ok("shorten")
	isNil := func(command, key string) {
		_, err := redis.String(client.Do(command, key))
		equal(errors.Is(err, redis.ErrNil), true)
	}
	equal(must(redis.String(client.Do("RESOLVE", code))), target("one"))
	isNil("RESOLVE", "no-such-code")
	ok("resolve")
	equal(must(redis.String(client.Do("GET", code))), target("one"))
	isNil("GET", "no-such-code")
	ok("get")

	for i := range 1000 {
		check(client.Send("SHORTEN", target(i)))
	}
	check(client.Flush())
	var codes []string
	for range 1000 {
		codes = append(codes, must(redis.String(client.Receive())))
	}
	different(codes, 1000)
	equal(must(redis.String(client.Do("GET", codes[999]))), target(999))
	ok("pipeline")

	check(client.Send("MULTI"))
	check(client.Send("SET", "redigo-multi", target("m")))
	check(client.Send("GET", "redigo-multi"))
	check(client.Send("DEL", "redigo-multi"))
	results := must(redis.Values(client.Do("EXEC")))
	equal(must(redis.String(results[1], nil)), target("m"))
	equal(must(redis.Int(results[2], nil)), 1)
	ok("multi")

	seen := map[string]bool{}
	cursor := "0"
	for {
		page := must(redis.Values(client.Do("SCAN", cursor, "COUNT", 1000)))
		for _, key := range must(redis.Strings(page[1], nil)) {
			seen[key] = true
		}
		if cursor = must(redis.String(page[0], nil)); cursor == "0" {
			break
		}
	}
	enough(seen, code)
	ok("scan")

	subscribed := pool.Get()
	sub := redis.PubSubConn{Conn: subscribed}
	check(sub.Subscribe("link:" + code))
	equal(sub.Receive().(redis.Subscription).Count, 1)
	must(client.Do("BAN", code))
	banned(string(sub.Receive().(redis.Message).Data))
	check(subscribed.Close()) // back into the pool: UNSUBSCRIBE, PUNSUBSCRIBE, ECHO
	clean := pool.Get()
	equal(must(redis.String(clean.Do("PING"))), "PONG")
	check(clean.Close())
	equal(pool.ActiveCount(), 2)
	isNil("GET", code)
	_, err := client.Do("RESOLVE", code)
	fails(err, "BANNED")
	ok("ban")

	_, err = client.Do("SHORTEN", "ftp://example.com/")
	fails(err, "BADURL bad_scheme")
	equal(must(redis.String(client.Do("PING"))), "PONG")
	ok("error")
	check(client.Close())

	restart()
	again(target(2), func() (string, error) { // the pool drops what is broken
		c := pool.Get()
		defer c.Close()
		return redis.String(c.Do("GET", codes[2]))
	})
	ok("reconnect")
}
