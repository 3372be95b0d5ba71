package simulation

import "github.com/flakeward/flakeward/generator"

// beginning is the number at which a lane begins tick t while the clock shows now: where its last
// tick stopped, modulo a quarter of the numbers, or an eighth where less than a quarter was left,
// or 0 where less than that was. In the past a tick begins at 0.
func (p *proc) beginning(t, now generator.Tick, l *laneOf) uint64 {
	all := uint64(p.sim.capacity)
	if t < now || t <= l.last || all < 8 || p.sim.plan.fromZero(p.slot.number) {
		return 0
	}
	switch left := all - l.stopped; {
	case left >= all/4:
		return l.stopped % (all / 4)
	case left >= all/8:
		return l.stopped % (all / 8)
	}
	return 0
}

// begins judges the number at which a lane begins a tick.
func (p *proc) begins(t, now generator.Tick, number uint64, l *laneOf) {
	if number > 0 {
		p.sim.counts.Rolled++
	}
	if want := p.beginning(t, now, l); number != want {
		p.sim.violate(p.slot, "worker ID %d, tick %d begins at number %d, and not at %d: the clock shows %d, and the lane stopped at %d of tick %d",
			l.worker, t, number, want, now, l.stopped, l.last)
	}
}

// room is how many IDs of the clock's tick a lane had room for, as it was.
func (p *proc) room(now generator.Tick, lane *generator.Lane, was *laneOf) int {
	room := lane.Room(now)
	if room > 0 && !was.ticks[now] { // what was drawn moves its beginning
		room = p.sim.capacity - int(p.beginning(now, now, was))
	}
	return room
}
