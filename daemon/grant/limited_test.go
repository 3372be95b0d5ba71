package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// overGranted is a host that was granted more, while its clock was ahead for a moment, than all
// marks are raised to after a backup from before that was put back.
type overGranted struct {
	*process
	restore func()
	to      generator.Tick // what is raised to
	was     *generator.Lane
}

const aheadFor = 10 * time.Second

func (w *fixture) overGranted() *overGranted {
	w.t.Helper()
	h := w.fast("A", 0)
	o := &overGranted{process: h.start()}
	o.issueAll()
	o.restore = w.save()
	o.publishAhead()
	o.to, o.was = w.tick()+500, o.inUse()
	return o
}

// publishAhead has a publish fall due while the clock is ahead.
func (o *overGranted) publishAhead() {
	o.t.Helper()
	o.ahead(o.process)
	o.clock.Step(-aheadFor)
}

// ahead has the clock go ahead, by so little at a time that each publish has the grant extended.
func (h *host) ahead(all ...*process) {
	h.t.Helper()
	for range aheadFor / window {
		h.clock.Step(window)
		for _, p := range all {
			must.Do(h.t, p.Publish(h.t.Context()))
		}
	}
}

// restoreAndRaise is what the documentation says to do after the loss of a coordinator.
func (o *overGranted) restoreAndRaise() {
	o.t.Helper()
	o.restore()
	o.raise(o.to)
}

// limited looks whether nothing above what all was raised to can be issued any more.
func (o *overGranted) limited(how string) {
	o.t.Helper()
	if h := o.Holding(); h.Granted > o.to {
		o.t.Errorf("%s: the grant reaches up to %d, and all was raised to %d", how, h.Granted, o.to)
	}
}

// The next host is assigned the very worker ID, as the coordinator's sequence counter is that of
// the backup too. It begins at what all was raised to, within a grant that the coordinator does not
// know. Whichever way the holder of that grant learns of the raise, nothing is issued twice.
func TestScheduleGrantBeyondTheRaise(t *testing.T) {
	for name, learns := range map[string]func(o *overGranted){
		"by a publish": func(o *overGranted) {
			o.restoreAndRaise()
			must.Fail(o.t, o.Publish(o.t.Context()), coord.ErrLost)
		},
		"by a claim": func(o *overGranted) {
			o.passedOn()
			must.Fail(o.t, o.Publish(o.t.Context()), coord.ErrLost)
			o.restoreAndRaise()
			o.fixture.clock.Advance(time.Second)
			o.clock.Advance(time.Second)
			other := o.fixture.host("in the way").bootFor(o.worker())
			other.attach()
			other.acquire() // so that the lane of before is left, and not dropped
			o.coord.loseExtend = true
			must.Fail(o.t, o.Acquire(o.t.Context(), false), errCut)
			other.revoke()
		},
		"by a look, after it was told of the restore": func(o *overGranted) {
			o.restored()
			ctx, stop := context.WithCancel(o.t.Context())
			ended := make(chan error, 1)
			go func() { ended <- o.Hold(ctx) }()
			o.restoreAndRaise()
			o.until("what is granted is what all was raised to", func(context.Context) (bool, error) {
				o.clock.BlockUntil(1)
				o.clock.Advance(step / 4)
				return o.Holding().Granted <= o.to, nil
			})
			o.clock.BlockUntil(1)
			stop()
			if err := <-ended; err != nil {
				o.t.Error(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				o := w.overGranted()
				worker := o.worker()
				learns(o)
				o.limited(name)
				if got := o.was.Ceiling(); got > max(o.to, o.was.Floor()) {
					t.Errorf("the lane issues up to %d, and all was raised to %d", got, o.to)
				}
				w.clock.Advance(time.Second) // beyond what all was raised to
				next := w.host("B").startFor(worker)
				if next.worker() != worker || next.Holding().Floor < o.to || next.Holding().Floor > o.to+2000 {
					t.Fatalf("the next host has %+v, want worker ID %d not long above %d", next.Holding(), worker, o.to)
				}
				w.clock.Advance(aheadFor - 1100*time.Millisecond)
				next.issueFrom(o.to)
				o.issueAll() // what was given to the next host is reported
				issueAllOf(o.process, o.was)
			})
		})
	}
}

// issueAllOf is issueAll for a lane that is in use no more.
func issueAllOf(p *process, lane *generator.Lane) {
	p.t.Helper()
	p.mu.Lock()
	now := p.lane
	p.lane = lane
	p.mu.Unlock()
	p.issueAll()
	p.Use(now)
}

// The lane that is being left has a grant from before, too.
func TestRaiseLimitsTheLaneThatIsLeft(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		o := w.overGranted()
		left := o.inUse()
		lost := 0
		o.coord.before = func(call string) error { // the new lane's first grant is not acknowledged
			if call == "extend" {
				lost++
				return errCut
			}
			return nil
		}
		if err := o.Acquire(t.Context(), true); !errors.Is(err, errCut) || lost == 0 || left.Closed() {
			t.Fatalf("ended with %v, the lane before is closed: %v; the case is void", err, left.Closed())
		}
		o.coord.before = nil
		if left.Ceiling() <= o.to {
			t.Fatalf("the lane that is left goes to %d; the case is void", left.Ceiling())
		}
		o.restoreAndRaise()
		must.Fail(t, o.Publish(t.Context()), coord.ErrLost)
		if left.Ceiling() > o.to {
			t.Errorf("the lane that is left issues up to %d, and all was raised to %d", left.Ceiling(), o.to)
		}
		o.limited("the one that is left")
	})
}
