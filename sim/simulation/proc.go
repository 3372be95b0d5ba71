package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/record"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// What a daemon is configured with.
const (
	maxSleep = 5 * time.Millisecond
	maxBlock = 2 * time.Second
	where    = "simulated://"
)

// slot is where one daemon runs again and again: its host.
type slot struct {
	number int
	host   *host
	burst  time.Duration

	hostName string

	proc         *proc // nil while none runs
	starts       uint64
	armed        []*failpoint   // where something goes wrong
	requestFault *Fault         // what goes wrong with the next request that is sent
	issued       scheduler.Time // when it did last; 0: never
	handed       lifecycle.Time // by the process before, for the next start
	before       string         // the incarnation of the process before
	wrongly      wrongly
}

// proc is one start of a daemon. It is that daemon's clock, too.
type proc struct {
	sim        *Simulation
	slot       *slot
	host       *host
	random     *rand.Rand
	ctx        *hostContext
	coroutines []*scheduler.Coroutine
	waiters    []*waiter // one for each coroutine that ever waited
	waiting    []*waiter // those that do
	dead       bool
	ending     bool
	wrongly    wrongly // as it was started
	changed    bool
	cluster    string // that lanes are of now

	known       *clockguard.Known // its time, by its host's clocks
	boot        string            // its host's
	began       scheduler.Time
	incarnation string

	store  *tree.Store
	coord  *claims.Coordinator
	claims []*sharedClaim
	holder *grant.Holder
	issuer *issue.Issuer
	source resp.Source // the issuer, and what it hands out is written down

	lifecycle *lifecycle.Lifecycle
	opened    coord.Coordinator // for leaving; nil: not yet
	joined    bool

	lanes      map[*generator.Lane]*laneOf
	batches    batches
	contention contention
	conns      [conns]conn

	arrived, retrying func() // events that happen again and again, made once
}

// reader makes random bytes.
type reader struct{ *rand.Rand }

func (r reader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}

// start starts a daemon, as daemon.Run does.
func (sim *Simulation) start(s *slot) {
	s.starts++
	sim.counts.Starts++
	p := &proc{sim: sim, slot: s, host: s.host, wrongly: s.wrongly, began: sim.scheduler.Now(), lanes: map[*generator.Lane]*laneOf{}, random: rand.New(rand.NewPCG(sim.plan.Seed, uint64(s.number)<<32|s.starts))}
	p.boot = s.host.boot()
	p.known = clockguard.NewKnown(p, p, sim.belief())
	p.ctx = &hostContext{parent: context.Background(), p: p, until: never}
	s.proc = p
	for i := range p.conns {
		c := &p.conns[i]
		again := c.again
		sim.conns++
		c.p, c.number, c.due = p, sim.conns, func() { p.do(again) }
	}
	request, retry := p.request, p.retry
	p.retrying = func() { p.do(retry) }
	p.arrived = func() {
		p.do(request)
		if !p.dead {
			p.arrivals()
		}
	}
	log := hclog.NewNullLogger()
	if sim.out != nil {
		log = hclog.New(&hclog.LoggerOptions{Output: logTo{sim, s}, DisableTime: true, Level: hclog.Info})
	}
	p.makeLane(log)
	p.incarnation = fmt.Sprintf("d%dS%dR%d", s.number, s.starts, p.random.Uint32())
	before := s.before
	s.before = p.incarnation
	open := func(context.Context) (coord.Coordinator, error) {
		p.store = tree.NewStore(sim.plan.Servers, p.incarnation, sim.plan.ShowsRestores, p)
		var err error
		p.coord, err = claims.New(p.store, claims.Config{
			Identity: coord.Identity{Host: s.hostName, PID: int(s.starts), Incarnation: p.incarnation, Dead: before, Version: "sim", Boot: p.boot},
			Clock:    p, Random: reader{p.random}, Log: log,
		})
		return record.Coordinator(shared{p.coord, p}, p.record), err
	}
	if _, err := open(p.ctx); err != nil { // the session is looked at before the first Open
		sim.violate(s, "a coordinator cannot be made: %v", err)
		return
	}
	p.lifecycle = &lifecycle.Lifecycle{
		Holder: p.holder, Layout: sim.layout, Clock: p.known, Belief: sim.belief(), Coord: s.wrongly.coord(), Log: log,
		Open:   open,
		Joined: func(cluster coord.Cluster) { p.cluster, p.joined = cluster.UUID, true },
	}
	sim.say(s, "starts")
	p.lifecycle.Resume(s.handed)
	s.handed = lifecycle.Time{}
	p.start(func() { p.check(p.lifecycle.Watch(p.ctx, p.issuer)) })
	p.start(func() { p.lifecycle.Settle(p.ctx, p.issuer) })
	p.start(p.acquire)
	p.keepAlive()
	p.arrivals()
}

// makeLane makes what issues, as a daemon does.
func (p *proc) makeLane(log hclog.Logger) {
	sim, s := p.sim, p.slot
	first := lifecycle.RestartWait(sim.layout, sim.plan.RestartWait)
	p.holder = grant.New(grant.Config{
		Layout: sim.layout, Datacenter: s.wrongly.datacenter(), Coord: s.wrongly.coord(), Timing: sim.plan.Timing, RestartWait: first,
		Clock: p.known, Random: p.random.Float64,
		FromZero: sim.plan.fromZero(s.number), Log: log,
	}, p)
	p.issuer = issue.New(sim.layout, p.known, issue.Limits{Guard: sim.guard, RestartWait: first, MaxBlock: maxBlock, Burst: s.burst}, p.holder)
	p.source = record.Source(p.issuer, sim.layout.Step(), p.record)
	p.issuer.OnChange(func() { p.changed = true })
}

// Use implements grant.Issuer.
func (p *proc) Use(lane *generator.Lane) {
	if lane != nil && p.lanes[lane] == nil {
		p.lanes[lane] = &laneOf{worker: lane.Worker(), ticks: map[generator.Tick]bool{}}
	}
	p.issuer.Use(lane)
}

// Changed implements grant.Issuer.
func (p *proc) Changed() { p.changed = true }

// laneOf is the lane in use that has issued what begins with an ID; nil if there is none.
func (p *proc) laneOf(first int64) *generator.Lane {
	parts, err := p.sim.layout.Decompose(first)
	if err != nil {
		return nil
	}
	if l := p.issuer.Lane(); l != nil && l.Worker() == int(parts.Worker) && l.Floor() < parts.Tick && parts.Tick <= l.Ceiling() {
		return l
	}
	return nil
}

// start runs f as one of the process's coroutines, after the current event.
func (p *proc) start(f func()) {
	fl := p.sim.scheduler.Coroutine(f)
	p.coroutines = append(p.coroutines, fl)
	p.sim.scheduler.At(p.sim.scheduler.Now(), func() {
		p.do(func() {
			fl.Resume()
			p.finish()
		})
	})
}

// check stops the daemon after an error that is final.
func (p *proc) check(err error) {
	if err == nil {
		return
	}
	p.sim.say(p.slot, "stops by itself: %v", err)
	if errors.Is(err, coord.ErrOtherCluster) {
		p.late(coord.ErrOtherCluster)
	}
	p.sim.scheduler.At(p.sim.scheduler.Now(), func() { p.do(func() { p.stop(500 * time.Millisecond) }) })
}

// acquire joins and holds a worker ID.
func (p *proc) acquire() {
	var err error
	if p.opened, err = p.lifecycle.Join(p.ctx); err != nil || p.opened == nil || p.ctx.Err() != nil {
		p.check(err)
		return
	}
	p.check(p.holder.Hold(p.ctx))
}

// windDown ends what the process does, and runs last once all of it has ended.
func (p *proc) windDown(last func()) {
	p.ending = true
	p.ctx.over = true
	for _, wt := range p.waiting {
		p.soon(wt)
	}
	others := p.coroutines
	p.start(func() {
		for p.left(others) {
			p.Pause(context.Background(), time.Millisecond, nil)
		}
		last()
	})
}

// stop ends the process in order, and starts it again.
func (p *proc) stop(down time.Duration) { p.leave("stopped in order", lifecycle.Time{}, down) }

// handOver ends the process as one does from which another takes over, and starts that other.
func (p *proc) handOver(down time.Duration) { p.leave("handed over", p.lifecycle.KnownTime(), down) }

// leave ends the process in order, and starts it again with what is handed over.
func (p *proc) leave(how string, handed lifecycle.Time, down time.Duration) {
	if p.ending {
		return
	}
	p.windDown(func() {
		p.lifecycle.Leave(context.Background(), p.opened)
		if p.opened != nil {
			p.late(coord.ErrClosed)
		}
		p.sim.scheduler.At(p.sim.scheduler.Now(), func() {
			p.slot.handed = handed
			p.end(how, down)
		})
	})
}

func (p *proc) left(coroutines []*scheduler.Coroutine) bool {
	for _, f := range coroutines {
		if !f.Done() {
			return true
		}
	}
	return false
}

// end ends the process at once, whatever it does, and has the daemon start again. It is called from
// events only.
func (p *proc) end(how string, down time.Duration) {
	if p.dead {
		return
	}
	p.dead = true
	s := p.slot
	s.proc, s.requestFault = nil, nil
	for _, f := range p.coroutines {
		f.End()
	}
	p.sim.say(s, "%s", how)
	p.sim.scheduler.At(p.sim.scheduler.Now()+scheduler.Time(down), func() {
		s.host.do(func() {
			if s.proc == nil {
				p.sim.start(s)
			}
		})
	})
}

// logTo puts a daemon's log into the trace.
type logTo struct {
	sim *Simulation
	s   *slot
}

func (l logTo) Write(b []byte) (int, error) {
	l.sim.say(l.s, "  %s", b[:len(b)-1])
	return len(b), nil
}
