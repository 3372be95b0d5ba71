package generator

import (
	"fmt"
	"time"
)

// Parts are the fields of an ID.
type Parts struct {
	Tick       Tick
	Time       time.Time // start of Tick, in UTC; set by Decompose, ignored by Compose
	Datacenter uint64    // 0 if the layout has no such field, like the next three
	Worker     uint64
	Tenant     uint64
	Sequence   uint64
}

// Value returns the number that goes into field f.
func (p Parts) Value(f Field) uint64 {
	switch f {
	case Time:
		return uint64(p.Tick)
	case Datacenter:
		return p.Datacenter
	case Worker:
		return p.Worker
	case Tenant:
		return p.Tenant
	default:
		return p.Sequence
	}
}

// Compose puts an ID together. A part that does not fit into its field, or
// that the layout has no field for and is not 0, is an error that names it.
func (l *Layout) Compose(p Parts) (int64, error) {
	var id uint64
	for f := range Field(numFields) {
		v := p.Value(f)
		switch {
		case l.width[f] == 0 && v != 0:
			return 0, fmt.Errorf("compose: %s is %d, but layout %s has no such field: leave it at 0", f, v, l)
		case f == Time && (p.Tick < 0 || p.Tick > l.maxTick):
			return 0, fmt.Errorf("compose: tick %d is outside layout %s: it must be 0 to %d", p.Tick, l, l.maxTick)
		case v > l.Max(f):
			return 0, fmt.Errorf("compose: %s is %d, but layout %s holds 0 to %d there", f, v, l, l.Max(f))
		}
		id |= v << l.shift[f]
	}
	return int64(id), nil
}

// Decompose takes an ID apart. A negative ID, and one with bits above the
// layout's fields, is not of this layout: an error.
func (l *Layout) Decompose(id int64) (Parts, error) {
	if id < 0 {
		return Parts{}, fmt.Errorf("decode: %d is negative, and an ID never is: was it read as a signed number of fewer bits?", id)
	}
	if id > l.maxID() {
		return Parts{}, fmt.Errorf("decode: %d is too large for layout %s, whose largest ID is %d: was it made with another layout?", id, l, l.maxID())
	}
	get := func(f Field) uint64 { return uint64(id) >> l.shift[f] & l.Max(f) }
	t := Tick(get(Time))
	return Parts{
		Tick:       t,
		Time:       l.StartOf(t),
		Datacenter: get(Datacenter),
		Worker:     get(Worker),
		Tenant:     get(Tenant),
		Sequence:   get(Sequence),
	}, nil
}

// Bounds returns the range of the IDs whose time, the start of their tick, is at from or later and
// before to: they are those with first <= id < below, whatever their other fields are. Spans that
// adjoin have ranges that adjoin. The range is empty, with first equal to below, if no tick starts
// in the span.
//
// What is outside the layout's life is left out of the span. It is an error if nothing is left, if
// to is not after from, if time is not the layout's highest field, and if the span reaches the last
// tick of a layout of 63 bits: no int64 is above the IDs there.
func (l *Layout) Bounds(from, to time.Time) (first, below int64, err error) {
	switch {
	case l.order[0] != Time:
		return 0, 0, fmt.Errorf("bounds: layout %s has the field %s above time, so its IDs do not sort by time, and those of a span are no range: compare a column with the time instead", l, l.order[0])
	case to.Before(from):
		return 0, 0, fmt.Errorf("bounds: the end %s is before the start %s: swap them", date(to), date(from))
	case to.Equal(from):
		return 0, 0, fmt.Errorf("bounds: the span from %s to %s is empty: its end is not part of it, so take a later one", date(from), date(to))
	}
	start, end := l.tickFrom(from), l.tickFrom(to)
	switch {
	case end == 0:
		return 0, 0, fmt.Errorf("bounds: the end %s is not after the epoch of layout %s: there are no IDs that old", date(to), l)
	case start > l.maxTick:
		return 0, 0, fmt.Errorf("bounds: %s is after the last tick of layout %s, which ends on %s: there are no IDs that young", date(from), l, date(l.End()))
	case end > l.maxTick && l.total == maxBits:
		return 0, 0, fmt.Errorf("bounds: the end %s is after the last tick of layout %s, and no 64-bit integer is above the IDs of that: take an end up to %s, or id >= %d alone",
			date(to), l, date(l.StartOf(l.maxTick)), int64(start)<<l.shift[Time])
	}
	return int64(start) << l.shift[Time], int64(min(end, l.maxTick+1)) << l.shift[Time], nil
}

// tickFrom returns the first tick that starts at an instant or later: 0 for one before the epoch,
// and one above maxTick if there is none.
func (l *Layout) tickFrom(at time.Time) Tick {
	t := l.tickAtTime(at)
	switch {
	case t < 0:
		return 0
	case t <= l.maxTick && l.StartOf(t).Before(at):
		return t + 1
	}
	return t
}
