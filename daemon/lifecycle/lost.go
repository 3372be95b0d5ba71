package lifecycle

import (
	"context"
	"fmt"
	"time"
)

// lostLook is how long the clock is not looked at while it is waited for: it may be set meanwhile.
const lostLook = time.Second

// outwait waits until the clock has passed all that may have been issued before the state directory
// was lost, where the coordinator was in it and begins anew, which knows nothing of it. Whoever
// removed it has changed the directory that it lay in, at the earliest then; a daemon that was
// still running went on by at most a step. A change that is further ahead than a window comes from
// a clock that was wrong.
func (l *Lifecycle) outwait(ctx context.Context) error {
	timing, tick := l.Holder.Timing, l.Layout.TickLength()
	past := max(timing.Step, 2*tick) + tick
	ahead := func() time.Duration { return l.lost.Sub(time.Unix(0, l.Clock.Now().Wall)) }
	if a := ahead(); !l.Alone || l.lost.IsZero() || l.Belief.Trust || a <= -past || a > timing.Window {
		return nil
	}
	if err := l.dir.KeepChange(); err != nil {
		return fmt.Errorf("state directory: when what was here before may have been lost cannot be noted: %w", err)
	}
	l.Log.Info("the state directory is new: waiting until the clock has passed the last change of the directory above it, as one that was lost may have issued IDs until then",
		"changed", l.lost, "wait", (ahead() + past).Round(time.Millisecond))
	l.status("the state directory is new: waiting until the clock has passed the last change of the directory above it")
	for left := ahead() + past; left > 0; left = ahead() + past {
		if err := l.Clock.Sleep(ctx, min(left, lostLook)); err != nil {
			return err
		}
	}
	return l.dir.ForgetChange()
}
