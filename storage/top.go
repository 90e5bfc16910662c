package storage

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// Dimension is what visits are told apart by. Values are persisted: never renumber.
type Dimension uint8

const (
	Referrer Dimension = iota
	Country
	Browser
	OS
	Device

	dimensions
)

const (
	// MaxTop is how many values a link, month and dimension have at most; the rest adds up in OtherValue.
	MaxTop     = 64
	OtherValue = "other"

	maxTopText = 255 // longer values are cut when they are added
)

// Top counts the values of each dimension. The zero value is empty.
type Top struct {
	lists [dimensions][]TopValue // sorted by Value
}

// TopValue is one value and the visits that had it.
type TopValue struct {
	Value  string
	Visits int64
}

// Count adds visits to one value; the empty one is not counted.
func (t *Top) Count(d Dimension, value string, visits int64) {
	if value == "" || visits == 0 {
		return
	}
	value = value[:min(len(value), maxTopText)]
	list := t.lists[d]
	i, found := slices.BinarySearchFunc(list, value, func(v TopValue, s string) int { return strings.Compare(v.Value, s) })
	if found {
		list[i].Visits += visits
		return
	}
	t.lists[d] = slices.Insert(list, i, TopValue{value, visits})
}

// Empty says whether nothing was counted.
func (t *Top) Empty() bool {
	for _, list := range t.lists {
		if len(list) > 0 {
			return false
		}
	}
	return true
}

// Add adds another count, which must not be used later. What goes beyond MaxTop values moves to OtherValue, the smallest first: the sum stays.
func (t *Top) Add(u *Top) {
	for d := range t.lists {
		if !addKnown(t.lists[d], u.lists[d]) {
			t.lists[d] = capTop(mergeTop(t.lists[d], u.lists[d]))
		}
	}
}

// tooLarge reports that Add would make it smaller.
func (t *Top) tooLarge() bool {
	for _, list := range t.lists {
		if len(list) > MaxTop {
			return true
		}
	}
	return false
}

// addKnown adds b to a, both sorted, if a has all values of b; else it changes nothing.
func addKnown(a, b []TopValue) bool {
	at := func(from int, value string) int {
		for from < len(a) && a[from].Value < value {
			from++
		}
		return from
	}
	i := 0
	for _, v := range b {
		if i = at(i, v.Value); i == len(a) || a[i].Value != v.Value {
			return false
		}
	}
	i = 0
	for _, v := range b {
		i = at(i, v.Value)
		a[i].Visits += v.Visits
	}
	return true
}

// mergeTop merges two sorted lists into a new one, unless one is empty.
func mergeTop(a, b []TopValue) []TopValue {
	switch {
	case len(b) == 0:
		return a
	case len(a) == 0:
		return b
	}
	sum := make([]TopValue, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch order := strings.Compare(a[0].Value, b[0].Value); {
		case order < 0:
			sum, a = append(sum, a[0]), a[1:]
		case order > 0:
			sum, b = append(sum, b[0]), b[1:]
		default:
			sum = append(sum, TopValue{a[0].Value, a[0].Visits + b[0].Visits})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(sum, a...), b...)
}

// capTop folds the smallest values into OtherValue until MaxTop are left, OtherValue among them.
func capTop(list []TopValue) []TopValue {
	if len(list) <= MaxTop {
		return list
	}
	bySize := slices.Clone(list)
	slices.SortFunc(bySize, compareTop)
	var rest Top
	for _, v := range bySize[MaxTop-1:] {
		rest.Count(Referrer, OtherValue, v.Visits)
	}
	kept := bySize[:MaxTop-1]
	slices.SortFunc(kept, func(a, b TopValue) int { return strings.Compare(a.Value, b.Value) })
	return mergeTop(kept, rest.lists[Referrer])
}

// compareTop puts the largest first and OtherValue last.
func compareTop(a, b TopValue) int {
	if a.Value == OtherValue || b.Value == OtherValue {
		return cmp.Compare(b2i(a.Value == OtherValue), b2i(b.Value == OtherValue))
	}
	return cmp.Or(cmp.Compare(b.Visits, a.Visits), strings.Compare(a.Value, b.Value))
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Largest returns at most n values, the most visited first and OtherValue last.
func (t *Top) Largest(d Dimension, n int) []TopValue {
	list := slices.Clone(t.lists[d])
	slices.SortFunc(list, compareTop)
	return list[:min(n, len(list))]
}

// append appends: per dimension the number of values, then each with its visits.
func (t *Top) append(b []byte) []byte {
	for _, list := range t.lists {
		b = appendUint(b, uint64(len(list)))
		for _, v := range list {
			b = appendUint(appendText(b, v.Value), uint64(v.Visits))
		}
	}
	return b
}

// decodeTop reads what append wrote. It copies b.
func decodeTop(b []byte) (*Top, error) {
	c := cursor{rest: string(b)}
	t := &Top{}
	all := make([]TopValue, 0, 8) // of every dimension: most have one
	for d := range t.lists {
		first := len(all)
		for range c.upTo(uint64(len(c.rest))) {
			v := TopValue{c.text(), c.time()}
			if c.err != nil {
				break
			}
			if len(all) > first && all[len(all)-1].Value >= v.Value {
				return nil, fmt.Errorf("top values out of order: %w", errKey)
			}
			all = append(all, v)
		}
		t.lists[d] = all[first:len(all):len(all)]
	}
	if err := c.end(); err != nil {
		return nil, fmt.Errorf("top values: %w", err)
	}
	return t, nil
}

// isTopKey tells the rows of top values from counts.
func isTopKey(key []byte) bool { return len(key) == 14 && key[0] == kindClicks && key[9] == clickMonth }

// topping adds up top values inside Pebble.
type topping struct {
	sum   Top
	alone []byte // the only operand so far, when it may stay as it is
	size  int    // of the largest
}

func newTopping(value []byte) (pebble.ValueMerger, error) {
	t, err := decodeTop(value)
	if err != nil {
		return nil, err
	}
	m := &topping{size: len(value)}
	if !t.tooLarge() {
		m.alone = slices.Clone(value)
	}
	m.sum.Add(t)
	return m, nil
}

func (m *topping) MergeNewer(value []byte) error {
	t, err := decodeTop(value)
	if err == nil {
		m.sum.Add(t)
		m.alone, m.size = nil, max(m.size, len(value))
	}
	return err
}

func (m *topping) MergeOlder(value []byte) error { return m.MergeNewer(value) }

func (m *topping) Finish(bool) ([]byte, io.Closer, error) {
	if m.alone != nil {
		return m.alone, nil, nil
	}
	return m.sum.append(make([]byte, 0, m.size+16)), nil, nil
}
