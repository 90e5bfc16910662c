package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/redis/go-redis/v9"
)

// goRedis uses go-redis 9: RESP3, its pool, its retries, and its client-side cache.
func goRedis(addr string) {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: addr, ClientName: "matrix"})
	defer client.Close()
	equal(must(client.Ping(ctx).Result()), "PONG")
	equal(must(client.ClientGetName(ctx).Result()), "matrix")
	ok("connect")

	code := must(client.Do(ctx, "SHORTEN", target("one")).Text())
	equal(must(client.Do(ctx, "SHORTEN", target("one")).Text()), code)
	ok("shorten")
	equal(must(client.Do(ctx, "RESOLVE", code).Text()), target("one"))
	equal(client.Do(ctx, "RESOLVE", "no-such-code").Err(), redis.Nil)
	ok("resolve")
	equal(must(client.Get(ctx, code).Result()), target("one"))
	equal(client.Get(ctx, "no-such-code").Err(), redis.Nil)
	ok("get")

	var codes []string
	for _, c := range must(client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 1000 {
			p.Do(ctx, "SHORTEN", target(i))
		}
		return nil
	})) {
		codes = append(codes, must(c.(*redis.Cmd).Text()))
	}
	different(codes, 1000)
	equal(must(client.Get(ctx, codes[999]).Result()), target(999))
	ok("pipeline")

	check(client.Watch(ctx, func(tx *redis.Tx) error {
		results, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Set(ctx, "go-redis-multi", target("m"), 0)
			p.Get(ctx, "go-redis-multi")
			p.Del(ctx, "go-redis-multi")
			return nil
		})
		check(err)
		equal(results[1].(*redis.StringCmd).Val(), target("m"))
		equal(results[2].(*redis.IntCmd).Val(), int64(1))
		return nil
	}, "go-redis-multi"))
	ok("multi")

	seen := map[string]bool{}
	for it := client.Scan(ctx, 0, "", 1000).Iterator(); it.Next(ctx); {
		seen[it.Val()] = true
	}
	enough(seen, code)
	ok("scan")

	sub := client.Subscribe(ctx, "link:"+code)
	defer sub.Close()
	must(sub.Receive(ctx))
	check(client.Do(ctx, "BAN", code).Err())
	banned(must(sub.ReceiveMessage(ctx)).Payload)
	equal(client.Get(ctx, code).Err(), redis.Nil)
	fails(client.Do(ctx, "RESOLVE", code).Err(), "BANNED")
	ok("ban")

	goRedisCache(ctx, addr, client, codes[1])
	fails(client.Do(ctx, "SHORTEN", "ftp://example.com/").Err(), "BADURL bad_scheme")
	equal(must(client.Ping(ctx).Result()), "PONG")
	ok("error")

	restart()
	again(target(2), func() (string, error) { return client.Get(ctx, codes[2]).Result() })
	ok("reconnect")
}

// goRedisCache reads a link from the client's memory until another client bans it.
func goRedisCache(ctx context.Context, addr string, client *redis.Client, code string) {
	cached := redis.NewClient(&redis.Options{Addr: addr, Protocol: 3, ClientSideCacheConfig: &redis.ClientSideCacheConfig{MaxEntries: 100}})
	defer cached.Close()
	calls := func() string {
		return regexp.MustCompile(`cmdstat_get:calls=\d+`).FindString(must(client.Info(ctx, "commandstats").Result()))
	}
	get := func() (string, error) {
		v, err := cached.Get(ctx, code).Result()
		if errors.Is(err, redis.Nil) {
			return "nothing", nil
		}
		return v, err
	}
	want := must(get())
	equal(must(get()), want)
	before := calls()
	for range 10 {
		equal(must(get()), want)
	}
	if after := calls(); after != before || before == "" {
		panic(fmt.Sprintf("the cache asks the server: %q, %q", before, after))
	}
	check(client.Do(ctx, "BAN", code).Err())
	again("nothing", get)
	ok("cache")
}
