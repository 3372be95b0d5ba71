package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// The schedules here once broke the protocol, or a protocol like it. Every number that may be
// issued at any point is issued, whatever the clock shows, and all are compared.

// The holder who came back: a process opens its worker ID again, after another had it, and crashes.
func TestScheduleTheHolderWhoCameBack(t *testing.T) {
	for name, lose := range map[string]func(*process){
		"lost reply to the second opening": func(p *process) { p.coord.loseClaim = true },
		"crash before the grant":           func(p *process) { p.fail("extend") },
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				hostJ, hostK := w.host("J"), w.host("K")
				j := hostJ.start()
				j.issueAll()

				k := hostK.stealFrom(j)
				k.issues()
				k.revoke()

				if err := j.Publish(t.Context()); err == nil {
					t.Fatal("J's claim was lost, and its grant was extended")
				}
				w.clock.Advance(window + wait)
				lose(j)
				if err := j.Acquire(t.Context(), false); err == nil {
					t.Fatal("J's second opening was to come to nothing")
				}
				j.issueAll()
				j.crash()

				again := hostJ.start()
				w.clock.Advance(time.Millisecond)
				again.issues()
			})
		})
	}
}

// A crash in the middle of a re-lease: the record of the worker ID that was given back is lowered,
// and another host issues there. The next start must not.
func TestScheduleACrashInAReLease(t *testing.T) {
	for _, crashBefore := range []string{"claim", "extend", "release", ""} {
		t.Run("crash before "+crashBefore, func(t *testing.T) {
			w := newFixture(t).used(0)
			hostJ, hostK := w.host("J"), w.host("K")
			j := hostJ.startFor(0)
			j.issueAll()
			old := j.worker()
			w.clock.Step(-time.Hour)
			j.fail(crashBefore)
			err := j.Acquire(t.Context(), true)
			if (err == nil) != (crashBefore == "") {
				t.Fatalf("the re-lease ended with %v", err)
			}
			j.issueAll()
			given := crashBefore == ""
			j.crash()
			w.clock.Step(time.Hour)

			if given {
				// K's clock is where J's was: the record was lowered to J's last tick.
				w.clock.Advance(window)
				k := hostK.startFor(old)
				if k.worker() != old || k.issueAll() == 0 {
					t.Fatalf("K holds worker ID %d, wanted the one given back, %d", k.worker(), old)
				}
			}
			hostJ.start().issueAll()
		})
	}
}

// W1, W2, W1: a worker ID that comes back is another opening's.
func TestScheduleW1W2W1(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("J")
		p := h.start()
		p.issueAll()
		first := p.Holding()
		seen := map[int]bool{first.Worker: true}
		for range 6 {
			w.clock.Advance(window + wait)
			must.Do(t, p.Acquire(t.Context(), true))
			p.issueAll()
			seen[p.worker()] = true
			if p.worker() == first.Worker {
				break
			}
		}
		if p.worker() != first.Worker || len(seen) < 2 {
			t.Fatalf("the worker IDs held were %v, wanted to come back to %d", seen, first.Worker)
		}
		if p.Holding().Opening == first.Opening {
			t.Fatal("the second opening has the first one's ID")
		}
		p.crash()
		h.start().issueAll()
	})
}

// A crash loop: crashes between the opening and the first grant cost no worker ID.
func TestScheduleACrashLoop(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	first := h.start()
	worker := first.worker()
	must.Do(t, first.Shut(t.Context()))
	first.crash()
	for range 20 {
		p := h.boot()
		p.attach()
		p.fail("extend")
		must.Fail(t, p.Acquire(t.Context(), false), errCut)
		p.crash()
		p.close()
	}
	last := h.start()
	if last.worker() != worker {
		t.Errorf("the crashes went on to worker ID %d, and it was %d", last.worker(), worker)
	}
	w.clock.Advance(wait)
	last.issues()
}

// A start after a crash takes another worker ID, and the one of before rests until the clock has
// passed what was granted. Then it is given again.
func TestScheduleAStartAfterACrash(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h, p := w.crashed()
		granted := p.Holding().Granted
		p.close()
		again := h.start()
		if again.worker() == p.worker() {
			t.Fatalf("worker ID %d rests until tick %d, and it is %d", again.worker(), granted, w.tick())
		}
		again.issues()
		must.Do(t, again.Shut(t.Context()))
		again.crash()
		w.clock.Advance(window + time.Millisecond)
		rested := h.startFor(p.worker())
		if got := rested.Holding(); got.Worker != p.worker() || got.Floor < granted {
			t.Errorf("has worker ID %d above %d, want %d above what was granted, %d", got.Worker, got.Floor, p.worker(), granted)
		}
		rested.issues()
	})
}
