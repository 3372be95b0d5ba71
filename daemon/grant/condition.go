package grant

import (
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// fail notes what keeps the ceiling from rising; nil: nothing does. It returns what did before.
func (k *Holder) fail(err error) (before error) {
	was, now := k.failure.Load(), (*condition.Condition)(nil)
	if err != nil {
		now = &condition.Condition{Code: codeOf(err), Since: time.Unix(0, k.now().Wall), Err: err}
	}
	if was != nil {
		before = was.Err
		if now != nil {
			now.Since = was.Since
		}
	}
	k.failure.Store(now)
	return before
}

// errStarting is of a coordinator that was not heard of yet.
var errStarting = errors.New("the daemon is starting")

// codeOf returns the code of an error of the coordinator's side.
func codeOf(err error) condition.Code {
	switch {
	case errors.Is(err, errStarting):
		return condition.Starting
	case errors.As(err, new(*coord.ExhaustedError)):
		return condition.WorkersTaken
	case errors.As(err, new(*coord.AheadError)):
		return condition.WorkersAhead
	case errors.As(err, new(*coord.RestoredError)):
		return condition.Restored
	case errors.Is(err, coord.ErrOtherCluster):
		return condition.OtherCluster
	case errors.Is(err, coord.ErrNoCluster):
		return condition.NoCluster
	case errors.As(err, new(*coord.NotServedError)):
		return condition.ClusterExported
	case errors.Is(err, coord.ErrRaised):
		return condition.MarksRaised
	case errors.Is(err, coord.ErrLost):
		return condition.ClaimLost
	case errors.Is(err, coord.ErrLogin):
		return condition.LoginRefused
	case errors.Is(err, coord.ErrAccess):
		return condition.AccessDenied
	case errors.Is(err, errNoClaim):
		return condition.NoWorker
	case errors.Is(err, errUnusable): // its record is beyond the layout's end
		return condition.FloorAhead
	default:
		return condition.CoordinatorGone
	}
}

// Condition returns a *condition.Condition that says what keeps IDs from being issued beyond the
// ceiling; nil if nothing does. Where the floor, or the last ID, is what the clock has not reached, it
// says when that will be. A clock outside the layout goes before all: whatever else has ended has
// ended for it.
func (k *Holder) Condition() error {
	l, _ := k.leases()
	c := k.late(l)
	if failed := k.failure.Load(); failed != nil {
		c = new(*failed)
	}
	instead := func(code condition.Code, since int64, err error) *condition.Condition {
		if c != nil {
			err = fmt.Errorf("%w (%w)", err, c.Err)
		}
		return &condition.Condition{Code: code, Stopped: true, Since: time.Unix(0, since), Err: err}
	}
	early, behind, outside := k.early(l), k.behind(l), k.Layout.CheckTime(time.Unix(0, k.now().Wall))
	switch {
	case outside != nil:
		c = &condition.Condition{Code: condition.OutsideLayout, Stopped: true, Since: k.leftLayout(), Err: outside}
	case early != nil:
		c = instead(condition.FloorAhead, max(k.begun, l.since), early)
	case behind != nil:
		c = instead(condition.ClockBehind, k.stuck.Load(), behind)
	case c == nil:
		return nil
	default:
		k.judge(c, l)
	}
	if l.lane != nil && l.lane.Highest() > l.lane.Floor() {
		c.Last = k.Layout.StartOf(l.lane.Highest())
	}
	return c
}

// leftLayout is since when the clock shows no tick of the layout: its end, or, where the clock
// shows a time before the layout's first tick, the holder's beginning.
func (p *pace) leftLayout() time.Time {
	if end := p.Layout.End(); p.now().Wall >= end.UnixNano() {
		return end
	}
	return time.Unix(0, p.begun)
}

// judge says whether the condition has stopped issuing, which is possible up to the ceiling, or when it
// will.
func (p *pace) judge(c *condition.Condition, l lease) {
	end := l.ceiling()
	if end > 0 {
		end = max(end, l.granted)
	}
	c.Stopped = end == 0 || p.tick() > end
	switch {
	case end == 0:
	case !c.Stopped:
		c.Ends = p.Layout.StartOf(end + 1)
	default:
		c.Since, c.Cause, c.Code = p.Layout.StartOf(end+1), c.Code, condition.GrantEnded
	}
}

// early says until when nothing can be issued because the worker ID may have been issued from up to
// there; nil if that is not long. A lane that has issued is behind instead: see behind.
func (p *pace) early(l lease) error {
	if l.lane == nil || l.lane.Closed() || l.lane.Highest() > l.lane.Floor() || !p.long(l.lane.Floor()+1) {
		return nil
	}
	return fmt.Errorf("worker ID %d may have been issued from up to a time that the clock has not reached; no ID before %s",
		l.worker, p.Layout.StartOf(l.lane.Floor()+1).UTC().Format(time.RFC3339))
}

// long reports whether a tick is further ahead than a fresh lane may wait.
func (p *pace) long(tick generator.Tick) bool {
	return time.Duration(p.Layout.UnixNanos(tick)-p.now().Wall) > p.RestartWait
}

// behind says until when nothing can be issued because the clock is behind the last ID, the earlier
// ticks have no room left, and no other worker ID is to be had; nil if that is not long.
func (k *Holder) behind(l lease) error {
	if !k.isStuck(l) {
		k.stuck.Store(0)
		return nil
	}
	k.stuck.CompareAndSwap(0, k.now().Wall)
	return fmt.Errorf("the clock is behind the last ID of worker ID %d, and no other worker ID is to be had; no ID before %s",
		l.worker, k.Layout.StartOf(l.lane.Highest()+1).UTC().Format(time.RFC3339))
}

// isStuck reports what behind says.
func (k *Holder) isStuck(l lease) bool {
	if l.lane == nil || l.lane.Closed() || k.reachable.Load() && !k.backoff.waits() {
		return false
	}
	last := l.lane.Highest()
	if last <= l.lane.Floor() || !k.long(last) {
		return false
	}
	_, room := l.lane.NextRoom(last-generator.Tick(l.lane.Span())+1, last)
	return !room
}

// late returns the condition of a lane whose ceiling the clock is beyond although nothing has
// failed: an answer is waited for. nil if there is none.
func (p *pace) late(l lease) *condition.Condition {
	if l.lane == nil || l.lane.Closed() || p.tick() <= l.lane.Ceiling() {
		return nil
	}
	return &condition.Condition{
		Since: p.Layout.StartOf(l.lane.Ceiling() + 1),
		Err:   fmt.Errorf("the grant of worker ID %d has ended and coordinator %s has not answered yet: %w", l.worker, p.Coord, condition.ErrLate),
	}
}
