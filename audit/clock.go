package audit

import (
	"maps"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// A step of a host's clock takes effect when its daemon next looks at the file, within a few
// milliseconds; a daemon that was paused looks when it goes on, and so does one whose machine is
// busy. So both what was before and what is after a step count as possible from shortly before it
// until the daemon has issued for settling since it was set: pauses do not count towards that, nor
// does the time that a busy disk takes for the file.
const (
	early    = evidence.Mono(5 * time.Millisecond)
	settling = evidence.Mono(time.Second)
	longest  = evidence.Mono(10 * time.Millisecond) // of a time between two IDs, that counts as issuing
	// believed is how far ahead a step is followed at once: a daemon may go on by the time before a
	// larger one for as long as its clock is ahead.
	believed = int64(time.Second)
	always   = evidence.Mono(math.MaxInt64)
	never    = evidence.Mono(math.MinInt64)
)

// clock is a host's, as far as it was stepped.
type clock struct {
	steps []stepped
	next  int                    // the first step that no ID was issued after yet
	open  []int                  // steps that are not settled, or not made up for
	highs map[int]generator.Tick // the highest tick that the host issued so far, by worker ID
	cells map[int][]cell         // by worker ID; made when they are asked for
}

// stepped is one step, and what became of it.
type stepped struct {
	at, set   evidence.Mono
	from, to  int64 // offsets, in nanoseconds
	issuing   evidence.Mono
	last      evidence.Mono
	highs     map[int]generator.Tick // the highest ticks issued before it had settled, by worker ID, of those that have not passed them
	settled   evidence.Mono          // always: never
	caughtUp  map[int]evidence.Mono  // until when worker IDs that have left highs may have been behind
	isSettled bool
}

// cell is an interval, up to the next cell, in which the same is possible.
type cell struct {
	start     evidence.Mono
	low, high int64 // the offsets that known time may have had; high also has those that its lanes may still be ahead by
	behind    bool  // the clock may be behind what its lanes have issued
}

func newClock(steps []Step) *clock {
	c := &clock{highs: map[int]generator.Tick{}, cells: map[int][]cell{}}
	offset := int64(0)
	for _, s := range steps {
		c.steps = append(c.steps, stepped{at: s.At, set: max(s.At, s.Set), from: offset, to: s.Offset, settled: always, caughtUp: map[int]evidence.Mono{}})
		offset = s.Offset
	}
	return c
}

// issued notes that the host issued an ID of tick. Calls are in the order of the logs.
func (c *clock) issued(at evidence.Mono, worker int, tick generator.Tick) {
	c.highs[worker] = max(c.highs[worker], tick)
	for c.next < len(c.steps) && c.steps[c.next].at < at {
		c.steps[c.next].last = c.steps[c.next].set
		c.open = append(c.open, c.next)
		c.next++
	}
	if len(c.open) > 0 {
		c.open = slices.DeleteFunc(c.open, func(i int) bool { return c.steps[i].issued(at, worker, tick, c.highs) })
	}
}

// issued reports whether all is known of the step.
func (s *stepped) issued(at evidence.Mono, worker int, tick generator.Tick, highs map[int]generator.Tick) bool {
	if s.isSettled {
		if high, behind := s.highs[worker]; behind && tick > high {
			s.caughtUp[worker] = at
			delete(s.highs, worker)
		}
		return len(s.highs) == 0
	}
	if at > s.last {
		s.issuing += min(at-s.last, longest)
		s.last = at
	}
	if s.issuing < settling {
		return false
	}
	s.isSettled, s.settled, s.highs = true, at, maps.Clone(highs)
	return s.to >= s.from
}

// behindUntil is until when the clock could be behind what was issued from the worker ID before the
// step.
func (s *stepped) behindUntil(worker int) evidence.Mono {
	if !s.isSettled {
		return always
	}
	if _, behind := s.highs[worker]; behind {
		return always
	}
	return max(s.settled, s.caughtUp[worker])
}

// settle makes the cells of a worker ID, when all logs were read.
func (c *clock) settle(worker int) []cell {
	var cells []cell
	type possible struct {
		from, until evidence.Mono
		offset      int64
		ahead       bool // a lane may be ahead by the offset, the clock itself is not
	}
	all := []possible{{from: never, until: always}}
	for _, s := range c.steps {
		for i, p := range all {
			if !p.ahead && p.until == always && s.to-p.offset <= believed {
				all[i].until = s.settled
			}
		}
		if s.to < s.from {
			all = append(all, possible{s.at - early, s.behindUntil(worker), s.from, true})
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
		cells = append(cells, now)
	}
	return cells
}

// between returns what was possible from one instant to another.
func (c *clock) between(worker int, from, until evidence.Mono) cell {
	cells, ok := c.cells[worker]
	if !ok {
		cells = c.settle(worker)
		c.cells[worker] = cells
	}
	i := 0
	if len(cells) > 1 {
		i = sort.Search(len(cells), func(i int) bool { return cells[i].start > from }) - 1
	}
	now := cells[i]
	for i++; i < len(cells) && cells[i].start <= until; i++ {
		now.low, now.high = min(now.low, cells[i].low), max(now.high, cells[i].high)
		now.behind = now.behind || cells[i].behind
	}
	return now
}
