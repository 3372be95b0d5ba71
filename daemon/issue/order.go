package issue

import "github.com/flakeward/flakeward/generator"

// Order is what the next ID of a connection must exceed.
type Order struct {
	Highest Position // of all its IDs
	Since   Position // of its IDs since its order was lost; zero while order is kept
}

// Position is where an ID lies among those of all worker IDs.
type Position struct {
	Tick   generator.Tick // 0: there is no ID
	Worker int
}

// record notes an ID that the connection gets. An ID more than maxSleep below the highest was
// issued after a rollback of the clock: order with the highest is lost.
func (o *Order) record(worker int, tick, maxSleep generator.Tick) {
	switch {
	case tick > o.Highest.Tick:
		o.Highest, o.Since = Position{tick, worker}, Position{}
	case o.Highest.Tick-tick > maxSleep && (tick > o.Since.Tick || o.Since.Tick-tick > maxSleep):
		o.Since = Position{tick, worker}
	}
}

// last returns the ID that the next one must exceed while the clock shows tick: the connection's
// highest, or, after a rollback of more than maxSleep, its highest since then.
func (o *Order) last(tick, maxSleep generator.Tick) Position {
	switch {
	case o.Highest.Tick-tick <= maxSleep:
		return o.Highest
	case o.Since.Tick-tick <= maxSleep:
		return o.Since
	}
	return Position{}
}

// minimum returns the first tick in which the next ID of worker exceeds the last. In the tick of
// the last ID that holds for the same worker ID alone: the IDs of another may be lower.
func (o *Order) minimum(worker int, tick, maxSleep generator.Tick) generator.Tick {
	last := o.last(tick, maxSleep)
	if last.Worker == worker {
		return last.Tick
	}
	return last.Tick + 1
}

// Order returns the connection's order, for a process that goes on with the connection.
func (c *Connection) Order() Order { return c.order }

// Resume gives a connection that has got no ID here the order that it had elsewhere.
func (c *Connection) Resume(o Order) { c.order = o }
