package issue

import (
	"time"

	"github.com/flakeward/flakeward/generator"
)

// Group spreads connections over issuers, one for each lane, so that together they pass what one worker ID has room for. Each
// connection has a home lane, given by its number. While that cannot serve (there is none, it is closed, it has reached its ceiling,
// or the clock guard asks for another worker ID), the connection is served by another that can. A tick that is used up is no reason to
// change: the next one is near.
//
// A connection's IDs rise whichever lanes they come from: after a change of worker ID it gets nothing at or below the tick of its highest
// ID. If that tick is still the clock's, the connection waits for the next. Where the clock was set back by more than may be slept for,
// order with what it got before is lost, as it is with one lane; what it gets from then on rises.
//
// Nothing is shared between the lanes, and a Group keeps no state: what it knows of a connection is in its Ticket. Its methods may be called
// from any goroutine.
type Group struct {
	issuers []*Issuer
}

// NewGroup makes a group of at least one issuer, which must not be in another group. With one it does what that issuer does.
func NewGroup(issuers ...*Issuer) *Group {
	return &Group{issuers}
}

// OnChange is Issuer.OnChange, for all lanes.
func (g *Group) OnChange(f func()) {
	for _, i := range g.issuers {
		i.OnChange(f)
	}
}

// Changed is Issuer.Changed: one call for all lanes.
func (g *Group) Changed() { g.issuers[0].Changed() }

// Check is Issuer.Check, of every lane.
func (g *Group) Check() {
	for _, i := range g.issuers {
		i.Check()
	}
}

// Take is Issuer.Take, from the connection's home lane or one that stands in for it. The request is given up only if no lane can
// serve it.
func (g *Group) Take(t *Ticket, tenant uint32, n int) (generator.Run, Wait) {
	if len(g.issuers) == 1 {
		return g.issuers[0].Take(t, tenant, n)
	}
	home := t.Home % uint32(len(g.issuers))
	if t.at != home && t.highest.tick != 0 {
		return g.takeAway(t, home, tenant, n)
	}
	i := g.issuers[home]
	run, seen, ok := i.quick(t, tenant, n)
	if ok {
		t.at = home
		return run, Wait{}
	}
	run, a := i.slow(t, seen, tenant, n)
	if a.stuck {
		return g.takeElsewhere(t, home, home, a, tenant, n)
	}
	t.at = home
	return run, i.bound(t, a)
}

// takeAway serves a connection whose last ID was not of its home lane: at home, if that can serve it in order now, or else where it is.
func (g *Group) takeAway(t *Ticket, home uint32, tenant uint32, n int) (generator.Run, Wait) {
	at := t.at
	if g.issuers[home].ready(t, tenant) {
		if run, a := g.take(t, home, tenant, n); !a.stuck {
			return run, g.issuers[home].bound(t, a)
		}
	}
	run, a := g.take(t, at, tenant, n)
	if !a.stuck {
		return run, g.issuers[at].bound(t, a)
	}
	away := a.wait.For
	if run, a = g.take(t, home, tenant, n); !a.stuck {
		return run, g.issuers[home].bound(t, a)
	}
	a.wait.For = sooner(a.wait.For, away)
	return g.takeElsewhere(t, home, at, a, tenant, n)
}

// takeElsewhere serves a connection that neither its home nor the lane at can serve. What it gets no number from, it waits for as
// a whole: whichever is the first to change.
func (g *Group) takeElsewhere(t *Ticket, home, at uint32, best answer, tenant uint32, n int) (generator.Run, Wait) {
	lanes := uint32(len(g.issuers))
	first := t.Home / lanes // so that the connections of one lane do not all go to the same other
	for k := range lanes - 1 {
		other := (home + 1 + (first%(lanes-1)+k)%(lanes-1)) % lanes
		if other == at {
			continue
		}
		run, a := g.take(t, other, tenant, n)
		if a.why == nil {
			return run, a.wait
		}
		best.wait.For = sooner(best.wait.For, a.wait.For)
	}
	best.wait.Event = true
	return generator.Run{}, g.issuers[home].bound(t, best)
}

// take asks one issuer, and notes where the connection is if it serves.
func (g *Group) take(t *Ticket, lane uint32, tenant uint32, n int) (generator.Run, answer) {
	i := g.issuers[lane]
	run, seen, ok := i.quick(t, tenant, n)
	a := answer{}
	if !ok {
		run, a = i.slow(t, seen, tenant, n)
	}
	if run.N > 0 {
		t.at = lane
	}
	return run, a
}

// sooner is the shorter of two waits, of which 0 is none.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || 0 < b && b < a {
		return b
	}
	return a
}
