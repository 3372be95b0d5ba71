package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// Take takes up to n numbers for tenant. If the run has any, they are the request's; it may ask for
// the rest at once. If it has none, wait says when to try again or why not to. Take never blocks,
// and allocates nothing unless it refuses the request.
func (i *Issuer) Take(c *Connection, tenant uint32, n int) (generator.Run, Wait) {
	run, s, ok := i.fast(c, tenant, n)
	if ok {
		return run, Wait{}
	}
	o := i.slow(c, s, tenant, n)
	return o.run, i.bound(c, o)
}

// fast takes numbers of the clock's tick, unless there is more to consider. It serves nearly all
// requests.
func (i *Issuer) fast(c *Connection, tenant uint32, n int) (generator.Run, sample, bool) {
	s := i.sample()
	c.sampled = s.now.Mono
	if s.lane == nil || c.awaited != 0 {
		return generator.Run{}, s, false
	}
	tick := i.tick(s)
	if tick < s.highest || tick < i.minimum(c, s.lane, tick) || i.insufficient(s.lane, tick, n) ||
		!i.line.fits(c, s.lane, tick, n) {
		return generator.Run{}, s, false
	}
	run, out := s.lane.Take(tenant, tick, n)
	if out != generator.Issued {
		return generator.Run{}, s, false
	}
	i.record(c, s.lane, tick)
	return run, s, true
}

func (i *Issuer) record(c *Connection, lane *generator.Lane, tick generator.Tick) {
	c.order.record(lane.Worker(), tick, i.maxSleep)
}

// minimum is the first tick of the lane that keeps the connection's order.
func (i *Issuer) minimum(c *Connection, lane *generator.Lane, tick generator.Tick) generator.Tick {
	return c.order.minimum(lane.Worker(), tick, i.maxSleep)
}

// insufficient reports whether a burst may serve the request: the clock's tick has not enough
// numbers for it.
func (i *Issuer) insufficient(lane *generator.Lane, tick generator.Tick, n int) bool {
	return i.burst > 0 && lane.Room(tick) < n
}

// slow serves what fast does not. It says how the request goes on if it gets no number.
func (i *Issuer) slow(c *Connection, s sample, tenant uint32, n int) outcome {
	if s.lane == nil {
		return s.unavailable(0, ErrNoLane)
	}
	tick := i.tick(s)
	if err := i.layout.CheckTime(time.Unix(0, s.now.Wall)); err != nil {
		return refused(outside{err})
	}
	if tick < s.highest || tick <= s.lane.Floor() {
		return i.behind(c, s, tenant, n)
	}
	if minimum := i.minimum(c, s.lane, tick); tick < minimum {
		c.awaited = minimum
		return s.waits(i.until(minimum, s.now), ErrOrder)
	}
	if s.lane.Closed() {
		return i.closed(s)
	}
	switch _, out := s.lane.Take(tenant, tick, 0); out { // it takes nothing, and says whether it could
	case generator.Issued:
		return i.inTurn(c, s, tenant, n)
	case generator.AboveCeiling:
		i.owner.ExtendNow()
		return s.unavailable(0, ErrCeiling)
	case generator.BadTenant:
		return refused(ErrTenant)
	default: // closed, or below the floor of a lane that was just put in
		return i.closed(s)
	}
}

// draw takes numbers that ticks before the clock's, up to last, have left, the earliest first: what
// it leaves can still be drawn on in order. A request for n that waits may take as many as most.
func (i *Issuer) draw(c *Connection, lane *generator.Lane, tick, last generator.Tick, tenant uint32, n, most int) (generator.Run, generator.Tick, bool) {
	var from generator.Tick
	switch {
	case c.line != nil && most == 0:
		return generator.Run{}, 0, false
	case c.awaited != 0:
		n = max(most, 1)
		// A request that was woken late still gets the ticks it has waited through, so that a late
		// wake-up wastes no numbers. The minimum keeps the order of a request that began to wait
		// before the clock was put right.
		from = max(c.awaited, tick-generator.Tick(lane.Span()/2), i.minimum(c, lane, tick))
	case !i.insufficient(lane, tick, n):
		return generator.Run{}, 0, false
	default:
		from = max(tick-i.burst, i.minimum(c, lane, tick))
	}
	run, at, out := lane.TakeFirst(tenant, from, last, n)
	if out != generator.Issued {
		return generator.Run{}, 0, false
	}
	i.record(c, lane, at)
	return run, at, true
}

// closed serves a request that finds the lane closed: another lane is on its way. If the machine
// was cloned, the lane's owner may not know yet.
func (i *Issuer) closed(s sample) outcome {
	if s.lane.Copied() {
		i.owner.ExtendNow()
	}
	return s.unavailable(0, ErrNoLane)
}

// until is the wall time from now to the start of tick.
func (i *Issuer) until(tick generator.Tick, now clockguard.Reading) time.Duration {
	return time.Duration(i.layout.UnixNanos(tick) - now.Wall)
}
