package simulation

import (
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// laneOf is what a lane has issued.
type laneOf struct {
	worker  int
	ticks   map[generator.Tick]bool
	last    generator.Tick
	stopped uint64 // the number after its highest of the last tick
}

// issued judges a run that a daemon has just been given by its lane, whether or not it gets to
// anybody: what nobody can tell from the evidence afterwards.
func (p *proc) issued(run generator.Run, lane *generator.Lane, c *conn, before clockguard.Reading, unordered bool) {
	sim := p.sim
	parts, err := sim.layout.Decompose(run.First)
	if err != nil {
		sim.violate(p.slot, "an ID that is none: %v", err)
		return
	}
	sim.counts.IDs += uint64(run.N)
	p.slot.issued = sim.scheduler.Now()
	l, t := p.lanes[lane], parts.Tick
	if len(l.ticks) == 0 {
		if other := sim.issuers[l.worker]; other != nil && other != p.slot {
			sim.counts.Handovers++
		}
		sim.issuers[l.worker] = p.slot
	}
	was := *l
	if !l.ticks[t] {
		p.begins(t, sim.layout.TickAt(before.Wall), parts.Sequence, l)
		l.ticks[t] = true
	}
	if t >= l.last {
		l.last, l.stopped = t, parts.Sequence+uint64(run.N)
	}
	p.ordered(t, lane, &was, c, before, unordered)
}

// ordered judges order, on the connection and by the host's clock, and what a burst draws on. No
// time has passed since before. was is the lane before the run.
func (p *proc) ordered(t generator.Tick, lane *generator.Lane, was *laneOf, c *conn, before clockguard.Reading, unordered bool) {
	sim := p.sim
	now, span, back := sim.layout.TickAt(before.Wall), generator.Tick(lane.Span()), generator.Tick(p.slot.burst/sim.layout.TickLength())
	// On one connection IDs rise, or fall by the ring's span at most. Within a tick another lane's
	// worker ID may be lower. If the clock is further back than may be slept for, the order is lost
	// between lanes.
	least := c.highest.before(lane)
	inOrder := least
	switch {
	case sim.plan.Strict: // nothing excuses it
	case lane != c.highest.lane && (unordered || c.highest.tick-now > sim.sleep):
		least = 0
	case unordered:
		least = c.highest.tick - span + 1
	}
	if c.highest.tick > 0 && t < least {
		sim.violate(p.slot, "tick %d after tick %d of the same connection, and the clock is at %d; another lane: %v, the ring was used: %v", t, c.highest.tick, now, lane != c.highest.lane, unordered)
		return
	}
	// What it has got since a step back is in order again, over changes of lane too: the clock has
	// shown each of those ticks since, and is behind none of them by more than may be slept for.
	// Only another step excuses that, and the ring.
	if unordered || c.since.tick-now > sim.sleep {
		c.since = reached{}
	}
	if c.since.tick > 0 && t < c.since.before(lane) {
		sim.violate(p.slot, "tick %d after tick %d of the same connection, given since the clock was set back, and it is at %d; another lane: %v", t, c.since.tick, now, lane != c.since.lane)
		return
	}
	c.highest.note(t, lane)
	if !unordered {
		c.since.note(t, lane)
	}
	// An ID is as late as its host's clock, from the question to the answer.
	low, high := min(sim.layout.TickAt(c.queue[0].asked.Wall), now), now
	if unordered {
		low, high = low-span, max(high, lane.Highest())
	}
	if t < low-back || t > high {
		sim.violate(p.slot, "tick %d, and the host's clock went from %d to %d", t, low, high)
		return
	}
	if t < low && !unordered {
		p.drawn(t, lane, was, c, now, inOrder)
	}
}

// reached is the highest tick of some of a connection's IDs, and the lane that it came from; the
// zero value is of none.
type reached struct {
	tick generator.Tick
	lane *generator.Lane
}

// before is the first tick that a lane may give then.
func (r reached) before(lane *generator.Lane) generator.Tick {
	if lane != r.lane {
		return r.tick + 1
	}
	return r.tick
}

func (r *reached) note(t generator.Tick, lane *generator.Lane) {
	if t > r.tick {
		*r = reached{t, lane}
	}
}

// drawn judges a burst: the clock's tick has not enough, and of the ticks that may be drawn on it
// is the first that has any.
func (p *proc) drawn(t generator.Tick, lane *generator.Lane, was *laneOf, c *conn, now, least generator.Tick) {
	sim := p.sim
	sim.counts.Drawn++
	if room := p.room(now, lane, was); room >= c.queue[0].n {
		sim.violate(p.slot, "tick %d, and the clock's tick %d has %d for the %d that are wanted", t, now, room, c.queue[0].n)
		return
	}
	from := now - generator.Tick(p.slot.burst/sim.layout.TickLength())
	if t < from {
		sim.violate(p.slot, "a burst draws on tick %d, and may draw on none before %d", t, from)
	}
	if at, ok := lane.NextRoom(max(from, least), t-1); ok {
		sim.violate(p.slot, "a burst draws on tick %d, and tick %d has room", t, at)
	}
}
