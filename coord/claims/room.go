package claims

import (
	"errors"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// gap is a range of ticks, above From and up to To, that a record has granted to nobody although
// its ceiling is at or above To.
type gap struct {
	From generator.Tick `json:"from"`
	To   generator.Tick `json:"to"`
}

// maxGaps is how many gaps a record keeps: the widest. One that is dropped counts as granted. That
// costs its ticks, and nothing else.
const maxGaps = 4

// What a record has granted is a set of ticks that only grows: all up to the ceiling but the gaps.
// Only a Release makes it smaller, by what its own claim was granted and has not issued. The ticks
// that are free are so many intervals: each gap, and what is above the ceiling, which has no end.
// An opening grants nothing. It chooses one interval, and its claim is granted the ticks of that
// one alone, from the beginning on.

// vacancy is where a record can be opened: above floor, in the free interval that begins above
// from.
type vacancy struct {
	from  generator.Tick
	until generator.Tick // the interval's last tick; 0: it has no end
	floor generator.Tick // above from if the opening is a leap, which leaves what is between free
}

// vacancy chooses where a claimant opens the record whose time is at: in the first free interval
// that has as many ticks left as the cluster's window. Above the ceiling there are always as many.
// Where the interval begins more than a window before that time, the opening is a leap: so a time
// that is wrong, and years ahead, costs no more than what is granted there.
func (r record) vacancy(at, window generator.Tick) vacancy {
	for _, g := range r.Gaps {
		if g.To-max(at, g.From) >= max(1, window) {
			return leap(vacancy{g.From, g.To, g.From}, at, window)
		}
	}
	return leap(vacancy{r.Ceiling, 0, r.Ceiling}, at, window)
}

// leap moves the floor up to the time if the interval begins more than a window before.
func leap(p vacancy, at, window generator.Tick) vacancy {
	if far(p.from, at, window) {
		p.floor = at - 1
	}
	return p
}

// far reports whether what is granted ends more than a window before the time.
func far(granted, at, window generator.Tick) bool { return at-1-granted > max(1, window) }

// granted is how far the interval of the record's opening is granted.
func (r record) granted() generator.Tick {
	if r.Until == 0 {
		return r.Ceiling
	}
	if i := r.own(); i >= 0 {
		return r.Gaps[i].From
	}
	return r.Until
}

// own is the index of the gap that the record's opening is in; -1: it is in none, or all of the gap
// is granted.
func (r record) own() int {
	return slices.IndexFunc(r.Gaps, func(g gap) bool { return g.To == r.Until })
}

// openedAt is the record with an opening there.
func (r record) openedAt(p vacancy) record {
	r.Until = p.until
	if p.floor == p.from {
		return r.withGaps(r.Gaps)
	}
	left := gap{p.from, p.floor}
	if p.until == 0 {
		r.Ceiling = p.floor
		return r.withGaps(append(slices.Clone(r.Gaps), left))
	}
	gaps := slices.Clone(r.Gaps)
	i := r.own()
	gaps[i].From = p.floor
	return r.withGaps(slices.Insert(gaps, i, left))
}

// extended is the record with all up to the tick granted to its opening, as far as the opening's
// interval goes.
func (r record) extended(to generator.Tick) record {
	if r.Until == 0 {
		r.Ceiling = max(r.Ceiling, to)
		return r
	}
	i := r.own()
	if i < 0 {
		return r
	}
	gaps := slices.Clone(r.Gaps)
	gaps[i].From = max(gaps[i].From, min(to, r.Until))
	return r.withGaps(gaps)
}

// lowered is the record with nothing granted to its opening above the tick. If the interval of the
// opening is then free down to a gap, the two are one.
func (r record) lowered(to generator.Tick) record {
	gaps := slices.Clone(r.Gaps)
	if r.Until == 0 {
		r.Ceiling = to
		if n := len(gaps); n > 0 && to <= gaps[n-1].To {
			r.Ceiling, gaps = gaps[n-1].From, gaps[:n-1]
		}
		return r.withGaps(gaps)
	}
	i := r.own()
	if i < 0 {
		i = slices.IndexFunc(gaps, func(g gap) bool { return g.To > r.Until })
		if i < 0 {
			i = len(gaps)
		}
		gaps = slices.Insert(gaps, i, gap{r.Until, r.Until})
	}
	gaps[i].From = min(to, r.Until)
	if i > 0 && to <= gaps[i-1].To {
		gaps[i].From = gaps[i-1].From
		gaps = slices.Delete(gaps, i-1, i)
	}
	return r.withGaps(gaps)
}

// raisedTo is the record with all up to the floor granted: a raise of all marks voids what is free
// below.
func (r record) raisedTo(floor generator.Tick) record {
	r.Ceiling = max(r.Ceiling, floor)
	gaps := slices.Clone(r.Gaps)
	for i := range gaps {
		gaps[i].From = max(gaps[i].From, min(floor, gaps[i].To))
	}
	return r.withGaps(gaps)
}

// withGaps is the record with those of the gaps that it keeps: the gap that its opening is in, and
// the widest others. Without its own gap the opening could be granted nothing more. That gap is not
// joined with one that it touches, because the opening may issue nothing in the other.
func (r record) withGaps(gaps []gap) record {
	var kept []gap
	for _, g := range gaps {
		last := len(kept) - 1
		switch {
		case g.From >= g.To:
		case last >= 0 && kept[last].To == g.From && g.To != r.Until && kept[last].To != r.Until:
			kept[last].To = g.To
		default:
			kept = append(kept, g)
		}
	}
	for len(kept) > maxGaps {
		narrowest := -1
		for i, g := range kept {
			if g.To != r.Until && (narrowest < 0 || g.To-g.From < kept[narrowest].To-kept[narrowest].From) {
				narrowest = i
			}
		}
		kept = slices.Delete(kept, narrowest, narrowest+1)
	}
	r.Gaps = kept
	return r
}

// checkGaps returns what makes a record's gaps impossible.
func (r record) checkGaps() error {
	if len(r.Gaps) > maxGaps {
		return errors.New("there are too many gaps")
	}
	var end generator.Tick
	for _, g := range r.Gaps {
		if g.From < end || g.From >= g.To {
			return errors.New("the gaps are not apart and in order")
		}
		end = g.To
	}
	if end > r.Ceiling || r.Until < 0 || r.Until > r.Ceiling {
		return errors.New("a gap ends above the ceiling")
	}
	return nil
}

// opening is the record as an opening writes it, still without the opening's ID, and its bounds.
type opening struct {
	record  record
	from    generator.Tick // the holder issues above it; the history keeps it
	floor   generator.Tick // the claim's: in this interval nothing above it was granted before
	minimum generator.Tick // a release never goes below it
}

// opening opens the record that was found.
func (j *cluster) opening(found record, request coord.Request, continues bool) opening {
	if !continues {
		return j.openAt(found, j.vacancyIn(found, request))
	}
	o := opening{record: j.found(found), from: request.Mark, minimum: j.minimumOf(found)}
	o.floor = o.record.granted()
	if request.From > 0 {
		o.from = min(o.from, request.From)
	}
	return o
}

// openAt opens the record that was found, with nothing to go on from.
func (j *cluster) openAt(found record, p vacancy) opening {
	r := j.found(found).openedAt(p)
	// It may be lower than what was issued elsewhere.
	r.Issued, r.Mark, r.Hold = min(r.Issued, p.floor), 0, hold{}
	return opening{record: r, from: p.floor, floor: p.floor, minimum: p.floor}
}

// gaps returns the record's gaps as the next holder finds them: after the last raise.
func (j *cluster) gaps(r record) []coord.Gap {
	var gaps []coord.Gap
	for _, g := range j.found(r).Gaps {
		gaps = append(gaps, coord.Gap{From: g.From, To: g.To})
	}
	return gaps
}
