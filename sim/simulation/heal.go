package simulation

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/scheduler"
)

const (
	// rest is how long a cluster has, once nothing goes wrong any more, until all must be well.
	// Claims that nobody uses are the last to go: they take six publishes.
	rest = 40 * time.Second
	// lately is how long ago a daemon has issued at the most, then.
	lately = 5 * time.Second
)

// heal ends all faults. The clocks are set right, or as late as what was granted to anybody: until
// then a daemon may have to wait.
func (sim *Simulation) heal() {
	sim.healed = true
	sim.conditions.down, sim.conditions.lost, sim.conditions.late, sim.conditions.twice, sim.conditions.stale = 0, 0, 0, 0, 0
	for _, counts := range [][]int{sim.conditions.deaf, sim.conditions.mute, sim.conditions.quiet} {
		clear(counts)
	}
	sim.mendAll()
	if len(sim.tree.Layout()) == 0 {
		sim.create(sim.highest)
	}
	now := sim.scheduler.Now()
	right := max(begin.UnixNano()+int64(now)+int64(rest), sim.layout.UnixNanos(sim.highest+1))
	// Clocks were wrong, or are set ahead now: a person says that they are right.
	sim.trust = true
	for _, s := range sim.slots {
		if s.proc != nil {
			s.proc.lifecycle.Belief.Trust = sim.trust
		}
	}
	for _, h := range sim.hosts {
		h.clocks.FreezeWall(now, false)
		h.clocks.Drift(now, 0, 0)
		h.clocks.Step(now, time.Duration(right-h.read().Wall))
	}
	for _, s := range sim.slots {
		s.armed, s.requestFault = nil, nil
	}
	sim.say(nil, "nothing goes wrong any more; clocks show tick %d", sim.layout.TickAt(right))
}

// recovered judges whether as many daemons issue as there are worker IDs for.
func (sim *Simulation) recovered() {
	if sim.layout.TickAt(sim.hosts[0].read().Wall) > sim.layout.MaxTick()-generator.Tick(time.Minute/sim.layout.TickLength()) {
		return // the time is over
	}
	issuing := 0
	for _, s := range sim.slots {
		if s.issued > 0 && sim.scheduler.Now()-s.issued < scheduler.Time(lately) {
			issuing++
		}
	}
	if want := sim.least(); issuing < want {
		for _, s := range sim.slots {
			if s.proc != nil {
				sim.say(s, "holds %+v, condition: %v", s.proc.holder.Holding(), s.proc.holder.Condition())
			}
		}
		sim.violate(nil, "%v after the last fault %d daemons issue, and %d could", rest, issuing, want)
	}
}

// least is how many daemons issue at the least if every worker ID is held that can be.
func (sim *Simulation) least() int {
	return min(len(sim.slots), sim.layout.Workers())
}

// belief is how far daemons believe their clocks.
func (sim *Simulation) belief() clockguard.Belief {
	b := clockguard.DefaultBelief()
	b.Trust, b.Strict, b.End = sim.trust, sim.plan.Strict, sim.layout.UnixNanos(sim.layout.MaxTick()+1)
	return b
}
