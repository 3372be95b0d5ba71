package grant_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// wiped has n lanes issue all that they are granted, one after the other so that lane i is assigned
// worker ID i, and crash; then the coordinator is wiped. It returns the UUID of the cluster that is
// there now.
func (h *host) wiped(n int) (found string) {
	h.t.Helper()
	l := h.bootLanes(n)
	must.Do(h.t, l.join())
	for _, p := range l.all {
		p.acquire()
	}
	l.issueAll()
	l.crash()
	h.wipe()
	refused := h.bootLanes(n)
	defer refused.crash()
	var foreign *grant.ForeignError
	if err := refused.join(); !errors.As(err, &foreign) {
		h.t.Fatalf("joined another cluster: %v", err)
	}
	return foreign.Found
}

// joined is n lanes that have joined and not claimed.
func (h *host) joined(n int) *lanes {
	h.t.Helper()
	l := h.bootLanes(n)
	must.Do(h.t, l.join())
	return l
}

// serve has each lane issue what it is granted, at a time that is after what was issued before.
func (l *lanes) serve() {
	l.t.Helper()
	l.clock.Advance(wait)
	for i, p := range l.all {
		if err := p.Publish(l.t.Context()); err != nil {
			l.t.Errorf("lane %d: %v", i, err)
		}
	}
	l.issueAll()
}

// Lane 1 claims first in the cluster that was gone over to, and is assigned what lane 0 had; its
// journal is then of that worker ID. A crash, and lane 0 is assigned what lane 1 had: what was
// issued from it is not forgotten, for lane 1's journal still has the mark.
func TestMarksOutliveACrashBetweenTwoJournals(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("A")
		h.accept = h.wiped(2)
		for range 2 { // the second of which goes on from what the first has written
			two := h.joined(2)
			two.all[1].acquire()
			if got := two.all[1].worker(); got != 0 {
				t.Fatalf("lane 1 holds worker ID %d: the case needs it to be lane 0's", got)
			}
			two.crash()
			h.accept = ""
		}
		three := h.joined(2)
		for _, p := range three.all {
			p.acquire()
		}
		for range 12 { // where it was assigned another one first
			if three.all[0].worker() != 1 {
				must.Do(t, three.all[0].Acquire(t.Context(), true))
			}
		}
		if got := three.workers(); !slices.Equal(got, []int{1, 0}) {
			t.Fatalf("the lanes hold %v: the case needs them to have changed places", got)
		}
		three.serve() // notes what was issued before
	})
}

// The marks go on through a second cluster, and are still there when a worker ID of the first comes
// back.
func TestMarksGoThroughTwoClusters(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	h.accept = h.wiped(2)
	h.joined(2).crash()
	w.wipe()
	h.accept = ""
	refused := h.bootLanes(2)
	var foreign *grant.ForeignError
	if err := refused.join(); !errors.As(err, &foreign) || foreign.Journal == foreign.Found {
		t.Fatalf("joined a third cluster: %v", err)
	}
	refused.crash()
	h.accept = foreign.Found
	again := h.joined(2)
	for _, p := range slices.Backward(again.all) {
		p.acquire()
	}
	again.serve()
	for i, p := range again.all {
		c := p.contentsOfLane()
		if len(c.Lanes) != 2 || !c.Lanes[0].Left || c.Lanes[0].Worker != i || c.Lanes[1].Left {
			t.Errorf("lane %d's journal is %+v, want the mark of worker ID %d, and what it holds", i, c.Lanes, i)
		}
	}
}

// A cluster that was gone over to is gone over to by all lanes, whether or not each has claimed
// there: the next start needs no flag.
func TestAllLanesGoOverAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		for _, claimed := range [][]int{{}, {1}, {0}} {
			h := w.host("A")
			w.clock.Advance(time.Minute) // past all that issueAll issues from below
			h.accept = h.wiped(2)
			two := h.joined(2)
			for i, p := range two.all {
				if c := p.contentsOfLane(); c.Cluster != h.accept || c.Lanes[0].Claim != "" || c.Lanes[0].Mark == 0 {
					t.Errorf("lane %d's journal is %+v, want one of cluster %s with its mark and nothing else", i, c, h.accept)
				}
			}
			for _, i := range claimed {
				two.all[i].acquire()
				two.all[i].issueAll()
			}
			two.crash()
			h.accept = ""
			again := h.bootLanes(2)
			if err := again.join(); err != nil {
				t.Fatalf("after a start in which the lanes %v claimed: %v", claimed, err)
			}
			for i, inherited := range again.inherited {
				if inherited == nil {
					t.Errorf("after a start in which the lanes %v claimed, the journal of lane %d is not used", claimed, i)
				}
			}
			again.crash()
		}
	})
}

// A write of a journal fails while the lanes go over: none has claimed before all have, and the
// next try goes on.
func TestGoingOverNeedsTheDisk(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	h.accept = h.wiped(2)
	l := h.bootLanes(2)
	l.all[0].disk.full = true
	c, cluster, err := l.all[0].join()
	must.Do(t, err)
	var foreign *grant.ForeignError
	if err := l.all[0].Attach(c, cluster); !errors.Is(err, errDisk) || errors.As(err, &foreign) {
		t.Errorf("went over with a full disk: %v", err)
	}
	l.all[0].disk.full = false
	must.Do(t, l.join())
	for _, p := range slices.Backward(l.all) {
		p.acquire()
	}
	l.serve()
}

// A lane whose journal was left behind takes its marks along, and what it held is deleted, though
// nothing of it is used.
func TestAJournalLeftBehindIsTakenAlong(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	found := h.wiped(2)
	h.accept = found
	h.joined(1).crash() // lane 1's journal is still of the cluster that was left
	h.accept = ""
	two := h.joined(2)
	if two.inherited[0] == nil || two.inherited[1] != nil {
		t.Fatalf("taken over: %v, want the first lane's alone", two.inherited)
	}
	if c := two.all[1].contentsOfLane(); c.Cluster != found || len(c.Lanes) != 1 || !c.Lanes[0].Left {
		t.Errorf("lane 1's journal is %+v, want its mark in cluster %s", c, found)
	}
	for _, p := range slices.Backward(two.all) {
		p.acquire()
	}
	two.serve()
}

// What lanes that do not run have issued is known to those that do.
func TestMarksOfIdleLanesCount(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	h.accept = h.wiped(4)
	one := h.joined(1)
	one.all[0].acquire()
	for range 3 {
		one.serve()
		must.Do(t, one.all[0].Acquire(t.Context(), true))
	}
	one.serve()
}

// Journals of another layout say nothing of this one's worker IDs: their ticks are other instants.
func TestMarksOfAnotherLayoutDoNotCount(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	h.startLanes(4).crash()
	w.wipe()
	h.layout = parse(t, "time=39@10ms,worker=2,sequence=2;epoch=2026-01-01T00:00:00Z")
	w.layout = h.layout
	l := h.joined(2)
	for _, p := range l.all {
		p.acquire()
	}
	for range 2 {
		must.Do(t, l.all[0].Acquire(t.Context(), true))
	}
	for i, p := range l.all {
		floor := p.Holding().Floor
		if ahead := time.Duration(w.layout.UnixNanos(floor) - w.clock.Now().Wall); ahead > wait {
			t.Errorf("lane %d: worker ID %d cannot be issued from for %v", i, p.worker(), ahead)
		}
	}
}

// A journal keeps a bounded number of marks of clusters that were left: those that reach furthest.
func TestMarksThatAJournalKeeps(t *testing.T) {
	w := newFixture(t)
	w.layout = parse(t, "time=41@1ms,worker=10,sequence=2;epoch=2026-01-01T00:00:00Z")
	h := w.host("A")
	h.accept = "found"
	p := h.boot()
	c := journal.Contents{Cluster: "left", Coord: coordAt, Layout: p.LayoutText()}
	const all, kept = 200, 64
	for i := range all {
		mark := w.tick() - all + generator.Tick(i)
		c.Lanes = append(c.Lanes, journal.Entry{Worker: i, Opening: "nobody's", Claim: "gone", Mark: mark})
	}
	p.InheritLeft(c, "")
	must.Do(t, p.Attach(&faulty{}, coord.Cluster{UUID: "found"}))
	got := p.contents()
	if got.Cluster != "found" || len(got.Lanes) != kept {
		t.Fatalf("the journal is of %s and has %d entries, want %d", got.Cluster, len(got.Lanes), kept)
	}
	for _, e := range got.Lanes {
		if e.Worker < all-kept || !e.Left || e.Claim != "" {
			t.Errorf("%+v is kept", e)
		}
	}
}
