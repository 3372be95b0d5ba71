package simulation

import (
	"slices"
	"time"

	"github.com/flakeward/flakeward/sim/scheduler"
)

// failpoint is a step of a process at which a fault is injected.
type failpoint struct {
	where, what string // the kind of step, and which; any if what is empty
	n           int    // at which of them, counted from now on
	ends        bool   // the process ends there
	then        func()
}

// ends are the kinds after which a process is no more.
func ends(k Kind) bool {
	return k == Kill
}

// arm arms a failpoint: the fault is injected at a step of its daemon, in this start or a later
// one.
func (sim *Simulation) arm(f Fault, s *slot) {
	s.armed = append(s.armed, &failpoint{where: f.Where, what: f.What, n: f.N, ends: ends(f.Kind), then: func() { sim.fire(f, s) }})
}

// failpoint is a step at which an armed fault is injected. A coroutine whose process ends there
// does not return from it.
func (p *proc) failpoint(where, what string) {
	s := p.slot
	if len(s.armed) == 0 || p.dead {
		return
	}
	for i, a := range s.armed {
		if a.where != where || a.what != "" && a.what != what {
			continue
		}
		if a.n--; a.n > 0 {
			continue
		}
		s.armed = slices.Delete(s.armed, i, i+1)
		if !a.ends {
			a.then()
			return
		}
		fl := p.sim.scheduler.Running()
		p.sim.scheduler.At(p.sim.scheduler.Now(), func() {
			a.then()
			if fl != nil { // the fault found nothing to break
				p.do(func() {
					fl.Resume()
					p.finish()
				})
			}
		})
		if fl != nil {
			fl.Yield()
		}
		return
	}
}

// Names of coordinators that a daemon may be given, the right one first. The last one is no text.
var coords = [...]string{where, "simulated://another", "simulated://\xff"}

// wrongly is how a daemon is configured: rightly at 0.
type wrongly int

func (c wrongly) coord() string { return coords[int(c)%len(coords)] }

// datacenter is one that the layout does not have.
func (c wrongly) datacenter() uint64 { return uint64(int(c) / len(coords)) }

// misconfigure stops a daemon in order and starts it with a wrong configuration, once.
func (sim *Simulation) misconfigure(s *slot, f Fault) bool {
	if s.proc == nil || s.proc.ending {
		return false
	}
	s.wrongly = wrongly(1 + sim.random.IntN(2*len(coords)-1))
	s.proc.stop(time.Millisecond)
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(f.For), func() {
		s.wrongly = 0
		s.host.do(func() {
			if s.proc != nil {
				s.proc.stop(time.Millisecond)
			}
		})
	})
	return true
}
