package issue

import (
	"time"

	"github.com/flakeward/flakeward/generator"
)

// Pool balances connections over issuers, one for each lane, so that together they pass what one
// worker ID has room for. Each connection has a preferred lane, given by its number. While that
// lane cannot serve (there is none, it is closed, it has reached its ceiling, or the clock guard
// asks for another worker ID), another lane serves the connection. A tick that is exhausted is no
// reason to change: the next one is near.
//
// A connection's IDs rise whichever lanes they come from: after a change of worker ID it gets
// nothing at or below the tick of its highest ID. If the clock still shows that tick, the
// connection waits for the next. After a rollback of the clock by more than MaxSleep, order with
// what it got before is lost, as it is with one lane; what it gets from then on rises.
//
// The lanes share nothing, and a Pool keeps no state: what it knows of a connection is in its
// Connection. Its methods may be called from any goroutine. To serve a request it uses four methods
// of an issuer: fast, slow, ready and bound.
type Pool struct {
	issuers []*Issuer
}

// NewPool makes a pool of at least one issuer. An issuer must not be in two pools. A pool of one
// does what its issuer does.
func NewPool(issuers ...*Issuer) *Pool {
	return &Pool{issuers}
}

// OnChange is Issuer.OnChange, for all lanes.
func (p *Pool) OnChange(f func()) {
	for _, i := range p.issuers {
		i.OnChange(f)
	}
}

// Changed is Issuer.Changed: one call for all lanes.
func (p *Pool) Changed() { p.issuers[0].Changed() }

// Check is Issuer.Check, of every lane.
func (p *Pool) Check() {
	for _, i := range p.issuers {
		i.Check()
	}
}

// Arrived notes that requests have come behind the connection's present one. They draw on no tick
// before the clock's: an ID is as late as its request.
func (p *Pool) Arrived(c *Connection) {
	i := p.issuers[0]
	c.arrived = i.layout.TickAt(i.clock.Now().Wall)
}

// Take is Issuer.Take, from the connection's preferred lane or another. The request is refused only
// if no lane can serve it.
func (p *Pool) Take(c *Connection, tenant uint32, n int) (generator.Run, Wait) {
	if len(p.issuers) == 1 {
		return p.issuers[0].Take(c, tenant, n)
	}
	preferred := c.Number % uint32(len(p.issuers))
	if c.line != nil {
		return p.takeOn(c, preferred, tenant, n)
	}
	if c.lane != preferred && c.order.began() {
		return p.takeAway(c, preferred, tenant, n)
	}
	i := p.issuers[preferred]
	run, s, ok := i.fast(c, tenant, n)
	if ok {
		c.lane = preferred
		return run, Wait{}
	}
	o := i.slow(c, s, tenant, n)
	if o.unavailable {
		return p.takeElsewhere(c, preferred, preferred, o, tenant, n)
	}
	c.lane = preferred
	return o.run, i.bound(c, o)
}

// takeOn serves a connection whose request stands in a lane's queue, in that lane. If the preferred
// lane can serve at once, or that lane cannot any more, another does.
func (p *Pool) takeOn(c *Connection, preferred, tenant uint32, n int) (generator.Run, Wait) {
	for k := range p.issuers {
		if c.line != &p.issuers[k].line {
			continue
		}
		last := uint32(k)
		if i := p.issuers[preferred]; last != preferred && i.line.waiting.Load() == 0 && i.ready(c) {
			c.leave()
			return p.takeAway(c, preferred, tenant, n)
		}
		o := p.try(c, last, tenant, n)
		if !o.unavailable {
			return o.run, p.issuers[last].bound(c, o)
		}
		c.leave()
		if last != preferred {
			if o = p.try(c, preferred, tenant, n); !o.unavailable {
				return o.run, p.issuers[preferred].bound(c, o)
			}
		}
		return p.takeElsewhere(c, preferred, last, o, tenant, n)
	}
	return p.Take(c, tenant, n) // not reached: the line is one of the pool's
}

// takeAway serves a connection whose last ID was not of its preferred lane: from that, if it can
// serve in order now, or else from the lane that served last.
func (p *Pool) takeAway(c *Connection, preferred uint32, tenant uint32, n int) (generator.Run, Wait) {
	last := c.lane
	if p.issuers[preferred].ready(c) {
		if o := p.try(c, preferred, tenant, n); !o.unavailable {
			return o.run, p.issuers[preferred].bound(c, o)
		}
	}
	away := p.try(c, last, tenant, n)
	if !away.unavailable {
		return away.run, p.issuers[last].bound(c, away)
	}
	o := p.try(c, preferred, tenant, n)
	if !o.unavailable {
		return o.run, p.issuers[preferred].bound(c, o)
	}
	o.wait.For = sooner(o.wait.For, away.wait.For)
	return p.takeElsewhere(c, preferred, last, o, tenant, n)
}

// takeElsewhere serves a connection that neither its preferred lane nor the last one can serve. If
// no lane can, the connection waits for the first of them that changes.
func (p *Pool) takeElsewhere(c *Connection, preferred, last uint32, best outcome, tenant uint32, n int) (generator.Run, Wait) {
	lanes := uint32(len(p.issuers))
	offset := c.Number / lanes // so that the connections of one lane do not all go to the same other
	for k := range lanes - 1 {
		other := (preferred + 1 + (offset%(lanes-1)+k)%(lanes-1)) % lanes
		if other == last {
			continue
		}
		o := p.try(c, other, tenant, n)
		if o.reason == nil {
			return o.run, p.issuers[other].bound(c, o)
		}
		if c.line != nil { // it has its turn there
			return generator.Run{}, p.issuers[other].bound(c, o)
		}
		best.wait.For = sooner(best.wait.For, o.wait.For)
	}
	best.wait.Event = true
	return generator.Run{}, p.issuers[preferred].bound(c, best)
}

// try asks one lane, and notes it as the connection's last if it serves.
func (p *Pool) try(c *Connection, lane uint32, tenant uint32, n int) outcome {
	i := p.issuers[lane]
	run, s, ok := i.fast(c, tenant, n)
	o := outcome{run: run}
	if !ok {
		o = i.slow(c, s, tenant, n)
	}
	if o.run.N > 0 {
		c.lane = lane
	}
	return o
}

// sooner is the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || 0 < b && b < a {
		return b
	}
	return a
}
