package simulation

import (
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// truth is what the coordinator's own history says of each worker ID of the cluster that it holds.
type truth struct {
	cluster string
	raised  generator.Tick // what all marks were raised to last
	records map[int]history.Version
	opened  map[int]opening
	floors  map[string]generator.Tick // by opening, of those that go on from nothing
}

// opening is who has opened a record last.
type opening struct {
	holder string
	proc   *proc
	raised generator.Tick // what all marks had been raised to then
}

// wrote notes a write of a record by a process; nil: an operator's. Who opens what another process has
// opened last, or what was opened before all marks were raised, begins above all that was granted
// until then.
func (sim *Simulation) wrote(by *proc, worker int, value []byte) {
	r, t := sim.record.of(value), &sim.truth
	if cluster := sim.cluster.of(sim.tree.Layout()); cluster != t.cluster || t.records == nil {
		*t = truth{cluster: cluster, raised: floorOf(sim.tree.Layout()), records: map[int]history.Version{}, opened: map[int]opening{}, floors: map[string]generator.Tick{}}
	}
	now := r.version(0, worker)
	last := t.opened[worker]
	if last.holder != r.Holder {
		if last.holder != "" && last.raised != t.raised && r.Mark != 0 && by != nil && !sim.plan.Blind {
			sim.violate(by.slot, "worker ID %d: an opening goes on from one of before the marks were raised, with its mark %d", worker, r.Mark)
		}
		if last.proc == nil || last.proc != by || last.raised != t.raised {
			t.floors[r.Holder] = max(t.records[worker].Ceiling, t.raised)
		}
		t.opened[worker] = opening{r.Holder, by, t.raised}
	}
	if before := t.records[worker]; sim.conditions.early > 0 && last.holder == r.Holder && before.Ceiling > now.Ceiling {
		// A call from before the restore, given up since, may land now, on the record that is as
		// old as it is. What its daemon has been granted meanwhile it goes on to use: the marks are
		// raised beyond that.
		now = before
	}
	t.records[worker] = now
	sim.highest = max(sim.highest, r.Ceiling)
}

// granted judges a tick by the coordinator's history: it is at or below what the record says, and
// above what another was granted.
func (p *proc) granted(l *laneOf, tick generator.Tick) {
	sim, t, worker := p.sim, &p.sim.truth, l.place.worker
	if l.place.cluster != t.cluster {
		return
	}
	if r := t.records[worker]; tick > r.Ceiling {
		sim.violate(p.slot, "worker ID %d, tick %d: the record's ceiling is %d", worker, tick, r.Ceiling)
	}
	if floor, ok := t.floors[l.opening]; ok && tick <= floor {
		sim.violate(p.slot, "worker ID %d, tick %d: all up to %d may have been another's", worker, tick, floor)
	}
}
