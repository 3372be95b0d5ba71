package grant_test

import (
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// opensAgain has another open the worker ID, and the process open it once more, above a floor that
// the record tells.
func (p *process) opensAgain(floor generator.Tick) error {
	p.t.Helper()
	p.passedOn()
	must.Fail(p.t, p.Publish(p.t.Context()), coord.ErrLost)
	must.Do(p.t, p.fixture.tree.revoke(p.t.Context(), p.fixture.members()[0].Claim))
	p.take()
	p.coord.floor = &floor
	return p.Acquire(p.t.Context(), false)
}

// A worker ID that is opened again and not used is given back at what the daemon has issued before,
// also where the record does not tell.
func TestAWorkerIDThatIsOpenedAgainIsGivenBackAboveItsLane(t *testing.T) {
	p := newFixture(t).host("A").start()
	p.issueAll()
	before := p.lane
	must.Do(t, p.opensAgain(0))
	must.Do(t, p.Shut(t.Context()))
	if last := before.Highest(); p.coord.released < last || last <= before.Floor() {
		t.Errorf("given back at %d, and %d was issued above %d", p.coord.released, last, before.Floor())
	}
}

// A worker ID that is opened again by the daemon that had it: the new lane begins above all that
// the one before has issued, also where the record does not tell, and that one ends. Where the
// record is beyond the layout's end issuing has stopped.
func TestAWorkerIDThatIsOpenedAgainBeginsAboveItsLane(t *testing.T) {
	w := newFixture(t)
	p := w.host("A").start()
	before := p.lane
	must.Do(t, p.opensAgain(0))
	if p.worker() != before.Worker() || p.lane == before || !before.Closed() {
		t.Errorf("worker ID %d after %d, and the lane of before is closed: %v", p.worker(), before.Worker(), before.Closed())
	}
	p.issueAll()
	must.Do(t, p.opensAgain(w.layout.MaxTick()+1))
	var c *condition.Condition
	if !errors.As(p.Condition(), &c) || !c.Stopped || p.issueAll() > 0 {
		t.Errorf("the condition is %v, want that issuing has stopped", p.Condition())
	}
}
