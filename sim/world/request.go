package world

import (
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/line"
)

// conn is a client's connection: its requests are served one after the other.
type conn struct {
	p      *proc
	ticket issue.Ticket
	queue  []int              // how many IDs are still wanted, by request
	asked  clockguard.Reading // when the first of those that followed each other was
	timer  *line.Event
	event  bool // waits for a change

	lane      *generator.Lane // that the last ID came from
	last      generator.Tick  // its highest tick
	unordered uint64          // how often order was given up before that lane was used
}

// conns is how many connections a daemon has.
const conns = 3

// arrivals has requests arrive from now on.
func (p *proc) arrivals() {
	w := p.w
	gap := line.Time(p.random.ExpFloat64() * float64(w.plan.Load))
	w.line.At(w.line.Now()+gap, func() {
		p.do(func() {
			n := 1
			switch p.random.IntN(8) {
			case 0:
				n = 1 + p.random.IntN(100)
			case 1:
				n = 1 + p.random.IntN(2*w.capacity)
			}
			p.conns[p.random.IntN(conns)].ask(n)
			p.settle()
		})
		if !p.dead {
			p.arrivals()
		}
	})
}

func (c *conn) ask(n int) {
	c.queue = append(c.queue, n)
	if len(c.queue) == 1 {
		c.ticket, c.asked = issue.Ticket{}, c.p.host.read()
		c.serve()
	}
}

// serve serves the requests until one has to wait.
func (c *conn) serve() {
	p, w := c.p, c.p.w
	c.timer.Drop()
	c.event = false
	for len(c.queue) > 0 && !w.over() {
		lane, before := p.issuer.Lane(), p.host.read()
		c.asked.Wall = min(c.asked.Wall, before.Wall) // it may have gone back meanwhile
		used := p.outOfOrder()
		run, wait := p.issuer.Take(&c.ticket, 0, c.queue[0])
		if run.N == 0 {
			if wait.Err == nil {
				c.later(wait)
				return
			}
			w.counts.Refused++
			c.next()
			continue
		}
		if lane != c.lane {
			c.unordered = used
		}
		if w.out != nil {
			w.say(p.slot, "issues %d from %d: worker ID %d, tick %d", run.N, run.First, lane.Worker(), w.tickOf(run.First))
		}
		p.issued(run, lane, c, before, p.outOfOrder() != c.unordered)
		p.point("issue")
		if c.queue[0] -= run.N; c.queue[0] == 0 {
			w.counts.Served++
			c.next()
		}
	}
}

func (c *conn) next() {
	c.queue = append(c.queue[:0], c.queue[1:]...)
	c.ticket.Follow()
}

// outOfOrder counts how often order was given up.
func (p *proc) outOfOrder() uint64 {
	return p.issuer.Answers(clockguard.Ring) + p.issuer.Answers(clockguard.Spread)
}

// later has the request wait.
func (c *conn) later(wait issue.Wait) {
	c.event = wait.Event
	late := clockguard.Mono(50e3 + 200e3*c.p.random.Float64()) // no timer is exact
	c.timer = c.p.after(clockguard.Mono(wait.For)+late, func() {
		c.serve()
		c.p.settle()
	})
}

// retry tries what waits for a change.
func (p *proc) retry() {
	for i := range p.conns {
		if p.conns[i].event {
			p.conns[i].serve()
		}
	}
	p.settle()
}
