package clicks

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

func TestAgents(t *testing.T) {
	f, err := os.Open("testdata/agents.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := newAgents()
	people, bots := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		f := strings.Split(lines.Text(), "\t")
		if len(f) != 5 {
			t.Fatalf("%d fields: %s", len(f), lines.Text())
		}
		got := a.find([]byte(f[4]))
		if got.Bot != (f[0] == "bot") {
			t.Errorf("bot %v, browser %q: %s", got.Bot, got.Browser, f[4])
		}
		if got.Bot {
			bots++
			continue
		}
		people++
		for i, is := range []string{got.Browser, got.OS, got.Device} {
			if want := f[i+1]; want != is && want != "*" {
				t.Errorf("%q, want %q: %s", is, want, f[4])
			}
		}
	}
	if people < 50 || bots < 50 {
		t.Errorf("%d people and %d bots", people, bots)
	}
}

// A User-Agent is parsed once, a long one up to a limit, and only so many new ones at a time.
func TestAgentsAreBounded(t *testing.T) {
	a := newAgents()
	first := a.find([]byte("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"))
	if first != a.find([]byte("Mozilla/5.0 (X11; Linux x86_64; rv:139.0) Gecko/20100101 Firefox/139.0")) {
		t.Error("equal agents are not one")
	}
	if left := a.budget.Load(); left != parsesPerTick-2 {
		t.Errorf("%d parses left", left)
	}
	a.find([]byte("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"))
	if left := a.budget.Load(); left != parsesPerTick-2 {
		t.Errorf("parsed again: %d left", left)
	}
	if !a.find([]byte("Googlebot/2.1"+strings.Repeat(" ", 4*maxAgent))).Bot || a.find([]byte(strings.Repeat(" ", maxAgent)+"Googlebot/2.1")).Bot {
		t.Error("what is looked at is not the beginning")
	}
	a.budget.Store(0)
	if got := a.find([]byte("Twitterbot/1.0")); got.Browser != other || got.Bot {
		t.Errorf("parsed without a budget: %+v", got)
	}
	a.refill()
	if !a.find([]byte("Twitterbot/1.0")).Bot {
		t.Error("what could not be parsed is remembered")
	}
	for i := range 3 * agentShards * agentsPer {
		if i%parsesPerTick == 0 {
			a.refill()
		}
		if i%100 == 0 { // a hundredth is enough to overfill a shard made small
			a.find([]byte("x" + strings.Repeat("y", i%97) + string(rune('a'+i%26)) + strings.Repeat("z", i%89)))
		}
	}
	for i := range a.shards {
		if n := len(a.shards[i].known); n > agentsPer {
			t.Errorf("shard %d knows %d", i, n)
		}
	}
}

func FuzzAgents(f *testing.F) {
	f.Add([]byte("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"))
	f.Add([]byte("\xff\x00((("))
	a := newAgents()
	f.Fuzz(func(t *testing.T, ua []byte) {
		a.refill()
		got := a.find(ua)
		if !got.Bot && got.Browser != other && browserNames[got.Browser] == "" && !known(got.Browser) {
			t.Errorf("browser %q is on no list", got.Browser)
		}
		if back := ParseAgent(agentWord(got)); back.Browser != got.Browser || back.OS != got.OS || back.Device != got.Device {
			t.Errorf("%+v became %+v", got, back)
		}
	})
}

func known(browser string) bool {
	for _, name := range browserNames {
		if name == browser {
			return true
		}
	}
	for _, app := range apps {
		if app.name == browser {
			return true
		}
	}
	return false
}

func BenchmarkParse(b *testing.B) {
	a := newAgents()
	for b.Loop() {
		a.parse("Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36")
	}
}
