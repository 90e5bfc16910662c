package main

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// rueidisClient uses rueidis with its client-side cache, which it needs RESP3 and CLIENT TRACKING for.
func rueidisClient(addr string) {
	ctx := context.Background()
	client := must(rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, ClientName: "matrix"}))
	defer client.Close()
	do := func(words ...string) rueidis.RedisResult {
		return client.Do(ctx, client.B().Arbitrary(words...).Build())
	}
	equal(must(do("PING").ToString()), "PONG")
	equal(must(do("CLIENT", "GETNAME").ToString()), "matrix")
	ok("connect")

	code := must(do("SHORTEN", target("one")).ToString())
	equal(must(do("SHORTEN", target("one")).ToString()), code)
	ok("shorten")
	equal(must(do("RESOLVE", code).ToString()), target("one"))
	equal(rueidis.IsRedisNil(do("RESOLVE", "no-such-code").Error()), true)
	ok("resolve")
	get := func(code string) rueidis.RedisResult { return client.Do(ctx, client.B().Get().Key(code).Build()) }
	equal(must(get(code).ToString()), target("one"))
	equal(rueidis.IsRedisNil(get("no-such-code").Error()), true)
	ok("get")

	var commands rueidis.Commands
	for i := range 1000 {
		commands = append(commands, client.B().Arbitrary("SHORTEN", target(i)).Build())
	}
	var codes []string
	for _, r := range client.DoMulti(ctx, commands...) {
		codes = append(codes, must(r.ToString()))
	}
	different(codes, 1000)
	equal(must(get(codes[999]).ToString()), target(999))
	ok("pipeline")

	check(client.Dedicated(func(c rueidis.DedicatedClient) error {
		check(c.Do(ctx, c.B().Watch().Key("rueidis-multi").Build()).Error())
		replies := c.DoMulti(ctx, c.B().Multi().Build(), c.B().Set().Key("rueidis-multi").Value(target("m")).Build(),
			c.B().Get().Key("rueidis-multi").Build(), c.B().Del().Key("rueidis-multi").Build(), c.B().Exec().Build())
		results := must(replies[4].ToArray())
		equal(must(results[1].ToString()), target("m"))
		equal(must(results[2].AsInt64()), int64(1))
		return nil
	}))
	ok("multi")

	seen := map[string]bool{}
	scanner := rueidis.NewScanner(func(cursor uint64) (rueidis.ScanEntry, error) {
		return client.Do(ctx, client.B().Scan().Cursor(cursor).Count(1000).Build()).AsScanEntry()
	})
	for key := range scanner.Iter() {
		seen[key] = true
	}
	check(scanner.Err())
	enough(seen, code)
	ok("scan")

	rueidisHears(ctx, client, code)
	equal(rueidis.IsRedisNil(get(code).Error()), true)
	fails(do("RESOLVE", code).Error(), "BANNED")
	ok("ban")

	rueidisCache(ctx, client, codes[1], func() error { return do("BAN", codes[1]).Error() })
	fails(do("SHORTEN", "ftp://example.com/").Error(), "BADURL bad_scheme")
	equal(must(do("PING").ToString()), "PONG")
	ok("error")

	restart()
	again(target(2), func() (string, error) { return get(codes[2]).ToString() })
	ok("reconnect")
}

// rueidisHears returns when a subscriber has heard that code was banned.
func rueidisHears(ctx context.Context, client rueidis.Client, code string) {
	subscriber, hangUp := client.Dedicate()
	defer hangUp()
	heard := make(chan string, 1)
	subscriber.SetPubSubHooks(rueidis.PubSubHooks{OnMessage: func(m rueidis.PubSubMessage) { heard <- m.Message }})
	check(subscriber.Do(ctx, subscriber.B().Subscribe().Channel("link:"+code).Build()).Error())
	check(client.Do(ctx, client.B().Arbitrary("BAN", code).Build()).Error())
	banned(<-heard)
}

// rueidisCache reads a link from the client's memory until it is banned.
func rueidisCache(ctx context.Context, client rueidis.Client, code string, ban func() error) {
	get := func() (value string, cached bool) {
		r := client.DoCache(ctx, client.B().Get().Key(code).Cache(), time.Hour)
		v, err := r.ToString()
		if rueidis.IsRedisNil(err) {
			return "nothing", r.IsCacheHit()
		}
		return must(v, err), r.IsCacheHit()
	}
	want, _ := get()
	got, cached := get()
	equal(got, want)
	equal(cached, true)
	check(ban())
	again("nothing", func() (string, error) { v, _ := get(); return v, nil })
	ok("cache")
}
