package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

const year = 365 * 24 * time.Hour

// A time that was followed and was wrong costs its worker ID until the clock gets there: the daemon
// goes on with another one, and so does the next start.
func TestAWrongTimeCostsItsWorkerIDUntilTheClockGetsThere(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("J")
		p := h.start()
		p.issueAll()
		lost := p.worker()
		w.clock.Step(year)
		must.Do(t, p.Publish(t.Context()))
		p.issues()
		w.clock.Step(-year)
		w.clock.Advance(time.Second)
		must.Do(t, p.Acquire(t.Context(), true))
		if p.worker() == lost || p.Holding().Floor > w.tick() {
			t.Errorf("back, it holds %+v, and the worker ID that was ahead is %d", p.Holding(), lost)
		}
		p.issues()
		p.crash()
		w.clock.Advance(time.Second)
		again := h.start()
		if again.worker() == lost {
			t.Errorf("after a restart it holds worker ID %d, which is ahead", lost)
		}
		again.issues()
		again.revoke()
		w.clock.Step(year + time.Minute)
		if came := w.host("K").startFor(lost); came.worker() != lost {
			t.Errorf("the clock is there, and worker ID %d is claimed, not %d", came.worker(), lost)
		} else {
			came.issueAll()
		}
	})
}

// A clock may show a time from which a grant is further ahead than a time.Duration can say. Then
// the holder waits, and does not ask the clock again and again.
func TestAHolderWhoseClockIsCenturiesBackWaits(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	run(t, p)
	w.clock.BlockUntil(1)
	for range 2 {
		w.clock.Step(-150 * year)
	}
	for range 3 { // of which one is a publish
		w.clock.Advance(window)
		w.clock.BlockUntil(1)
	}
}
