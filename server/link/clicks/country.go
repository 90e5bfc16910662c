package clicks

import (
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"

	"github.com/oschwald/maxminddb-golang/v2"
)

// countries finds the country of an address in a MaxMind-format file (https://maxmind.github.io/MaxMind-DB), which it holds in memory. A nil
// countries knows none. It is safe for concurrent use.
type countries struct {
	file string
	db   atomic.Pointer[maxminddb.Reader]
}

// openCountries reads a file; an empty name is no file.
func openCountries(file string) (*countries, error) {
	if file == "" {
		return nil, nil
	}
	c := &countries{file: file}
	return c, c.load()
}

// load reads the file and replaces what was read before.
func (c *countries) load() error {
	if c == nil {
		return nil
	}
	data, err := os.ReadFile(c.file)
	if err != nil {
		return fmt.Errorf("geoip: %w", err)
	}
	db, err := maxminddb.OpenBytes(data)
	if err != nil {
		return fmt.Errorf("geoip: read %s: %w", c.file, err)
	}
	c.db.Store(db)
	return nil
}

// find returns the ISO 3166 code of an address's country, zero when it is not known.
func (c *countries) find(client netip.Addr) (code [2]byte) {
	if c == nil || !client.IsValid() {
		return code
	}
	var iso string
	if err := c.db.Load().Lookup(client).DecodePath(&iso, "country", "iso_code"); err != nil || len(iso) != 2 {
		return code
	}
	return [2]byte{iso[0], iso[1]}
}

// countryName is the code as text, empty when it is not known.
func countryName(code [2]byte) string {
	if code == ([2]byte{}) {
		return ""
	}
	return string(code[:])
}
