package generator

import "sync/atomic"

// Room returns how many IDs of tick t Take could give now: none if t is
// outside (floor, ceiling], or another has used or passed the tick.
func (ln *Lane) Room(t Tick) int { return room(ln, t, ln.quarter) }

// RoomFirst returns how many IDs TakeFirst could give now, over all ticks
// in [from, to], and the first tick that has any; 0 and 0 if none has.
func (ln *Lane) RoomFirst(from, to Tick) (n int, first Tick) {
	for t := oldest(ln, from, to); t <= to; t++ {
		if of := room(ln, t, 0); of > 0 {
			if n == 0 {
				first = t
			}
			n += of
		}
	}
	return n, first
}

// room is Room where a tick begins as with that quarter: see begin.
func room(ln *Lane, t Tick, quarter uint64) int {
	if t <= ln.floor || int64(t) > ln.ceiling.Load() {
		return 0
	}
	r := &ln.ring
	word := r.slots[uint64(t)&ln.mask].Load()
	switch held := Tick(word >> ln.usedBits); {
	case held < t:
		return int(ln.capacity - r.start(ln, t, quarter))
	case held > t:
		return 0
	}
	return int(ln.capacity - word&ln.usedMask)
}

// oldest is the first tick of [from, to] that TakeFirst looks at.
func oldest(ln *Lane, from, to Tick) Tick {
	return max(from, ln.floor+1, to-Tick(ln.size)+1)
}

// TakeFirst is Take for the first tick in [from, to] that has room, and returns
// that tick. What lies at or below the floor, or further back than the lane remembers, is left out.
// If no tick has room the outcome is Full.
// A tick that nobody has taken from begins at number 0, also where Roll was called.
//
// It does not look again at each tick that was found used up before: slots only
// rise, so such a tick never has room again.
func (ln *Lane) TakeFirst(tenant uint32, from, to Tick, n int) (Run, Tick, Outcome) {
	from = oldest(ln, from, to)
	if from > to {
		return Run{}, 0, Full
	}
	if uint64(tenant) > ln.tenants {
		return Run{}, 0, BadTenant
	}
	r := &ln.ring
	t := r.exhausted.after(from)
	for ; t <= to; t++ {
		r.beginAtZero(ln, t)
		if run, out := ln.Take(tenant, t, n); out != Full && out != Passed {
			r.exhausted.add(from, t-1, ln.size)
			return run, t, out
		}
	}
	r.exhausted.add(from, to, ln.size)
	return Run{}, 0, Full
}

// exhausted is a range of ticks that are all used up or passed: a hint where not to look. Only the
// latest range that was found is kept. It is one word, so that its two ends always belong to the
// same range: the last tick's low bits (lastBits) above the number of ticks (lengthBits).
type exhausted struct {
	word atomic.Uint64
}

const (
	lengthBits = 22 // a ring has at most 2^21 slots: 2 s in ticks of 1 us
	lastBits   = 64 - lengthBits
)

// row returns the ends of the range, of which the last is read as the tick
// nearest to near with these low bits. An empty range is below all ticks.
func (s *exhausted) row(near Tick) (first, last Tick) {
	word := s.word.Load()
	if word == 0 {
		return -1, -1
	}
	last = near + Tick(int64(word>>lengthBits-uint64(near))<<lengthBits>>lengthBits)
	return last - Tick(word&(1<<lengthBits-1)) + 1, last
}

// after returns the first tick from t on that is not in the range.
func (s *exhausted) after(t Tick) Tick {
	if first, last := s.row(t); first <= t && t <= last {
		return last + 1
	}
	return t
}

// add notes that all of first to last are used up, for a lane that remembers
// size ticks. Of two at once one may be forgotten, which costs a look.
func (s *exhausted) add(first, last Tick, size int) {
	if first > last {
		return
	}
	f, l := s.row(last)
	if first <= l+1 && f <= last+1 { // they touch
		first, last = min(first, f), max(last, l)
	} else if last < l {
		return
	}
	first = max(first, last-Tick(size)+1)
	if first != f || last != l {
		s.word.Store(uint64(last)<<lengthBits | uint64(last-first+1))
	}
}
