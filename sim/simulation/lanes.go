package simulation

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/record"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/scheduler"
)

// disks are those of all lanes' journals. They are one disk: a fault of it concerns all.
func (s *slot) disks() []*disk.Disk { return append([]*disk.Disk{s.disk}, s.others...) }

// all does the same to each of them.
func (s *slot) all(f func(*disk.Disk)) {
	for _, d := range s.disks() {
		f(d)
	}
}

// fewer is how many starts of a daemon with several lanes there are to one that is configured to
// have fewer of them.
const fewer = 8

// running is how many lanes the start of a daemon that begins now has.
func (sim *Simulation) running(s *slot) int {
	all := 1 + len(s.others)
	if all == 1 {
		return all
	}
	r := rand.New(rand.NewPCG(sim.plan.Seed^0x6665776572, uint64(s.number)<<32|s.starts)) // its own: whatever else is drawn stays as it is
	if r.IntN(fewer) > 0 && !(s.copied && r.IntN(2) == 0) {
		return all
	}
	return 1 + r.IntN(all-1)
}

// makeLanes makes the lanes, as a daemon does.
func (p *proc) makeLanes(dir *journal.Dir, log hclog.Logger) error {
	sim, s := p.sim, p.slot
	first := lifecycle.FirstWait(sim.layout, sim.plan.Timing.Step, maxSleep)
	issued := grant.NewIssued()
	var issuers []*issue.Issuer
	for i := range sim.running(s) {
		file, err := dir.Lane(i)
		if err != nil {
			return err
		}
		part := &lanePart{p: p, number: i}
		part.holder = grant.New(grant.Config{
			Layout: sim.layout, Datacenter: s.wrongly.datacenter(), Coord: s.wrongly.coord(), Timing: sim.plan.Timing, FirstWait: first,
			Clock: p.known, Kept: p.known.Kept, Random: p.random.Float64, Journal: recorded{file, part}, Lane: i, FromZero: sim.plan.fromZero(s.number), Issued: issued, Log: log,
		}, part)
		part.issuer = issue.New(sim.layout, p.known, issue.Limits{Guard: sim.guard, FirstWait: first, MaxBlock: maxBlock, Burst: s.draws.Back, BurstUnordered: s.draws.Unordered}, part.holder)
		p.parts, issuers = append(p.parts, part), append(issuers, part.issuer)
	}
	p.pool = issue.NewPool(issuers...)
	p.source = record.Source(p.pool, sim.layout.Step(), p.record)
	p.pool.OnChange(func() { p.changed = true })
	return nil
}

func (p *proc) holders() []*grant.Holder {
	var all []*grant.Holder
	for _, s := range p.parts {
		all = append(all, s.holder)
	}
	return all
}

// any is one of the process's lanes.
func (p *proc) any() *lanePart {
	if len(p.parts) == 1 {
		return p.parts[0]
	}
	return p.parts[p.sim.random.IntN(len(p.parts))]
}

// together runs all of it side by side, each in a coroutine, and has the one that runs now wait for
// it.
func (p *proc) together(all ...func()) {
	before := len(p.coroutines)
	for _, f := range all {
		p.start(f)
	}
	for p.left(append([]*scheduler.Coroutine(nil), p.coroutines[before:before+len(all)]...)) {
		p.Pause(context.Background(), time.Millisecond, nil)
	}
}

// Use implements grant.Issuer.
func (s *lanePart) Use(lane *generator.Lane) {
	p := s.p
	if lane != nil && p.lanes[lane] == nil {
		if !p.joined {
			p.sim.counts.Inherited++
		}
		p.use(s, lane)
	}
	s.issuer.Use(lane)
}

// Changed implements grant.Issuer.
func (s *lanePart) Changed() { s.p.changed = true }

// laneOf is the lane in use that has issued what begins with an ID; nil if there is none. Of two
// that have one worker ID, one may still be issuing from a grant that it has lost the claim to, the
// grant of the other lies above it.
func (p *proc) laneOf(first int64) *generator.Lane {
	parts, err := p.sim.layout.Decompose(first)
	if err != nil {
		return nil
	}
	for _, s := range p.parts {
		if l := s.issuer.Lane(); l != nil && l.Worker() == int(parts.Worker) && l.Floor() < parts.Tick && parts.Tick <= l.Ceiling() {
			return l
		}
	}
	return nil
}

// mark is what the lanes' journals say of a worker ID; -1: nothing.
func (p *proc) mark(worker int) generator.Tick {
	highest := generator.Tick(-1)
	for _, s := range p.parts {
		highest = max(highest, markOf(s.durable, worker))
	}
	return highest
}
