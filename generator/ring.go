package generator

import (
	"math"
	"sync/atomic"
	"time"
)

const (
	// span is how much of the recent past a ring remembers, at least.
	span = 2 * time.Second

	// cacheLine separates what is written at different rates. Two lines of
	// 64 bytes, because the processor fetches them in pairs.
	cacheLine = 128
)

// ring holds the slots of a lane, indexed by tick modulo its size.
//
// A slot is tick<<(sequence bits + 1) | used: the last tick issued there and how many of its
// sequence numbers (0 to 2^bits, both included) are gone, those below the one that it began at
// included. So used is also the next number. Compared as a number, a slot that moves on to a later
// tick or uses more of the same tick is larger than before.
type ring struct {
	slots     []atomic.Uint64
	_         [cacheLine]byte
	exhausted exhausted // written only by TakeFirst, when ticks are used up
}

// ringSize returns how many slots a ring needs to remember span: a power of two, at least 2.
func ringSize(tick time.Duration) int {
	ticks := int64(span / tick)
	if span%tick != 0 {
		ticks++
	}
	size := int64(2)
	for size < ticks {
		size *= 2
	}
	return int(size)
}

// Span returns how many ticks of the past the lane remembers: the size of its
// ring, at least two and at least 2 s of ticks.
func (ln *Lane) Span() int { return ln.size }

// NextRoom returns the first tick in [from, to] that an ID could be taken of now: above the floor,
// at or below the ceiling, in a slot with room. It returns false if there is none. It looks at each
// slot at most once.
func (ln *Lane) NextRoom(from, to Tick) (Tick, bool) {
	from, to = max(from, ln.floor+1), min(to, Tick(ln.ceiling.Load()))
	if from > to {
		return 0, false
	}
	// Room in the first turn of the ring is the answer. Without it, each slot has room from the
	// tick that it holds, or a turn later if that is used up; the earliest of these is the answer.
	best := Tick(math.MaxInt64)
	for t := from; t < from+Tick(ln.size); t++ {
		if t > to {
			return 0, false
		}
		word := ln.ring.slots[uint64(t)&ln.mask].Load()
		held, used := Tick(word>>ln.usedBits), word&ln.usedMask
		if held < t || held == t && used < ln.capacity {
			return t, true
		}
		if used >= ln.capacity {
			held += Tick(ln.size)
		}
		best = min(best, held)
	}
	return best, best <= to
}
