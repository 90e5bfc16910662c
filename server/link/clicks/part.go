package clicks

import "curt/storage"

// part is what was counted of some of the links and is not in their rows yet. Counter.mu guards index, rows and fresh, Counter.flushing the rest.
//
// Once a second it goes to the store's journal, many links in a row. It is merged into the rows of the links when its turn comes, when somebody
// wants to read one of them, and when it gets large: the more visits to a link are merged at once, the less each costs.
type part struct {
	index map[combo]int32 // into rows
	rows  []row
	fresh []int32 // rows with visits that are not in the journal

	places  []storage.Place // in the stream, oldest first
	numbers []uint64        // under which there is something in the journal
}

// row counts equal visits.
type row struct {
	combo
	n     int64
	fresh int64 // those of n that are not in the journal
	last  int64
}

const (
	partRows    = 1 << 12 // of a part, about
	partPlaces  = 1 << 14
	partNumbers = 1 << 12 // each flush takes one at least, and whoever asks for a count flushes
)

// partOf says in which part a link is. Ids may well end in the same bits.
func partOf(id uint64) int { return int(id * 0x9E3779B97F4A7C15 >> 32 % storage.JournalParts) }

// add counts visits.
func (p *part) add(k combo, n, last int64) {
	i, ok := p.index[k]
	if !ok {
		if p.index == nil {
			p.index = map[combo]int32{}
		}
		i = int32(len(p.rows))
		p.index[k] = i
		p.rows = append(p.rows, row{combo: k})
	}
	r := &p.rows[i]
	if r.fresh == 0 {
		p.fresh = append(p.fresh, i)
	}
	r.n += n
	r.fresh += n
	r.last = max(r.last, last)
}

// unwritten returns the visits that are not in the journal, in the order of p.fresh.
func (p *part) unwritten() []storage.Visits {
	list := make([]storage.Visits, len(p.fresh))
	for i, at := range p.fresh {
		r := &p.rows[at]
		list[i] = r.visits(r.fresh)
	}
	return list
}

// wrote takes note that what unwritten returned is in the journal. More may have been counted meanwhile.
func (p *part) wrote(list []storage.Visits) (visits int64) {
	still := p.fresh[:0]
	for i, at := range p.fresh {
		r := &p.rows[at]
		if i < len(list) {
			r.fresh -= list[i].Number
			visits += list[i].Number
		}
		if r.fresh > 0 {
			still = append(still, at)
		}
	}
	p.fresh = still
	return visits
}

// all returns everything that was counted, in the order of p.rows.
func (p *part) all() []storage.Visits {
	list := make([]storage.Visits, len(p.rows))
	for i := range p.rows {
		list[i] = p.rows[i].visits(p.rows[i].n)
	}
	return list
}

// merged takes note that the first len(numbers) rows went to their links' rows, with so many visits each. It returns how many of these visits
// were not in the journal before.
func (p *part) merged(numbers []int64) (visits int64) {
	rows := p.rows
	p.index, p.rows, p.fresh = nil, nil, nil
	for i := range rows {
		r := &rows[i]
		var n int64
		if i < len(numbers) {
			n = numbers[i]
		}
		visits += r.fresh - (r.n - n)
		if r.n > n {
			p.add(r.combo, r.n-n, r.last)
		}
	}
	return visits
}

// visits is a row as the store takes it, with so many visits.
func (r *row) visits(n int64) storage.Visits {
	v := storage.Visits{Link: r.id, Hour: r.hour, Number: n, Bots: r.bot, Last: r.last}
	switch {
	case r.bot:
	case r.agent == nil:
		for _, d := range []storage.Dimension{storage.Referrer, storage.Browser, storage.OS, storage.Device} {
			v.Values[d] = storage.OtherValue
		}
	default:
		v.Values[storage.Referrer] = r.referrerName()
		v.Values[storage.Country] = countryName(r.country)
		v.Values[storage.Browser], v.Values[storage.OS], v.Values[storage.Device] = r.agent.Browser, r.agent.OS, r.agent.Device
	}
	return v
}

func (k *combo) referrerName() string {
	if k.referrer == nil {
		return "direct"
	}
	return *k.referrer
}
