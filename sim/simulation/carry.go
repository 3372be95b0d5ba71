package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// requestTimeout is how long a store waits for one answer, if its caller lets it.
const requestTimeout = 2 * time.Second

var errNoAnswer = errors.New("no answer")

// conditions are those between the daemons and the servers. Probabilities are those of one request.
type conditions struct {
	down              int // the servers do not answer
	lost, late, twice float64
	stale             float64
	deaf, mute        []int // by host: it does not hear, is not heard
	quiet             []int // by daemon: nobody asks it
	early             int   // the servers were restored, and the marks are not raised yet
}

// call is one request under way.
type call struct {
	answered  bool
	deaf      bool // nobody hears the answer
	stored    bool // it has taken place
	over      bool // nobody waits for it any more
	place     string
	coroutine *scheduler.Coroutine
}

// Carry implements tree.Carrier.
func (p *proc) Carry(ctx context.Context, what string, stale bool, do func(*tree.Tree) func()) error {
	if p.dead {
		scheduler.Unwind()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	p.failpoint("send", what)
	sim, c := p.sim, &call{coroutine: p.sim.scheduler.Running(), place: placed()}
	until := min(limit(ctx), p.host.read().Mono+clockguard.Mono(requestTimeout))
	n := 1
	if sim.plan.Servers == tree.Etcd && sim.chance(sim.conditions.twice) {
		n = 2
	}
	way := sim.way()
	if sim.chance(sim.conditions.late) {
		way += scheduler.Time(sim.net.ExpFloat64() * 2e9)
	}
	lost := false
	if requestFault := p.slot.requestFault; requestFault != nil {
		p.slot.requestFault = nil
		switch requestFault.Kind {
		case Refused:
			sim.say(p.slot, "request refused: %s", what)
			p.ended(what, Refusal, c.place)
			return fmt.Errorf("the servers do not want to: %w", claims.ErrRefused)
		case RequestLost:
			lost = true
		case RequestLate:
			way += scheduler.Time(requestFault.For)
		case ReplyLost:
			c.deaf = true
		}
	}
	if lost || sim.conditions.mute[p.host.id(sim)] > 0 || sim.chance(sim.conditions.lost) {
		sim.say(p.slot, "request lost: %s", what)
		n = 0
	}
	// One that happens twice does so at once: no client sends a request again after a later one.
	for range n {
		sim.scheduler.At(sim.scheduler.Now()+way, func() { p.arrive(c, what, stale, do) })
	}
	p.wait(until, nil, func() bool { return c.answered || ctx.Err() != nil })
	c.over = true
	if c.answered {
		p.ended(what, Answered, c.place)
		p.failpoint("reply", what)
		return nil
	}
	if c.stored {
		p.ended(what, Unknown, c.place)
	} else {
		p.ended(what, Unheard, c.place)
	}
	if sim.out != nil {
		sim.say(p.slot, "gives up: %s", what)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errNoAnswer
}

// arrive is a request at the servers.
func (p *proc) arrive(c *call, what string, stale bool, do func(*tree.Tree) func()) {
	sim := p.sim
	if sim.conditions.down > 0 || sim.conditions.early > 0 && what != "extend a grant" && what != "release a worker ID" {
		sim.say(p.slot, "nobody there: %s", what)
		return
	}
	t := sim.tree
	if stale && sim.older != nil && sim.chance(sim.conditions.stale) {
		t = sim.older
	}
	sim.asking = p
	answer := do(t)
	sim.asking = nil
	c.stored = true
	if c.over || p.dead {
		p.ended(what, Landed, c.place)
	}
	if sim.out != nil {
		late := ""
		if c.over || p.dead {
			late = " (given up before)"
		}
		sim.say(p.slot, "takes place: %s%s", what, late)
	}
	if c.deaf || sim.conditions.deaf[p.host.id(sim)] > 0 || sim.chance(sim.conditions.lost) {
		sim.say(p.slot, "reply lost: %s", what)
		return
	}
	sim.scheduler.At(sim.scheduler.Now()+sim.way(), func() {
		p.do(func() {
			if c.over || c.answered {
				return
			}
			c.answered = true
			answer()
			for _, waiting := range p.waiting {
				if waiting.coroutine == c.coroutine {
					p.wake(waiting)
					return
				}
			}
		})
	})
}

// way is how long a message takes.
func (sim *Simulation) way() scheduler.Time {
	return scheduler.Time(200*time.Microsecond) + scheduler.Time(sim.net.ExpFloat64()*1e6)
}

func (sim *Simulation) chance(p float64) bool { return p > 0 && sim.net.Float64() < p }

// open starts a session at the servers.
func (sim *Simulation) open(session int64) {
	sim.seen[session] = sim.scheduler.Now()
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(sim.plan.TTL), func() { sim.expire(session) })
}

// expire ends a session that was not heard of for its time to live.
func (sim *Simulation) expire(session int64) {
	seen, ok := sim.seen[session]
	if !ok {
		return
	}
	now, ttl := sim.scheduler.Now(), scheduler.Time(sim.plan.TTL)
	switch {
	case sim.conditions.down > 0: // nobody counts
		sim.scheduler.At(now+ttl, func() { sim.expire(session) })
	case now-seen < ttl:
		sim.scheduler.At(seen+ttl, func() { sim.expire(session) })
	default:
		delete(sim.seen, session)
		sim.say(nil, "session %d ends", session)
		sim.tree.End(session)
	}
}

// keepAlive is heard by the servers from time to time, while the process runs.
func (p *proc) keepAlive() {
	sim := p.sim
	if s := p.store.Session(); s != 0 && sim.conditions.down == 0 && sim.conditions.mute[p.host.id(sim)] == 0 {
		if seen, ok := sim.seen[s]; ok && seen < sim.scheduler.Now() {
			sim.seen[s] = sim.scheduler.Now()
		}
	}
	sim.scheduler.At(sim.scheduler.Now()+scheduler.Time(sim.plan.TTL)/3, func() { p.do(p.keepAlive) })
}

func (h *host) id(sim *Simulation) int {
	for i, other := range sim.hosts {
		if other == h {
			return i
		}
	}
	return 0
}

// beside is a carrier that nothing lies on the way of.
type beside struct{ sim *Simulation }

func (b beside) Carry(_ context.Context, _ string, _ bool, do func(*tree.Tree) func()) error {
	do(b.sim.tree)()
	return nil
}

// still is the clock of an operator, who never waits.
type still struct{}

func (still) Now() clockguard.Reading                    { return clockguard.Reading{Wall: begin.UnixNano()} }
func (still) Sleep(context.Context, time.Duration) error { return nil }
