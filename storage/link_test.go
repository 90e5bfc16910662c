package storage

import (
	"bytes"
	"encoding/hex"
	"flag"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files: only for a new format version")

func plainLink() Link {
	return Link{ID: 1, Flags: Generated | Plain, Created: 1_800_000_000_000, Target: "https://go.dev/doc/"}
}

func fullLink() Link {
	return Link{
		ID: 7, Flags: Generated | Banned | Expired | Forward, Source: SourceAlias,
		Target: "https://example.com/a?b=c#d", Name: "Spring-Sale", Tenant: "acme", Creator: "ann", Title: "T\xc3\xbcr",
		Tags: []string{"x", "y z"}, Created: 1, Expires: 2, Ended: 3, BannedAt: 4,
		MaxVisits: 5, BanReason: "phishing", Fingerprint: []byte("0123456789abcdef"), Revision: 300,
	}
}

// goldenLinks are in testdata/records.golden: a record once written must stay readable.
func goldenLinks() map[string]Link {
	largest := fullLink()
	largest.Flags, largest.Source, largest.MaxVisits, largest.Revision = math.MaxUint32, 255, math.MaxUint64, math.MaxUint64
	largest.Created, largest.Expires = math.MaxInt64, math.MaxInt64
	return map[string]Link{
		"plain":    plainLink(),
		"alias":    {ID: 2, Source: SourceAlias, Created: 1_800_000_000_000, Name: "a", Target: "https://go.dev/"},
		"reserved": {ID: 3, Flags: Generated | Reserved, Created: 1},
		"full":     fullLink(),
		"largest":  largest,
	}
}

// golden compares lines of "name hex" with a file.
func golden(t *testing.T, file string, got map[string][]byte) {
	t.Helper()
	if *rewrite {
		var out strings.Builder
		for _, name := range sortedKeys(got) {
			out.WriteString(name + " " + hex.EncodeToString(got[name]) + "\n")
		}
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	if len(lines) != 2*len(got) {
		t.Fatalf("%s has %d values, want %d", file, len(lines)/2, len(got))
	}
	for i := 0; i < len(lines); i += 2 {
		if name, want := lines[i], lines[i+1]; hex.EncodeToString(got[name]) != want {
			t.Errorf("%s: %s is %x, was %s", file, name, got[name], want)
		}
	}
}

func TestRecordGolden(t *testing.T) {
	records := map[string][]byte{}
	for name, l := range goldenLinks() {
		records[name] = appendLink(nil, &l)
		back, err := decodeLink(l.ID, records[name])
		if err != nil || !reflect.DeepEqual(back, l) {
			t.Errorf("%s: %+v came back as %+v, %v", name, l, back, err)
		}
	}
	golden(t, "testdata/records.golden", records)
}

func TestRecordIsCompact(t *testing.T) {
	l := plainLink()
	if over := len(appendLink(nil, &l)) - len(l.Target); over > 9 {
		t.Errorf("a plain link costs %d bytes over its target", over)
	}
}

func TestRecordIsStrict(t *testing.T) {
	l := fullLink()
	good := appendLink(nil, &l)
	f := func(what string, b []byte, want string) {
		t.Helper()
		if _, err := decodeLink(7, b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", what, err, want)
		}
	}
	for n := range good {
		f("cut", good[:n], "")
	}
	f("longer", append(bytes.Clone(good), 0), "bytes after its end")
	f("empty", nil, "ends too early")
	f("next version", append([]byte{recordVersion + 1}, good[1:]...), "record version 2 is not known")
	f("unknown head bit", []byte{1, 0x80, 0x80, 4, 0, 0}, "wrong head")
	f("bit of an empty name", []byte{1, headName, 0, 0, 0}, "wrong head")
	f("number in a longer form", []byte{1, 0x80, 0, 0, 0}, "malformed number")
	f("number over 64 bits", append([]byte{1, 0}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02\x00"...), "malformed number")
	f("time over 63 bits", append([]byte{1, 0}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"...), "out of range")
	f("huge text", append([]byte{1, 0, 0}, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"...), "ends too early")
}

func TestPutLinkRefuses(t *testing.T) {
	long := strings.Repeat("x", maxIndexed+1)
	f := func(want string, l Link) {
		t.Helper()
		if err := l.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", l, err, want)
		}
	}
	f("id 0", Link{})
	f("before 1970", Link{ID: 1, Created: -1})
	f("before 1970", Link{ID: 1, Expires: -1})
	f("tenant", Link{ID: 1, Tenant: long})
	f("tag", Link{ID: 1, Tags: []string{long}})
	f("tag", Link{ID: 1, Tags: []string{""}})
	f("fingerprint", Link{ID: 1, Fingerprint: []byte("short")})
}

// FuzzRecord: no input panics, and whatever decodes is the one encoding of what it says.
func FuzzRecord(f *testing.F) {
	for _, l := range goldenLinks() {
		f.Add(appendLink(nil, &l))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		l, err := decodeLink(9, b)
		if err != nil {
			return
		}
		if again := appendLink(nil, &l); !bytes.Equal(again, b) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", b, l, again)
		}
	})
}

// FuzzLink: every link that may be stored comes back as it was.
func FuzzLink(f *testing.F) {
	f.Add(uint32(3), uint8(0), "https://go.dev/", "name", "tenant", "title", "tag", int64(1), uint64(2), false)
	f.Fuzz(func(t *testing.T, flags uint32, source uint8, target, name, tenant, title, tag string, at int64, n uint64, print bool) {
		l := Link{ID: 1, Flags: Flags(flags), Source: Source(source), Target: target, Name: name, Tenant: tenant,
			Creator: name, Title: title, Created: at, Expires: at, BannedAt: at, MaxVisits: n, BanReason: title, Revision: n}
		if tag != "" {
			l.Tags = []string{tag, name + "x"}
		}
		if print {
			l.Fingerprint = make([]byte, 16)
		}
		if l.check() != nil {
			return
		}
		back, err := decodeLink(1, appendLink(nil, &l))
		if err != nil || !reflect.DeepEqual(back, l) {
			t.Fatalf("%+v came back as %+v, %v", l, back, err)
		}
	})
}
