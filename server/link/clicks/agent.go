package clicks

import (
	_ "embed"
	"regexp"
	"regexp/syntax"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/mileusna/useragent"
)

// Agent is what a User-Agent says of who visits. One exists for each set of values: pointers compare.
type Agent struct {
	Browser string // of a bot: its name on the list
	OS      string
	Device  string // desktop, mobile, tablet or other
	Bot     bool
}

const (
	maxAgent      = 512  // bytes of a User-Agent that are looked at
	agentShards   = 16   // of the cache
	agentsPer     = 4096 // User-Agents that a shard knows; when it is full it starts anew
	parsesPerTick = 2000 // new User-Agents between two flushes; what comes beyond is counted as unknown
)

// agents knows User-Agents, each parsed once. It is safe for concurrent use.
type agents struct {
	list   crawlers
	budget atomic.Int64
	shards [agentShards]struct {
		mu    sync.Mutex
		known map[string]*Agent
	}

	mu     sync.Mutex
	unique map[Agent]*Agent // guarded by mu; its values come from closed lists
}

func newAgents() *agents {
	a := &agents{list: loadCrawlers(), unique: map[Agent]*Agent{}}
	a.refill()
	return a
}

// refill lets parsesPerTick new User-Agents be parsed.
func (a *agents) refill() { a.budget.Store(parsesPerTick) }

// find returns the agent of a User-Agent. No User-Agent at all is a person's: nothing says otherwise.
func (a *agents) find(ua []byte) *Agent {
	ua = ua[:min(len(ua), maxAgent)]
	shard := &a.shards[xxhash.Sum64(ua)%agentShards]
	shard.mu.Lock()
	agent := shard.known[string(ua)]
	shard.mu.Unlock()
	if agent != nil {
		return agent
	}
	if a.budget.Add(-1) < 0 {
		return a.intern(Agent{Browser: other, OS: other, Device: other})
	}
	text := string(ua)
	agent = a.intern(a.parse(text))
	shard.mu.Lock()
	if shard.known == nil || len(shard.known) >= agentsPer {
		shard.known = map[string]*Agent{}
	}
	shard.known[text] = agent
	shard.mu.Unlock()
	return agent
}

func (a *agents) intern(agent Agent) *Agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.unique[agent]
	if p == nil {
		p = &agent
		a.unique[agent] = p
	}
	return p
}

const other = "other"

// parse reads a User-Agent. Names that are not on the lists below are "other", so that nobody can fill a table with new ones.
func (a *agents) parse(text string) Agent {
	ua := useragent.Parse(text)
	agent := Agent{Browser: other, OS: other, Device: other}
	if name := browserNames[ua.Name]; name != "" {
		agent.Browser = name
	}
	for _, app := range apps {
		if strings.Contains(text, app.mark) {
			agent.Browser = app.name
			break
		}
	}
	if name := osNames[ua.OS]; name != "" {
		agent.OS = name
	}
	switch {
	case ua.Tablet || strings.Contains(text, "iPad"):
		agent.Device = "tablet"
	case ua.Mobile || agent.OS == "Android" || agent.OS == "iOS":
		agent.Device = "mobile"
	case ua.Desktop:
		agent.Device = "desktop"
	}
	if name, bot := a.list.find(text); bot {
		agent.Browser, agent.Bot = name, true
	}
	return agent
}

// browserNames are the browsers that are told apart, as the library calls them and as they are shown.
var browserNames = map[string]string{
	useragent.Chrome: "Chrome", useragent.Firefox: "Firefox", useragent.Safari: "Safari", useragent.MobileSafari: "Safari", useragent.Edge: "Edge",
	useragent.Opera: "Opera", useragent.OperaMini: "Opera Mini", useragent.OperaTouch: "Opera", useragent.SamsungBrowser: "Samsung Internet",
	useragent.InternetExplorer: "Internet Explorer", useragent.Vivaldi: "Vivaldi", useragent.FacebookApp: "Facebook", useragent.InstagramApp: "Instagram",
	useragent.TiktokApp: "TikTok", "UCBrowser": "UC Browser", "YaBrowser": "Yandex Browser", "Android browser": "Android Browser", "HuaweiBrowser": "Huawei Browser",
	"DuckDuckGo": "DuckDuckGo", "Silk": "Amazon Silk", "MiuiBrowser": "Miui Browser",
}

// apps open links in a window of their own: what follows a link in them is a person.
var apps = []struct{ mark, name string }{
	{"Instagram ", "Instagram"}, {"FBAN/", "Facebook"}, {"FB_IAB/", "Facebook"}, {"FBAV/", "Facebook"}, {"MetaIAB Facebook", "Facebook"}, {"MetaIAB Instagram", "Instagram"},
	{"MetaIAB", "Facebook"}, {"musical_ly", "TikTok"}, {"BytedanceWebview", "TikTok"}, {"TikTok", "TikTok"}, {"Snapchat/", "Snapchat"}, {"Pinterest/", "Pinterest"},
	{"[Pinterest", "Pinterest"}, {"LinkedInApp", "LinkedIn"}, {"MicroMessenger/", "WeChat"}, {" Line/", "LINE"}, {"KAKAOTALK", "KakaoTalk"},
	{"Twitter for", "X"}, {"TwitterAndroid", "X"}, {"GSA/", "Google app"}, {"DuckDuckGo/", "DuckDuckGo"}, {"HuaweiBrowser/", "Huawei Browser"},
	{"YaBrowser/", "Yandex Browser"}, {"UCBrowser/", "UC Browser"}, {"Vivaldi/", "Vivaldi"}, {"SamsungBrowser/", "Samsung Internet"},
	{"OPR/", "Opera"}, {"Silk/", "Amazon Silk"}, {"MiuiBrowser/", "Miui Browser"}, {"EdgA/", "Edge"}, {"EdgiOS/", "Edge"}, {"Edg/", "Edge"}, {"Trident/", "Internet Explorer"},
}

var osNames = map[string]string{
	useragent.Windows: "Windows", useragent.WindowsPhone: "Windows Phone", useragent.WindowsNT: "Windows", useragent.WindowsPhoneOS: "Windows Phone",
	useragent.Android: "Android", useragent.MacOS: "macOS", useragent.IOS: "iOS", useragent.Linux: "Linux", useragent.FreeBSD: "FreeBSD",
	useragent.ChromeOS: "ChromeOS", useragent.CrOS: "ChromeOS", useragent.BlackBerry: "BlackBerry", useragent.Harmony: "HarmonyOS",
}

// people are marks of real browsers that the list takes for programs: a person's window inside an app, and phones whose maker is called so.
var people = []string{"MetaIAB", "CUBOT", "Cubot"}

//go:embed crawlers.txt
var crawlerList string

// crawlers finds the patterns of the list: each holds a plain text, and the texts are found by their first three bytes.
type crawlers map[[3]byte][]crawler

type crawler struct {
	text string
	re   *regexp.Regexp // what must match besides; nil: the text is all
}

// loadCrawlers reads the list. It panics on a pattern that can't be used: a test reads the list too.
func loadCrawlers() crawlers {
	c := crawlers{}
	for line := range strings.Lines(crawlerList) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		re, err := syntax.Parse(line, syntax.Perl)
		if err != nil {
			panic("crawlers.txt: " + err.Error())
		}
		c.add(re)
	}
	return c
}

func (c crawlers) add(re *syntax.Regexp) {
	if re.Op == syntax.OpAlternate {
		for _, sub := range re.Sub {
			c.add(sub)
		}
		return
	}
	found := crawler{text: plainPart(re)}
	if re.Op != syntax.OpLiteral {
		found.re = regexp.MustCompile(re.String())
	}
	start := [3]byte([]byte(found.text)) // panics when the text is shorter
	c[start] = append(c[start], found)
}

// plainPart is the longest text that whatever matches an expression holds.
func plainPart(re *syntax.Regexp) (text string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			text = string(re.Rune)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if t := plainPart(sub); len(t) > len(text) {
				text = t
			}
		}
	}
	return text
}

// find reports whether a User-Agent is a program's, and under which name.
func (c crawlers) find(ua string) (name string, bot bool) {
	for _, mark := range people {
		if strings.Contains(ua, mark) {
			return "", false
		}
	}
	for i := 0; i+3 <= len(ua); i++ {
		for _, k := range c[[3]byte{ua[i], ua[i+1], ua[i+2]}] {
			if strings.HasPrefix(ua[i:], k.text) && (k.re == nil || k.re.MatchString(ua)) {
				return strings.Trim(k.text, " /(;+"), true
			}
		}
	}
	return "", false
}
