package grant_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestInheritsTheNewestEntry(t *testing.T) {
	p := newFixture(t).host("J").boot()
	must.Do(t, p.Inherit(journal.Contents{Layout: p.LayoutText(), Entries: []journal.Entry{{Worker: 1, Opening: "a", Mark: 1}, {Worker: 2, Opening: "b", Mark: 1}}}))
	if got := p.Holding(); got.Worker != 2 || got.Opening != "b" {
		t.Errorf("went on from %+v, want the last entry", got)
	}
}

// Each ID is the start's that issued it, also those that were issued before that start had a claim.
func TestAnUpdateIsInTheHistory(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	before := h.start()
	before.issueAll()
	again := must.Get(h.takenOver(before.handOver()))(t)
	w.clock.Advance(step + step/2)
	must.Do(t, again.Renew())
	again.issues()
	first, last := again.lane.Floor()+1, again.lane.Highest()
	again.attach()
	again.acquire()
	w.clock.Advance(step)
	again.revoke() // the second claim is the same start's
	must.Fail(t, again.Publish(t.Context()), coord.ErrLost)
	again.acquire()
	holder := func(tick generator.Tick) (incarnation string) {
		for _, interval := range w.history(again.worker()) {
			if interval.From < tick {
				incarnation = interval.Incarnation
			}
		}
		return incarnation
	}
	for tick, want := range map[generator.Tick]string{first - 1: before.started, first: again.started, last: again.started} {
		if got := holder(tick); got != want {
			t.Errorf("tick %d is said to be of start %q, want %q; the history is %+v", tick, got, want, w.history(again.worker()))
		}
	}
}

func TestJournalOfAnotherWorkerIDDoesNotLowerThisOnes(t *testing.T) {
	w := newFixture(t)
	hostJ, hostK := w.host("J"), w.host("K")
	j := hostJ.start()
	j.issueAll()
	entry := j.onDisk()
	j.crash()
	// K's disk has J's opening beside a worker ID that J never had.
	k := hostK.boot()
	entry.Worker = (entry.Worker + 1) % w.layout.Workers()
	entry.Mark = 1
	must.Do(t, k.Inherit(journal.Contents{Layout: k.LayoutText(), Entries: []journal.Entry{entry}}))
	k.attach()
	k.acquire()
	k.issueAll()
	if k.worker() == j.worker() {
		t.Error("K took the live worker ID of J")
	}
}

// An old copy of the journal, from before the last publish, would set the floor below what was
// issued since.
func TestOldJournalPutBackIsNotAdopted(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	old := must.Get(p.dir.Read())(t)
	w.clock.Advance(step)
	must.Do(t, p.Renew())
	p.issueAll()
	must.Do(t, p.Publish(t.Context()))
	p.issueAll()
	must.Do(t, p.dir.Write(old))
	p.crash()
	h.start().issueAll()
}

// A journal that is younger than the last publish is believed when it is put back. In a tick that
// lasts longer than that, the start issues nothing, though its mark is below it.
func TestAYoungJournalThatIsPutBackWithinATickRepeatsNothing(t *testing.T) {
	w := newFixture(t)
	p, old := w.putBack(3)
	if out := p.take(); out != generator.Issued {
		t.Fatalf("before: %v", out)
	}
	p.crash()
	again := old.start()
	if floor := again.inUse().Floor(); floor >= w.tick() {
		t.Fatalf("the mark is not below the tick: %d, now %d", floor, w.tick())
	}
	if out := again.take(); out != generator.Full {
		t.Errorf("in the tick of the start: %v", out)
	}
	w.clock.Advance(time.Millisecond)
	must.Do(t, again.Renew())
	if out := again.take(); out != generator.Issued {
		t.Errorf("in the next tick: %v", out)
	}
}

// A clock that is wrong by a year opens a worker ID, and the power goes before the first grant. The
// next start, whose clock is right, does not wait for that year.
func TestAnOpeningWithoutAGrantIsNotGoneOnWith(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.fast("J", 365*24*time.Hour)
		p := h.reboot()
		p.attach()
		p.coord.before = func(call string) error {
			if call == "extend" {
				return errCut
			}
			return nil
		}
		must.Fail(t, p.Acquire(t.Context(), false), errCut)
		e := p.onDisk()
		if e.Mark <= w.tick() {
			t.Fatalf("the journal has mark %d, and it is %d; the case is void", e.Mark, w.tick())
		}
		p.crash()
		h.clock = w.clock
		again := h.start()
		if got := again.Holding(); got.Worker != e.Worker || got.Floor > w.tick() {
			t.Errorf("has worker ID %d above %d, want %d, and it is %d", got.Worker, got.Floor, e.Worker, w.tick())
		}
		w.clock.Advance(time.Millisecond)
		again.issues()
	})
}
