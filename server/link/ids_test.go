package link

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestNextIDs(t *testing.T) {
	b := newBench(t, Options{})
	seen := map[uint64]bool{}
	take := func(name string, n int) {
		t.Helper()
		ids, err := b.NextIDs(context.Background(), name, n)
		if err != nil || len(ids) != n {
			t.Fatal(len(ids), err)
		}
		for _, id := range ids {
			if name == "orders" && seen[id] {
				t.Fatalf("id %d came twice", id)
			}
			seen[id] = true
		}
	}
	links := b.ReservedIDs()
	take("orders", 1000)
	take("orders", 1)
	b.restart(nil)
	take("orders", 1000)
	take("default", 5)
	if b.ReservedIDs() != links {
		t.Error("ids came from the links' counter")
	}
	for _, name := range []string{"", "A", "a b", "a/b", string(make([]byte, 65))} {
		if _, err := b.NextIDs(context.Background(), name, 1); err == nil {
			t.Errorf("segment %q was accepted", name)
		}
	}
}

func TestSegmentsAreBounded(t *testing.T) {
	b := newBench(t, Options{})
	for i := range MaxSegments {
		if _, err := b.NextIDs(context.Background(), fmt.Sprintf("s%d", i), 1); err != nil {
			t.Fatal(i, err)
		}
	}
	var arg *ArgError
	if _, err := b.NextIDs(context.Background(), "more", 1); !errors.As(err, &arg) {
		t.Error(err)
	}
	b.restart(nil)
	if _, err := b.NextIDs(context.Background(), "more", 1); !errors.As(err, &arg) {
		t.Error(err)
	}
	if _, err := b.NextIDs(context.Background(), "s7", 1); err != nil {
		t.Error(err)
	}
}

func TestSnowflakeCodes(t *testing.T) {
	b := newBench(t, Options{})
	code := b.shorten(Request{URL: url(1), HasCode: true, Code: CodeSnowflake})
	if len(code) != snowflakeLength {
		t.Errorf("code %q", code)
	}
	ids, err := b.SnowflakeIDs(context.Background(), 3)
	if err != nil || ids[0] >= ids[1] || ids[1] >= ids[2] {
		t.Fatal(ids, err)
	}
	if at, worker, _ := b.ParseID(ids[0]); !at.Equal(b.opts.Now()) || worker != 0 {
		t.Error(at, worker)
	}
	b.advance(-time.Hour)
	var arg *ArgError
	if _, err := b.SnowflakeIDs(context.Background(), 1); !errors.As(err, &arg) {
		t.Error(err)
	}
}
