package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

// The schedules here once broke the protocol, or a protocol like it. Every number that may be
// issued at any point is issued, whatever the clock shows, and all are compared.

// The holder who came back: a process opens its worker ID a second time, after another had it, and
// crashes before it journals. The restart has a journal of the first opening, whose mark is below
// what the other issued.
func TestScheduleTheHolderWhoCameBack(t *testing.T) {
	for _, c := range []struct {
		name      string
		lose      func(*process)
		journaled bool // the second opening
	}{
		{"crash before the journal", func(p *process) { p.disk.full = true }, false},
		{"lost reply to the second opening", func(p *process) { p.coord.loseClaim = true }, false},
		{"crash before the grant", func(p *process) {
			p.fail("extend")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w *fixture) {
				hostJ, hostK := w.host("J"), w.host("K")
				j := hostJ.start()
				j.issueAll()
				first := j.Holding()

				k := hostK.stealFrom(j)
				k.issues()
				k.revoke()

				if err := j.Publish(t.Context()); err == nil {
					t.Fatal("J's claim was lost, and its grant was extended")
				}
				w.clock.Advance(window + wait)
				c.lose(j)
				if err := j.Acquire(t.Context(), false); err == nil {
					t.Fatal("J's second opening was to come to nothing")
				}
				if !j.lane.Closed() {
					t.Error("J's lane goes on after an opening that does not continue it was sent")
				}
				if now := j.Holding().Opening; now == first.Opening {
					t.Error("J would go on from its first opening")
				}
				j.issueAll()
				j.crash()

				again := hostJ.boot()
				contents := must.Get(again.inherit())(t)
				if (contents.Entries[0].Opening != first.Opening) != c.journaled {
					t.Fatalf("the journal is of opening %s, the first was %s", contents.Entries[0].Opening, first.Opening)
				}
				again.attach()
				again.acquire()
				again.issues()
			})
		})
	}
}

// Re-lease with the old entry in the journal: the record of the worker ID that was given back is
// lowered, and another host issues there. The next start must not.
func TestScheduleReLeaseWithTheOldEntryInTheJournal(t *testing.T) {
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

// W1, W2, W1: what the journal says of a worker ID is the newest opening's.
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
		contents := must.Get(p.dir.Read())(t)
		newest := p.Holding()
		if newest.Opening == first.Opening {
			t.Fatal("the second opening has the first one's ID")
		}
		if len(contents.Entries) != 1 || contents.Entries[0].Opening != newest.Opening || contents.Entries[0].Mark != newest.Mark {
			t.Errorf("the journal is %+v, want the newest opening only, %+v", contents.Entries, newest)
		}
		p.crash()
		h.start().issueAll()
	})
}

// The layout changed while the coordinator was down: the journal's ticks and worker IDs are then
// other numbers.
func TestScheduleTheLayoutChangedWhileTheCoordinatorWasDown(t *testing.T) {
	_, h, _ := crashed(t)
	for _, other := range []string{
		"time=41@1ms,worker=3,sequence=2;epoch=2026-01-01T00:00:00Z",
		"time=41@1ms,worker=2,sequence=2;epoch=2026-01-02T00:00:00Z",
		"time=38@10ms,worker=2,sequence=2;epoch=2026-01-01T00:00:00Z",
	} {
		again := h.bootWith(parse(t, other))
		contents, err := again.inherit()
		if err == nil {
			t.Errorf("%s: the journal of %s was taken over", other, contents.Layout)
		}
		again.crash()
	}
}

// The predecessor's node: the claim of the process that was killed is deleted, and its worker ID
// serves at once.
func TestScheduleThePredecessorsNode(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("J")
		p := h.start()
		p.issueAll()
		before := p.Holding()
		p.crash()
		again := h.start() // the session of the one before has not ended
		if again.worker() != before.Worker {
			t.Errorf("holds worker ID %d, want the one before, %d", again.worker(), before.Worker)
		}
		if got := again.Holding().Floor; got != before.Mark {
			t.Errorf("the floor is %d, want the journal's mark %d", got, before.Mark)
		}
		w.clock.Advance(step)
		must.Do(t, again.Renew())
		again.issues()
	})
}

// A crash loop: two hundred crashes between the opening and the first ID burn no worker IDs.
func TestScheduleACrashLoop(t *testing.T) {
	for _, c := range []struct {
		name   string
		crash  func(*testing.T, *process)
		others int // worker IDs besides the one held before
	}{
		// The journal's opening is not the record's any more, and the record's ceiling is the one
		// of the time before the crashes.
		{"before the journal", func(t *testing.T, p *process) {
			p.disk.full = true
			must.Fail(t, p.Acquire(t.Context(), false), errDisk)
		}, 1},
		{"before the first grant", func(t *testing.T, p *process) {
			p.fail("extend")
			must.Fail(t, p.Acquire(t.Context(), false), errCut)
		}, 0},
		{"after the first grant", func(_ *testing.T, p *process) { p.acquire() }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newFixture(t)
			h := w.host("J")
			p := h.start()
			p.issueAll()
			before := p.worker()
			p.crash()
			others := map[int]bool{}
			for range 20 {
				p := h.reboot()
				p.attach()
				c.crash(t, p)
				// The claim shows what was opened, also where the process did not come to note it.
				members := must.Get(p.coord.Members(t.Context()))(t)
				for _, m := range members {
					if m.Worker != before {
						others[m.Worker] = true
					}
				}
				p.crash()
				p.close()
			}
			if len(others) > c.others {
				t.Errorf("the crashes went on to worker IDs %v, want %d others", others, c.others)
			}
			last := h.start()
			w.clock.Advance(wait)
			must.Do(t, last.Renew())
			last.issues()
		})
	}
}
