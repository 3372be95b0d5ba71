package clockguard

import (
	"context"
	"time"
)

// DefaultTolerance is a tolerance for NewWatch that no load seen so far has
// exceeded: the two clocks of one Reading were 8 ms apart at worst, and two
// readings are compared.
const DefaultTolerance = 25 * time.Millisecond

// Watch finds steps of the wall clock by comparing how far it moved between two
// looks with how far the monotonic clock did. It needs no traffic, only looks.
// Each look is compared with the one before it, so a slow drift or a smear is
// no step. A suspended machine looks like a step ahead, because its monotonic
// clock stood still. A Watch is for one goroutine.
type Watch struct {
	last      Reading
	tolerance time.Duration
}

// NewWatch starts from the reading first. A movement of the wall clock is a
// step if it differs from the monotonic clock's by more than tolerance; below
// that it may be the two reads of one Reading that lay apart. A negative
// tolerance counts as 0.
func NewWatch(first Reading, tolerance time.Duration) *Watch {
	return &Watch{last: first, tolerance: max(tolerance, 0)}
}

// Look compares r with the reading before it. If the wall clock has stepped, it
// returns by how much: negative is back, positive ahead; otherwise 0 and false.
func (w *Watch) Look(r Reading) (step time.Duration, stepped bool) {
	wall := since(r.Wall, w.last.Wall)
	mono := since(int64(r.Mono), int64(w.last.Mono))
	w.last = r
	step = time.Duration(since(wall, mono))
	if step > w.tolerance || step < -w.tolerance {
		return step, true
	}
	return 0, false
}

// Run looks at c every interval (more than 0) and calls looked, in the same
// goroutine, with the step that was found, 0 for none. It returns when ctx ends or
// looked fails, with its error.
func (w *Watch) Run(ctx context.Context, c Clock, every time.Duration, looked func(step time.Duration) error) error {
	for {
		if err := c.Sleep(ctx, every); err != nil {
			return err
		}
		step, _ := w.Look(c.Now())
		if err := looked(step); err != nil {
			return err
		}
	}
}
