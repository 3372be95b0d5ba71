package received

import (
	"fmt"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// Host judges the lives of the daemons that used one state directory, one after the other.
type Host struct {
	layout *generator.Layout
	past   []generator.Tick          // by worker ID: the highest tick received in earlier lives, 0 if none
	ticks  []map[generator.Tick]bool // by worker ID: all of them
}

// NewHost begins with no life.
func NewHost(layout *generator.Layout) *Host {
	h := &Host{layout: layout, past: make([]generator.Tick, layout.Workers()), ticks: make([]map[generator.Tick]bool, layout.Workers())}
	for worker := range h.ticks {
		h.ticks[worker] = map[generator.Tick]bool{}
	}
	return h
}

// Workers is how many worker IDs the IDs of all lives came from.
func (h *Host) Workers() int {
	n := 0
	for _, tick := range h.past {
		if tick > 0 {
			n++
		}
	}
	return n
}

// Life is what is known of one life after the daemon is gone.
type Life struct {
	Connections [][]int64       // the IDs that each connection received, in order
	Steady      bool            // no clock was stepped while it lived: IDs must rise on each connection
	Journal     []journal.Entry // as the daemon left it
}

// Verdict counts what was looked at and what should not be. All but the first two are 0 if the
// daemon keeps its promise.
type Verdict struct {
	IDs    uint64 // received in this life
	Marked uint64 // of them, those whose worker ID the journal names, so that they could be compared with its mark

	AboveMark    uint64 // IDs above the journal's mark
	AboveGrant   uint64 // marks in the journal above the ceiling that the coordinator acknowledged
	MarksLowered uint64 // marks in the journal below an ID of an earlier life, but in a gap
	TicksShared  uint64 // IDs in a tick that an earlier life issued from the same worker ID
	Lowered      uint64 // IDs below such a tick, but in a gap
	Descents     uint64 // IDs below the one before them on their connection
	Undecodable  uint64 // integers that are no ID of the layout
	Examples     []string
}

// Bad is how many violations there are.
func (v Verdict) Bad() uint64 {
	return v.AboveMark + v.AboveGrant + v.MarksLowered + v.TicksShared + v.Lowered + v.Descents + v.Undecodable
}

// Add adds up two verdicts.
func (v *Verdict) Add(o Verdict) {
	v.IDs += o.IDs
	v.Marked += o.Marked
	v.AboveMark += o.AboveMark
	v.AboveGrant += o.AboveGrant
	v.MarksLowered += o.MarksLowered
	v.TicksShared += o.TicksShared
	v.Lowered += o.Lowered
	v.Descents += o.Descents
	v.Undecodable += o.Undecodable
	for _, e := range o.Examples {
		v.example("%s", e)
	}
}

func (v *Verdict) example(format string, args ...any) {
	if len(v.Examples) < maxExamples {
		v.Examples = append(v.Examples, fmt.Sprintf(format, args...))
	}
}

const unnamed = generator.Tick(-1)

// Judge judges a life. Lives are judged in the order in which they were.
func (h *Host) Judge(l Life) Verdict {
	var v Verdict
	marks := make([]generator.Tick, len(h.past))
	for i := range marks {
		marks[i] = unnamed
	}
	until := map[uint64]generator.Tick{} // where the gap ends that a worker ID is issued from in the end; 0: in none
	for _, e := range l.Journal {
		if e.Worker < 0 || e.Worker >= len(marks) {
			v.Undecodable++
			v.example("the journal names worker ID %d, and the layout has %d", e.Worker, len(marks))
			continue
		}
		marks[e.Worker], until[uint64(e.Worker)] = e.Mark, e.Until
		// A ceiling of 0 means that nothing is granted, and then the mark is a floor that was
		// found.
		if e.Ceiling != 0 && e.Mark > e.Ceiling {
			v.AboveGrant++
			v.example("the journal's mark for worker ID %d is %d, the acknowledged ceiling %d", e.Worker, e.Mark, e.Ceiling)
		}
		if e.Until == 0 && e.Mark < h.past[e.Worker] {
			v.MarksLowered++
			v.example("the journal's mark for worker ID %d is %d, and tick %d was issued before", e.Worker, e.Mark, h.past[e.Worker])
		}
	}
	high, now := append([]generator.Tick(nil), h.past...), make([]map[generator.Tick]bool, len(h.past))
	for _, ids := range l.Connections {
		previous := int64(-1)
		for _, id := range ids {
			v.IDs++
			parts, err := h.layout.Decompose(id)
			if err != nil {
				v.Undecodable++
				v.example("%d is no ID: %v", id, err)
				continue
			}
			worker, tick := parts.Worker, parts.Tick
			if mark := marks[worker]; mark != unnamed {
				v.Marked++
				if end := until[worker]; tick > mark && (end == 0 || tick <= end) { // what is above a gap was issued before
					v.AboveMark++
					v.example("ID %d has tick %d of worker ID %d, and the journal's mark is %d", id, tick, worker, mark)
				}
			}
			switch {
			case h.ticks[worker][tick]:
				v.TicksShared++
				v.example("ID %d has tick %d of worker ID %d, from which an earlier life issued", id, tick, worker)
			case l.Steady && marks[worker] != unnamed && until[worker] == 0 && tick <= h.past[worker]:
				v.Lowered++
				v.example("ID %d has tick %d of worker ID %d, and an earlier life issued up to %d", id, tick, worker, h.past[worker])
			}
			if l.Steady && id <= previous {
				v.Descents++
				v.example("ID %d came after %d on one connection", id, previous)
			}
			previous = id
			high[worker] = max(high[worker], tick)
			if now[worker] == nil {
				now[worker] = map[generator.Tick]bool{}
			}
			now[worker][tick] = true
		}
	}
	h.past = high
	for worker, ticks := range now {
		for tick := range ticks {
			h.ticks[worker][tick] = true
		}
	}
	return v
}
