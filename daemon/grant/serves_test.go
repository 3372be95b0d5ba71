package grant_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/internal/must"
)

// old starts a daemon on worker ID 0 that has run for an hour, so that it is granted a window, and
// others on the worker IDs from 1 up to the given one.
func (w *fixture) old(others int) *process {
	w.t.Helper()
	w.used(0, 1, 2, 3)
	for i := range others {
		w.host(fmt.Sprint("R", i+1)).startFor(i + 1)
	}
	h := w.host("P")
	h.timing = &grant.Timing{Window: 10 * time.Minute, Publish: 10 * time.Second}
	h.age = time.Hour
	p := h.startFor(0)
	must.Do(w.t, p.Publish(w.t.Context()))
	return p
}

// serves has a daemon whose claim is lost go on: its lane serves to its ceiling, as no worker ID
// serves sooner.
func (p *process) serves() {
	p.t.Helper()
	lane := p.lane
	var ahead *coord.AheadError
	var held *coord.ExhaustedError
	if err := p.HoldOnce(p.t.Context()); !errors.As(err, &ahead) && !errors.As(err, &held) {
		p.t.Errorf("a claim while the lane serves: %v", err)
	}
	if n := p.issueAll(); p.lane != lane || lane.Closed() || n == 0 {
		p.t.Errorf("the lane is closed %v, or another; it gives %d numbers, and the condition is %v", lane.Closed(), n, p.Condition())
	}
}

// The claim of a worker ID that nobody else has opened is lost to a node that was there briefly.
func TestALostClaimOnOnesOwnRecordEndsNoLane(t *testing.T) {
	w := newFixture(t)
	p := w.old(3)
	p.revoke()
	x := w.host("X").boot()
	x.attach()
	_, err := x.coord.Coordinator.Claim(t.Context(), coord.Request{Worker: 0, Latest: math.MaxInt64, Before: func(worker int) error {
		if worker != coord.AnyWorker {
			return errCut // its node stays
		}
		return nil
	}})
	must.Fail(t, err, errCut)
	must.Fail(t, p.Publish(t.Context()), coord.ErrLost)
	must.Do(t, x.coord.Coordinator.Close())
	p.serves()
}

// The worker ID was opened by another, and the only one that is free rests for longer than the lane
// serves.
func TestAWorkerIDThatRestsEndsNoLane(t *testing.T) {
	w := newFixture(t)
	p := w.old(2)
	x := w.host("X").boot()
	x.attach()
	c := must.Get(x.coord.Coordinator.Claim(t.Context(), coord.Request{Worker: 3, Latest: math.MaxInt64}))(t)
	must.Do(t, c.Release(t.Context(), coordtest.Closed(w.tick()+540_000)))
	p.passedOn()
	if err := p.Publish(t.Context()); !errors.Is(err, coord.ErrLost) || strings.Count(err.Error(), "worker ID 0") != 1 {
		t.Errorf("Publish: %v, want that the claim on worker ID 0 is lost, and that worker ID once", err)
	}
	p.serves()
}

// A clock from before the layout's first tick is no time, and damages no record.
func TestAClockBeforeTheLayoutDamagesNoRecord(t *testing.T) {
	w := newFixture(t)
	w.used(0, 1, 2, 3)
	p := w.host("H").startFor(0)
	p.issues()
	w.clock.Step(-100 * 365 * 24 * time.Hour)
	must.Do(t, p.Publish(t.Context()))
	if all := w.members(); len(all) != 1 || all[0].Opening == "" || all[0].Time != 0 {
		t.Errorf("the members are %+v", all)
	}
	w.clock.Step(100 * 365 * 24 * time.Hour)
	must.Do(t, p.Shut(t.Context()))
	w.host("Q").startFor(0).issues()
}
