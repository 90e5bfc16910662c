package server

// deadlineGrain is how fine deadlines are kept, in ms.
const deadlineGrain = 100

// deadlines are keys by the time they are due, in buckets of deadlineGrain: adding, removing and taking cost the same however
// many there are. The zero value is empty; its owner guards it.
type deadlines struct {
	buckets map[int64]map[string]struct{} // by time / deadlineGrain, rounded up
	next    int64                         // no bucket before it is in use, once take was called
}

func bucketOf(ms int64) int64 { return (ms-1)/deadlineGrain + 1 }

func (d *deadlines) add(key string, ms int64) {
	b := bucketOf(ms)
	if d.buckets == nil {
		d.buckets = map[int64]map[string]struct{}{}
	}
	if d.buckets[b] == nil {
		d.buckets[b] = map[string]struct{}{}
	}
	d.buckets[b][key] = struct{}{}
	d.next = min(d.next, b)
}

// remove takes a key out that was added with this time.
func (d *deadlines) remove(key string, ms int64) {
	b := bucketOf(ms)
	delete(d.buckets[b], key)
	if len(d.buckets[b]) == 0 {
		delete(d.buckets, b)
	}
}

// take removes and returns the keys that are due, up to a grain late.
func (d *deadlines) take(now int64) (keys []string) {
	end := now/deadlineGrain + 1
	pick := func(b int64) {
		for key := range d.buckets[b] {
			keys = append(keys, key)
		}
		delete(d.buckets, b)
	}
	if end-d.next > int64(len(d.buckets)) {
		for b := range d.buckets {
			if b < end {
				pick(b)
			}
		}
	} else {
		for b := d.next; b < end; b++ {
			pick(b)
		}
	}
	d.next = max(d.next, end)
	return keys
}
