package generator

import "math"

// retireIdle makes room for another tenant's ring, at tick t: it retires one that has given nothing
// for Span ticks. It returns false if there is none. The caller holds making.
//
// A ring is the only memory of what was issued from it, so it ends as a lane does. Each of its slots
// is raised above all ticks, by a swap that returns what it held. So a number was either taken
// before, and its tick is among those returned, or it is never taken, however late a Take comes that
// still has the ring. The highest of these ticks is remembered for the lane: no ring that is made
// from then on gives a tick at or below it, whosever it is. That costs a tenant nothing as long as
// the clock is not set back by more than Span ticks, where no ring would help it either.
func retireIdle(ln *Lane, t Tick) bool {
	if int64(t) < ln.idleFrom.Load() {
		return false
	}
	earliest := int64(math.MaxInt64)
	for range len(ln.rings) - 1 {
		ln.hand = ln.hand%uint32(len(ln.rings)-1) + 1 // not 0: what has no tenant always has room
		r := ln.rings[ln.hand].Load()
		if r == nil {
			continue
		}
		idle := max(int64(r.made), r.last.Load()) + int64(ln.size)
		if idle <= int64(t) {
			raise(&ln.retired, r.retire(ln))
			ln.rings[ln.hand].Store(nil)
			ln.room.Add(1)
			return true
		}
		earliest = min(earliest, idle)
	}
	ln.idleFrom.Store(earliest) // a ring's last tick only rises
	return false
}

// retire has no Take get anything from the ring any more, and returns the highest tick that any got.
func (r *ring) retire(ln *Lane) (last int64) {
	last = noTick
	retired := math.MaxUint64>>ln.usedBits<<ln.usedBits | ln.capacity
	for i := range r.slots {
		last = max(last, held(ln, r.slots[i].Swap(retired)))
	}
	return last
}

// useUp leaves nothing of the ticks at or below t. The ring must be new.
func (r *ring) useUp(ln *Lane, t Tick) {
	for past := max(0, t-Tick(ln.size)+1); past <= t; past++ {
		r.slots[uint64(past)&ln.mask].Store(uint64(past)<<ln.usedBits | ln.capacity)
	}
}
