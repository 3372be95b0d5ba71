package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/lending"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/line"
	"github.com/flakeward/flakeward/sim/tree"
)

// What package daemon has in the same places.
const (
	joinTimeout    = 2 * time.Second
	coldAfter      = time.Second
	firstJoinRetry = 100 * time.Millisecond
	lastJoinRetry  = 2 * time.Second
	shutTimeout    = 5 * time.Second
	watchEvery     = 100 * time.Millisecond
	maxSleep       = 5 * time.Millisecond
	maxBlock       = 2 * time.Second
	where          = "simulated://"
)

// slot is where one daemon runs again and again: its host, and its state directory.
type slot struct {
	number int
	host   *host
	disk   *disk.Disk
	proc   *proc // nil while none runs
	starts uint64
	accept string // the cluster that the next start accepts
	armed  *point // where the process ends; nil: nowhere
	acked  map[place]generator.Tick
	issued line.Time // when it did last; 0: never
	// sheltered is set while nothing may come between the daemon and the coordinator, as its journal is an old copy.
	sheltered bool
}

// point is where a process ends.
type point struct {
	where string
	n     int
	then  func()
}

// proc is one start of a daemon. It is that daemon's clock, too.
type proc struct {
	w       *World
	slot    *slot
	host    *host
	random  *rand.Rand
	life    *life
	flows   []*line.Flow
	parked  []*waiter
	dead    bool
	ending  bool
	changed bool
	cluster string // that lanes are of now

	store  *tree.Store
	coord  *lending.Coordinator
	keeper *grant.Keeper
	issuer *issue.Issuer

	inherited *journal.Contents
	durable   []journal.Entry // what was written last
	lanes     map[*generator.Lane]*laneOf
	conns     [conns]conn
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
func (w *World) start(s *slot) {
	s.starts++
	w.counts.Starts++
	p := &proc{w: w, slot: s, host: s.host, lanes: map[*generator.Lane]*laneOf{}, random: rand.New(rand.NewPCG(w.plan.Seed, uint64(s.number)<<32|s.starts))}
	p.life = &life{parent: context.Background(), p: p, until: never}
	s.proc = p
	for i := range p.conns {
		p.conns[i].p = p
	}
	s.disk.Step = p.diskStep
	log := hclog.NewNullLogger()
	if w.out != nil {
		log = hclog.New(&hclog.LoggerOptions{Output: logTo{w, s}, DisableTime: true, Level: hclog.Info})
	}
	dir := journal.On(fmt.Sprintf("/d%d", s.number), s.disk)
	first := max(w.plan.Timing.Step, 2*w.layout.TickLength()) + w.layout.TickLength() + maxSleep
	p.keeper = grant.New(grant.Config{
		Layout: w.layout, Coord: where, Accept: s.accept, Timing: w.plan.Timing, FirstWait: first,
		Clock: p, Random: p.random.Float64, Journal: recorded{dir, p}, Log: log,
	}, p)
	p.issuer = issue.New(w.layout, p, issue.Limits{Guard: w.guard, FirstWait: first, MaxBlock: maxBlock}, p.keeper)
	p.issuer.OnChange(func() { p.changed = true })
	incarnation := fmt.Sprintf("d%dS%dR%d", s.number, s.starts, p.random.Uint32())
	p.store = tree.NewStore(w.plan.Servers, incarnation, w.plan.Tells, p)
	var err error
	p.coord, err = lending.New(watched{p.store, p}, lending.Config{
		Identity: coord.Identity{Host: fmt.Sprintf("h%d", w.plan.Hosts[s.number]), PID: int(s.starts), Incarnation: incarnation, Version: "sim"},
		Clock:    p, Random: reader{p.random}, Log: log,
	})
	if err != nil {
		w.violate(s, "a coordinator cannot be made: %v", err)
		return
	}
	contents, err := dir.Read()
	if err == nil {
		err = p.keeper.Inherit(contents)
	}
	if err == nil {
		p.inherited, p.cluster, p.durable = &contents, contents.Cluster, contents.Lanes
	}
	w.say(s, "starts; journal: %+v, %v", contents.Lanes, err)
	p.flow(func() { p.check(p.keeper.Mark(p.life)) })
	p.flow(func() {
		_ = clockguard.NewWatch(p.Now(), clockguard.DefaultTolerance).Run(p.life, p, watchEvery, func(time.Duration) {
			p.issuer.Check()
			p.issuer.Changed()
		})
	})
	p.flow(p.lend)
	p.keepAlive()
	p.arrivals()
}

// flow runs f as one of the process's flows, from after what is happening.
func (p *proc) flow(f func()) {
	fl := p.w.line.Flow(f)
	p.flows = append(p.flows, fl)
	p.w.line.At(p.w.line.Now(), func() {
		p.do(func() {
			fl.Resume()
			p.settle()
		})
	})
}

// check stops the daemon after an error that is final.
func (p *proc) check(err error) {
	if err == nil {
		return
	}
	p.w.say(p.slot, "stops by itself: %v", err)
	var foreign *grant.ForeignError
	if errors.As(err, &foreign) {
		p.slot.accept = foreign.Found
	}
	p.w.line.At(p.w.line.Now(), func() { p.do(func() { p.stop(500 * time.Millisecond) }) })
}

// lend joins and holds a worker ID, as daemon/join.go does.
func (p *proc) lend() {
	timeout, retry := joinTimeout, firstJoinRetry
	inherited := p.inherited
	if inherited != nil {
		timeout = coldAfter
	}
	for {
		err := p.join(timeout)
		var layout *coord.LayoutError
		var foreign *grant.ForeignError
		switch {
		case err == nil:
			p.check(p.keeper.Lend(p.life))
			return
		case errors.As(err, &layout), errors.As(err, &foreign):
			p.check(err)
			return
		case p.life.Err() != nil:
			return
		}
		p.keeper.NotJoined(err)
		if inherited != nil {
			if err := p.keeper.ColdStart(*inherited); err == nil {
				p.w.say(p.slot, "issues from its journal's grant")
				p.w.counts.ColdStarts++
			}
			inherited, timeout = nil, joinTimeout
		}
		if p.Sleep(p.life, retry) != nil {
			return
		}
		retry = min(2*retry, lastJoinRetry)
	}
}

func (p *proc) join(timeout time.Duration) error {
	try, cancel := p.WithTimeout(p.life, timeout)
	defer cancel()
	cluster, err := p.coord.Join(try, coord.Layout{Text: p.keeper.LayoutText(), Workers: p.w.layout.Workers()})
	if err != nil {
		return err
	}
	p.cluster = cluster.UUID
	return p.keeper.Attach(p.coord, cluster)
}

// stop ends the process in order, and starts it again.
func (p *proc) stop(down time.Duration) {
	if p.ending {
		return
	}
	p.ending = true
	p.life.over = true
	for _, w := range p.parked {
		p.soon(w)
	}
	others := p.flows
	p.flow(func() {
		for p.left(others) {
			p.Pause(context.Background(), time.Millisecond, nil)
		}
		ctx, cancel := p.WithTimeout(context.Background(), shutTimeout)
		defer cancel()
		if err := p.keeper.Shut(ctx); err != nil {
			p.w.say(p.slot, "the worker ID was not given back in order: %v", err)
		}
		_ = p.coord.Close()
		p.w.line.At(p.w.line.Now(), func() { p.end("stopped in order", down) })
	})
}

func (p *proc) left(flows []*line.Flow) bool {
	for _, f := range flows {
		if !f.Done() {
			return true
		}
	}
	return false
}

// end ends the process at once, whatever it does, and has the daemon start again. It is called from events only.
func (p *proc) end(how string, down time.Duration) {
	if p.dead {
		return
	}
	p.dead = true
	s := p.slot
	s.proc, s.armed = nil, nil
	for _, f := range p.flows {
		f.End()
	}
	p.w.say(s, "%s", how)
	p.w.line.At(p.w.line.Now()+line.Time(down), func() {
		s.host.do(func() {
			if s.proc == nil {
				p.w.start(s)
			}
		})
	})
}

// point is where a process may end. A flow that ends there does not return from it.
func (p *proc) point(where string) {
	a := p.slot.armed
	if a == nil || a.where != where || p.dead {
		return
	}
	if a.n--; a.n > 0 {
		return
	}
	p.slot.armed = nil
	p.w.line.At(p.w.line.Now(), a.then)
	if fl := p.w.line.Running(); fl != nil {
		for {
			fl.Park()
		}
	}
}

// diskStep is before each step of a write of the journal.
func (p *proc) diskStep(step disk.Step) error {
	if p.dead {
		line.Unwind()
	}
	took := 20 * time.Microsecond
	if step == disk.StepSync || step == disk.StepDir {
		took = 200 * time.Microsecond
		if p.w.weather.slowed[p.slot.number] > 0 {
			took = time.Duration(p.random.ExpFloat64() * 4e8)
		}
		p.wait(p.host.read().Mono+clockguard.Mono(took), nil, func() bool { return false })
	}
	p.point("disk")
	return nil
}

// Use implements grant.Issuer.
func (p *proc) Use(lane *generator.Lane) {
	if lane != nil && p.lanes[lane] == nil {
		p.lanes[lane] = &laneOf{cluster: p.cluster, worker: lane.Worker(), slot: p.slot}
	}
	p.issuer.Use(lane)
}

// Changed implements grant.Issuer.
func (p *proc) Changed() { p.changed = true }

// recorded knows what the journal says.
type recorded struct {
	*journal.Dir
	p *proc
}

func (r recorded) Write(c journal.Contents) error {
	err := r.Dir.Write(c)
	if err == nil {
		r.p.durable, r.p.slot.sheltered = c.Lanes, false
	}
	if r.p.w.out != nil {
		r.p.w.say(r.p.slot, "journal: %+v, %v", c.Lanes, err)
	}
	return err
}

// logTo puts a daemon's log into the trace.
type logTo struct {
	w *World
	s *slot
}

func (l logTo) Write(b []byte) (int, error) {
	l.w.say(l.s, "  %s", b[:len(b)-1])
	return len(b), nil
}
