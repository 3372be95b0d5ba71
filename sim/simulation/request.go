package simulation

import (
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/scheduler"
)

// conn is a client's connection: its requests are served one after the other.
type conn struct {
	p     *proc
	issue issue.Connection
	queue []request
	timer *scheduler.Event
	due   func() // what the timer does, made once
	event bool   // waits for a change

	highest reached // of all its IDs
	since   reached // of those since its order was lost last

	tries int            // ticks in which it got nothing, and others did
	tried generator.Tick // the last of them

	turn turn

	number uint32
	got    []evidence.Run // that the first request has got so far
}

// request is one for IDs.
type request struct {
	n     int // that are still wanted
	whole int // that were
	at    scheduler.Time
	asked clockguard.Reading
}

// conns is how many connections a daemon has.
const conns = 3

// arrivals has requests arrive from now on.
func (p *proc) arrivals() {
	gap := scheduler.Time(p.random.ExpFloat64() * float64(p.sim.plan.Load))
	p.sim.scheduler.At(p.sim.scheduler.Now()+gap, p.arrived)
}

// request has one arrive, unless nobody asks.
func (p *proc) request() {
	if p.sim.conditions.quiet[p.slot.number] > 0 {
		return
	}
	n := 1
	switch p.random.IntN(8) {
	case 0:
		n = 1 + p.random.IntN(100)
	case 1:
		n = 1 + p.random.IntN(2*p.sim.capacity)
	}
	p.ask(n)
}

// ask has one of the connections ask for so many.
func (p *proc) ask(n int) {
	p.conns[p.random.IntN(conns)].ask(n)
	p.finish()
}

func (c *conn) ask(n int) {
	now := c.p.known.Now()
	c.saw(now)
	c.queue = append(c.queue, request{n, n, c.p.sim.scheduler.Now(), now})
	if len(c.queue) > 1 {
		c.p.issuer.Arrived(&c.issue)
		return
	}
	c.issue.User.UID = c.number % 2
	c.issue.Begin()
	c.serve()
}

// saw notes that the clock may have gone back since the requests were asked.
func (c *conn) saw(now clockguard.Reading) {
	for i := range c.queue {
		c.queue[i].asked.Wall = min(c.queue[i].asked.Wall, now.Wall)
	}
}

// serve serves the requests until one has to wait.
func (c *conn) serve() {
	p, sim := c.p, c.p.sim
	c.timer.Cancel()
	c.event = false
	for len(c.queue) > 0 && !sim.over() {
		before := p.known.Now()
		c.saw(before)
		used := p.outOfOrder()
		run, wait := p.source.Take(&c.issue, 0, c.queue[0].n)
		unordered := p.outOfOrder() != used
		c.triedTo(run, wait, before, unordered)
		if run.N == 0 {
			if wait.Err == nil {
				c.waitsInTurn(wait, sim.layout.TickAt(before.Wall))
				c.later(wait)
				return
			}
			sim.counts.Refused++
			c.answered(evidence.Refused)
			c.next()
			continue
		}
		lane := p.laneOf(run.First)
		if lane == nil {
			sim.violate(p.slot, "ID %d was issued from no lane that is in use", run.First)
			return
		}
		if unordered {
			sim.counts.Unordered++
		}
		if sim.out != nil {
			sim.say(p.slot, "issues %d from %d: worker ID %d, tick %d", run.N, run.First, lane.Worker(), sim.tickOf(run.First))
		}
		p.issued(run, lane, c, before, unordered)
		p.fair(run, lane, c, sim.layout.TickAt(before.Wall), unordered)
		if sim.over() {
			return
		}
		c.received(run)
		p.failpoint("issue", "")
		if c.queue[0].n -= run.N; c.queue[0].n == 0 {
			sim.counts.Served++
			c.answered(evidence.Got)
			c.next()
		}
	}
}

func (c *conn) next() {
	c.queue = append(c.queue[:0], c.queue[1:]...)
	c.turn = turn{}
	c.issue.BeginQueued()
}

// outOfOrder counts how often order was given up.
func (p *proc) outOfOrder() uint64 {
	return p.issuer.Answers(clockguard.Ring) + p.issuer.Answers(clockguard.Backfill)
}

// later has the request wait.
func (c *conn) later(wait issue.Wait) {
	c.event = wait.Event
	late := clockguard.Mono(50e3 + 200e3*c.p.random.Float64()) // no timer is exact
	c.timer = c.p.after(clockguard.Mono(wait.For)+late, c.due)
}

func (c *conn) again() {
	c.serve()
	c.p.finish()
}

// retry tries what waits for a change.
func (p *proc) retry() {
	for i := range p.conns {
		if p.conns[i].event {
			p.conns[i].serve()
		}
	}
	p.finish()
}
