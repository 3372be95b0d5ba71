package grant_test

import (
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// What docs/guarantees.md does not promise, each shown by IDs that come twice: if one of these
// fails, the list there has become too long.

// wantRepeats wants a test to show numbers that were given twice.
func (w *fixture) wantRepeats(test func()) {
	w.t.Helper()
	w.repeats = new(int)
	test()
	if *w.repeats == 0 {
		w.t.Error("no number was given twice: this could be promised")
	}
}

// A coordinator that was restored from a backup, before the marks were raised.
func TestNotPromisedARestoredCoordinatorBeforeTheRaise(t *testing.T) {
	w := newFixture(t)
	restore := w.save()
	h := w.host("H")
	before := h.start()
	before.issueAll()
	restore()
	w.wantRepeats(func() {
		after := w.host("K").startFor(before.worker())
		after.issueAll()
	})
}

// A coordinator that was wiped and set up anew is another cluster: its IDs may equal those of the
// old one.
func TestNotPromisedTwoClusters(t *testing.T) {
	w := newFixture(t)
	before := w.host("H").start()
	before.issueAll()
	w.wipe()
	w.wantRepeats(func() {
		after := w.host("K").startFor(before.worker())
		if after.cluster == before.cluster {
			t.Fatal("the cluster is the same")
		}
		after.issueAll()
	})
}

// A daemon that is cut off, and whose grant reaches beyond what all marks were raised to: it does
// not see the raise.
func TestNotPromisedAGrantBeyondTheRaiseWithoutTheCoordinator(t *testing.T) {
	w := newFixture(t)
	before := w.host("A").start()
	restore := w.save()
	w.clock.Advance(window / 2)
	must.Do(t, before.Publish(t.Context()))
	restore()
	before.coord.before = func(string) error { return errCut }
	w.raise(w.tick() + 1)
	w.clock.Advance(window / 2)
	w.wantRepeats(func() {
		after := w.host("B").startFor(before.worker())
		after.issueAll()
		before.issueAll()
	})
}

// IDs that were issued, and not only granted, while a clock was ahead, after the backup and beyond
// what all marks were raised to.
func TestNotPromisedIDsThatWereIssuedBeyondTheRaise(t *testing.T) {
	w := newFixture(t)
	before := w.fast("A", 0).start()
	restore := w.save()
	before.clock.Step(aheadFor)
	must.Do(t, before.Publish(t.Context()))
	before.issueAll()
	before.clock.Step(-aheadFor)
	restore()
	w.raise(w.tick() + 500)
	w.clock.Advance(aheadFor)
	w.wantRepeats(func() {
		after := w.host("B").startFor(before.worker())
		after.issueAll()
	})
}
