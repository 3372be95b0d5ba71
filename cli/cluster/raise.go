package cluster

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

const (
	// Margin is how far ahead of the clock marks are raised unless told: the
	// daemon's default --window, 10 minutes, and half as much for clocks that
	// differ and for the time until somebody says yes.
	Margin = 15 * time.Minute
	// Furthest is how far ahead marks are raised without being forced: the largest
	// --window that a daemon takes.
	Furthest = 24 * time.Hour
)

// Highest is the record with the highest ceiling, damaged ones aside.
func Highest(marks []coord.Mark) (highest coord.Mark, ok bool) {
	for _, m := range marks {
		if !m.Damaged && (!ok || m.Ceiling > highest.Ceiling) {
			highest, ok = m, true
		}
	}
	return highest, ok
}

// Target is the tick to raise all ceilings to if nobody says which: Margin from
// now, and above every ceiling there is.
func (c Cluster) Target(now time.Time, marks []coord.Mark) generator.Tick {
	target := c.tick(now.Add(Margin))
	if highest, ok := Highest(marks); ok {
		target = max(target, highest.Ceiling+1)
	}
	return target
}

// TickOf is the tick that an instant lies in. It is an error if the layout has
// none for it.
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
// clock has passed, that the layout does not have, or that is more than furthest
// from now.
func (c Cluster) CheckTarget(to generator.Tick, now time.Time, furthest time.Duration) error {
	at := c.Layout.StartOf(to)
	switch left := c.left(to, now); {
	case to >= c.Layout.MaxTick():
		return c.afterEnd(at)
	case left <= 0:
		return fmt.Errorf("%s has passed: give a time after all that any daemon may have been granted, which is now and the longest --window in use at the least", Time(at))
	case left > furthest:
		return fmt.Errorf("%s is %s from now, more than --max %v, and no ID could be issued before it: --force raises to it all the same", Time(at), Span(left), furthest)
	}
	return nil
}
