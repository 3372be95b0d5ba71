// Package issue answers one request: it takes numbers from the lane in use, and where the lane cannot give any
// it asks the clock guard what to do and tells the caller how long to wait. It never waits itself.
package issue

import (
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// Lender is the owner of the lane, seen from the requests that the lane cannot serve. Its methods never block.
type Lender interface {
	// ReLease asks for another worker ID in the place of the one that lane issues from. Asking again is harmless.
	ReLease(lane *generator.Lane)
	// Hurry says that requests wait because the lane has reached its ceiling, or because it is one of a machine that was copied.
	Hurry()
	// CanLend tells whether another worker ID is to be had: false while the coordinator does not answer or has none free.
	CanLend() bool
	// Trouble says what keeps the lane's ceiling from rising, or the lane from being there; nil if nothing is known.
	Trouble() error
}

// Limits bound what a request may have to wait for.
type Limits struct {
	Guard clockguard.Limits
	// FirstWait is how long a lane that has not issued yet may wait for the clock to pass its floor before another
	// worker ID is asked for: after a crash the floor is the journal's mark, at most a journal step ahead.
	FirstWait time.Duration
	// MaxBlock is how long a request waits before it is given up.
	MaxBlock time.Duration
	// Burst is how far back a request may draw on numbers that were left unused, once the clock's tick has not enough of them. It counts
	// up to what the lane remembers. 0: not at all.
	Burst time.Duration
	// BurstUnordered lets it draw on ticks below the connection's highest ID, too.
	BurstUnordered bool
}

// Issuer hands out the numbers of the lane in use. Its methods may be called from any goroutine.
type Issuer struct {
	layout *generator.Layout
	clock  clockguard.Clock
	limits Limits
	burst  generator.Tick // limits.Burst
	sleep  generator.Tick // limits.Guard.MaxSleep, at least 1
	lender Lender

	lane    atomic.Pointer[generator.Lane]
	changed atomic.Pointer[func()]
	answers [clockguard.Wait + 1]atomic.Uint64
	ringing atomic.Int64 // the lane's highest tick when the ring was last used: until it rises, order is lost
}

// New makes an issuer without a lane: requests wait until Use gives it one.
func New(layout *generator.Layout, clock clockguard.Clock, limits Limits, lender Lender) *Issuer {
	return &Issuer{
		layout: layout, clock: clock, limits: limits, lender: lender,
		burst: generator.Tick(limits.Burst / layout.TickLength()),
		sleep: max(1, generator.Tick(limits.Guard.MaxSleep/layout.TickLength())),
	}
}

// Layout is the layout of the IDs that are handed out.
func (i *Issuer) Layout() *generator.Layout { return i.layout }

// Use makes lane the one that numbers are taken from, or none if lane is nil. The clock's tick at a lane's first use is noted in it:
// neither a burst nor a request that was woken late draws on that tick or one before it.
func (i *Issuer) Use(lane *generator.Lane) {
	if lane != nil {
		lane.Start(i.layout.TickAt(i.clock.Now().Wall))
	}
	i.lane.Store(lane)
	i.Changed()
}

// Lane is the lane in use, nil if there is none.
func (i *Issuer) Lane() *generator.Lane { return i.lane.Load() }

// OnChange sets what is called when waiting requests should be tried again. f is called from any goroutine and must not block.
func (i *Issuer) OnChange(f func()) { i.changed.Store(&f) }

// Changed says that waiting requests should be tried again: a ceiling rose, or a lane came or went.
func (i *Issuer) Changed() {
	if f := i.changed.Load(); f != nil {
		(*f)()
	}
}

// Answers counts what the clock guard decided for requests that met a clock behind the lane.
func (i *Issuer) Answers(a clockguard.Answer) uint64 { return i.answers[a].Load() }

// Take takes up to n numbers for tenant. If the run has any, they are the request's; it may ask for the rest at once, with the
// same ticket. If it has none, wait says when to try again or why not to. Take never blocks, and allocates nothing
// unless it gives up.
func (i *Issuer) Take(t *Ticket, tenant uint32, n int) (generator.Run, Wait) {
	run, seen, ok := i.quick(t, tenant, n)
	if ok {
		return run, Wait{}
	}
	run, a := i.slow(t, seen, tenant, n)
	return run, i.bound(t, a)
}

// glance is what a request finds.
type glance struct {
	lane *generator.Lane // nil: there is none
	high generator.Tick  // its highest tick, loaded before the clock was read
	now  clockguard.Reading
}

func (i *Issuer) look() glance {
	lane := i.lane.Load()
	if lane == nil {
		return glance{now: i.clock.Now()}
	}
	// The highest tick is loaded before the clock is read: a clock read later than another thread's issue cannot
	// show an earlier tick unless the clock really went back.
	high := lane.Highest()
	return glance{lane, high, i.clock.Now()}
}

// quick takes numbers of the clock's tick if the lane can give any and nothing else is to be thought of, which is nearly always.
func (i *Issuer) quick(t *Ticket, tenant uint32, n int) (generator.Run, glance, bool) {
	seen := i.look()
	if seen.lane == nil || t.since != 0 {
		return generator.Run{}, seen, false
	}
	tick := i.layout.TickAt(seen.now.Wall)
	run, ok := i.take(t, seen.lane, seen.high, tick, tenant, n)
	return run, seen, ok
}

// take takes numbers of the tick that the clock has reached, unless order or a burst asks for more thought.
func (i *Issuer) take(t *Ticket, lane *generator.Lane, high, tick generator.Tick, tenant uint32, n int) (generator.Run, bool) {
	if tick < high || tick < i.least(t, lane, tick) || i.short(lane, tick, tenant, n) {
		return generator.Run{}, false
	}
	run, out := lane.Take(tenant, tick, n)
	if out != generator.Issued {
		return generator.Run{}, false
	}
	t.got(lane, tick, i.sleep)
	return run, true
}

// least is the first tick of the lane that is above all that the connection got from another worker ID. If the clock is further back than
// may be slept for, order with what it got before is lost, whichever lane serves, and kept with what it got since.
func (i *Issuer) least(t *Ticket, lane *generator.Lane, tick generator.Tick) generator.Tick {
	m := t.order(tick, i.sleep)
	if m.worker == lane.Worker() {
		return 0
	}
	return m.tick + 1
}

// short tells whether the request is one for a burst: the tick has not enough numbers for it. A lane that has reached its ceiling has
// none to spare.
func (i *Issuer) short(lane *generator.Lane, tick generator.Tick, tenant uint32, n int) bool {
	return i.burst > 0 && tick <= lane.Ceiling() && lane.Room(tenant, tick) < n
}

// burstFrom is the first tick whose unused numbers a burst may draw on. It takes the lowest first, so that what it leaves can still
// be drawn on in order.
func (i *Issuer) burstFrom(t *Ticket, lane *generator.Lane, tick generator.Tick) generator.Tick {
	from, m := tick-i.burst, t.order(tick, i.sleep)
	switch {
	case i.limits.BurstUnordered:
		return from
	case m.worker == lane.Worker():
		return max(from, m.tick) // in the same tick, later numbers are higher
	}
	return max(from, m.tick+1)
}

// ready tells whether the lane can serve the connection's next request in order, at once.
func (i *Issuer) ready(t *Ticket, tenant uint32) bool {
	seen := i.look()
	if seen.lane == nil {
		return false
	}
	tick := i.layout.TickAt(seen.now.Wall)
	if tick < seen.high || tick < i.least(t, seen.lane, tick) {
		return false
	}
	_, ok := seen.lane.NextRoom(tenant, tick, tick)
	return ok
}

// slow serves what quick does not. It says how the request can go on if it gets no number.
func (i *Issuer) slow(t *Ticket, seen glance, tenant uint32, n int) (generator.Run, answer) {
	lane, now := seen.lane, seen.now
	if lane == nil {
		return generator.Run{}, answer{Wait{Event: true}, errNoLane, now, true}
	}
	tick := i.layout.TickAt(now.Wall)
	if err := i.layout.CheckTime(time.Unix(0, now.Wall)); err != nil {
		return generator.Run{}, answer{wait: Wait{Err: &UnavailableError{Reason: err}}}
	}
	if tick < seen.high || tick <= lane.Floor() {
		return i.behind(t, seen, tenant, n)
	}
	least := i.least(t, lane, tick)
	if tick < least {
		t.since = least
		return generator.Run{}, answer{Wait{For: i.until(least, now)}, errOrder, now, false}
	}
	if t.since != 0 {
		// A request that was woken late still gets the ticks it has waited through, so that a late wake-up wastes no
		// numbers. Its order is kept: all it was given before is below the tick that it began to wait for, or it began while the clock was
		// set back and another lane served, which this one's IDs from before are above.
		from := max(t.since, tick-generator.Tick(lane.Span()/2), least)
		if m := t.order(tick, i.sleep); m.worker == lane.Worker() {
			from = max(from, m.tick)
		}
		if run, at, out := lane.TakeFirst(tenant, from, tick-1, n); out == generator.Issued {
			t.got(lane, at, i.sleep)
			t.since = at
			return run, answer{}
		}
	} else if i.short(lane, tick, tenant, n) {
		if run, at, out := lane.TakeFirst(tenant, i.burstFrom(t, lane, tick), tick-1, n); out == generator.Issued {
			t.got(lane, at, i.sleep)
			return run, answer{}
		}
	}
	run, out := lane.Take(tenant, tick, n)
	switch out {
	case generator.Issued:
		t.got(lane, tick, i.sleep)
		t.since = tick
		return run, answer{}
	case generator.Full, generator.Passed:
		t.since = tick + 1
		return generator.Run{}, answer{Wait{For: i.until(tick+1, now)}, errBusy, now, false}
	case generator.AboveCeiling:
		i.lender.Hurry()
		return generator.Run{}, answer{Wait{Event: true}, errCeiling, now, true}
	case generator.BadTenant:
		return generator.Run{}, answer{wait: Wait{Err: &UnavailableError{Reason: errTenant}}}
	default: // closed, or below the floor of a lane that was just put in
		return i.closed(lane, now)
	}
}

// closed serves a request that finds the lane closed: another lane is on its way. The owner of one that is closed because the machine is
// a copy may not know yet.
func (i *Issuer) closed(lane *generator.Lane, now clockguard.Reading) (generator.Run, answer) {
	if lane.Copied() {
		i.lender.Hurry()
	}
	return generator.Run{}, answer{Wait{Event: true}, errNoLane, now, true}
}

// behind serves a request that finds the clock behind what the lane may issue in order.
func (i *Issuer) behind(t *Ticket, seen glance, tenant uint32, n int) (generator.Run, answer) {
	lane, high, now := seen.lane, seen.high, seen.now
	if lane.Closed() {
		return i.closed(lane, now)
	}
	why := errClock
	if high == lane.Floor() {
		why = errFloor
	}
	d, next := i.decide(lane, high, now, tenant)
	i.answers[d.Answer].Add(1)
	switch d.Answer {
	case clockguard.Ring:
		tick := i.layout.TickAt(now.Wall)
		if run, out := lane.Take(tenant, tick, n); out == generator.Issued {
			if i.ringing.Load() != int64(high) {
				i.ringing.Store(int64(high))
			}
			t.got(lane, tick, i.sleep)
			return run, answer{}
		}
		return generator.Run{}, answer{Wait{For: time.Duration(i.layout.TickLength())}, errBusy, now, false} // another took the last one
	case clockguard.Spread:
		if at, ok := lane.NextRoom(tenant, high-generator.Tick(lane.Span())+1, high); ok {
			if run, out := lane.Take(tenant, at, n); out == generator.Issued {
				t.got(lane, at, i.sleep)
				return run, answer{}
			}
		}
		return generator.Run{}, answer{Wait{For: i.until(next, now), Event: true}, why, now, true}
	case clockguard.ReLease:
		i.lender.ReLease(lane)
		return generator.Run{}, answer{Wait{For: i.until(next, now), Event: true}, why, now, true}
	case clockguard.Wait:
		return generator.Run{}, answer{Wait{For: d.For, Event: true}, why, now, true}
	default: // Sleep, or Issue: the clock has caught up meanwhile
		t.since = next
		// A lane that has issued nothing yet may wait for its floor longer than anybody should who can be served elsewhere.
		return generator.Run{}, answer{Wait{For: max(d.For, 1)}, why, now, d.For > i.limits.Guard.MaxSleep}
	}
}

// decide asks the clock guard, and returns the next tick that the lane may issue in order as well.
func (i *Issuer) decide(lane *generator.Lane, high generator.Tick, now clockguard.Reading, tenant uint32) (clockguard.Decision, generator.Tick) {
	tick := i.layout.TickAt(now.Wall)
	next := max(high, lane.Floor()+1)
	if at, ok := lane.NextRoom(tenant, next, next+1); ok {
		next = at
	}
	limits := i.limits.Guard
	if high == lane.Floor() {
		limits.MaxSleep = max(limits.MaxSleep, i.limits.FirstWait)
	}
	s := clockguard.Situation{Lag: i.until(next, now), RoomIn: -1, Unordered: i.ringing.Load() == int64(high), Reachable: i.lender.CanLend()}
	if s.Lag <= limits.Span {
		if at, ok := lane.NextRoom(tenant, tick, next-1); ok {
			s.RoomIn = max(0, i.until(at, now))
		}
	}
	if !s.Reachable {
		_, s.AnyRoom = lane.NextRoom(tenant, high-generator.Tick(lane.Span())+1, high)
	}
	return clockguard.Decide(limits, s), next
}

// Check looks at the clock as a request would, without taking a number: if the clock has fallen so far behind the lane that a
// request would need another worker ID, that is asked for now, before any request waits.
func (i *Issuer) Check() {
	lane := i.lane.Load()
	if lane == nil || lane.Closed() {
		return
	}
	high := lane.Highest()
	now := i.clock.Now()
	if tick := i.layout.TickAt(now.Wall); tick >= high && tick > lane.Floor() {
		return
	}
	if d, _ := i.decide(lane, high, now, 0); d.Answer == clockguard.ReLease {
		i.lender.ReLease(lane)
	}
}

// until is the wall time from now to the start of tick.
func (i *Issuer) until(tick generator.Tick, now clockguard.Reading) time.Duration {
	return time.Duration(i.layout.UnixNanos(tick) - now.Wall)
}

// bound bounds a wait by the request's patience.
func (i *Issuer) bound(t *Ticket, a answer) Wait {
	if a.why == nil {
		return a.wait
	}
	if t.deadline == 0 {
		t.deadline = a.now.Mono + clockguard.Mono(i.limits.MaxBlock)
	}
	left := time.Duration(t.deadline - a.now.Mono)
	if left <= 0 {
		e := &UnavailableError{Reason: a.why, For: max(0, a.wait.For), After: i.limits.MaxBlock}
		if trouble := i.lender.Trouble(); trouble != nil {
			e.Reason = trouble
		}
		return Wait{Err: e}
	}
	if a.wait.For <= 0 || a.wait.For > left {
		a.wait.For = left
	}
	return a.wait
}
