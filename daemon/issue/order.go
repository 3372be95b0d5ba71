package issue

import "github.com/flakeward/flakeward/generator"

// order is what the next ID of a connection must exceed.
type order struct {
	highest position // of all its IDs
	since   position // of its IDs since its order was lost; zero while order is kept
}

// position is where an ID lies among those of all worker IDs.
type position struct {
	tick   generator.Tick // 0: there is no ID
	worker int
}

// record notes an ID that the connection gets. An ID more than maxSleep below the highest was
// issued after a rollback of the clock: order with the highest is lost.
func (o *order) record(worker int, tick, maxSleep generator.Tick) {
	switch {
	case tick > o.highest.tick:
		o.highest, o.since = position{tick, worker}, position{}
	case o.highest.tick-tick > maxSleep && (tick > o.since.tick || o.since.tick-tick > maxSleep):
		o.since = position{tick, worker}
	}
}

// last returns the ID that the next one must exceed while the clock shows tick: the connection's
// highest, or, after a rollback of more than maxSleep, its highest since then.
func (o *order) last(tick, maxSleep generator.Tick) position {
	switch {
	case o.highest.tick-tick <= maxSleep:
		return o.highest
	case o.since.tick-tick <= maxSleep:
		return o.since
	}
	return position{}
}

// minimum returns the first tick in which the next ID of worker exceeds the last. In the tick of
// the last ID that holds for the same worker ID alone: the IDs of another may be lower.
func (o *order) minimum(worker int, tick, maxSleep generator.Tick) generator.Tick {
	last := o.last(tick, maxSleep)
	if last.worker == worker {
		return last.tick
	}
	return last.tick + 1
}

// Order is what a connection's next ID must exceed, for a process that goes on with the connection.
type Order struct {
	Highest, Since Position
}

// Position is where an ID lies among those of all worker IDs; a Tick of 0: there is none.
type Position struct {
	Tick   generator.Tick
	Worker int
}

// Order returns the connection's order.
func (c *Connection) Order() Order {
	return Order{
		Position{c.order.highest.tick, c.order.highest.worker},
		Position{c.order.since.tick, c.order.since.worker},
	}
}

// Resume gives a connection that has got no ID here the order that it had elsewhere.
func (c *Connection) Resume(o Order) {
	c.order = order{highest: position{o.Highest.Tick, o.Highest.Worker}, since: position{o.Since.Tick, o.Since.Worker}}
}
