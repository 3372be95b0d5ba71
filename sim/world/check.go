package world

import (
	"context"
	"encoding/json"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/lending"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/sim/tree"
)

// place is a worker ID of a cluster. Of two clusters IDs may be equal.
type place struct {
	cluster string
	worker  int
}

// laneOf is what a lane has issued.
type laneOf struct {
	cluster     string
	worker      int
	slot        *slot
	used        bool
	first, last generator.Tick
}

// ledger is all that was issued from one worker ID.
type ledger struct {
	lanes []*laneOf
	ticks map[generator.Tick][]numbers
}

// numbers are consecutive sequence numbers of a tick.
type numbers struct {
	from, to uint64 // to is not among them
	of       *laneOf
}

// issued judges a run that a daemon has just been given by its lane: whether or not it gets to anybody, it counts.
func (p *proc) issued(run generator.Run, lane *generator.Lane, c *conn, before clockguard.Reading, unordered bool) {
	w := p.w
	parts, err := w.layout.Decompose(run.First)
	if err != nil {
		w.violate(p.slot, "an ID that is none: %v", err)
		return
	}
	w.counts.IDs += uint64(run.N)
	p.slot.issued = w.line.Now()
	l, t := p.lanes[lane], parts.Tick
	if l == nil || l.worker != int(parts.Worker) {
		w.violate(p.slot, "tick %d: worker ID %d was issued from a lane that was never put to use, or is another's", t, parts.Worker)
		return
	}
	at := place{l.cluster, l.worker}
	book := w.books[at]
	if book == nil {
		book = &ledger{ticks: map[generator.Tick][]numbers{}}
		w.books[at] = book
	}
	// 1: no ID twice.
	from, to := parts.Sequence, parts.Sequence+uint64(run.N)
	for _, n := range book.ticks[t] {
		if from < n.to && n.from < to {
			w.violate(p.slot, "worker ID %d, tick %d: sequence numbers %d to %d were issued before, %d to %d by d%d", l.worker, t, from, to-1, n.from, n.to-1, n.of.slot.number)
			return
		}
	}
	book.ticks[t] = append(book.ticks[t], numbers{from, to, l})
	// 2: within what was granted, and what is in the journal.
	if acked := p.slot.acked[at]; t > acked {
		w.violate(p.slot, "worker ID %d, tick %d: the grant that was acknowledged ends at %d", l.worker, t, acked)
		return
	}
	if mark := markOf(p.durable, l.worker); t > mark {
		w.violate(p.slot, "worker ID %d, tick %d: the journal's mark is %d", l.worker, t, mark)
		return
	}
	// 3: the ticks of successive holders are disjoint.
	if !l.used {
		l.used, l.first, l.last = true, t, t
		book.lanes = append(book.lanes, l)
	}
	l.first, l.last = min(l.first, t), max(l.last, t)
	for _, other := range book.lanes {
		if other != l && l.first <= other.last && other.first <= l.last {
			w.violate(p.slot, "worker ID %d: ticks %d to %d are issued from, and d%d has issued %d to %d", l.worker, l.first, l.last, other.slot.number, other.first, other.last)
			return
		}
	}
	p.ordered(t, lane, c, before, unordered)
}

// ordered judges order: on the connection, and by the host's clock.
func (p *proc) ordered(t generator.Tick, lane *generator.Lane, c *conn, before clockguard.Reading, unordered bool) {
	w := p.w
	// 4: on one connection IDs rise, or fall by the ring's span at most.
	span := generator.Tick(lane.Span())
	switch {
	case lane == c.lane && t < c.last && (!unordered || t <= c.last-span):
		w.violate(p.slot, "tick %d after tick %d of the same lane and connection; the ring was used: %v", t, c.last, unordered)
		return
	case lane != c.lane && !p.host.back && t < c.last:
		w.violate(p.slot, "tick %d after tick %d of another lane, and the clock never went back", t, c.last)
		return
	}
	if lane != c.lane || t > c.last {
		c.last = t
	}
	c.lane = lane
	// 5: an ID is as late as its host's clock, from the question to the answer.
	now := w.layout.TickAt(p.host.read().Wall)
	low, high := min(w.layout.TickAt(c.asked.Wall), now), max(w.layout.TickAt(before.Wall), now)
	if unordered {
		low, high = low-span, max(high, lane.Highest())
	}
	if t < low || t > high {
		w.violate(p.slot, "tick %d, and the host's clock went from %d to %d", t, low, high)
	}
}

func markOf(entries []journal.Entry, worker int) generator.Tick {
	for _, e := range entries {
		if e.Worker == worker {
			return e.Mark
		}
	}
	return -1
}

// watched is a store that remembers what was acknowledged to the daemon.
type watched struct {
	*tree.Store
	p *proc
}

func (s watched) Write(ctx context.Context, layout lending.Entry, write lending.Write) (lending.Written, error) {
	done, err := s.Store.Write(ctx, layout, write)
	if err != nil {
		return done, err
	}
	value := done.Record.Value
	if done.Stored {
		value = write.Record.Value
	}
	mine, found := recordOf(write.Record.Value), recordOf(value)
	if found.Holder == mine.Holder {
		at := place{clusterOf(layout.Value), write.Node.Worker}
		s.p.slot.acked[at] = max(s.p.slot.acked[at], found.Ceiling)
	}
	return done, err
}

type stored struct {
	Ceiling generator.Tick `json:"ceiling"`
	Mark    generator.Tick `json:"mark"`
	Holder  string         `json:"holder"`
}

func recordOf(value []byte) (r stored) {
	_ = json.Unmarshal(value, &r)
	return r
}

func clusterOf(layout []byte) string {
	var l struct {
		UUID string `json:"uuid"`
	}
	_ = json.Unmarshal(layout, &l)
	return l.UUID
}
