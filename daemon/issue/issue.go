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
	// Hurry says that requests wait because the lane has reached its ceiling.
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
}

// Issuer hands out the numbers of the lane in use. Its methods may be called from any goroutine.
type Issuer struct {
	layout *generator.Layout
	clock  clockguard.Clock
	limits Limits
	lender Lender

	lane    atomic.Pointer[generator.Lane]
	changed atomic.Pointer[func()]
	answers [clockguard.Wait + 1]atomic.Uint64
	ringing atomic.Int64 // the lane's highest tick when the ring was last used: until it rises, order is lost
}

// New makes an issuer without a lane: requests wait until Use gives it one.
func New(layout *generator.Layout, clock clockguard.Clock, limits Limits, lender Lender) *Issuer {
	return &Issuer{layout: layout, clock: clock, limits: limits, lender: lender}
}

// Layout is the layout of the IDs that are handed out.
func (i *Issuer) Layout() *generator.Layout { return i.layout }

// Use makes lane the one that numbers are taken from, or none if lane is nil.
func (i *Issuer) Use(lane *generator.Lane) {
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

// Ticket is the patience of one request. Its zero value is ready; it must not be shared between requests.
type Ticket struct {
	since    generator.Tick  // the tick it waits for: it may draw on each tick from here to now
	deadline clockguard.Mono // when it gives up; 0 until it first waits
}

// Follow readies the ticket for the connection's next request, if that had arrived by the time the last one was answered: it has
// waited through the same ticks and may draw on them. A request that arrives later takes a zero Ticket.
func (t *Ticket) Follow() { t.deadline = 0 }

// Wait says what a request that got no number can do.
type Wait struct {
	For   time.Duration // try again after this long, if above 0
	Event bool          // or at the next change, whichever is first
	Err   error         // give up: an *UnavailableError
}

// Take takes up to n numbers for tenant. If the run has any, they are the request's; it may ask for the rest at once, with the
// same ticket. If it has none, wait says when to try again or why not to. Take never blocks, and allocates nothing
// unless it gives up.
func (i *Issuer) Take(t *Ticket, tenant uint32, n int) (generator.Run, Wait) {
	lane := i.lane.Load()
	if lane == nil {
		return generator.Run{}, i.wait(t, i.clock.Now(), Wait{Event: true}, errNoLane)
	}
	// The highest tick is loaded before the clock is read: a clock read later than another thread's issue cannot
	// show an earlier tick unless the clock really went back.
	high := lane.Highest()
	now := i.clock.Now()
	tick := i.layout.TickAt(now.Wall)
	if tick >= high && t.since == 0 {
		if run, out := lane.Take(tenant, tick, n); out == generator.Issued {
			return run, Wait{}
		}
	}
	return i.takeSlowly(t, lane, high, now, tenant, n)
}

func (i *Issuer) takeSlowly(t *Ticket, lane *generator.Lane, high generator.Tick, now clockguard.Reading, tenant uint32, n int) (generator.Run, Wait) {
	tick := i.layout.TickAt(now.Wall)
	if err := i.layout.CheckTime(time.Unix(0, now.Wall)); err != nil {
		return generator.Run{}, Wait{Err: &UnavailableError{Reason: err}}
	}
	if tick < high || tick <= lane.Floor() {
		return i.takeBehind(t, lane, high, now, tenant, n)
	}
	// A request that was woken late still gets the ticks it has waited through, so that a late wake-up wastes no
	// numbers. Its order is kept: all it was given before is below the tick that it began to wait for.
	from := tick
	if t.since != 0 && t.since < tick {
		from = max(t.since, tick-generator.Tick(lane.Span()/2))
	}
	for ; from < tick; from++ {
		if run, out := lane.Take(tenant, from, n); out == generator.Issued {
			t.since = from
			return run, Wait{}
		}
	}
	run, out := lane.Take(tenant, tick, n)
	switch out {
	case generator.Issued:
		t.since = tick
		return run, Wait{}
	case generator.Full, generator.Passed:
		t.since = tick + 1
		return generator.Run{}, i.wait(t, now, Wait{For: i.until(tick+1, now)}, errBusy)
	case generator.AboveCeiling:
		i.lender.Hurry()
		return generator.Run{}, i.wait(t, now, Wait{Event: true}, errCeiling)
	case generator.BadTenant:
		return generator.Run{}, Wait{Err: &UnavailableError{Reason: errTenant}}
	default: // closed, or below the floor of a lane that was just put in: another lane is on its way
		return generator.Run{}, i.wait(t, now, Wait{Event: true}, errNoLane)
	}
}

// takeBehind serves a request that finds the clock behind what the lane may issue in order.
func (i *Issuer) takeBehind(t *Ticket, lane *generator.Lane, high generator.Tick, now clockguard.Reading, tenant uint32, n int) (generator.Run, Wait) {
	if lane.Closed() {
		return generator.Run{}, i.wait(t, now, Wait{Event: true}, errNoLane)
	}
	why := errClock
	if high == lane.Floor() {
		why = errFloor
	}
	d, next := i.decide(lane, high, now, tenant)
	i.answers[d.Answer].Add(1)
	switch d.Answer {
	case clockguard.Ring:
		if run, out := lane.Take(tenant, i.layout.TickAt(now.Wall), n); out == generator.Issued {
			if i.ringing.Load() != int64(high) {
				i.ringing.Store(int64(high))
			}
			return run, Wait{}
		}
		return generator.Run{}, i.wait(t, now, Wait{For: time.Duration(i.layout.TickLength())}, errBusy) // another took the last one
	case clockguard.Spread:
		if at, ok := lane.NextRoom(tenant, high-generator.Tick(lane.Span())+1, high); ok {
			if run, out := lane.Take(tenant, at, n); out == generator.Issued {
				return run, Wait{}
			}
		}
		return generator.Run{}, i.wait(t, now, Wait{For: i.until(next, now), Event: true}, why)
	case clockguard.ReLease:
		i.lender.ReLease(lane)
		return generator.Run{}, i.wait(t, now, Wait{For: i.until(next, now), Event: true}, why)
	case clockguard.Wait:
		return generator.Run{}, i.wait(t, now, Wait{For: d.For, Event: true}, why)
	default: // Sleep, or Issue: the clock has caught up meanwhile
		t.since = next
		return generator.Run{}, i.wait(t, now, Wait{For: max(d.For, 1)}, why)
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

// wait bounds w by the request's patience.
func (i *Issuer) wait(t *Ticket, now clockguard.Reading, w Wait, why error) Wait {
	if t.deadline == 0 {
		t.deadline = now.Mono + clockguard.Mono(i.limits.MaxBlock)
	}
	left := time.Duration(t.deadline - now.Mono)
	if left <= 0 {
		e := &UnavailableError{Reason: why, For: max(0, w.For), After: i.limits.MaxBlock}
		if trouble := i.lender.Trouble(); trouble != nil {
			e.Reason = trouble
		}
		return Wait{Err: e}
	}
	if w.For <= 0 || w.For > left {
		w.For = left
	}
	return w
}
