package weburl

import "testing"

func BenchmarkCheck(b *testing.B) {
	p := &Policy{Self: []string{"sho.rt"}}
	for name, url := range benchURLs() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.Check(url); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLooseKey(b *testing.B) {
	for name, url := range benchURLs() {
		target, err := (&Policy{}).Check(url)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				LooseKey(target)
			}
		})
	}
}

func benchURLs() map[string]string {
	return map[string]string{
		"root":  "https://example.com/",
		"blog":  "https://blog.example.com/2026/11/30/why-short-links-should-not-rot-and-what-to-do",
		"utm":   "https://shop.example.com:443/p/1234?utm_source=mail&utm_medium=x&utm_campaign=winter&id=7#reviews",
		"idn":   "https://münchen.example/straße/größe?q=käse",
		"maps":  "https://www.google.com/maps/place/Brandenburg+Gate/@52.5162746,13.3755153,17z/data=!3m1!4b1!4m6!3m5!1s0x47a851c655f20989:0x26bbfb4e84674c63!8m2!3d52.5162746!4d13.3777041!16zL20vMDE2NjZ0?entry=ttu&g_ep=EgoyMDI2MTEyNS4wIKXMDSoASAFQAw%3D%3D",
		"ip":    "http://8.8.8.8:8080/status",
		"bytes": "https://example.com/q?s=%E2%82%AC%20%26%20more&list=a,b,c;d",
	}
}
