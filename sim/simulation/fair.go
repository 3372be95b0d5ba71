package simulation

import (
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

// batches is what large requests got last of a lane's tick while the clock showed it.
type batches struct {
	lane *generator.Lane
	tick generator.Tick
	got  int
}

// shares are what a daemon's requests have a right to.
func (sim *Simulation) shares() queue.Limits {
	return queue.Limits{Portion: sim.capacity, Deals: 1}
}

// small reports whether a request may have what is kept of a tick.
func (sim *Simulation) small(n int) bool { return n <= sim.shares().Small() }

// fair judges that large requests leave an eighth of each tick while it lasts, so that a single ID
// need not wait for them. The ring keeps nothing: there is no order to wait for.
func (p *proc) fair(run generator.Run, lane *generator.Lane, c *conn, now generator.Tick, unordered bool) {
	sim := p.sim
	t := sim.tickOf(run.First)
	c.tries = 0
	if unordered || t != now || sim.small(c.queue[0].whole) {
		return
	}
	b := &p.batches
	if b.lane != lane || b.tick != t {
		*b = batches{lane: lane, tick: t}
	}
	b.got += run.N
	if kept := sim.capacity / 8; b.got > sim.capacity-kept {
		sim.violate(p.slot, "tick %d: large requests got %d of its %d numbers, and %d are kept for small ones", t, b.got, sim.capacity, kept)
	}
}

// longestTurn is how many ticks a small request may have to try: in each of eight a whole tick is
// kept for those of all connections, and its own turn comes among theirs.
func (sim *Simulation) longestTurn() int {
	return 1 + (conns*sim.shares().Small()*8+sim.capacity-1)/sim.capacity
}

// waitsInTurn judges a request that goes on waiting for numbers. A small one gets some as soon as
// the reserve suffices for all, however many batches are served meanwhile.
func (c *conn) waitsInTurn(wait issue.Wait, now generator.Tick) {
	p, sim := c.p, c.p.sim
	// In a tick below the connection's last ID it waits to keep its order.
	if wait.Event || !c.issue.Waits() || !sim.small(c.queue[0].whole) || c.issue.Order().Highest.Tick > now {
		c.tries = 0
		return
	}
	if p.batches.tick != now || now == c.tried { // others get none of this tick, or it was counted
		return
	}
	c.tried = now
	if c.tries++; c.tries > sim.longestTurn() {
		sim.violate(p.slot, "a request for %d gets nothing in %d ticks of which batches get numbers, the last is %d", c.queue[0].whole, c.tries, now)
	}
}
