package simulation

import (
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// truth is what the coordinator's own history says of each worker ID of the cluster that it holds.
type truth struct {
	cluster  string
	raised   generator.Tick // the cluster's floor
	records  map[int]history.Version
	last     map[int]*opening    // of each record
	openings map[string]*opening // by ID
}

// opening is one opening of a record.
type opening struct {
	proc   *proc          // that has made it; nil: an operator
	holder string         // its ID
	found  generator.Tick // up to where all may be another's
}

// wrote notes a write of a record by a process; nil: an operator's. A process writes in the cluster that
// it has joined, and in no other.
func (sim *Simulation) wrote(by *proc, worker int, value []byte) {
	r, t := sim.record.of(value), &sim.truth
	if cluster := sim.cluster.of(sim.tree.Layout()); cluster != t.cluster || t.records == nil {
		*t = truth{cluster: cluster, raised: floorOf(sim.tree.Layout()), records: map[int]history.Version{}, last: map[int]*opening{}, openings: map[string]*opening{}}
	}
	if by != nil && by.cluster != t.cluster && !sim.plan.Blind {
		sim.violate(by.slot, "worker ID %d: writes in cluster %s, and has joined %s", worker, t.cluster, by.cluster)
	}
	now := r.version(0, worker)
	last := t.last[worker]
	if last == nil || last.holder != r.Holder {
		o := &opening{proc: by, holder: r.Holder, found: max(t.records[worker].Ceiling, t.raised)}
		t.last[worker], t.openings[r.Holder] = o, o
	} else if before := t.records[worker]; sim.conditions.early > 0 && before.Ceiling > now.Ceiling {
		// A call from before the restore, given up since, may land now, on the record that is as
		// old as it is. What its daemon has been granted meanwhile it goes on to use: the floor is
		// raised beyond that.
		now = before
	}
	t.records[worker] = now
	sim.highest = max(sim.highest, r.Ceiling)
}

// opens judges a claim that a process was given: it begins above all that was granted before.
func (p *proc) opens(c coord.Claim) {
	sim, t := p.sim, &p.sim.truth
	o := t.openings[c.Opening()]
	if o == nil || sim.plan.Blind { // of another cluster
		return
	}
	switch {
	case o.proc != p:
		sim.violate(p.slot, "worker ID %d: has been given an opening that it has not made", c.Worker())
	case c.Floor() < o.found:
		sim.violate(p.slot, "worker ID %d: has floor %d, and all up to %d may be another's", c.Worker(), c.Floor(), o.found)
	}
}

// granted judges a tick by the coordinator's history: it is at or below what the record says, and
// above what another was granted.
func (p *proc) granted(l *laneOf, tick generator.Tick) {
	sim, t := p.sim, &p.sim.truth
	if l.cluster != t.cluster {
		return
	}
	if r := t.records[l.worker]; tick > r.Ceiling {
		sim.violate(p.slot, "worker ID %d, tick %d: the record's ceiling is %d", l.worker, tick, r.Ceiling)
	}
	if o := t.openings[l.opening]; o != nil && tick <= o.found {
		sim.violate(p.slot, "worker ID %d, tick %d: all up to %d may have been another's", l.worker, tick, o.found)
	}
}
