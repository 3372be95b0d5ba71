package grant_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/internal/must"
)

// refused attaches the process to a cluster that its journal is not of, and returns the refusal.
func (p *process) refused() *grant.ForeignError {
	p.t.Helper()
	var foreign *grant.ForeignError
	if err := p.tryAttach(); !errors.As(err, &foreign) {
		p.t.Fatalf("attaching ended with %v, want a refusal of the other cluster", err)
	}
	return foreign
}

func (p *process) says(err error, texts ...string) {
	p.t.Helper()
	if err == nil {
		p.t.Errorf("there is no error, want one that says %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			p.t.Errorf("%q does not say %q", err, text)
		}
	}
}

// contents is the whole journal.
func (p *process) contents() journal.Contents {
	p.t.Helper()
	return must.Get(p.dir.Read())(p.t)
}

// The coordinator was wiped between two starts, and others are in the new cluster already. The next
// start refuses until it is told that it may go over: then it never meets the others, nor what it
// has issued itself.
func TestScheduleTheOtherCluster(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("A")
		a := h.start()
		a.issueAll()
		before, old := a.Holding(), a.cluster
		a.crash()
		w.wipe()

		again := h.reboot()
		err := again.refused()
		again.says(err, old, again.cluster, coordAt, "--accept-cluster "+again.cluster, "--coord at cluster "+old, "--state-dir")
		if again.inUse() != nil || again.CanAcquire() {
			t.Error("a refused daemon has a lane, or says that it can have one")
		}
		again.says(again.Condition(), old, again.cluster)
		if c := again.contents(); c.Cluster != old || c.Lanes[0].Opening != before.Opening || c.Lanes[0].Mark != before.Mark {
			t.Errorf("the journal is %+v, want it as it was, %+v", c, before)
		}
		must.Do(t, again.Shut(t.Context()))
		found := again.cluster
		again.crash()

		h.accept = uuid.NewString()
		wrong := h.reboot()
		wrong.says(wrong.refused(), old, found, h.accept, "names neither")
		wrong.crash()
		h.accept = old
		wrong = h.reboot()
		wrong.says(wrong.refused(), old, found, "would be left")
		wrong.crash()

		// Another worker ID than A had in the old cluster: of that nobody here can know.
		c := w.host("C").startFor((before.Worker + 1) % w.layout.Workers())
		c.issueAll()
		h.accept = found
		accepted := h.start()
		w.clock.Advance(window + wait)
		must.Do(t, accepted.Publish(t.Context()))
		accepted.issues()
		c.issueAll()
		if j := accepted.contents(); j.Cluster != found {
			t.Errorf("the journal is of cluster %s, want %s", j.Cluster, found)
		}
		accepted.crash()
		h.accept = ""
		h.start() // the journal is of this cluster now
	})
}

// The new cluster's records know nothing, but the journal does: of each worker ID that it names.
func TestAcceptedClusterBeginsAboveTheJournal(t *testing.T) {
	for _, entries := range []int{1, 2} {
		w := newFixture(t)
		h := w.host("A")
		a := h.start()
		a.issueAll()
		first := a.Holding()
		if entries == 2 {
			a.fail("extend") // before the second worker ID's first grant
			must.Fail(t, a.Acquire(t.Context(), true), errCut)
		}
		a.crash()
		w.wipe()
		refused := h.reboot()
		h.accept = refused.refused().Found
		if n := len(refused.contents().Lanes); n != entries {
			t.Fatalf("the journal has %d entries, want %d", n, entries)
		}
		refused.crash()
		again := h.start()
		if got := again.Holding(); got.Worker != first.Worker || got.Floor < first.Mark {
			t.Errorf("worker ID %d above %d, had issued from %d up to %d", got.Worker, got.Floor, first.Worker, first.Mark)
		}
		w.clock.Advance(step)
		must.Do(t, again.Renew())
		again.issues()
	}
}

// Without a journal, or with one of the same cluster, there is nothing to accept.
func TestAcceptChangesNothingOtherwise(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	h.accept = uuid.NewString()
	a := h.start()
	a.issueAll()
	before := a.Holding()
	a.crash()
	again := h.start()
	if got := again.Holding(); got.Worker != before.Worker || got.Floor != before.Mark {
		t.Errorf("goes on with worker ID %d above %d, want %d and the journal's mark %d", got.Worker, got.Floor, before.Worker, before.Mark)
	}
}

// What was handed over is of a cluster that, as turns out later, is no more.
func TestScheduleAnUpdateMeetsAnotherCluster(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("A")
		a := h.start()
		a.issueAll()
		old := a.cluster
		handed := a.handOver()
		w.wipe()
		again := must.Get(h.takenOver(handed))(t)
		w.clock.Advance(step + step/2)
		must.Do(t, again.Renew())
		again.issues()
		last := again.lane.Highest()
		foreign := again.refused()
		again.says(foreign, old, again.cluster)
		if !again.lane.Closed() {
			t.Error("the lane goes on")
		}
		again.says(again.Condition(), old, again.cluster)
		if e := again.onDisk(); e.Mark < last {
			t.Errorf("the journal has mark %d, want at least %d", e.Mark, last)
		}
		must.Do(t, again.Shut(t.Context()))
		if e := again.onDisk(); e.Mark < last {
			t.Errorf("after the stop the journal has mark %d, want at least %d", e.Mark, last)
		}
		if c := again.contents(); c.Cluster != old {
			t.Errorf("the journal is of cluster %s, want the old one %s", c.Cluster, old)
		}
	})
}

// A daemon that was pointed at the wrong coordinator has lost nothing when it is pointed at the
// right one again.
func TestWrongCoordinatorLeavesTheJournalAlone(t *testing.T) {
	w := newFixture(t)
	h := w.host("A")
	a := h.start()
	a.issueAll()
	a.crash()
	before := must.Get(os.ReadFile(filepath.Join(h.dir, "journal")))(t)

	elsewhere := newFixture(t).host("A")
	elsewhere.dir = h.dir
	elsewhere.at = "etcd://another"
	wrong := elsewhere.boot()
	must.Get(wrong.inherit())(t)
	wrong.says(wrong.refused(), "etcd://another", coordAt)
	must.Do(t, wrong.Shut(t.Context()))
	wrong.crash()
	after, err := os.ReadFile(filepath.Join(h.dir, "journal"))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal is now %s, %v", after, err)
	}
	if got := h.start().Holding(); got.Floor != a.Holding().Mark {
		t.Errorf("a start at the right coordinator goes on with %+v", got)
	}
}
