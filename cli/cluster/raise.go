package cluster

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

const (
	// Margin is how much further ahead of the clock than the largest window marks are raised unless
	// told: for clocks that differ, and for the time until somebody says yes.
	Margin = 5 * time.Minute
	// Narrowest is the smallest window that a cluster is given: with less, its daemons would write
	// all the time, and stop at each write that is late.
	Narrowest = 2 * time.Second
	// Widest is the largest window that a cluster takes.
	Widest = 24 * time.Hour
	// LeastWindow is what the longest window of a cluster counts as at least: one before it, in the
	// same place, may have had that.
	LeastWindow = 10 * time.Minute
	// Furthest is how far ahead marks are raised without being forced: beyond the
	// largest window that a cluster takes, and Margin.
	Furthest = 25 * time.Hour
)

// Enough is how far ahead of the clock marks are raised at the least without being
// forced: the longest window that the cluster ever had. A daemon may have been
// granted that much since the backup was made, and no record shows it.
func (c Cluster) Enough() time.Duration { return max(c.Longest, LeastWindow) }

// Highest is the record with the highest ceiling, damaged ones aside.
func Highest(marks []coord.Mark) (highest coord.Mark, ok bool) {
	for _, m := range marks {
		if !m.Damaged && (!ok || m.Ceiling > highest.Ceiling) {
			highest, ok = m, true
		}
	}
	return highest, ok
}

// Target is the tick to raise all ceilings to if nobody says which: Enough and Margin from now.
func (c Cluster) Target(now time.Time) generator.Tick { return c.tick(now.Add(c.Enough() + Margin)) }

// TickOf is the tick that an instant lies in. It is an error if the layout has none for it.
func (c Cluster) TickOf(at time.Time) (generator.Tick, error) {
	if at.Before(c.Layout.Epoch()) {
		return 0, fmt.Errorf("%s is before the layout's epoch, %s", Time(at), Time(c.Layout.Epoch()))
	}
	if !at.Before(c.Layout.End()) {
		return 0, c.afterEnd(at)
	}
	return c.tick(at), nil
}

func (c Cluster) afterEnd(at time.Time) error {
	return fmt.Errorf("%s leaves nothing of layout %s, which ends on %s: no ID could ever be issued again", Time(at), c.Layout, Time(c.Layout.End()))
}

// CheckTarget is an error if marks should not be raised to a tick: one that the
// clock has passed or that the layout does not have, and, unless forced, one that
// TooNear warns of or that is further than furthest from now.
func (c Cluster) CheckTarget(to generator.Tick, now time.Time, furthest time.Duration, forced bool) error {
	at := c.Layout.StartOf(to)
	near := c.TooNear(to, now)
	switch left := c.left(to, now); {
	case to >= c.Layout.MaxTick():
		return c.afterEnd(at)
	case left <= 0:
		return fmt.Errorf("%s has passed: give a time after all that any daemon may have been granted, which is now and the longest window that the cluster ever had at the least", Time(at))
	case forced:
		return nil
	case near != "":
		return fmt.Errorf("%s: give a later time, or no --to and no --begin for one that is late enough; --force raises to it all the same", near)
	case left > furthest:
		return fmt.Errorf("%s is %s from now, more than --max %v, and no ID could be issued before it: --force raises to it all the same", Time(at), Span(left), furthest)
	}
	return nil
}

// TooNear says why a tick may not be above all that was granted, and what may come
// of it: it is less than c.Enough from now. It is empty for one that is not.
func (c Cluster) TooNear(to generator.Tick, now time.Time) string {
	if to >= c.tick(now.Add(c.Enough())) {
		return ""
	}
	why := fmt.Sprintf(", less than the %v that daemons may have been granted, the longest window that the cluster ever had", c.Enough())
	at := c.Layout.StartOf(to)
	return fmt.Sprintf("%s is %s from now%s; daemons may hold grants beyond it that a restored coordinator does not know, "+
		"and what they issue under them may be issued a second time", Time(at), Span(at.Sub(now)), why)
}

// Above counts the records that have granted what comes after a tick, damaged ones aside.
func Above(marks []coord.Mark, to generator.Tick) int {
	n := 0
	for _, m := range marks {
		if !m.Damaged && m.Ceiling > to {
			n++
		}
	}
	return n
}
