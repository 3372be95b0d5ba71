package clockguard

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Kernel is what the kernel knows of its clocks besides their time. A Known asks it only when a
// reading is not believed, and when it is observed.
type Kernel interface {
	// Boot reads the clock that goes on while the machine is suspended: nanoseconds since the
	// machine's boot; 0 if there is no such clock.
	Boot() int64

	// BootID names the machine's boot: it is the same for all processes of a machine until it boots
	// again; empty if that is not known.
	BootID() string

	// Synchronised reports whether the kernel calls the wall clock synchronised, and the kernel's
	// bound on its error.
	Synchronised() (maxError time.Duration, ok bool)
}

// Tolerance is how far the wall clock may move beside the monotonic one between two observations
// without that being a step. The two clocks of one reading were 8 ms apart under load, at worst,
// and two readings are compared.
const Tolerance = 25 * time.Millisecond

// slewing is how fast a kernel may slew its wall clock, as a divisor of the time that passes:
// 1/2000 is 500 ppm, adjtimex(2).
const slewing = 2000

// leastSleep is what counts as a suspension of the machine. It is above the 8 ms by which the two
// clocks of one reading were seen to differ under load.
const leastSleep = 100 * time.Millisecond

// Known is a Clock whose wall part is known time: the wall clock of the clock below it as long as
// that is not ahead of the monotonic one by more than may be believed, and otherwise what it was
// last, moved on by the monotonic clock. A step back is followed at once, as lanes guard against
// it; or, by Belief.Strict, never.
//
// Its Now costs two comparisons more than that of the clock below; by Belief.Strict a
// compare-and-swap as well. One goroutine calls Observe, from time to time; what is held then stays
// held until Conclude or Confirm, or until the wall clock is back.
type Known struct {
	clock  Clock
	kernel Kernel // nil: nothing is known of it
	belief Belief

	// An offset is a wall clock's reading less the monotonic clock's of the same moment. It changes
	// with a step, and with nothing else but what slews one of the two alone.
	limit   atomic.Int64 // the highest offset that is believed
	offset  atomic.Int64 // that of known time while the wall clock is not believed
	holding atomic.Bool  // Observe has found the wall clock ahead
	// strict is set once the first time was confirmed, if Belief.Strict: from then on known time
	// does not go back. least is the highest value so far of known time less half the monotonic
	// time.
	strict atomic.Bool
	least  atomic.Int64

	mu        sync.Mutex // guards what follows; never held over a call that waits
	confirmed int64      // the offset that was confirmed last, moved on by what a kernel may have slewed since
	previous  int64      // the offset at the last observation
	observed  Mono       // when that was
	asleep    int64      // how long the machine has been suspended since its boot, in nanoseconds
	behind    Mono       // since when the offset has been below the confirmed one; 0: it is not
	held      Hold       // zero if the wall clock is believed
	holds     uint64     // how many there were
	steps     Steps
	sure      bool // somebody has confirmed what all began with, in this process or in an earlier one
}

// Hold is a wall clock that is ahead and not believed.
type Hold struct {
	Ahead      time.Duration // by how much it is ahead of known time; 0: it is believed
	Offset     int64         // its reading less the monotonic clock's of the same moment
	From       int64         // known time when that was seen; nanoseconds since 1970
	Since      Mono          // when it was seen
	Conclusion Conclusion    // what was concluded last

	number uint64 // of this hold, from 1: by it Conclude tells it from a later one
	first  int64  // the offset when it was seen
}

// Observation is what Observe found since the last call.
type Observation struct {
	Step      time.Duration // of the wall clock: negative is back, positive ahead; 0: none
	Suspended time.Duration // the machine was, for so long
	Held      bool          // a hold has begun, or the clock has stepped again during one
	Ended     bool          // a hold has ended, as the wall clock is back
}

// Steps is how often the wall clock has stepped, as Observe found it.
type Steps struct{ Ahead, Back uint64 }

func (s *Steps) count(step time.Duration) {
	switch {
	case step > 0:
		s.Ahead++
	case step < 0:
		s.Back++
	}
}

// NewKnown starts from what clock shows now. The kernel may be nil.
func NewKnown(clock Clock, kernel Kernel, belief Belief) *Known {
	k := &Known{clock: clock, kernel: kernel, belief: belief}
	r := clock.Now()
	if kernel != nil {
		k.asleep = kernel.Boot() - int64(r.Mono) // at most
	}
	k.observed = r.Mono
	k.anchor(offsetOf(r))
	return k
}

// offsetOf wraps round for no reading that a clock can show: wall clocks end in 2262.
func offsetOf(r Reading) int64 { return r.Wall - int64(r.Mono) }

// anchor makes an offset the confirmed one.
func (k *Known) anchor(offset int64) {
	k.confirmed, k.previous, k.behind, k.held = offset, offset, 0, Hold{}
	k.holding.Store(false)
	k.offset.Store(offset)
	k.limit.Store(offset + int64(MaxForward))
}

// Now implements Clock. It reads a clock that it does not believe twice.
func (k *Known) Now() Reading {
	strict := k.strict.Load() // before the limit, which was set before
	r := k.clock.Now()
	if offsetOf(r) > k.limit.Load() {
		r = k.doubted()
	}
	if strict {
		r = k.onward(r)
	}
	return r
}

// onward returns r, but its time no earlier than what was returned before plus half of what has
// passed since. A time that no ID can be of binds nobody once the wall clock is back.
func (k *Known) onward(r Reading) Reading {
	if end := k.belief.End; end > 0 && r.Wall >= end {
		return r
	}
	half := int64(r.Mono) / 2
	for {
		least := k.least.Load()
		if r.Wall-half <= least {
			r.Wall = least + half
			return r
		}
		if k.least.CompareAndSwap(least, r.Wall-half) {
			return r
		}
	}
}

// confirm notes that the time which this process starts from is confirmed. known is that time at a
// reading; nothing was issued by an earlier one. The caller has mu.
func (k *Known) confirm(known Reading) {
	k.sure = true
	if k.belief.Strict && !k.strict.Load() {
		k.onward(known)
		k.strict.Store(true)
	}
}

// doubted is Now for a reading that is ahead. It reads the clock again: the two halves of a reading
// may lie apart, and the machine may have been suspended since the last observation.
func (k *Known) doubted() Reading {
	r := k.clock.Now()
	if !k.holding.Load() && offsetOf(r) > k.limit.Load() && k.mu.TryLock() { // whoever has it does the same
		k.resumed()
		k.mu.Unlock()
	}
	if offsetOf(r) > k.limit.Load() {
		r.Wall = k.offset.Load() + int64(r.Mono)
	}
	return r
}

// suspended is how long the machine has been suspended since its boot, at least: a process that is
// stopped between the two readings was not suspended for that long.
func (k *Known) suspended() int64 {
	if k.kernel == nil {
		return 0
	}
	boot := k.kernel.Boot()
	return boot - int64(k.clock.Now().Mono)
}

// resumed accounts for a suspension of the machine. The wall clock is then ahead by as much as
// CLOCK_BOOTTIME, which is no step. It returns for how long the machine was suspended. The caller
// has mu.
func (k *Known) resumed() (suspended time.Duration) {
	asleep := k.suspended() - k.asleep
	if asleep < int64(leastSleep) { // the two clocks are not read at the same moment
		return 0
	}
	k.asleep += asleep
	k.confirmed += asleep
	k.previous += asleep
	k.offset.Add(asleep)
	k.limit.Add(asleep)
	return time.Duration(asleep)
}

// Sleep implements Clock.
func (k *Known) Sleep(ctx context.Context, d time.Duration) error { return k.clock.Sleep(ctx, d) }

// Pause implements Waiter, as do the next two.
func (k *Known) Pause(ctx context.Context, d time.Duration, signal <-chan struct{}) {
	Pause(ctx, k.clock, d, signal)
}

// Await is the function Await, on the clock below.
func (k *Known) Await(signal <-chan struct{}) { Await(k.clock, signal) }

// WithTimeout is the function WithTimeout, on the clock below.
func (k *Known) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return WithTimeout(ctx, k.clock, d)
}

// Observe compares the clocks with how they stood at the last call.
func (k *Known) Observe() (o Observation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	r := k.clock.Now()
	o.Suspended = k.resumed()
	if offsetOf(r) > k.limit.Load() {
		r = k.clock.Now()
	}
	offset, last := offsetOf(r), k.previous
	if step := time.Duration(since(offset, last)); step > Tolerance || step < -Tolerance {
		o.Step = step
	}
	passed := int64(r.Mono.Sub(k.observed))
	k.previous, k.observed = offset, r.Mono
	k.steps.count(o.Step)
	if offset > k.limit.Load() {
		o.Held = k.hold(r, offset)
		return o
	}
	if o.Ended = k.held.Ahead > 0; o.Ended {
		last = k.offset.Load() // what was shown in the hold is not believed now either
	}
	k.held = Hold{}
	k.holding.Store(false)
	// A reading whose two halves lie apart has an offset that is too low, never one too high.
	k.offset.Store(min(max(offset, last), k.limit.Load()))
	k.move(r.Mono, offset, last, passed)
	return o
}

// hold notes a wall clock that is ahead, and reports whether that is news: no step is that is as
// small as one that is believed. Such steps add up.
func (k *Known) hold(r Reading, offset int64) (news bool) {
	k.behind = 0
	news = k.held.Ahead == 0 || distance(offset, k.held.first) > MaxForward
	if news {
		k.holds++
		k.held = Hold{
			number: k.holds, first: offset, From: k.offset.Load() + int64(r.Mono), Since: r.Mono,
			Conclusion: k.held.Conclusion, // until there is one of this hold
		}
		k.holding.Store(true)
	}
	k.held.Offset, k.held.Ahead = offset, time.Duration(since(offset, k.offset.Load()))
	return news
}

// move moves the confirmed offset towards the one that is followed: up by what a kernel may have
// slewed, so that many small steps add up, and down once the clock has stayed back for as long as
// an unconfirmed step ahead is held. Until then it may come back to where it was. One reading whose
// two halves lie apart is not enough for that, hence last, the offset before.
func (k *Known) move(now Mono, offset, last, passed int64) {
	switch {
	case offset >= k.confirmed:
		k.confirmed += min(offset-k.confirmed, passed/slewing)
		k.behind = 0
	case k.behind == 0:
		k.behind = max(now, 1)
	case now.Sub(k.behind) >= k.belief.ForwardHold:
		k.confirmed, k.behind = min(max(offset, last), k.confirmed), 0
	}
	k.limit.Store(k.confirmed + int64(MaxForward))
}

// Holding returns the hold that there is, and what the wall clock of it shows now; false if there
// is none.
func (k *Known) Holding() (h Hold, wall int64, held bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held, k.held.Offset + int64(k.clock.Now().Mono), k.held.Ahead > 0
}

// Conclude notes what was concluded of a hold, and follows the wall clock if that was the verdict.
// It does nothing and returns false if that hold has ended, or the clock has stepped again since.
func (k *Known) Conclude(h Hold, c Conclusion) (done bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held.Ahead == 0 || k.held.number != h.number {
		return false
	}
	if k.held.Conclusion = c; c.Followed {
		k.anchor(k.held.Offset)
	}
	return true
}

// Shown is what the clock below shows, believed or not.
func (k *Known) Shown() Reading { return k.clock.Now() }

// Begin has known time start anew from what the wall clock shows, in a process that has issued
// nothing. It confirms nothing, so Belief.Strict does not bind yet.
func (k *Known) Begin() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.anchor(offsetOf(k.clock.Now()))
}

// Confirm has known time go on from a reading: the wall clock as it was Shown, or a time that is
// known to be right at the same moment. What the wall clock is ahead of that, or has stepped since,
// is held.
func (k *Known) Confirm(shown Reading) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.anchor(offsetOf(shown))
	k.confirm(shown)
}

// Resume goes on from the known time of an earlier process of this boot: known is in nanoseconds
// since 1970, and boot is CLOCK_BOOTTIME at the same moment. A wall clock that is further ahead is
// held. Resume does nothing and returns false if the kernel has no such clock, or boot is not
// positive or is later than now.
func (k *Known) Resume(known, boot int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kernel == nil || boot <= 0 || k.kernel.Boot() < boot {
		return false
	}
	passed := k.kernel.Boot() - boot
	r := k.clock.Now()
	confirmed := known + passed - int64(r.Mono)
	// The clock may have been slewed since, as it may between two observations.
	if ahead, slewed := offsetOf(r)-confirmed, passed/slewing; ahead <= slewed+int64(MaxForward) {
		confirmed += max(0, min(ahead, slewed))
	}
	k.anchor(confirmed)
	if offset := offsetOf(r); offset <= k.limit.Load() {
		k.previous = offset
		k.offset.Store(offset)
	}
	k.confirm(Reading{Wall: known + passed/2, Mono: r.Mono})
	return true
}

// Exceed has known time be no earlier, by Belief.Strict, than what another process of this boot has
// come to; known and boot are as for Resume.
func (k *Known) Exceed(known, boot int64) {
	if !k.strict.Load() || k.kernel == nil || boot <= 0 {
		return
	}
	passed := max(0, k.kernel.Boot()-boot)
	k.onward(Reading{Wall: known + passed/2, Mono: k.clock.Now().Mono})
}

// Kept is what is kept for Resume: known time in nanoseconds since 1970, and Kernel.Boot of the
// same moment; 0 without a kernel, and as long as nobody has confirmed the time that all began
// with. What known time is ahead of the confirmed one is left out, or small steps would add up over
// restarts; but by Belief.Strict known time must not go back.
func (k *Known) Kept() (known, boot int64) {
	r := k.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kernel == nil || !k.sure {
		return 0, 0
	}
	if k.strict.Load() {
		return k.least.Load() + int64(r.Mono)/2, k.kernel.Boot()
	}
	return min(r.Wall, k.confirmed+int64(r.Mono)), k.kernel.Boot()
}

// Steps returns how often the wall clock has stepped since the start.
func (k *Known) Steps() Steps {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.steps
}

// Synchronised is Kernel.Synchronised; false without a kernel.
func (k *Known) Synchronised() (maxError time.Duration, ok bool) {
	if k.kernel == nil {
		return 0, false
	}
	return k.kernel.Synchronised()
}

// BootID is Kernel.BootID; empty without a kernel.
func (k *Known) BootID() string {
	if k.kernel == nil {
		return ""
	}
	return k.kernel.BootID()
}
