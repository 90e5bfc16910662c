package tests

import (
	"fmt"
	"testing"
)

// TestFsyncsAreShared: a pipeline of a thousand writes costs a few syncs of the disk, and so do many clients at a time.
func TestFsyncsAreShared(t *testing.T) {
	n := start(t)
	n.Must("SHORTEN", "https://example.com/") // the first block of ids
	commands := make([][]string, 1000)
	for i := range commands {
		commands[i] = []string{"SHORTEN", fmt.Sprintf("https://example.com/%d", i)}
	}
	reported, seen := n.Info("curt_fsyncs"), n.disk.logSyncs.Load()
	for _, r := range n.Dial().Pipeline(commands...) {
		if r.isError() {
			t.Fatal(r)
		}
	}
	reported, seen = n.Info("curt_fsyncs")-reported, n.disk.logSyncs.Load()-seen
	t.Logf("1000 pipelined SHORTENs: %d fsyncs reported, %d seen", reported, seen)
	if reported > 10 || seen > 10 {
		t.Errorf("1000 pipelined SHORTENs cost %d fsyncs by INFO and %d by the disk, want 10 at most", reported, seen)
	}
	if reported == 0 || seen == 0 {
		t.Errorf("1000 pipelined SHORTENs cost %d fsyncs by INFO and %d by the disk: nothing is durable", reported, seen)
	}
	many := []string{"MSHORTEN", "1000"}
	for i := range 1000 {
		many = append(many, fmt.Sprintf("https://example.org/%d", i))
	}
	seen = n.disk.logSyncs.Load()
	n.Must(many...)
	if seen = n.disk.logSyncs.Load() - seen; seen > 4 { // one for the reply, the rest for blocks of ids
		t.Errorf("MSHORTEN of 1000 costs %d fsyncs", seen)
	}
}

// TestReadsNeedNoSync: what changes nothing and sees nothing new is answered without one.
func TestReadsNeedNoSync(t *testing.T) {
	n := start(t)
	n.Must("SHORTEN", "https://example.com/", "AS", "name")
	before := n.disk.logSyncs.Load()
	for range 100 {
		n.Must("RESOLVE", "name")
		n.Must("SHORTEN", "https://example.com/", "AS", "name")
		n.Must("UNBAN", "name")
		n.Must("LINKINFO", "name")
	}
	if after := n.disk.logSyncs.Load(); after != before {
		t.Errorf("%d fsyncs for nothing", after-before)
	}
}

// scanned are words that scanners try on every server of the world.
var scanned = []string{
	"admin", "wp-login.php", "wp-admin", "xmlrpc.php", "phpmyadmin", "login", "index.php", "config.php", ".env", ".git", "backup.sql", "test", "api", "v1", "user",
	"administrator", "shell", "cgi-bin", "server-status", "actuator", "metrics", "console", "solr", "jenkins", "owa", "ecp", "autodiscover", "setup.php", "install.php",
	"info.php", "phpinfo.php", "robots", "sitemap", "favicon", "main", "static", "assets", "js", "css", "images", "upload", "uploads", "download", "tmp", "old", "new", "dev",
	"staging", "prod", "beta", "demo", "docs", "help", "about", "contact", "search", "blog", "news", "shop", "cart", "checkout", "account", "profile", "settings", "logout",
}

// TestGuessesCostNoRead: words of a dictionary and random codes are told apart from links without the store, by every command, over
// both protocols.
func TestGuessesCostNoRead(t *testing.T) {
	n := start(t)
	for i := range 500 {
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i))
		n.Must("SHORTEN", fmt.Sprintf("https://example.com/%d", i), "AS", fmt.Sprintf("name-%d", i))
	}
	n.Restart() // nothing is in the cache
	seed := newSeed(t)
	rng := newRand(seed)
	const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	random := func() string {
		var b [7]byte
		for i := range b {
			b[i] = digits[rng.IntN(len(digits))]
		}
		return string(b[:])
	}
	guesses := make([]string, 0, 200_000)
	for i := range 100_000 {
		word := scanned[i%len(scanned)]
		if i >= len(scanned) {
			word = fmt.Sprintf("%s-%d", word, i/len(scanned))
		}
		guesses = append(guesses, word, random())
	}
	c := n.Dial()
	reads, misses := n.Info("curt_store_reads"), n.Info("curt_cache_misses")
	commands := []string{"RESOLVE", "GET", "EXISTS", "TTL", "TYPE", "LINKINFO", "MRESOLVE", "STRLEN"}
	for at := 0; at < len(guesses); at += 1000 {
		batch := make([][]string, 1000)
		for i := range batch {
			batch[i] = []string{commands[(at/1000+i)%len(commands)], guesses[at+i]}
		}
		for i, r := range c.Pipeline(batch...) {
			if r.isError() || r.kind == '$' {
				t.Fatalf("%q answers %s", batch[i], r)
			}
		}
	}
	b := browser(true)
	defer b.CloseIdleConnections()
	for i := range scale(500, 2000, 20_000) {
		if a, err := fetch(b, "GET", n.httpAddr, "/"+guesses[i]); err != nil || a.status != 404 {
			t.Fatalf("GET /%s answers %d, %v", guesses[i], a.status, err)
		}
	}
	if after := n.Info("curt_store_reads"); after != reads {
		t.Errorf("200,000 guesses cost %d reads of the store", after-reads)
	}
	if after := n.Info("curt_cache_misses"); after != misses {
		t.Errorf("200,000 guesses went to the cache %d times", after-misses)
	}
	n.Must("RESOLVE", "name-1")
	if after := n.Info("curt_store_reads"); after == reads {
		t.Error("a link is resolved and INFO counts no read: this test would see nothing")
	}
}
