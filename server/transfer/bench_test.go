package transfer

import (
	"fmt"
	"io"
	"testing"

	"curt/server/link"
	"curt/storage"
)

// BenchmarkImport is the time that a row of CSV takes, into a store on the disk.
func BenchmarkImport(b *testing.B) {
	for name, dedup := range map[string]link.Dedup{"off": link.DedupOff, "strict": link.DedupStrict} {
		b.Run(name, func(b *testing.B) {
			store, err := storage.Open(storage.Options{Dir: b.TempDir(), CacheBytes: 64 << 20})
			if err != nil {
				b.Fatal(err)
			}
			defer store.Close()
			r, w := io.Pipe()
			go func() {
				fmt.Fprintln(w, "url")
				for i := range b.N {
					fmt.Fprintf(w, "https://www.example.com/articles/2026/11/%016x%05x?from=imports\n", uint64(i)*0x9e3779b97f4a7c15, i&0xfffff)
				}
				w.Close()
			}()
			b.ReportAllocs()
			b.ResetTimer()
			sum, err := Import(b.Context(), store, link.Options{Dedup: dedup}, r, ImportOptions{Format: CSV})
			if err != nil || sum.Imported != int64(b.N) {
				b.Fatal(sum, err)
			}
		})
	}
}
