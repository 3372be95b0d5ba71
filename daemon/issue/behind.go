package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// behind serves a request that finds the clock behind what the lane may issue in order.
func (i *Issuer) behind(c *Connection, s sample, tenant uint32, n int) outcome {
	lane, tick := s.lane, i.tick(s)
	if lane.Closed() {
		return i.closed(s)
	}
	reason := ErrClock
	if s.highest == lane.Floor() {
		reason = ErrFloor
	}
	d, next := i.decide(s)
	i.answers[d.Answer].Add(1)
	switch d.Answer {
	case clockguard.Ring:
		if o, ok := i.outOfTurn(c, s, tick, next, tenant, n); ok {
			if o.run.N > 0 && i.unordered.Load() != int64(s.highest) {
				i.unordered.Store(int64(s.highest))
			}
			return o
		}
		return s.waits(time.Duration(i.layout.TickLength()), ErrExhausted) // another took the last one
	case clockguard.Backfill:
		if at, ok := lane.NextRoom(i.oldest(s), s.highest); ok {
			if o, ok := i.outOfTurn(c, s, at, next, tenant, n); ok {
				return o
			}
		}
		return s.unavailable(i.until(next, s.now), reason)
	case clockguard.ReLease:
		i.owner.ReLease(lane)
		return s.unavailable(i.until(next, s.now), reason)
	case clockguard.Wait:
		return s.unavailable(d.For, reason)
	default: // Sleep, or Issue: the clock has caught up meanwhile
		c.awaited = next
		return s.waits(max(d.For, 1), reason)
	}
}

// outOfTurn takes numbers of the tick at, unless what the request asks for cannot be promised. The
// rest of it waits in turn from the tick next on: what others are promised is beside that. false:
// it took none, and promised nothing.
func (i *Issuer) outOfTurn(c *Connection, s sample, at, next generator.Tick, tenant uint32, n int) (o outcome, ok bool) {
	l := &i.line
	l.mu.Lock()
	defer l.mu.Unlock()
	before := c.admitted
	if refused, ok := i.admit(c, l.waited(), s, n); !ok {
		return refused, true
	}
	run, out := s.lane.Take(tenant, at, n)
	if out != generator.Issued {
		c.admitted = before
		return outcome{}, false
	}
	i.record(c, s.lane, at)
	if c.line == nil && run.N < n {
		l.join(c, s.lane, next, n)
	}
	l.took(c, run.N)
	return outcome{run: run}, true
}

// oldest is the first tick whose slot the lane remembers.
func (i *Issuer) oldest(s sample) generator.Tick {
	return s.highest - generator.Tick(s.lane.Span()) + 1
}

// decide asks the clock guard. It returns the next tick that the lane may issue in order as well.
func (i *Issuer) decide(s sample) (clockguard.Decision, generator.Tick) {
	lane, tick := s.lane, i.tick(s)
	next := max(s.highest, lane.Floor()+1)
	if at, ok := lane.NextRoom(next, next+1); ok {
		next = at
	}
	limits := i.limits.Guard
	if s.highest == lane.Floor() {
		limits.MaxSleep = max(limits.MaxSleep, i.limits.RestartWait)
	}
	asked := clockguard.Situation{
		Lag: i.until(next, s.now), RoomIn: -1,
		Unordered: i.unordered.Load() == int64(s.highest),
		Reachable: i.owner.CanAcquire(),
	}
	if asked.Lag <= limits.Span {
		if at, ok := lane.NextRoom(tick, next-1); ok {
			asked.RoomIn = max(0, i.until(at, s.now))
		}
	}
	if !asked.Reachable {
		_, asked.AnyRoom = lane.NextRoom(i.oldest(s), s.highest)
	}
	return clockguard.Decide(limits, asked), next
}

// Check samples the clock as a request would, without taking a number. If a request would need
// another worker ID, Check asks for it now, before any request waits.
func (i *Issuer) Check() {
	s := i.sample()
	if s.lane == nil || s.lane.Closed() {
		return
	}
	if tick := i.tick(s); tick >= s.highest && tick > s.lane.Floor() {
		return
	}
	if d, _ := i.decide(s); d.Answer == clockguard.ReLease {
		i.owner.ReLease(s.lane)
	}
}
