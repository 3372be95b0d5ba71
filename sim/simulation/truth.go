package simulation

import (
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// truth is what the coordinator's own history says of each worker ID of the cluster that it holds.
type truth struct {
	cluster string
	raised  generator.Tick // what all marks were raised to last
	records map[int]history.Version
	opened  map[int]opening
	floors  map[string]generator.Tick // by opening, of those that go on from nothing
	marks   map[string]published      // by opening
}

// opening is who has opened a record last.
type opening struct {
	holder string
	slot   *slot
	raised generator.Tick // what all marks had been raised to then
}

// published is what a journal's mark was when the write before the last of a record was stored, and
// the last.
type published struct{ before, last generator.Tick }

// wrote notes a write of a record. Who opens what another has opened last, or what was opened
// before all marks were raised, begins above all that was granted until then.
func (sim *Simulation) wrote(by *slot, worker int, value []byte) {
	r, t := sim.record.of(value), &sim.truth
	if cluster := sim.cluster.of(sim.tree.Layout()); cluster != t.cluster || t.records == nil {
		*t = truth{cluster: cluster, raised: floorOf(sim.tree.Layout()), records: map[int]history.Version{}, opened: map[int]opening{}, floors: map[string]generator.Tick{}, marks: map[string]published{}}
	}
	now := r.version(0, worker)
	last := t.opened[worker]
	if last.holder != r.Holder {
		if last.holder != "" && last.raised != t.raised && r.Mark != 0 && by != nil && !sim.plan.Blind {
			sim.violate(by, "worker ID %d: an opening goes on from one of before the marks were raised, with its mark %d", worker, r.Mark)
		}
		if last.slot == nil || last.slot != by || last.raised != t.raised || by.lost {
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
	if by != nil && by.proc != nil && last.holder == r.Holder { // what an opening finds is another's mark
		t.marks[r.Holder] = published{t.marks[r.Holder].last, markOf(by.proc.durable, worker)}
	}
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

// adopted judges a journal that a daemon finds: it is never behind what the coordinator knows of
// it. A record of before the marks were raised may be one that was restored, which knows of a mark
// and not of the exact last tick that took its place. An entry of which only the mark counts is not
// adopted. Nor is one of an opening that another daemon has made.
func (sim *Simulation) adopted(s *slot, found journal.Contents) {
	if sim.plan.Blind || sim.plan.Lying || s.tampered || len(sim.damaged) > 0 || sim.conditions.early > 0 || found.Cluster != sim.cluster.of(sim.tree.Layout()) {
		return
	}
	epoch := epochOf(sim.tree.Layout())
	for _, e := range found.Entries {
		if by := sim.openers[e.Opening]; by != nil && by != s && !e.Left {
			sim.violate(s, "worker ID %d: goes on from an opening that d%d has made", e.Worker, by.number)
		}
		if r := sim.record.of(sim.tree.Record(e.Worker)); !e.Left && r.Holder == e.Opening && coord.ClusterEpochOf(r.Holder) == epoch && r.Mark > e.Mark {
			sim.violate(s, "worker ID %d: the journal's mark is %d, and the record has one of %d from it", e.Worker, e.Mark, r.Mark)
		}
	}
}
