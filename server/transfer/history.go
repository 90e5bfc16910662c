package transfer

import (
	"fmt"
	"slices"
	"time"

	"curt/storage"
)

// dimensionNames are the names of storage.Dimension, by value.
var dimensionNames = [...]string{"referrer", "country", "browser", "os", "device"}

const monthLayout = "2006-01"

// setHistory describes what was counted.
func (r *Record) setHistory(h *storage.History) {
	r.Visits, r.Bots, r.Last, r.Granted = uint64(h.Total.Visits), uint64(h.Total.Bots), h.Total.Last, h.Granted
	r.Hours, r.Days = buckets(h.Hours), buckets(h.Days)
	for _, m := range h.Months {
		month := Month{}
		for d, name := range dimensionNames {
			for _, v := range m.Top.Largest(storage.Dimension(d), storage.MaxTop) {
				month[name] = append(month[name], Top(v))
			}
		}
		if r.Months == nil {
			r.Months = map[string]Month{}
		}
		r.Months[time.Date(1970, time.January+time.Month(m.Month), 1, 0, 0, 0, 0, time.UTC).Format(monthLayout)] = month
	}
}

func buckets(list []storage.Bucket) (out [][4]int64) {
	for _, b := range list {
		out = append(out, [4]int64{b.Start, b.Visits, b.Bots, b.Last})
	}
	return out
}

// history is what setHistory describes.
func (r *Record) history() (h storage.History, err error) {
	h.Total, h.Granted = storage.Count{Visits: int64(r.Visits), Bots: int64(r.Bots), Last: r.Last}, r.Granted
	if h.Hours, err = readBuckets("hours", r.Hours); err != nil {
		return h, err
	}
	if h.Days, err = readBuckets("days", r.Days); err != nil {
		return h, err
	}
	for name, month := range r.Months {
		at, err := time.Parse(monthLayout, name)
		if err != nil || at.Year() < 1970 {
			return h, fmt.Errorf("%.20q is no month", name)
		}
		m := storage.MonthTop{Month: storage.MonthOf(at.UnixMilli()), Top: &storage.Top{}}
		for dimension, values := range month {
			d := slices.Index(dimensionNames[:], dimension)
			if d < 0 || len(values) > storage.MaxTop {
				return h, fmt.Errorf("month %s: %.20q is not known, or has too many values", name, dimension)
			}
			for _, v := range values {
				m.Top.Count(storage.Dimension(d), v.Value, max(v.Visits, 0))
			}
		}
		h.Months = append(h.Months, m)
	}
	return h, nil
}

func readBuckets(what string, list [][4]int64) (out []storage.Bucket, err error) {
	for _, b := range list {
		if b[0] < 0 || b[1] < 0 || b[2] < 0 || b[3] < 0 {
			return nil, fmt.Errorf("%s hold a negative number", what)
		}
		out = append(out, storage.Bucket{Start: b[0], Count: storage.Count{Visits: b[1], Bots: b[2], Last: b[3]}})
	}
	return out, nil
}
