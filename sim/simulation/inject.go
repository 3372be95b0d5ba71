package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// inject injects a fault now, or arms it for a step of its daemon. None comes once the cluster is
// to recover.
func (sim *Simulation) inject(f Fault) {
	if sim.healed {
		return
	}
	if s := sim.slots[f.Daemon]; f.Where != "" {
		sim.arm(f, s)
	} else {
		sim.fire(f, s)
	}
}

// fire injects a fault now. A fault that finds nothing to break is not counted.
func (sim *Simulation) fire(f Fault, s *slot) {
	// Each has a chance of its own: to leave it out changes nothing for the others.
	sim.random = rand.New(rand.NewPCG(sim.plan.Seed, uint64(f.At)<<8|uint64(f.Kind)))
	done := false
	if f.Kind == Rebooted {
		done = sim.reboot(f, s.host)
	} else if f.Kind == Quiet {
		done = sim.hush(f, s)
	} else if f.Kind.OfClocks() {
		done = sim.injectClock(f, s.host)
	} else if f.Kind <= Restart {
		done = sim.injectDaemon(f, s)
	} else {
		done = sim.injectCoordinator(f, s)
	}
	if !done {
		return
	}
	sim.counts.Faults++
	if f.Kind.OfClocks() {
		sim.counts.OfClocks++
	}
	sim.say(s, "FAULT: %v", f)
	sim.cutAfter(f, s.host)
}

// until undoes a fault when its time is over.
func (sim *Simulation) until(f Fault, undo func()) bool {
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(f.For), func() {
		if sim.healed {
			return
		}
		undo()
		sim.say(sim.slots[f.Daemon], "over: %s", f.Kind)
	})
	return true
}

func (sim *Simulation) injectClock(f Fault, h *host) bool {
	now := sim.scheduler.Now()
	h.disturbed = max(h.disturbed, now+scheduler.Time(f.For))
	step := func(by time.Duration) {
		if sim.healed {
			return
		}
		h.clocks.Step(sim.scheduler.Now(), by)
	}
	switch f.Kind {
	case Step:
		step(f.By)
	case Excursion:
		step(f.By)
		return sim.until(f, func() { step(-f.By) })
	case Oscillate:
		const times = 20
		for i := range times {
			by := f.By
			if i%2 == 1 {
				by = -by
			}
			sim.scheduler.At(now+scheduler.Time(f.For)/times*scheduler.Time(i), func() { step(by) })
		}
	case FreezeWall:
		h.clocks.FreezeWall(now, true)
		return sim.until(f, func() { h.clocks.FreezeWall(sim.scheduler.Now(), false) })
	case Drift, DriftBoth:
		wall, mono := int64(f.P*1e6), int64(0)
		if f.Kind == DriftBoth {
			mono = wall
		} else if sim.random.IntN(3) == 0 {
			wall, mono = mono, wall
		}
		h.clocks.Drift(now, wall, mono)
		return sim.until(f, func() { h.clocks.Drift(sim.scheduler.Now(), 0, 0) })
	case Leap:
		left := 1e9 - h.read().Wall%1e9
		sim.scheduler.At(now+scheduler.Time(left), func() { step(-time.Second) })
	case Suspend:
		h.pause(f.For, func(t scheduler.Time) { h.clocks.FreezeMono(t, true) }, func(t scheduler.Time) { h.clocks.FreezeMono(t, false) })
	case Pause:
		freeze := func(frozen bool) func(scheduler.Time) {
			return func(t scheduler.Time) {
				h.clocks.FreezeMono(t, frozen)
				h.clocks.FreezeBoot(t, frozen)
				h.clocks.FreezeWall(t, frozen && !sim.healed)
			}
		}
		h.pause(f.For, freeze(true), freeze(false))
	case Stopped:
		h.pause(f.For, func(scheduler.Time) {}, func(scheduler.Time) {})
	}
	return true
}

func (sim *Simulation) injectDaemon(f Fault, s *slot) bool {
	p := s.proc
	switch {
	case p == nil:
		return false
	case f.Kind == Kill:
		p.end("killed", f.For)
	case p.ending:
		return false
	case sim.random.IntN(3) == 0:
		p.handOver(f.For / 100)
	default:
		p.stop(f.For)
	}
	return true
}

// cutAfter has nobody hear a host whose process has just ended at a failpoint.
func (sim *Simulation) cutAfter(f Fault, h *host) {
	if f.Cut == 0 || sim.healed {
		return
	}
	id := h.id(sim)
	sim.conditions.mute[id]++
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(f.Cut), func() {
		if !sim.healed {
			sim.conditions.mute[id]--
		}
	})
}

func (sim *Simulation) injectCoordinator(f Fault, s *slot) bool {
	host := s.host.id(sim)
	if f.Kind.ofOneRequest() {
		s.requestFault = &f
		return true
	}
	switch f.Kind {
	case Misconfigured:
		return sim.misconfigure(s, f)
	case Burst:
		if s.proc == nil {
			return false
		}
		for range 8 {
			sim.scheduler.At(sim.scheduler.Now(), func() {
				switch p := s.proc; {
				case p == nil:
				case f.N > 0:
					p.do(func() { p.ask(f.N) })
				default:
					p.do(p.request)
				}
			})
		}
	case Outage:
		sim.conditions.down++
		return sim.until(f, func() {
			sim.conditions.down--
			sim.prolong(0)
		})
	case Cut:
		cut := [][2]int{{1, 0}, {0, 1}}[sim.random.IntN(2)]
		if sim.random.IntN(3) == 0 {
			cut = [2]int{1, 1}
		}
		sim.conditions.deaf[host] += cut[0]
		sim.conditions.mute[host] += cut[1]
		return sim.until(f, func() {
			sim.conditions.deaf[host] -= cut[0]
			sim.conditions.mute[host] -= cut[1]
		})
	case MessageLoss:
		sim.conditions.lost += f.P
		return sim.until(f, func() { sim.conditions.lost = max(0, sim.conditions.lost-f.P) })
	case Late:
		sim.conditions.late += f.P
		return sim.until(f, func() { sim.conditions.late = max(0, sim.conditions.late-f.P) })
	case Twice:
		sim.conditions.twice += f.P
		return sim.until(f, func() { sim.conditions.twice = max(0, sim.conditions.twice-f.P) })
	case Stale:
		sim.conditions.stale += f.P
		return sim.until(f, func() { sim.conditions.stale = max(0, sim.conditions.stale-f.P) })
	case EndSession:
		if s.proc == nil || s.proc.store.Session() == 0 {
			return false
		}
		session := s.proc.store.Session()
		delete(sim.seen, session)
		sim.tree.End(session)
	case Prolong:
		sim.prolong(scheduler.Time(f.For))
	case Clear:
		return sim.clear(s)
	case Raise:
		if sim.damagedLayout() { // which a raise would keep: an operator puts it right first
			return false
		}
		to := sim.highest + generator.Tick(sim.random.IntN(2000))
		if sim.random.IntN(2) == 0 {
			to = max(0, to-2000) // to less than it is: that lowers nothing
		}
		return sim.raise(to)
	case Wiped:
		sim.tree.Wipe()
		sim.older = nil
		clear(sim.seen)
		sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(sim.random.Int64N(int64(5*time.Second))), func() { sim.create(sim.highest) })
		sim.startAgain() // one may have learned no more than that the servers went back
	case DamagedLayout, DamagedRecord, DamagedHint:
		return sim.damageTree(f, s)
	}
	return true
}

// prolong has the servers hear of every session, or more than that.
func (sim *Simulation) prolong(by scheduler.Time) {
	for _, session := range sim.tree.Sessions() {
		sim.seen[session] = sim.scheduler.Now() + by
	}
}

// create makes a cluster where there is none.
func (sim *Simulation) create(floor generator.Tick) {
	o, err := sim.asOperator()
	var made coord.Created
	if err == nil {
		made, err = o.Create(context.Background(), coord.NewCluster{Text: lifecycle.LayoutText(sim.layout, 0), Workers: sim.layout.Workers(), Window: generator.Tick(sim.plan.Timing.Window / sim.layout.TickLength()), Floor: floor})
	}
	if made.Made {
		sim.made(floor)
	}
	sim.say(nil, "a cluster is made: %+v, %v", made, err)
}

// raise raises all marks.
func (sim *Simulation) raise(to generator.Tick) bool {
	o, err := sim.asOperator()
	if err == nil {
		_, err = o.Inspect(context.Background())
	}
	if err == nil {
		if _, err := o.Claim(context.Background(), coord.Request{}); !errors.Is(err, coord.ErrNotJoined) {
			sim.violate(nil, "an operator claims a worker ID: %v", err)
		}
		_, err = o.Raise(context.Background(), to)
	}
	if err == nil {
		sim.raised(floorOf(sim.tree.Layout())) // a raise to less than the floor leaves that
		sim.highest = max(sim.highest, to)
	}
	sim.say(nil, "marks are raised to %d: %v", to, err)
	return err == nil
}

// restore puts a backup back and raises the marks beyond all that was granted since, before anybody
// is answered. Then the operator starts every daemon again.
func (sim *Simulation) restore(f Fault, b *backup) {
	if b == nil || clusterOf(b.tree.Layout()) == "" || clusterOf(b.tree.Layout()) != clusterOf(sim.tree.Layout()) {
		return
	}
	replaced := sim.tree.Clone()
	sim.tree.Restore(b.tree)
	sim.older = nil
	sim.restored(b)
	sim.mendAll()
	sessions := map[int64]bool{}
	for _, session := range sim.tree.Sessions() {
		sessions[session] = true
		if _, ok := sim.seen[session]; !ok {
			sim.open(session)
		}
	}
	for session := range sim.seen {
		if !sessions[session] {
			delete(sim.seen, session)
		}
	}
	sim.counts.Faults++
	sim.say(nil, "FAULT: %v", f)
	if same := sim.sameHolders(b.tree, replaced); !same || f.By == 0 {
		sim.raise(sim.highest)
		sim.startAgain()
		return
	}
	// Who holds what is what it was: nobody who only extends a grant can do harm until the marks
	// are raised.
	sim.conditions.early++
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(f.By), func() {
		sim.conditions.early--
		sim.mendAll() // nothing can be raised before
		sim.raise(sim.highest)
		sim.startAgain()
	})
}

// sameHolders reports whether each record of a tree that another has replaced had the holder that
// it has there, or was not there, and whether nobody has opened it in a tree before that, which was
// replaced as well.
func (sim *Simulation) sameHolders(now, before *tree.Tree) bool {
	for worker := range sim.layout.Workers() {
		if r := recordOf(now.Record(worker)); r.Holder != "" && (r.Holder != recordOf(before.Record(worker)).Holder || r.Holder != sim.writers[worker]) {
			return false
		}
	}
	return true
}

// startAgain has operators start every daemon again, one after the other.
func (sim *Simulation) startAgain() {
	for _, s := range sim.slots {
		sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(sim.random.Int64N(int64(5*time.Second))), func() {
			s.host.do(func() {
				if s.proc != nil {
					s.proc.stop(100 * time.Millisecond)
				}
			})
		})
	}
}
