package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The tests here are named after holes in well-known generators, by the numbers that
// docs/verification.md lists.

// Hole 4: at shutdown the worker ID is given back while requests still draw from it. Here the lane
// closes before its last tick is read: a request beside the stop either has its number counted or
// gets none.
func TestHole4GivenBackWhileRequestsStillDraw(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	p.take()
	calls := 0
	p.coord.before = func(call string) error {
		// A request comes in the middle of giving back.
		calls++
		if out := p.take(); out != generator.Closed {
			t.Errorf("a request at the time of the %s met %v", call, out)
		}
		return nil
	}
	must.Do(t, p.Shut(t.Context()))
	if calls != 1 {
		t.Fatalf("giving back took %d calls, want the release", calls)
	}
}

// Hole 7: a restart from a file that holds the worker ID but no time, or from a mark that lags,
// after the clock was set back.
func TestHole7RestartAfterARollback(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("J")
		p := h.start()
		for range 10 { // two hundred ticks, the grant of the start
			w.clock.Advance(step)
			p.issueAll()
		}
		p.crash()
		w.clock.Step(-window / 2)
		again := h.start()
		again.issueAll()
		w.clock.Advance(window)
		again.issueAll()
	})
}

// Hole 9: whoever is rolled back too far takes a worker ID that is not stored anywhere, the same
// for all. Here each gets one that nobody holds, and whose mark is past.
func TestHole9RolledBackHostsDoNotMeet(t *testing.T) {
	w := newFixture(t).used(0, 1)
	a, b := w.host("A").startFor(0), w.host("B").startFor(1)
	a.issueAll()
	b.issueAll()
	w.clock.Step(-time.Hour)
	workers := map[int]bool{a.worker(): true, b.worker(): true}
	for _, p := range []*process{a, b} {
		must.Do(t, p.Acquire(t.Context(), true))
		if workers[p.worker()] {
			t.Errorf("%s took worker ID %d, which was held", p.name, p.worker())
		}
		workers[p.worker()] = true
		if p.issueAll() == 0 {
			t.Errorf("%s can issue nothing", p.name)
		}
	}
	a.issueAll()
}
