package audit

import (
	"math"
	"slices"
	"sort"
	"time"

	"github.com/flakeward/flakeward/e2e/evidence"
	"github.com/flakeward/flakeward/generator"
)

// A step of a host's clock takes effect when its daemon next looks at the file, within a few milliseconds; a daemon that was
// paused looks when it goes on, and so does one whose machine is busy. So both what was before and what is after a step count as
// possible from shortly before it until the daemon has issued for settling since: pauses do not count towards that.
const (
	early    = evidence.Mono(5 * time.Millisecond)
	settling = evidence.Mono(time.Second)
	longest  = evidence.Mono(10 * time.Millisecond) // of a time between two IDs, that counts as issuing
	always   = evidence.Mono(math.MaxInt64)
	never    = evidence.Mono(math.MinInt64)
)

// clock is a host's, as far as it was stepped.
type clock struct {
	steps []stepped
	next  int            // the first step that no ID was issued after yet
	open  []int          // steps that are not settled, or not made up for
	high  generator.Tick // the highest tick that the host issued so far
	cells []cell
}

// stepped is one step, and what became of it.
type stepped struct {
	at        evidence.Mono
	from, to  int64 // offsets, in nanoseconds
	issuing   evidence.Mono
	last      evidence.Mono
	high      generator.Tick // the highest tick issued before it had settled
	settled   evidence.Mono  // always: never
	caughtUp  evidence.Mono  // when a tick above high was issued: the clock had made up for a step back
	isSettled bool
}

// cell is a stretch of time, up to the next cell, in which the same is possible.
type cell struct {
	start     evidence.Mono
	low, high int64 // the offsets that the clock may have had; high also has those that its lanes may still be ahead by
	behind    bool  // the clock may be behind what its lanes have issued
}

func newClock(steps []Step) *clock {
	c := &clock{}
	offset := int64(0)
	for _, s := range steps {
		c.steps = append(c.steps, stepped{at: s.At, from: offset, to: s.Offset, settled: always, caughtUp: always})
		offset = s.Offset
	}
	return c
}

// issued notes that the host issued an ID of tick. Calls are in the order of the logs.
func (c *clock) issued(at evidence.Mono, tick generator.Tick) {
	c.high = max(c.high, tick)
	for c.next < len(c.steps) && c.steps[c.next].at < at {
		c.steps[c.next].last = c.steps[c.next].at
		c.open = append(c.open, c.next)
		c.next++
	}
	if len(c.open) > 0 {
		c.open = slices.DeleteFunc(c.open, func(i int) bool { return c.steps[i].issued(at, tick, c.high) })
	}
}

// issued reports whether all is known of the step.
func (s *stepped) issued(at evidence.Mono, tick, high generator.Tick) bool {
	if s.isSettled {
		if tick > s.high {
			s.caughtUp = at
			return true
		}
		return false
	}
	if at > s.last {
		s.issuing += min(at-s.last, longest)
		s.last = at
	}
	if s.issuing < settling {
		return false
	}
	s.isSettled, s.settled, s.high = true, at, high
	return s.to >= s.from
}

// settle makes the cells, when all logs were read.
func (c *clock) settle() {
	type possible struct {
		from, until evidence.Mono
		offset      int64
		ahead       bool // a lane may be ahead by the offset, the clock itself is not
	}
	all := []possible{{from: never, until: always}}
	for _, s := range c.steps {
		all[len(all)-1].until = s.settled
		if s.to < s.from {
			all = slices.Insert(all, len(all)-1, possible{s.at - early, s.caughtUp, s.from, true})
		}
		all = append(all, possible{s.at - early, always, s.to, false})
	}
	starts := []evidence.Mono{never}
	for _, p := range all {
		starts = append(starts, p.from)
		if p.until != always {
			starts = append(starts, p.until+1)
		}
	}
	slices.Sort(starts)
	for _, start := range slices.Compact(starts) {
		now := cell{start: start, low: math.MaxInt64, high: math.MinInt64}
		for _, p := range all {
			if p.from > start || p.until < start {
				continue
			}
			now.high = max(now.high, p.offset)
			if p.ahead {
				now.behind = true
			} else {
				now.low = min(now.low, p.offset)
			}
		}
		c.cells = append(c.cells, now)
	}
}

// between returns what was possible from one instant to another.
func (c *clock) between(from, until evidence.Mono) cell {
	i := 0
	if len(c.cells) > 1 {
		i = sort.Search(len(c.cells), func(i int) bool { return c.cells[i].start > from }) - 1
	}
	now := c.cells[i]
	for i++; i < len(c.cells) && c.cells[i].start <= until; i++ {
		now.low, now.high = min(now.low, c.cells[i].low), max(now.high, c.cells[i].high)
		now.behind = now.behind || c.cells[i].behind
	}
	return now
}
