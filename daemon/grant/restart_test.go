package grant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestInheritsTheNewestEntry(t *testing.T) {
	p := newFixture(t).host("J").boot()
	must.Do(t, p.Inherit(journal.Contents{Layout: p.LayoutText(), Lanes: []journal.Entry{{Worker: 1, Opening: "a"}, {Worker: 2, Opening: "b"}}}))
	if got := p.Holding(); got.Worker != 2 || got.Opening != "b" {
		t.Errorf("went on from %+v, want the last entry", got)
	}
}

// After a restart without the coordinator the daemon issues in its grant. Whoever has opened the
// record meanwhile is above it, and the daemon leaves the worker ID as soon as it learns of that.
func TestColdStartBesideAThief(t *testing.T) {
	for _, stolen := range []bool{false, true} {
		w := newFixture(t)
		hostJ, hostK := w.host("J"), w.host("K")
		j := hostJ.start()
		j.issueAll()
		before := j.Holding()
		j.crash()
		cold := must.Get(hostJ.coldStart())(t)
		if floor := cold.lane.Floor(); floor != before.Mark {
			t.Errorf("issues above %d, want the journal's mark %d", floor, before.Mark)
		}
		w.clock.Advance(step + step/2)
		must.Do(t, cold.Renew())
		cold.issues()
		if stolen {
			hostK.stealFrom(j).issueAll()
		}
		lane := cold.lane
		cold.attach()
		cold.acquire()
		if (cold.lane == lane) == stolen || lane.Closed() != stolen {
			t.Errorf("stolen %v: the lane is the same: %v, closed: %v", stolen, cold.lane == lane, lane.Closed())
		}
		cold.issueAll()
	}
}

// Each ID is the start's that issued it, also those that were issued before that start had a claim.
func TestColdStartIsInTheHistory(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	before := h.start()
	before.issueAll()
	before.crash()
	cold := must.Get(h.coldStart())(t)
	w.clock.Advance(step + step/2)
	must.Do(t, cold.Renew())
	cold.issues()
	first, last := cold.lane.Floor()+1, cold.lane.Highest()
	cold.attach()
	cold.acquire()
	w.clock.Advance(step)
	cold.revoke() // the second claim is the same start's
	must.Fail(t, cold.Publish(t.Context()), coord.ErrLost)
	cold.acquire()
	holder := func(tick generator.Tick) (incarnation string) {
		for _, interval := range w.history(cold.worker()) {
			if interval.From < tick {
				incarnation = interval.Incarnation
			}
		}
		return incarnation
	}
	for tick, want := range map[generator.Tick]string{first - 1: before.started, first: cold.started, last: cold.started} {
		if got := holder(tick); got != want {
			t.Errorf("tick %d is said to be of start %q, want %q; the history is %+v", tick, got, want, w.history(cold.worker()))
		}
	}
}

// The journal of another coordinator's cluster may name a worker ID that is somebody else's in this
// one.
func TestNoColdStartFromAnotherCoordinatorsGrant(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	p.crash()
	again := h.boot()
	contents := must.Get(again.inherit())(t)
	contents.Coord = "etcd://another"
	if err := again.ColdStart(contents); !errors.Is(err, grant.ErrNoGrant) {
		t.Errorf("the cold start ended with %v", err)
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
	must.Do(t, k.Inherit(journal.Contents{Layout: k.LayoutText(), Lanes: []journal.Entry{entry}}))
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
	for _, cold := range []bool{false, true} {
		w := newFixture(t)
		p, old := w.putBack(3)
		if out := p.take(); out != generator.Issued {
			t.Fatalf("before: %v", out)
		}
		p.crash()
		start := old.start
		if cold {
			start = func() *process { return must.Get(old.coldStart())(t) }
		}
		again := start()
		if floor := again.inUse().Floor(); floor >= w.tick() {
			t.Fatalf("the mark is not below the tick: %d, now %d", floor, w.tick())
		}
		if out := again.take(); out != generator.Full {
			t.Errorf("cold %v: in the tick of the start: %v", cold, out)
		}
		w.clock.Advance(time.Millisecond)
		must.Do(t, again.Renew())
		if out := again.take(); out != generator.Issued {
			t.Errorf("cold %v: in the next tick: %v", cold, out)
		}
	}
}
