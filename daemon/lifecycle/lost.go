package lifecycle

import (
	"context"
	"time"
)

// outwait waits until the clock has passed all that may have been issued before the state directory
// was lost, where the coordinator was in it and begins anew, which knows nothing of it. Whoever
// removed it has changed the directory that it lay in, at the earliest then; a daemon that was still
// running went on by at most a step. A change that is further ahead than a window comes from a clock
// that was wrong.
func (l *Lifecycle) outwait(ctx context.Context) error {
	timing, tick := l.Holders[0].Timing, l.Layout.TickLength()
	ahead := l.lost.Sub(time.Unix(0, l.Clock.Now().Wall))
	if !l.Alone || l.lost.IsZero() || l.Belief.Trust || ahead <= 0 || ahead > timing.Window {
		return nil
	}
	wait := ahead + max(timing.Step, 2*tick) + tick
	l.Log.Warn("the clock is behind the last change where the state directory is made anew: waiting, as a lost one may have issued IDs until then",
		"changed", l.lost, "wait", wait.Round(time.Millisecond))
	return l.Clock.Sleep(ctx, wait)
}
