package grant

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// fail notes what keeps the ceiling from rising, and reports whether that is news.
func (k *Holder) fail(code condition.Code, err error) (news bool) {
	now, before := condition.Condition{Code: code, Since: time.Unix(0, k.now().Wall), Err: err}, k.failure.Load()
	if before != nil {
		now.Since = before.Since
	}
	k.failure.Store(&now)
	return before == nil || before.Err.Error() != err.Error()
}

// Condition returns a *condition.Condition that says what keeps IDs from being issued beyond the
// ceiling; nil if nothing does. Where the clock alone keeps them from being issued now, it says so.
func (k *Holder) Condition() error {
	l, _ := k.leases()
	c := &condition.Condition{}
	end := l.ceiling()
	ended := end != 0 && k.tick() > end
	switch failed := k.failure.Load(); {
	case failed != nil:
		*c = *failed
	case ended:
		c.Err = fmt.Errorf("the grant of worker ID %d has ended and coordinator %s has not answered yet: %w", l.worker, k.Coord, condition.ErrLate)
	}
	c.Stopped = ended || end == 0
	code, clock := k.clock(l)
	if clock == nil {
		k.stuck.Store(0)
	}
	switch {
	case clock != nil:
		k.stuck.CompareAndSwap(0, k.now().Wall)
		if c.Err != nil && code != condition.OutsideLayout { // for which whatever else has ended has ended
			clock = fmt.Errorf("%w (%w)", clock, c.Err)
		}
		c = &condition.Condition{Code: code, Stopped: true, Since: time.Unix(0, k.stuck.Load()), Err: clock}
	case c.Err == nil:
		return nil
	case ended:
		c.Since, c.Cause, c.Code = k.Layout.StartOf(end+1), c.Code, condition.GrantEnded
	case end != 0:
		c.Ends = k.Layout.StartOf(end + 1)
	}
	if l.lane != nil && l.issued() != 0 {
		c.Last = k.Layout.StartOf(l.issued())
	}
	return c
}

// clock says why the clock keeps IDs from being issued: it shows no tick of the layout; the lane
// has issued nothing and waits for its floor; or the lane is behind its last ID, with no room left
// in earlier ticks and no other worker ID to be had. nil where that is not for long.
func (k *Holder) clock(l lease) (condition.Code, error) {
	if err := k.Layout.CheckTime(time.Unix(0, k.now().Wall)); err != nil {
		return condition.OutsideLayout, err
	}
	if !l.open() {
		return "", nil
	}
	last := l.lane.Highest()
	if time.Duration(k.Layout.UnixNanos(last+1)-k.now().Wall) <= k.RestartWait {
		return "", nil
	}
	next := k.Layout.StartOf(last + 1).UTC().Format(time.RFC3339)
	if l.issued() == 0 {
		return condition.FloorAhead, fmt.Errorf("worker ID %d may have been issued from up to a time that the clock has not reached; no ID before %s", l.worker, next)
	}
	if _, room := l.lane.NextRoom(last-generator.Tick(l.lane.Span())+1, last); room || k.again.Load() == 0 {
		return "", nil
	}
	return condition.ClockBehind, fmt.Errorf("the clock is behind the last ID of worker ID %d, and no other worker ID is to be had; no ID before %s", l.worker, next)
}
