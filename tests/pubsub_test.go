package tests

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// TestManySubscribers: a thousand hear every message in order, while one that never reads is dropped at its limit and holds up nobody.
func TestManySubscribers(t *testing.T) {
	n := start(t)
	subscribers := scale(200, 1000, 1000)
	const messages = 50
	silent := n.Dial()
	silent.Do("SUBSCRIBE", "big")
	list := make([]*client, subscribers)
	for i := range list {
		list[i] = n.Dial()
		if i%2 == 0 {
			list[i].Do("HELLO", "3")
		}
		if i%3 == 0 {
			list[i].Do("PSUBSCRIBE", "news*")
		} else {
			list[i].Do("SUBSCRIBE", "news")
		}
	}
	big := strings.Repeat("x", 1_000_000)
	for k := range messages {
		n.Want(fmt.Sprintf("(integer) %d", subscribers), "PUBLISH", "news", fmt.Sprint(k))
		n.Do("PUBLISH", "big", big)
		if k == 0 {
			n.Want("(integer) 1", "PUBLISH", "big", "")
		}
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", k)) // writers go on
	}
	var wg sync.WaitGroup
	for _, c := range list {
		wg.Go(func() {
			for k := range messages {
				if r := c.Receive(); r.list[len(r.list)-1].text != fmt.Sprint(k) {
					t.Errorf("got %s, want message %d", r, k)
					return
				}
			}
		})
	}
	wg.Wait()
	eventually(t, "the silent one is dropped", func() bool { return n.Do("PUBSUB", "NUMSUB", "big").list[1].text == "0" })
	for _, c := range list {
		c.conn.Close()
	}
	eventually(t, "nobody listens", func() bool { return n.Info("pubsub_channels")+n.Info("pubsub_patterns") == 0 })
}

// TestAudienceHoldsUpNobody: a thousand subscribers to what happens to links, of whom every third never reads, and a hundred monitors
// that never read: every writer gets every answer, and who reads hears of every link in the order of its life.
func TestAudienceHoldsUpNobody(t *testing.T) {
	n := start(t)
	subscribers, monitors := scale(150, 1000, 1000), scale(30, 100, 100)
	const writers, each = 4, 25
	var reading []*client
	for i := range subscribers {
		c := n.Dial()
		switch i % 3 {
		case 0:
			n.deaf(c)
		case 1:
			c.Do("HELLO", "3")
			reading = append(reading, c)
		default:
			reading = append(reading, c)
		}
		c.Do("PSUBSCRIBE", "link:*")
	}
	for range monitors {
		c := n.Dial()
		n.deaf(c)
		c.Do("MONITOR")
	}
	n.together(writers, func(i int, c *client) {
		for k := range each {
			code := fmt.Sprintf("w%d-%d", i, k)
			if r := c.Do("SHORTEN", "https://example.com/"+code, "AS", code, "TITLE", strings.Repeat("x", 250)); r.text != code {
				t.Errorf("SHORTEN: %s", r)
			}
			if r := c.Do("BAN", code); r.text != "OK" {
				t.Errorf("BAN: %s", r)
			}
		}
	})
	var wg sync.WaitGroup
	for _, c := range reading {
		wg.Go(func() {
			state := map[string]string{}
			for range writers * each * 2 {
				r := c.Receive()
				channel, message := r.list[2].text, r.list[3].text
				switch before := state[channel]; {
				case before == "" && strings.Contains(message, `"created"`), before == "created" && strings.Contains(message, `"banned"`):
					state[channel] = map[string]string{"": "created", "created": "banned"}[before]
				default:
					t.Errorf("%s after %q: %s", channel, before, message)
					return
				}
			}
		})
	}
	wg.Wait()
}

// deaf makes a client one that has little room for what it does not read.
func (n *node) deaf(c *client) {
	n.tb.Helper()
	if err := c.conn.(*net.TCPConn).SetReadBuffer(4096); err != nil {
		n.tb.Fatal(err)
	}
}

// TestEventsWaitForTheSync: nobody hears of a change that a power cut could take back.
func TestEventsWaitForTheSync(t *testing.T) {
	n := start(t)
	n.Must("SET", "a", "https://one.example/")
	c := n.Dial()
	c.Do("SUBSCRIBE", "link:a")
	release := n.disk.hold()
	defer release()
	writer := n.Dial()
	writer.Send("SET", "a", "https://two.example/")
	eventually(t, "the change is visible", func() bool { return n.Do("GET", "a").text == "https://two.example/" })
	n.nothingArrives(c)
	release()
	if r := c.Receive(); !strings.Contains(r.list[2].text, `"retargeted"`) {
		t.Errorf("%s", r)
	}
}

// TestHostEvents says what the channels of hosts carry.
func TestHostEvents(t *testing.T) {
	n := start(t)
	c := n.Dial()
	c.Do("PSUBSCRIBE", "host:*")
	n.Must("BANHOST", "Bad.Example")
	n.Must("BANHOST", "bad.example")
	n.Must("UNBANHOST", "bad.example")
	for _, want := range []string{"banned", "unbanned"} {
		r := c.Receive()
		var event struct {
			Event, Host string
			Time        int64
		}
		if err := json.Unmarshal([]byte(r.list[3].text), &event); err != nil {
			t.Fatal(err)
		}
		if r.list[2].text != "host:bad.example" || event.Event != want || event.Host != "bad.example" || event.Time != n.clock.Now().UnixMilli() {
			t.Errorf("%s: %+v", r, event)
		}
	}
}

// TestSubscriptionsComeAndGo from many clients at once, under publishers: every client gets a well-formed stream.
func TestSubscriptionsComeAndGo(t *testing.T) {
	n := start(t)
	rounds := scale(60, 300, 3000)
	n.together(8, func(i int, c *client) {
		if i < 2 {
			for k := range rounds * 4 {
				c.Do("PUBLISH", fmt.Sprint("ch", k%5), "m")
			}
			return
		}
		if i%2 == 0 {
			c.Do("HELLO", "3")
		}
		ack := func(words ...string) {
			c.Send(words...)
			for range len(words) - 1 {
				for {
					r := c.Receive()
					if kind := r.list[0].text; kind == strings.ToLower(words[0]) {
						break
					} else if kind != "message" && kind != "pmessage" {
						t.Errorf("%s", r)
						return
					}
				}
			}
		}
		for range rounds {
			ack("SUBSCRIBE", "ch0", "ch1")
			ack("PSUBSCRIBE", "ch*")
			ack("UNSUBSCRIBE", "ch1", "ch0")
			ack("PUNSUBSCRIBE", "ch*")
			if i%2 == 1 { // with RESP2 nothing but replies comes now
				if r := c.Do("PING"); r.kind != '+' || r.text != "PONG" {
					t.Errorf("PING: %s", r)
					return
				}
			}
		}
	})
}
