package generator

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"
)

const (
	// span is how much of the recent past a ring remembers, at least.
	span = 2 * time.Second

	// cacheLine separates what is written at different rates. Two lines of
	// 64 bytes, because the processor fetches them in pairs.
	cacheLine = 128
)

// ring holds the slots of one tenant, indexed by tick modulo its size.
//
// A slot is tick<<(sequence bits + 1) | used: the last tick issued there and
// how many of its sequence numbers (0 to 2^bits, both included) are gone, those
// below the one that it began at included. So used is also the next number.
// Compared as a number, a slot that moves on to a later tick or uses more of
// the same tick is larger than before.
type ring struct {
	slots     []atomic.Uint64
	made      Tick // the tick that it was made for
	_         [cacheLine]byte
	exhausted exhausted    // written only by TakeFirst, when ticks are used up
	last      atomic.Int64 // the highest tick in a slot; written once a tick
}

// ringSize returns how many slots a ring needs to remember span: a power of
// two, at least 2.
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

// makeRing returns the tenant's ring, made by this call or by another, for a Take of tick t; nil if
// there is no room for another tenant.
func (ln *Lane) makeRing(tenant uint32, t Tick) *ring {
	ln.making.Lock()
	defer ln.making.Unlock()
	if made := ln.rings[tenant].Load(); made != nil {
		return made
	}
	if tenant != 0 && ln.room.Load() == 0 && !retireIdle(ln, t) {
		return nil
	}
	r := &ring{slots: make([]atomic.Uint64, ln.size), made: t}
	r.useUp(ln, Tick(ln.retired.Load()))
	if t := ln.skipped; t > Tick(ln.retired.Load()) {
		r.slots[uint64(t)&ln.mask].Store(uint64(t)<<ln.usedBits | ln.capacity)
	}
	ln.rings[tenant].Store(r)
	if tenant != 0 {
		ln.room.Add(-1) // once the ring is there: Admits looks at one and then the other
	}
	return r
}

// RingBytes returns how much memory a tenant takes in a lane of the layout, in bytes.
func RingBytes(l *Layout) int64 {
	return int64(ringSize(l.TickLength()))*8 + int64(unsafe.Sizeof(ring{}))
}

// BoundTenants has the lane remember at most n tenants besides 0, which stands for none and always
// has room: each takes RingBytes. Another tenant takes the place of one that has got nothing for Span
// ticks, if there is one. It must be called before the first Take.
func (ln *Lane) BoundTenants(n int) {
	ln.most = int64(max(0, min(n, len(ln.rings)-1)))
	ln.room.Store(ln.most)
}

// Tenants returns how many tenants besides 0 the lane remembers.
func (ln *Lane) Tenants() int { return int(ln.most - ln.room.Load()) }

// Admits reports whether the lane remembers the tenant, or may have room for it at tick t. If a Take
// finds that it has none, Admits knows it from then on.
func (ln *Lane) Admits(tenant uint32, t Tick) bool {
	if tenant == 0 {
		return true
	}
	return uint64(tenant) < uint64(len(ln.rings)) &&
		(ln.rings[tenant].Load() != nil || ln.room.Load() > 0 || ln.most > 0 && int64(t) >= ln.idleFrom.Load())
}

// Span returns how many ticks of the past the lane remembers: the size of its
// rings, at least two and at least 2 s of ticks.
func (ln *Lane) Span() int { return ln.size }

// NextRoom returns the first tick in [from, to] that the tenant could take an
// ID of now: above the floor, at or below the ceiling, in a slot with room. It
// returns false if there is none. It looks at each slot at most once.
func (ln *Lane) NextRoom(tenant uint32, from, to Tick) (Tick, bool) {
	from, to = max(from, ln.floor+1), min(to, Tick(ln.ceiling.Load()))
	if from > to || uint64(tenant) >= uint64(len(ln.rings)) {
		return 0, false
	}
	r := ln.rings[tenant].Load()
	if r == nil {
		from = max(from, Tick(ln.retired.Load())+1)
		if from == ln.skipped {
			from++
		}
		return from, from <= to
	}
	// Room in the first turn of the ring is the answer. Without it, each slot
	// has room from the tick that it holds, or a turn later if that is used
	// up; the earliest of these is the answer.
	best := Tick(math.MaxInt64)
	for t := from; t < from+Tick(ln.size); t++ {
		if t > to {
			return 0, false
		}
		word := r.slots[uint64(t)&ln.mask].Load()
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
