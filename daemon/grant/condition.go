package grant

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// failure is what keeps the ceiling from rising, and since when.
type failure struct {
	mu    sync.Mutex
	err   error              // nil: nothing
	first clockguard.Reading // when it began

	// code is what err says, once somebody has asked: whoever watches asks several times a second.
	// Empty: nobody has.
	code condition.Code
}

// set notes how a try ended. It returns how the one before it did.
func (f *failure) set(now clockguard.Reading, err error) (before error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before = f.err
	if before == nil {
		f.first = now
	}
	f.err, f.code = err, ""
	return before
}

// get says what it is, and since when; nil if it is nothing.
func (f *failure) get() *condition.Condition {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil {
		return nil
	}
	if f.code == "" {
		f.code = codeOf(f.err)
	}
	return &condition.Condition{Code: f.code, Since: time.Unix(0, f.first.Wall), Err: f.err}
}

// errStarting is of a coordinator that was not heard of yet.
var errStarting = errors.New("the daemon is starting")

// codeOf returns the code of an error of the coordinator's side.
func codeOf(err error) condition.Code {
	var (
		taken    *coord.ExhaustedError
		later    *coord.AheadError
		restored *coord.RestoredError
		unserved *coord.NotServedError
	)
	switch {
	case errors.Is(err, errStarting):
		return condition.Starting
	case errors.As(err, &taken):
		return condition.WorkersTaken
	case errors.As(err, &later):
		return condition.WorkersAhead
	case errors.As(err, &restored):
		return condition.Restored
	case errors.Is(err, coord.ErrOtherCluster):
		return condition.OtherCluster
	case errors.Is(err, coord.ErrNoCluster):
		return condition.NoCluster
	case errors.As(err, &unserved):
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
	h := k.held.snapshot().current
	c := k.contact.failure.get()
	if c == nil {
		c = k.pace.late(h, k.Coord)
	}
	early, behind, outside := k.pace.early(h), k.behind(h), k.Layout.CheckTime(time.Unix(0, k.pace.now().Wall))
	switch {
	case outside != nil:
		c = &condition.Condition{Code: condition.OutsideLayout, Stopped: true, Since: k.pace.leftLayout(), Err: outside}
	case early != nil:
		if c != nil {
			early = fmt.Errorf("%w (%w)", early, c.Err)
		}
		c = &condition.Condition{Code: condition.FloorAhead, Stopped: true, Since: time.Unix(0, max(k.pace.begun, h.since)), Err: early}
	case behind != nil:
		if c != nil {
			behind = fmt.Errorf("%w (%w)", behind, c.Err)
		}
		c = &condition.Condition{Code: condition.ClockBehind, Stopped: true, Since: time.Unix(0, k.stuck.Load()), Err: behind}
	case c == nil:
		return nil
	default:
		k.pace.judge(c, h)
	}
	if h.lane != nil && h.lane.Highest() > h.lane.Floor() {
		c.Last = k.pace.layout.StartOf(h.lane.Highest())
	}
	return c
}

// leftLayout is since when the clock shows no tick of the layout: its end, or, where the clock
// shows a time before the layout's first tick, the holder's beginning.
func (p *pace) leftLayout() time.Time {
	if end := p.layout.End(); p.now().Wall >= end.UnixNano() {
		return end
	}
	return time.Unix(0, p.begun)
}

// ceiling is the last tick that the holding's lane may issue; 0: there is no lane.
func (h holding) ceiling() generator.Tick {
	if h.lane == nil || h.lane.Closed() {
		return 0
	}
	return h.lane.Ceiling()
}

// judge says whether the condition has stopped issuing, which is possible up to the ceiling, or when it
// will.
func (p *pace) judge(c *condition.Condition, h holding) {
	end := h.ceiling()
	if end > 0 {
		end = max(end, h.granted)
	}
	c.Stopped = end == 0 || p.tick() > end
	switch {
	case end == 0:
	case !c.Stopped:
		c.Ends = p.layout.StartOf(end + 1)
	default:
		c.Since, c.Cause, c.Code = p.layout.StartOf(end+1), c.Code, condition.GrantEnded
	}
}

// early says until when nothing can be issued because the worker ID may have been issued from up to
// there; nil if that is not long. A lane that has issued is behind instead: see behind.
func (p *pace) early(h holding) error {
	if h.lane == nil || h.lane.Closed() || h.lane.Highest() > h.lane.Floor() {
		return nil
	}
	first := h.lane.Floor() + 1
	if time.Duration(p.layout.UnixNanos(first)-p.now().Wall) <= p.restartWait {
		return nil
	}
	return &earlyError{h.worker, p.layout.StartOf(first)}
}

// earlyError says that nothing can be issued before a time.
type earlyError struct {
	worker int
	first  time.Time
}

func (e *earlyError) Error() string {
	return fmt.Sprintf("worker ID %d may have been issued from up to a time that the clock has not reached; no ID before %s",
		e.worker, e.first.UTC().Format(time.RFC3339))
}

// behind says until when nothing can be issued because the clock is behind the last ID, the earlier
// ticks have no room left, and no other worker ID is to be had; nil if that is not long.
func (k *Holder) behind(h holding) error {
	if !k.isStuck(h) {
		k.stuck.Store(0)
		return nil
	}
	k.stuck.CompareAndSwap(0, k.pace.now().Wall)
	return fmt.Errorf("the clock is behind the last ID of worker ID %d, and no other worker ID is to be had; no ID before %s",
		h.worker, k.Layout.StartOf(h.lane.Highest()+1).UTC().Format(time.RFC3339))
}

// isStuck reports what behind says.
func (k *Holder) isStuck(h holding) bool {
	if h.lane == nil || h.lane.Closed() || k.contact.reachable.Load() && !k.contact.backoff.waits() {
		return false
	}
	last := h.lane.Highest()
	if last <= h.lane.Floor() || time.Duration(k.Layout.UnixNanos(last)-k.pace.now().Wall) <= k.pace.restartWait {
		return false
	}
	_, room := h.lane.NextRoom(last-generator.Tick(h.lane.Span())+1, last)
	return !room
}

// late returns the condition of a lane whose ceiling the clock is beyond although nothing has
// failed: an answer is waited for. nil if there is none.
func (p *pace) late(h holding, coordinator string) *condition.Condition {
	if h.lane == nil || h.lane.Closed() || p.tick() <= h.lane.Ceiling() {
		return nil
	}
	return &condition.Condition{
		Since: p.layout.StartOf(h.lane.Ceiling() + 1),
		Err:   fmt.Errorf("the grant of worker ID %d has ended and coordinator %s has not answered yet: %w", h.worker, coordinator, condition.ErrLate),
	}
}
