package grant_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestCleanStopWritesTheExactTick(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	must.Do(t, p.Publish(t.Context())) // with a mark that is a step ahead
	w.clock.Advance(3 * time.Millisecond)
	p.take()
	last := w.tick()
	w.clock.Advance(2 * time.Millisecond)
	worker := p.worker()
	must.Do(t, p.Shut(t.Context()))
	if e := p.onDisk(); e.Mark != last || e.Ceiling != 0 {
		t.Errorf("the journal has mark %d and ceiling %d, want %d and no grant", e.Mark, e.Ceiling, last)
	}
	if out := p.take(); out != generator.Closed {
		t.Errorf("a request after the stop met %v", out)
	}
	p.crash()
	again, err := h.coldStart()
	if !errors.Is(err, grant.ErrNoGrant) {
		t.Errorf("a cold start after a clean stop ended with %v", err)
	}
	again.attach()
	again.acquire()
	if again.worker() != worker || again.Holding().Floor != last {
		t.Errorf("worker ID %d, floor %d, want %d and the last tick %d", again.worker(), again.Holding().Floor, worker, last)
	}
	w.clock.Advance(time.Millisecond)
	if out := again.take(); out != generator.Issued {
		t.Errorf("the first request after a clean stop met %v", out)
	}
	// The record was lowered as well: a host without the journal could go on there.
	if floor := again.record().Issued; floor != last {
		t.Errorf("the record's last issued tick is %d, want %d", floor, last)
	}
}

// A clean stop that cannot reach the coordinator keeps the grant, and the next start issues from
// it.
func TestCleanStopWithoutACoordinatorKeepsTheGrant(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	w.clock.Advance(time.Millisecond)
	p.take()
	last := w.tick()
	granted := p.Holding().Granted
	p.coord.before = func(string) error { return errCut }
	must.Do(t, p.Shut(t.Context()))
	if e := p.onDisk(); e.Mark != last || e.Ceiling != granted {
		t.Errorf("the journal has mark %d and ceiling %d, want %d and %d", e.Mark, e.Ceiling, last, granted)
	}
	p.crash()
	w.clock.Advance(time.Millisecond)
	again := must.Get(h.coldStart())(t)
	w.clock.Advance(time.Millisecond) // in the tick of the start an earlier process may have issued
	if out := again.take(); out != generator.Issued {
		t.Errorf("the first request after a cold start met %v", out)
	}
}

// The record has the mark that was published. A journal that went below it would be taken for an
// old copy.
func TestCleanStopWithoutACoordinatorGoesOnWithOne(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	w.clock.Advance(step)
	must.Do(t, p.Renew())
	p.take()
	must.Do(t, p.Publish(t.Context()))
	before := p.Holding()
	p.coord.before = func(string) error { return errCut }
	must.Do(t, p.Shut(t.Context()))
	p.crash()
	again := h.start()
	if got := again.Holding(); got.Worker != before.Worker || got.Floor > before.Mark {
		t.Errorf("goes on with worker ID %d above %d, want %d and at most the mark %d", got.Worker, got.Floor, before.Worker, before.Mark)
	}
}

// A record may have been lowered although the reply was lost: the journal must not keep the grant
// then.
func TestCleanStopWithALostReplyKeepsNoGrant(t *testing.T) {
	w := newFixture(t)
	h := w.host("J")
	p := h.start()
	p.issueAll()
	p.coord.loseRelease = true
	must.Fail(t, p.Shut(t.Context()), errCut)
	p.crash()
	if _, err := h.coldStart(); !errors.Is(err, grant.ErrNoGrant) {
		t.Errorf("a cold start ended with %v", err)
	}
}

func TestRecordIsNotLoweredIfTheJournalCannotBeWritten(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	p.take()
	before := p.record().Ceiling
	p.disk.full = true
	must.Fail(t, p.Shut(t.Context()), errDisk)
	if got := p.record().Ceiling; got != before {
		t.Errorf("the record's ceiling went from %d to %d", before, got)
	}
}
