package linear

import (
	"slices"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// gaps are in order and apart; the last are empty.
type gaps = [history.MaxGaps]history.Gap

// place is where a record can be opened: above floor, in the free range that begins above from and
// ends at until, or has no end if that is 0.
type place struct{ from, floor, until generator.Tick }

// places are all those for somebody whose time is now. Which of them is chosen depends on the
// cluster's window, which costs ticks at most.
func (r record) places(now generator.Tick) []place {
	var all []place
	add := func(from, until generator.Tick) {
		all = append(all, place{from, from, until})
		if now-1 > from && (until == 0 || now-1 < until) {
			all = append(all, place{from, now - 1, until})
		}
	}
	for _, g := range r.free {
		if g.To > 0 {
			add(g.From, g.To)
		}
	}
	add(r.ceiling, 0)
	return all
}

// own is the gap that the holder is in; -1: it is in none, or was granted all of it.
func (r record) own(list []history.Gap) int {
	return slices.IndexFunc(list, func(g history.Gap) bool { return g.To == r.until && g.To > 0 })
}

// granted is how far the holder's range was granted.
func (r record) granted() generator.Tick {
	if r.until == 0 {
		return r.ceiling
	}
	if i := r.own(r.free[:]); i >= 0 {
		return r.free[i].From
	}
	return r.until
}

// openedAt is the record opened there: what lies between the range's beginning and the floor
// is a gap from then on.
func (r record) openedAt(p place) record {
	list := r.list()
	r.until = p.until
	switch {
	case p.floor == p.from:
	case p.until == 0:
		r.ceiling = p.floor
		list = append(list, history.Gap{From: p.from, To: p.floor})
	default:
		i := r.own(list)
		list[i].From = p.floor
		list = slices.Insert(list, i, history.Gap{From: p.from, To: p.floor})
	}
	return r.with(list)
}

// extended is the record with the holder's range granted up to the tick.
func (r record) extended(to generator.Tick) record {
	if r.until == 0 {
		r.ceiling = max(r.ceiling, to)
		return r
	}
	list := r.list()
	if i := r.own(list); i >= 0 {
		list[i].From = max(list[i].From, min(to, r.until))
	}
	return r.with(list)
}

// lowered is the record with the holder's range granted up to the tick and no further.
func (r record) lowered(to generator.Tick) record {
	list := r.list()
	if r.until == 0 {
		r.ceiling = to
		if n := len(list); n > 0 && to <= list[n-1].To {
			r.ceiling, list = list[n-1].From, list[:n-1]
		}
		return r.with(list)
	}
	i := r.own(list)
	if i < 0 {
		if i = slices.IndexFunc(list, func(g history.Gap) bool { return g.To > r.until }); i < 0 {
			i = len(list)
		}
		list = slices.Insert(list, i, history.Gap{From: r.until, To: r.until})
	}
	list[i].From = min(to, r.until)
	if i > 0 && to <= list[i-1].To {
		list[i].From = list[i-1].From
		list = slices.Delete(list, i-1, i)
	}
	return r.with(list)
}

// raised is the record as the next opening finds it: nothing is free up to what all were raised to.
func (r record) raised() record {
	r.ceiling = max(r.ceiling, r.floor)
	list := r.list()
	for i := range list {
		list[i].From = max(list[i].From, min(r.floor, list[i].To))
	}
	return r.with(list)
}

// list returns the gaps that there are.
func (r record) list() []history.Gap {
	return slices.DeleteFunc(slices.Clone(r.free[:]), func(g history.Gap) bool { return g.To == 0 })
}

// with keeps the holder's gap and the widest others. Those that touch are one, but for the
// holder's.
func (r record) with(list []history.Gap) record {
	var joined []history.Gap
	for _, g := range list {
		n := len(joined)
		switch {
		case g.From >= g.To:
		case n > 0 && joined[n-1].To == g.From && joined[n-1].To != r.until && g.To != r.until:
			joined[n-1].To = g.To
		default:
			joined = append(joined, g)
		}
	}
	for len(joined) > history.MaxGaps {
		least := -1
		for i, g := range joined {
			if g.To != r.until && (least < 0 || g.To-g.From < joined[least].To-joined[least].From) {
				least = i
			}
		}
		joined = slices.Delete(joined, least, least+1)
	}
	r.free = gaps{}
	copy(r.free[:], joined)
	return r
}
