package generator

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/flakeward/flakeward/internal/fault"
)

// Outcome says what came of a Take.
type Outcome uint8

// The outcomes of Take. All but Issued come with an empty Run.
const (
	Issued       Outcome = iota // the run holds at least one ID (none only if none was asked for)
	Full                        // the tick's sequence numbers are used up: ask for a later tick
	Passed                      // the tick's slot already holds a later tick: ask for a later tick
	BelowFloor                  // the tick is at or below the floor: it may be another holder's
	AboveCeiling                // the tick is above the ceiling: not granted yet, or after the end of time
	Closed                      // the lane is closed for good, or the machine is a copy (see Bind)
	BadTenant                   // the layout has no such tenant
)

var outcomeNames = [...]string{"issued", "full", "passed", "below floor", "above ceiling", "closed", "bad tenant"}

// String returns the outcome in words.
func (o Outcome) String() string {
	if int(o) >= len(outcomeNames) {
		return fmt.Sprintf("Outcome(%d)", int(o))
	}
	return outcomeNames[o]
}

// Run is a row of IDs: First, First+step, First+2*step and so on, N of them,
// where step is the layout's Step.
type Run struct {
	First int64
	N     int
}

const (
	// closedCeiling is the ceiling of a closed lane. Every tick is above it,
	// so the compare with the ceiling is also the check for a closed lane.
	closedCeiling = math.MinInt64

	// maxTenantBits is what Take's tenant has.
	maxTenantBits = 32
)

// Lane is one worker ID being issued from. All methods are safe for concurrent
// use. All but Raise and Cut, which take turns, are lock-free.
type Lane struct {
	// Immutable.
	layout    *Layout
	floor     Tick
	worker    int
	fixed     int64  // the bits of datacenter and worker
	size      int    // slots of the ring, a power of two
	mask      uint64 // size - 1
	capacity  uint64 // sequence numbers of a tick
	quarter   uint64 // of capacity; 0: every tick begins at number 0 (see Roll)
	usedMask  uint64 // the bits of a slot that count sequence numbers
	usedBits  uint8
	timeShift uint8
	seqShift  uint8
	tenShift  uint8
	tenants   uint64     // the highest tenant
	machine   Generation // that the lane was made in
	ring      ring
	_         [cacheLine]byte
	ceiling   atomic.Int64 // written once a publish
	_         [cacheLine]byte
	highest   atomic.Int64 // written once a tick
	_         [cacheLine]byte
	last      atomic.Int64 // what Close returned; openLast until then

	cutting sync.Mutex // guards cut, and every change of the ceiling but Close's
	cut     Tick       // the ceiling is never raised above it
}

// openLast stands in Lane.last for "not closed yet"; no tick is negative.
const openLast = -1

// NewLane returns a lane that issues the given worker ID at ticks above floor. Its ceiling is the
// floor, so that it issues nothing until Raise. It refuses a datacenter or worker that does not fit
// into the layout, a floor outside 0 to MaxTick, and a layout of more than 32 tenant bits.
func NewLane(l *Layout, datacenter uint64, worker int, floor Tick) (*Lane, error) {
	if datacenter > l.Max(Datacenter) {
		return nil, fmt.Errorf("datacenter %d does not fit into layout %s: it must be 0 to %d", datacenter, l, l.Max(Datacenter))
	}
	if worker < 0 || uint64(worker) > l.Max(Worker) {
		return nil, fmt.Errorf("worker ID %d does not fit into layout %s: it must be 0 to %d", worker, l, l.Max(Worker))
	}
	if floor < 0 || floor > l.maxTick {
		return nil, fmt.Errorf("floor %d is outside layout %s: a tick must be 0 to %d", floor, l, l.maxTick)
	}
	if l.Bits(Tenant) > maxTenantBits {
		return nil, fmt.Errorf("layout %s has %d tenant bits: IDs are issued for at most %d", l, l.Bits(Tenant), maxTenantBits)
	}
	size := ringSize(l.TickLength())
	ln := &Lane{
		layout: l,
		floor:  floor,
		worker: worker,
		// Widened first, shifted then: a shift in a narrower type loses the
		// high bits of the worker ID.
		fixed:     int64(datacenter)<<l.shift[Datacenter] | int64(worker)<<l.shift[Worker],
		size:      size,
		mask:      uint64(size - 1),
		capacity:  1 << l.width[Sequence],
		usedMask:  1<<(l.width[Sequence]+1) - 1,
		usedBits:  l.width[Sequence] + 1,
		timeShift: l.shift[Time],
		seqShift:  l.shift[Sequence],
		tenShift:  l.shift[Tenant],
		tenants:   l.Max(Tenant),
		ring:      ring{slots: make([]atomic.Uint64, size)},
		cut:       l.maxTick,
	}
	ln.ceiling.Store(int64(floor))
	ln.highest.Store(int64(floor))
	ln.last.Store(openLast)
	return ln, nil
}

// Take issues up to n IDs of tick t. They are stamped with the tenant, 0 if the layout has none;
// all tenants share the tick's numbers. It never waits. The IDs follow each other in sequence;
// there may be fewer than n if the tick's sequence numbers run out. If n is below 1, no ID is asked
// for and the run is empty. The first Take of a tick begins at number 0, or where Roll has it
// begin.
//
// Highest rises to t before Take returns, and never to a tick that nobody took. So if all callers
// pass only ticks that the clock has reached, and load Highest before they read the clock, a clock
// behind Highest has been set back: it is never merely another goroutine that was faster.
//
// What Take keeps to, whatever runs beside it:
//
//  1. floor < t <= ceiling, checked before a number is taken. The ceiling is
//     never above MaxTick, so this is the check for the end of time, too.
//  2. A slot only rises: a number is taken by one compare-and-swap from a word
//     to a larger one, so that no two Takes get the same number, and a number
//     passed over is never given.
//  3. The ceiling is looked at again after the number was taken, and the
//     number is thrown away if t is above it by then: the lane was closed, or
//     cut below it. So every number that is given was in its slot before
//     the lane was closed, and Close, which reads the slots after that, sees
//     its tick or a later one. And no Take that begins after Cut has returned
//     gives a tick above the cut.
//  4. The machine's generation is looked at after the number was taken as well
//     (see Bind), and the number is thrown away if it changed: the original
//     may give the same one. So a copy gives nothing, wherever in a Take the
//     machine was copied.
//
// All of this rests on sync/atomic being sequentially consistent, as the Go memory model has it.
func (ln *Lane) Take(tenant uint32, t Tick, n int) (Run, Outcome) {
	if c := ln.ceiling.Load(); int64(t) > c {
		return Run{}, above(c)
	}
	if t <= ln.floor {
		return Run{}, BelowFloor
	}
	if uint64(tenant) > ln.tenants {
		return Run{}, BadTenant
	}
	if n < 1 {
		return Run{}, Issued
	}
	r := &ln.ring
	slot := &r.slots[uint64(t)&ln.mask]
	var used, took uint64
	fault.Hold(slot, uint64(t)<<ln.usedBits) // in a drill: the worst place to be preempted
	for {
		word := slot.Load()
		used = word & ln.usedMask
		if held := Tick(word >> ln.usedBits); held < t {
			r.begin(ln, t, word, ln.quarter)
			continue
		} else if held > t {
			return Run{}, Passed
		} else if used >= ln.capacity {
			return Run{}, Full
		}
		took = min(uint64(n), ln.capacity-used)
		if slot.CompareAndSwap(word, uint64(t)<<ln.usedBits|(used+took)) {
			break
		}
	}
	if c := ln.ceiling.Load(); int64(t) > c {
		return Run{}, above(c)
	}
	if ln.machine.Changed() {
		return Run{}, Closed
	}
	if h := ln.highest.Load(); int64(t) > h {
		raise(&ln.highest, int64(t))
	}
	first := ln.fixed | int64(t)<<ln.timeShift | int64(tenant)<<ln.tenShift | int64(used)<<ln.seqShift
	return Run{First: first, N: int(took)}, Issued
}

// above is the outcome for a tick above the ceiling c.
func above(c int64) Outcome {
	if c == closedCeiling {
		return Closed
	}
	return AboveCeiling
}

// raise makes v at least t.
func raise(v *atomic.Int64, t int64) {
	for {
		h := v.Load()
		if t <= h || v.CompareAndSwap(h, t) {
			return
		}
	}
}

// Raise lifts the ceiling to the given tick, or to the cut if that is lower: MaxTick,
// unless Cut said less. A ceiling that is not above the present one changes nothing. It
// returns false once the lane is closed, which nothing undoes.
func (ln *Lane) Raise(ceiling Tick) bool {
	ln.cutting.Lock()
	defer ln.cutting.Unlock()
	return ln.move(func(c int64) int64 { return max(c, int64(min(ceiling, ln.cut))) })
}

// Cut lowers the ceiling to the given tick, if it is above that, and keeps Raise from passing it
// for good. A tick below the floor counts as the floor, and one that is not below an earlier cut
// changes nothing. No Take that begins after Cut has returned gives a tick above the cut.
func (ln *Lane) Cut(to Tick) {
	ln.cutting.Lock()
	defer ln.cutting.Unlock()
	ln.cut = min(ln.cut, max(to, ln.floor))
	ln.move(func(c int64) int64 { return min(c, int64(ln.cut)) })
}

// move changes the ceiling, unless the lane is closed, which it reports. The caller holds
// cutting: only Close may come in between, and that is final.
func (ln *Lane) move(to func(ceiling int64) int64) bool {
	c := ln.ceiling.Load()
	return c != closedCeiling && ln.ceiling.CompareAndSwap(c, to(c))
}

// Last is up to where a closed lane has issued. Only Lane.Close returns one that is not zero, so
// nobody lowers a record who has closed no lane.
type Last struct {
	tick   Tick
	closed bool
}

// Or returns the tick that no ID of the lane is above, 0 if it has issued none; or granted, if no
// lane was closed, as all that is granted may be issued then.
func (l Last) Or(granted Tick) Tick {
	if !l.closed {
		return granted
	}
	return l.tick
}

// Close closes the lane for good and returns a tick at or above every tick
// that was or will be given by a Take: the highest in a slot. It closes first
// and reads the slots then (see Take). Further calls return the same.
func (ln *Lane) Close() Last {
	if last := ln.last.Load(); last != openLast {
		return Last{tick: Tick(last), closed: true}
	}
	ln.ceiling.Store(closedCeiling)
	var last int64
	for i := range ln.ring.slots {
		last = max(last, int64(ln.ring.slots[i].Load()>>ln.usedBits))
	}
	// Of two calls at once, each has read the slots after the lane was closed:
	// either answer is right. Both return the one that was stored first.
	ln.last.CompareAndSwap(openLast, last)
	return Last{tick: Tick(ln.last.Load()), closed: true}
}

// Closed returns whether the lane is closed, or gives nothing because the machine has another
// generation than the one that the lane is bound to.
func (ln *Lane) Closed() bool { return ln.ceiling.Load() == closedCeiling || ln.machine.Changed() }

// Highest returns the highest tick issued so far; the floor if there is none.
func (ln *Lane) Highest() Tick { return Tick(ln.highest.Load()) }

// Floor returns the tick above which the lane issues.
func (ln *Lane) Floor() Tick { return ln.floor }

// Ceiling returns the last tick that the lane may issue; the floor once it is closed.
func (ln *Lane) Ceiling() Tick {
	return max(Tick(ln.ceiling.Load()), ln.floor)
}

// Worker returns the lane's worker ID.
func (ln *Lane) Worker() int { return ln.worker }
