package tests

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

// TestRueidisCaches: a client that keeps what it read hears of a ban, of the end of a ban, of a new link and of the ban of a host.
func TestRueidisCaches(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://www.one.example/")
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{n.respAddr}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	get := func(key string) (value string, cached bool) {
		r := client.DoCache(context.Background(), client.B().Get().Key(key).Cache(), time.Hour)
		value, err := r.ToString()
		if err != nil && !rueidis.IsRedisNil(err) {
			t.Fatal(err)
		}
		return value, r.IsCacheHit()
	}
	becomes := func(key, want string) {
		t.Helper()
		eventually(t, fmt.Sprintf("%s leads to %q", key, want), func() bool { got, _ := get(key); return got == want })
		if got, cached := get(key); got != want || !cached {
			t.Errorf("%s leads to %q, from memory: %v", key, got, cached)
		}
	}
	becomes("a", "https://www.one.example/")
	becomes("b", "")
	for _, change := range []struct{ command, key, want string }{
		{"BAN a", "a", ""},
		{"UNBAN a", "a", "https://www.one.example/"},
		{"RETARGET a https://www.two.example/", "a", "https://www.two.example/"},
		{"SHORTEN https://three.example/ AS b", "b", "https://three.example/"},
		{"BANHOST two.example", "a", ""},
		{"UNBANHOST two.example", "a", "https://www.two.example/"},
		{"DEL a", "a", ""},
	} {
		words, err := splitLine(change.command)
		if err != nil {
			t.Fatal(err)
		}
		n.Must(words...)
		becomes(change.key, change.want)
	}
	n.Must("SET", "c", "https://one.example/", "PX", "1000")
	becomes("c", "https://one.example/")
	n.Advance(time.Second)
	becomes("c", "")
}

// TestGoRedisTransactions uses the library's own optimistic locking from many goroutines.
func TestGoRedisTransactions(t *testing.T) {
	n := start(t)
	n.Must("SET", "n", counterURL(0))
	library := redis.NewClient(&redis.Options{Addr: n.respAddr})
	defer library.Close()
	ctx := context.Background()
	const each = 20
	n.together(4, func(int, *client) {
		for done := 0; done < each; {
			err := library.Watch(ctx, func(tx *redis.Tx) error {
				was, err := tx.Get(ctx, "n").Result()
				if err != nil {
					return err
				}
				_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
					p.Set(ctx, "n", counterURL(countOf(t, reply{text: was})+1), 0)
					return nil
				})
				return err
			}, "n")
			switch {
			case err == nil:
				done++
			case !errors.Is(err, redis.TxFailedErr):
				t.Error(err)
				return
			}
		}
	})
	if got := countOf(t, n.Must("GET", "n")); got != 4*each {
		t.Errorf("counted %d, want %d", got, 4*each)
	}
}

// TestGoRedisSubscribes hears of a link's life in the library's way.
func TestGoRedisSubscribes(t *testing.T) {
	n := start(t)
	for _, proto := range []int{2, 3} {
		client := redis.NewClient(&redis.Options{Addr: n.respAddr, Protocol: proto})
		sub := client.PSubscribe(context.Background(), "link:*")
		if _, err := sub.Receive(context.Background()); err != nil {
			t.Fatal(err)
		}
		n.Must("SHORTEN", "https://one.example/", "AS", fmt.Sprint("a", proto))
		m := <-sub.Channel()
		if want := fmt.Sprint("link:a", proto); m.Channel != want {
			t.Errorf("RESP%d: %v", proto, m)
		}
		sub.Close()
		client.Close()
	}
}
