package tests

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// arrows are the imports within the project that are allowed: main -> server -> server/link -> codec, idalloc, storage.
func arrows() map[string][]string {
	return map[string][]string{
		"curt": {"curt/server", "curt/server/link", "curt/server/transfer", "curt/codec", "curt/codec/weburl", "curt/storage"},

		"curt/server":             {"curt/server/acl", "curt/server/histogram", "curt/server/link", "curt/server/link/clicks", "curt/server/resp", "curt/server/transfer", "curt/server/web", "curt/codec", "curt/codec/weburl", "curt/storage"},
		"curt/server/resp":        {},
		"curt/server/acl":         {},
		"curt/server/web":         {"curt/server/histogram", "curt/server/link", "curt/codec/weburl", "curt/storage"},
		"curt/server/histogram":   {},
		"curt/server/link":        {"curt/server/link/clicks", "curt/codec", "curt/codec/weburl", "curt/idalloc", "curt/idalloc/snowflake", "curt/storage"},
		"curt/server/link/clicks": {"curt/storage"},

		"curt/server/transfer": {"curt/codec", "curt/codec/weburl", "curt/server/link", "curt/storage"},

		"curt/storage":           {},
		"curt/idalloc":           {},
		"curt/idalloc/snowflake": {},
		"curt/codec":             {"curt/codec/ff1"},
		"curt/codec/ff1":         {},
		"curt/codec/weburl":      {},

		"curt/tests":       {},              // test files only
		"curt/tests/bench": {"curt/server"}, // it runs the program, and a server whose clock is ahead

		"curt/tests/clients/go": {}, // a client

		"curt/docs/examples/cached-redirects": {}, // a client
	}
}

// owners say which package alone may import a module, because it hides it from the others.
func owners() map[string]string {
	return map[string]string{
		"github.com/tidwall/redcon":        "curt/server/resp",
		"github.com/valyala/fasthttp":      "curt/server/web",
		"github.com/cockroachdb/pebble/v2": "curt/storage",
		"github.com/maypok86/otter/v2":     "curt/server/link",
		"github.com/peterbourgon/ff/v3":    "curt",
	}
}

type goPackage struct {
	ImportPath string
	Imports    []string
}

// goPackages lists the project's packages with what their code, tests aside, imports.
func goPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var list []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// complaints are what is wrong with a package's imports, each with the remedy.
func (p goPackage) complaints() []string {
	allowed, known := arrows()[p.ImportPath]
	if !known {
		return []string{p.ImportPath + " is a new package: say in arrows (tests/arrows_test.go) what it may import, and who may import it"}
	}
	var list []string
	for _, path := range p.Imports {
		if strings.HasPrefix(path+"/", "curt/") && !slices.Contains(allowed, path) {
			list = append(list, p.ImportPath+" imports "+path+", against the arrows: move the code to the side that may, or take a narrow interface of your own (README, Reading the source)")
		}
		for module, owner := range owners() {
			if strings.HasPrefix(path+"/", module+"/") && p.ImportPath != owner {
				list = append(list, p.ImportPath+" imports "+path+", which is "+owner+"'s alone: ask "+owner+" for what you need")
			}
		}
	}
	return list
}

func TestArrows(t *testing.T) {
	gone := arrows()
	for _, p := range goPackages(t) {
		delete(gone, p.ImportPath)
		for _, complaint := range p.complaints() {
			t.Error(complaint)
		}
	}
	for path := range gone {
		t.Errorf("%s is no package: take it out of arrows (tests/arrows_test.go)", path)
	}
}

// The rules themselves: an arrow never leads back, and an offender is named.
func TestArrowsRefuse(t *testing.T) {
	for from, list := range arrows() {
		for _, to := range list {
			if back, ok := arrows()[to]; !ok || slices.Contains(back, from) {
				t.Errorf("the arrow %s -> %s leads nowhere or back", from, to)
			}
		}
	}
	f := func(from, to, want string) {
		t.Helper()
		list := goPackage{from, []string{"fmt", to}}.complaints()
		if len(list) != 1 || !strings.Contains(list[0], want) {
			t.Errorf("%s -> %s: %q", from, to, list)
		}
	}
	f("curt/codec", "curt/storage", "curt/codec imports curt/storage, against the arrows")
	f("curt/storage", "curt", "against the arrows")
	f("curt/server/link", "curt/server", "against the arrows")
	f("curt/server", "github.com/tidwall/redcon", "curt/server/resp's alone")
	f("curt/server/link", "github.com/cockroachdb/pebble/v2/vfs", "curt/storage's alone")
	f("curt/extra", "fmt", "curt/extra is a new package")
	if list := (goPackage{"curt/server/link", []string{"curt/storage", "github.com/tidwall/redcontrol"}}).complaints(); len(list) > 0 {
		t.Errorf("a good package: %q", list)
	}
}
