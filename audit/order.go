package audit

import (
	"fmt"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// order judges the connections of one client's log by Rising. What is promised:
//
//   - IDs of one worker ID (and tenant) rise strictly;
//   - over a change of worker ID they rise strictly as well: the tick is above all before;
//   - over a change of tenant time does not go back: the tick is at or above all before;
//   - while the clock is behind what a worker ID issued before it was stepped back, that worker ID's
//     tick may be lower, by at most the ring's span;
//   - over a change of worker ID the tick may be lower by as much as the clock was set back between the
//     two, and, if the new one is behind as well, the span.
type order struct {
	*court
	clock       *clock
	host        int
	connections map[uint32][]reached
	last        uint32 // the connection that all is of
	all         []reached
}

// reached is the highest that a connection got from one lane.
type reached struct {
	lane int64
	key  key
	at   evidence.Mono
	high int64 // how far ahead the clock may have been then
}

func newOrder(j *court, c *clock, host int) *order {
	return &order{court: j, clock: c, host: host, connections: map[uint32][]reached{}}
}

// row judges the next IDs of a connection.
func (o *order) row(r *evidence.Reply, next row) {
	if r.Connection != o.last || o.all == nil {
		if o.all != nil {
			o.connections[o.last] = o.all
		}
		o.last, o.all = r.Connection, o.connections[r.Connection]
	}
	id := o.laneOf(next.from)
	var own *reached
	for i := range o.all {
		if o.all[i].lane == id {
			own = &o.all[i]
		}
	}
	now := o.clock.between(o.workerOf(next.from), r.Asked, r.Answered)
	worst := o.descent(now, own, next.from)
	if worst != nil {
		w := *worst
		o.verdict.against(Rising, Descent, 1, func() string {
			return fmt.Sprintf("connection %d to %s got %s at %s, after %s at %s; %s", r.Connection, o.sites[o.host].name,
				o.describe(next.from), o.when(r.Answered), o.describe(w.key), o.when(w.at), now.describe())
		})
		// What comes next is compared with what went down: one descent is counted once.
		o.all = o.all[:0]
		own = nil
	}
	end := next.from + key(next.n-1)
	switch {
	case own == nil:
		o.all = append(o.all, reached{id, end, r.Answered, now.high})
	case end > own.key:
		own.key, own.at, own.high = end, r.Answered, now.high
	}
}

// descent returns what k must not be after, nil if it is in order.
func (o *order) descent(now cell, own *reached, k key) *reached {
	tick := o.tickOf(k)
	for i := range o.all {
		c := &o.all[i]
		d := o.tickOf(c.key) - tick
		switch {
		case c == own:
			// Within one tick sequence numbers only rise, whatever the clock does.
			if k <= c.key && (!now.behind || d == 0 || d > o.span) {
				return c
			}
		case d > 0 || d == 0 && o.rival(c.key, k):
			if allowed := o.setBack(c, now); d > allowed || allowed == 0 {
				return c
			}
		}
	}
	return nil
}

// setBack is by how many ticks an ID may be below the highest that a connection had, after a change
// of worker ID; 0 if the clock was not set back.
func (o *order) setBack(c *reached, now cell) generator.Tick {
	allowed := o.ticks(c.high - now.low)
	if now.behind {
		allowed += o.span
	}
	if allowed > 0 {
		allowed++
	}
	return allowed
}

// describe describes to a reader what a clock was.
func (c cell) describe() string {
	if !c.behind {
		return "the clock was not behind"
	}
	return fmt.Sprintf("the clock may have been set back by up to %.3f ms", float64(c.high-c.low)/1e6)
}
