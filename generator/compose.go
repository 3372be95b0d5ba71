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

// value returns the number that goes into field f.
func (p *Parts) value(f Field) uint64 {
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
		v := p.value(f)
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

// Bounds returns the lowest and the highest ID that can have been issued in
// the ticks from the one that from lies in to the one that to lies in, both
// included: an index scan of lowest <= id <= highest finds every such ID and
// no ID of other ticks. The part of [from, to] outside the layout's life is
// left out; an error if nothing is left, if to is before from, or if time is
// not the layout's highest field (IDs do not sort by time then).
func (l *Layout) Bounds(from, to time.Time) (lowest, highest int64, err error) {
	if l.order[0] != Time {
		return 0, 0, fmt.Errorf("bounds: layout %s does not sort by time: only a layout with time as its first field does", l)
	}
	if to.Before(from) {
		return 0, 0, fmt.Errorf("bounds: the end %s is before the start %s: swap them", date(to), date(from))
	}
	first, last := max(l.tickAtTime(from), 0), min(l.tickAtTime(to), l.maxTick)
	if last < 0 {
		return 0, 0, fmt.Errorf("bounds: %s is before the epoch of layout %s: there are no IDs that old", date(to), l)
	}
	if first > l.maxTick {
		return 0, 0, fmt.Errorf("bounds: %s is after the end of layout %s on %s: there are no IDs that young", date(from), l, date(l.End()))
	}
	below := l.shift[Time]
	return int64(first) << below, int64(last)<<below | (1<<below - 1), nil
}
