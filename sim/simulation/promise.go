package simulation

import (
	"errors"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

// turn is what judges have to know of a connection's request, from its first try on.
type turn struct {
	lane   *generator.Lane
	at     clockguard.Reading // of the last try
	passed int                // what others of its user got since it got something
	of     int                // the largest of their requests
	shaken bool               // something else than others' requests may have kept numbers from it
}

// users is how many users a daemon's connections are of.
const users = 2

func (c *conn) user() int { return int(c.issue.User.UID) }

// contention is what each user got since requests of all of them wait.
type contention struct {
	got  [users]int
	tick generator.Tick
	of   [users]int // of that tick alone
}

// comes notes which tick it is.
func (c *contention) comes(now generator.Tick) {
	if c.tick != now {
		c.tick, c.of = now, [users]int{}
	}
}

// deals is how many ticks a request may wait for.
func (sim *Simulation) deals() int {
	return max(1, int(maxBlock/sim.layout.TickLength())-1)
}

// batches is what all batches together can have of those.
func (sim *Simulation) batches() int { return sim.capacity * 7 * sim.deals() / 8 }

// triedTo notes a try of the connection's request and what came of it, and judges that. What a
// burst may draw on is no tick's share.
func (c *conn) triedTo(run generator.Run, wait issue.Wait, now clockguard.Reading, unordered bool) {
	p := c.p
	if p.sim.scheduler.Now() < p.host.disturbed {
		c.turn.shaken = true
	}
	if p.slot.burst > 0 {
		return
	}
	c.steady(wait, now, unordered)
	tick := p.sim.layout.TickAt(now.Wall)
	p.contention.comes(tick)
	switch {
	case run.N > 0:
		c.gets(run.N, p.sim.tickOf(run.First) == tick)
	case wait.Err != nil:
		c.refused(wait.Err)
	default:
		c.passedOver()
	}
	p.contend(c, run.N)
}

// steady notes whether anything but others' requests kept numbers from the request: another lane,
// a clock that went another way than time, or is behind the connection's last ID, which keeps its
// order by waiting where it is not far; a tick in which the daemon did not run.
func (c *conn) steady(wait issue.Wait, now clockguard.Reading, unordered bool) {
	lane, tick := c.p.issuer.Lane(), c.p.sim.layout.TickLength()
	if c.turn.at.Mono != 0 {
		passed, shown := now.Mono.Sub(c.turn.at.Mono), time.Duration(now.Wall-c.turn.at.Wall)
		drift := (shown - passed).Abs()
		c.turn.shaken = c.turn.shaken || lane != c.turn.lane || passed > 2*tick || drift > tick/8
	}
	behind := c.issue.Order().Highest.Tick > c.p.sim.layout.TickAt(now.Wall)
	c.turn.shaken = c.turn.shaken || unordered || behind || wait.Event || wait.Err == nil && wait.For > 0 && !c.issue.Waits()
	c.turn.lane, c.turn.at = lane, now
}

// waits reports whether the connection's request waits in turn.
func (c *conn) waits() bool { return len(c.queue) > 0 && c.issue.Waits() }

// gets counts what the request gets, for itself and, if it is of the clock's tick, against the
// others of its user that wait: they may have begun to wait after the ticks before that.
func (c *conn) gets(n int, now bool) {
	c.turn.passed = 0
	if now {
		c.p.contention.got[c.user()] += n
		c.p.contention.of[c.user()] += n
	}
	for i := range c.p.conns {
		if other := &c.p.conns[i]; now && other != c && other.user() == c.user() && other.waits() {
			other.turn.passed += n
			other.turn.of = max(other.turn.of, c.queue[0].whole)
		}
	}
}

// passedOver judges a request that gets nothing once more: in each round of its user's connections
// it has a turn. Of small ones waitsInTurn knows more.
func (c *conn) passedOver() {
	sim := c.p.sim
	if !c.waits() || c.turn.shaken || sim.small(c.queue[0].whole) {
		return
	}
	turn := max(sim.shares().Small(), c.turn.of/32+1)
	if most := 2*turn + 2*sim.capacity; c.turn.passed > most {
		sim.violate(c.p.slot, "a request for %d gets nothing, and another of its user got %d since it did: that is more than two turns",
			c.queue[0].whole, c.turn.passed)
	}
}

// contend judges users' shares for as long as requests of all users wait, each for more than it can
// have: a user gets two fifths of what both get, for single IDs have the reserve besides. Who asks
// for no more than half of a tick leaves the rest of it to the other.
func (p *proc) contend(taker *conn, taken int) {
	wanted := p.contention.of     // of this tick
	wanted[taker.user()] -= taken // which the taker's request does not show yet
	var waiting [users]bool
	for i := range p.conns {
		c := &p.conns[i]
		if c.waits() && c.turn.shaken {
			p.contention = contention{}
			return
		}
		if c.waits() {
			waiting[c.user()] = true
			wanted[c.user()] += c.queue[0].n
		}
	}
	if waiting != [users]bool{true, true} || 2*min(wanted[0], wanted[1]) <= p.sim.capacity {
		p.contention = contention{}
		return
	}
	got := p.contention.got
	if least, all := min(got[0], got[1]), got[0]+got[1]; least+2*p.sim.capacity < all*2/5 {
		p.sim.violate(p.slot, "of two users whose requests wait all the time, one got %d and the other %d", got[0], got[1])
	}
}

// refused judges a refusal: one that says that a count is too large, by what others wait for, and
// one that comes after the longest wait, as a promise that was broken.
func (c *conn) refused(err error) {
	p, sim := c.p, c.p.sim
	var many *issue.TooManyError
	if !errors.As(err, &many) {
		// Who was promised more than its share, as nobody else was there, may have to share it.
		fits := c.queue[0].whole*users <= sim.batches()
		if errors.Is(err, issue.ErrExhausted) && fits && !c.turn.shaken {
			sim.violate(p.slot, "a request for %d was promised that, and %d are missing after the longest wait", c.queue[0].whole, c.queue[0].n)
		}
		return
	}
	own, others := false, 1 // users that wait
	for i := range p.conns {
		other := &p.conns[i]
		switch {
		case other == c || !other.waits():
		case other.user() == c.user():
			own = true
		default:
			others = users
		}
	}
	switch {
	case many.Count <= sim.shares().Small():
		sim.violate(p.slot, "a request for %d was refused for its count: %v", many.Count, err)
	case !own && many.Count <= sim.batches()/others:
		sim.violate(p.slot, "a request for %d was refused, and nothing of its user waits: %v", many.Count, err)
	case many.Largest >= many.Count:
		sim.violate(p.slot, "a refusal says that what was asked for can be had: %v", err)
	}
}
