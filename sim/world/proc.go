package world

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/record"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/journal"
	lifetime "github.com/flakeward/flakeward/daemon/life"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/disk"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// What a daemon is configured with.
const (
	maxSleep = 5 * time.Millisecond
	maxBlock = 2 * time.Second
	where    = "simulated://"
)

// slot is where one daemon runs again and again: its host, and its state directory.
type slot struct {
	number int
	host   *host
	draws  Draws

	hostName string
	files    int    // that were made for it
	home     []bool // by lane: the journal is as this daemon has left it, where it was written
	idle     bool   // a copy that is not made yet, or that has ended
	copied   bool   // a copy that was made
	parted   bool   // which has had a worker ID
	before   int    // the one that its original had

	disk   *disk.Disk   // of the first lane's journal
	others []*disk.Disk // of the other lanes' journals
	proc   *proc        // nil while none runs
	starts uint64
	accept string   // the cluster that the next start accepts
	armed  []*point // where something goes wrong
	twist  *Fault   // what goes wrong with the next request that is sent
	acked  map[place]generator.Tick
	issued scheduler.Time // when it did last; 0: never
	// sheltered is set while nothing may come between the daemon and the coordinator, as its
	// journal is the old copy that has these lanes.
	sheltered bool
	old       []journal.Entry
	tampered  bool // the journal is not as a daemon has left it
	lost      bool // it was lost
	wrongly   wrongly
}

// proc is one start of a daemon. It is that daemon's clock, too.
type proc struct {
	w       *World
	slot    *slot
	host    *host
	random  *rand.Rand
	life    *life
	flows   []*scheduler.Flow
	waiters []*waiter // one for each flow that ever waited
	parked  []*waiter // those that do
	dead    bool
	ending  bool
	wrongly wrongly // as it was started
	changed bool
	cluster string // that lanes are of now

	began       scheduler.Time
	incarnation string

	store  *tree.Store
	coord  *claims.Coordinator
	claims []*sharedClaim
	seats  []*seat // by lane
	pool   *issue.Pool
	source resp.Source // the group, and what it hands out is written down

	lifetime *lifetime.Life
	opened   coord.Coordinator // for leaving; nil: not yet
	joined   bool

	inherited lifetime.Inherited
	foreign   []journal.Entry // of journals that were written elsewhere: their marks are floors
	lanes     map[*generator.Lane]*laneOf
	conns     [conns]conn

	arrived, retrying func() // events that happen again and again, made once
}

// seat is one lane's part of a process.
type seat struct {
	p       *proc
	number  int
	holder  *grant.Holder
	issuer  *issue.Issuer
	durable []journal.Entry // what was written last
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
	if s.idle {
		return
	}
	s.starts++
	w.counts.Starts++
	p := &proc{w: w, slot: s, host: s.host, wrongly: s.wrongly, began: w.line.Now(), lanes: map[*generator.Lane]*laneOf{}, random: rand.New(rand.NewPCG(w.plan.Seed, uint64(s.number)<<32|s.starts))}
	p.life = &life{parent: context.Background(), p: p, until: never}
	s.proc = p
	for i := range p.conns {
		c := &p.conns[i]
		again := c.again
		w.conns++
		c.p, c.number, c.due = p, w.conns, func() { p.do(again) }
	}
	request, retry := p.request, p.retry
	p.retrying = func() { p.do(retry) }
	p.arrived = func() {
		p.do(request)
		if !p.dead {
			p.arrivals()
		}
	}
	for _, d := range s.disks() {
		d.Step = p.diskStep
	}
	s.reopen()
	log := hclog.NewNullLogger()
	if w.out != nil {
		log = hclog.New(&hclog.LoggerOptions{Output: logTo{w, s}, DisableTime: true, Level: hclog.Info})
	}
	var others []journal.Disk
	for _, d := range s.others {
		others = append(others, d)
	}
	dir := journal.On(fmt.Sprintf("/d%d", s.number), s.disk, others...)
	if err := p.seat(dir, log); err != nil {
		w.violate(s, "a daemon cannot be made: %v", err)
		return
	}
	p.incarnation = fmt.Sprintf("d%dS%dR%d", s.number, s.starts, p.random.Uint32())
	p.store = tree.NewStore(w.plan.Servers, p.incarnation, w.plan.Tells, p)
	var err error
	p.coord, err = claims.New(watched{p.store, p}, claims.Config{
		Identity: coord.Identity{Host: s.hostName, PID: int(s.starts), Incarnation: p.incarnation, Version: "sim"},
		Clock:    p, Random: reader{p.random}, Log: log,
	})
	if err != nil {
		w.violate(s, "a coordinator cannot be made: %v", err)
		return
	}
	p.lifetime = &lifetime.Life{
		Holders: p.holders(), Together: p.together, Layout: w.layout, Clock: p, Coord: s.wrongly.coord(), Log: log,
		Open: func(context.Context) (coord.Coordinator, error) {
			return record.Coordinator(shared{p.coord, p}, p.testify), nil
		},
		Joined: func(cluster coord.Cluster) { p.cluster, p.joined = cluster.UUID, true },
	}
	w.say(s, "starts")
	if len(p.seats) < len(s.disks()) { // the journals of the others may have to be written, which takes time
		p.flow(func() { p.begin(dir) })
		return
	}
	p.begin(dir)
}

// begin is what a start does from its journals on.
func (p *proc) begin(dir *journal.Dir) {
	w, s := p.w, p.slot
	found := p.journals()
	var err error
	if p.inherited, err = p.lifetime.Inherit(dir); err != nil {
		w.violate(s, "the journals cannot be read: %v", err)
		return
	}
	if p.ending {
		return
	}
	p.believed(found)
	p.parting(found)
	for i, found := range p.inherited {
		if found != nil {
			p.cluster, p.seats[i].durable = found.Cluster, found.Lanes
			w.say(s, "goes on from its journal: %+v", found.Lanes)
		}
	}
	for _, seat := range p.seats {
		p.flow(func() { p.check(seat.holder.Mark(p.life)) })
	}
	p.flow(func() { p.check(p.lifetime.Watch(p.life, p.pool)) })
	p.flow(p.lend)
	p.keepAlive()
	p.arrivals()
	for i, found := range p.inherited {
		if found != nil {
			w.adopted(s, i, *found)
		}
	}
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
	if errors.Is(err, coord.ErrOtherCluster) {
		p.late(coord.ErrOtherCluster)
	}
	var foreign *grant.ForeignError
	if errors.As(err, &foreign) {
		p.slot.accept = foreign.Found
	}
	p.w.line.At(p.w.line.Now(), func() { p.do(func() { p.stop(500 * time.Millisecond) }) })
}

// lend joins and holds a worker ID for each lane.
func (p *proc) lend() {
	var err error
	if p.opened, err = p.lifetime.Join(p.life, p.inherited); err != nil || p.opened == nil || p.life.Err() != nil {
		p.check(err)
		return
	}
	for i := range p.seats[1:] {
		p.flow(func() { p.check(p.lifetime.Hold(p.life, 1+i)) })
	}
	p.check(p.lifetime.Hold(p.life, 0))
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
		p.lifetime.Leave(context.Background(), p.opened)
		if p.opened != nil {
			p.late(coord.ErrClosed)
		}
		p.w.line.At(p.w.line.Now(), func() { p.end("stopped in order", down) })
	})
}

func (p *proc) left(flows []*scheduler.Flow) bool {
	for _, f := range flows {
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
	s.proc, s.twist = nil, nil
	for _, f := range p.flows {
		f.End()
	}
	p.w.say(s, "%s", how)
	p.w.line.At(p.w.line.Now()+scheduler.Time(down), func() {
		s.host.do(func() {
			if s.proc == nil {
				p.w.start(s)
			}
		})
	})
}

// diskStep is before each step of a write of the journal.
func (p *proc) diskStep(step disk.Step) error {
	if p.dead {
		scheduler.Unwind()
	}
	took := 20 * time.Microsecond
	if step == disk.StepSync {
		took = 200 * time.Microsecond
		if p.w.weather.slowed[p.slot.number] > 0 {
			took = time.Duration(p.random.ExpFloat64() * 4e8)
		}
		p.wait(p.host.read().Mono+clockguard.Mono(took), nil, func() bool { return false })
	}
	p.point("disk", string(step))
	return nil
}

// recorded knows what the journal of a lane says.
type recorded struct {
	*journal.File
	of *seat
}

func (r recorded) Write(c journal.Contents) error {
	err := r.File.Write(c)
	p := r.of.p
	if err == nil {
		r.of.durable, p.slot.lost, p.slot.home[r.of.number] = c.Lanes, false, true
		if r.of.number == 0 { // that is the one that people put their hands on
			p.slot.tampered = false
			p.slot.sheltered = p.slot.sheltered && grants(c.Lanes, p.slot.old)
		}
	}
	if p.w.out != nil {
		p.w.say(p.slot, "journal: %+v, %v", c.Lanes, err)
	}
	return err
}

// grants reports whether lanes hold a grant that comes from an old copy: a start without the
// coordinator would issue from it.
func grants(lanes, copied []journal.Entry) bool {
	return slices.ContainsFunc(lanes, func(l journal.Entry) bool {
		return l.Ceiling > l.Mark && slices.ContainsFunc(copied, func(o journal.Entry) bool { return o.Opening == l.Opening })
	})
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
