package page

import (
	"math"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/tally"
)

// The history has so many cells of so many samples, one sample a second: 15 minutes.
const (
	cells          = 180
	samplesOfACell = 5
)

// cell is what a few seconds came to.
type cell struct {
	passed                 time.Duration // by the monotonic clock
	ids, requests, refused uint64
	median, slowest        time.Duration // the 50th and the 99th of 100 requests for IDs; 0: there was none
}

// rate returns how many of n there were in a second.
func (c cell) rate(n uint64) float64 {
	if c.passed <= 0 {
		return 0
	}
	return float64(n) / c.passed.Seconds()
}

// counted is what had been counted up to a sample.
type counted struct {
	ids, requests, refused uint64
	took                   tally.Durations
}

// read adds the dialects up.
func read(s tally.Snapshot) (c counted) {
	c.requests, c.refused, c.ids = s.Totals()
	for _, took := range s.Durations {
		c.took.Count += took.Count
		for i, n := range took.Native {
			c.took.Native[i] += n
		}
	}
	return c
}

// since returns what was counted from a sample to this one.
func (c counted) since(before counted, passed time.Duration) cell {
	took := c.took
	took.Count -= before.took.Count
	for i, n := range before.took.Native {
		took.Native[i] -= n
	}
	return cell{
		passed: passed, ids: c.ids - before.ids, requests: c.requests - before.requests, refused: c.refused - before.refused,
		median: quantile(took, .5), slowest: quantile(took, .99),
	}
}

// quantile returns the upper bound of the bucket that has it.
func quantile(d tally.Durations, q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(d.Count)))
	if rank == 0 {
		return 0
	}
	var below uint64
	for i, n := range d.Native {
		if below += n; below >= rank {
			return time.Duration(math.Exp2(float64(i+tally.FirstBucket)/(1<<tally.Schema)) * float64(time.Second))
		}
	}
	return 0
}

// history is the last 15 minutes. Its owner guards it.
type history struct {
	ring  [cells]cell // the newest is at next-1
	next  int
	size  int
	last  cell            // of the last second
	from  counted         // at the beginning of the cell that is being filled,
	begun clockguard.Mono // which was at this monotonic time
	was   counted         // at the last sample,
	at    clockguard.Mono // which was at this monotonic time
	in    int             // samples in that cell
}

// begin counts from now on.
func (h *history) begin(now counted, at clockguard.Mono) {
	h.from, h.was, h.begun, h.at = now, now, at, at
}

// add takes a sample.
func (h *history) add(now counted, at clockguard.Mono) {
	h.last = now.since(h.was, at.Sub(h.at))
	h.was, h.at = now, at
	if h.in == 0 {
		h.next = (h.next + 1) % cells
		h.size = min(h.size+1, cells)
	}
	h.in++
	h.ring[(h.next+cells-1)%cells] = now.since(h.from, at.Sub(h.begun))
	if h.in == samplesOfACell {
		h.from, h.begun, h.in = now, at, 0
	}
}

// all returns the cells, the oldest first.
func (h *history) all() []cell {
	list := make([]cell, 0, h.size)
	for i := range h.size {
		list = append(list, h.ring[(h.next-h.size+i+cells)%cells])
	}
	return list
}
