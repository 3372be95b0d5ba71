package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/must"
)

// record is the worker ID's record as the coordinator has it; the worker ID must be held.
func (p *process) record() coord.Member {
	p.t.Helper()
	members := must.Get(p.coord.Members(p.t.Context()))(p.t)
	for _, m := range members {
		if m.Worker == p.worker() {
			return m
		}
	}
	p.t.Fatalf("nobody holds worker ID %d: %+v", p.worker(), members)
	return coord.Member{}
}

// take takes one number at the clock's tick, or none.
func (p *process) take() generator.Outcome {
	run, out := p.inUse().Take(0, p.tick(), 1)
	if run.N > 0 {
		p.note(run.First)
	}
	return out
}

// Whoever looks while an answer is being taken in sees no grant that ends for want of that answer.
func TestAGrantIsNotSeenToEndForWhatItsAnswerHasMended(t *testing.T) {
	p := newFixture(t).host("J").boot()
	looked := 0
	p.changed = func() {
		looked++
		var c *condition.Condition
		if errors.As(p.Condition(), &c) && !c.Stopped {
			t.Errorf("issuing is possible until %v, and %s ends it", c.Ends, c.Code)
		}
	}
	p.attach()
	p.acquire()
	if looked == 0 {
		t.Error("nobody has looked; the test is void")
	}
}

func TestTheLanesCeilingIsTheRecords(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	for range 2 {
		if got := p.record().Ceiling; p.lane.Ceiling() != got || got != w.tick()+generator.Tick(window/time.Millisecond) {
			t.Errorf("the lane goes to %d, the record's ceiling is %d, and it is %d", p.lane.Ceiling(), got, w.tick())
		}
		w.clock.Advance(window / 2)
		must.Do(t, p.Publish(t.Context()))
	}
}

// Nothing has failed yet, but an answer is late: a request is told which one, and since when.
func TestConditionBeforeAnythingFailed(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	if err := p.Condition(); err != nil {
		t.Fatalf("the trouble is %v, want none", err)
	}
	w.clock.Advance(window + time.Millisecond)
	ended := w.layout.StartOf(p.Holding().Granted + 1).UTC().Format(logging.TimeFormat)
	p.says(p.Condition(), "has not answered yet", coordAt, "since "+ended)
	must.Do(t, p.Publish(t.Context()))
	if err := p.Condition(); err != nil {
		t.Errorf("granted again, the trouble is %v, want none", err)
	}
}

// An Extend whose reply was lost raises nothing here, and the next one goes on.
func TestLostReplyRaisesNothing(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	granted := p.Holding().Granted
	w.clock.Advance(window / 2)
	p.coord.loseExtend = true
	must.Fail(t, p.Publish(t.Context()), errCut)
	if got := p.Holding().Granted; got != granted {
		t.Errorf("the grant went from %d to %d on a write whose outcome is unknown", granted, got)
	}
	if p.CanAcquire() {
		t.Error("a coordinator that does not answer is taken for one that lends")
	}
	p.coord.loseExtend = false
	must.Do(t, p.Publish(t.Context()))
	if got, want := p.Holding().Granted, w.tick()+generator.Tick(window/time.Millisecond); got != want || !p.CanAcquire() {
		t.Errorf("granted %d, want %d", got, want)
	}
}

func TestReLeaseServesAtOnceAndGivesBack(t *testing.T) {
	w := newFixture(t).used(0)
	h := w.host("J")
	p := h.startFor(0)
	w.clock.Advance(time.Millisecond)
	p.take()
	first, last, lane := p.worker(), w.tick(), p.inUse()
	w.clock.Step(-time.Hour)
	must.Do(t, p.Acquire(t.Context(), true))
	if p.worker() == first {
		t.Fatalf("still worker ID %d", first)
	}
	if !lane.Closed() {
		t.Error("the record was lowered, and the lane before is still open")
	}
	if out := p.take(); out != generator.Issued {
		t.Errorf("the first request met %v", out)
	}
	// What was given back is free, and its record says where the next holder may begin.
	other := w.host("K").bootFor(first)
	w.clock.Step(time.Hour)
	other.attach()
	other.acquire()
	if other.worker() != first || other.Holding().Floor != last {
		t.Errorf("the next holder has worker ID %d and floor %d, want %d and %d", other.worker(), other.Holding().Floor, first, last)
	}
}

// The loop publishes and re-leases by itself, in the clock's time.
func TestLoops(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").boot()
	p.attach()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Hold(ctx) }()
	w.clock.BlockUntil(1) // it has done what is due and sleeps
	first := p.lane
	if first == nil || first.Ceiling() <= w.tick() {
		t.Fatal("no lane that may issue")
	}
	for range 40 {
		w.clock.Advance(step / 4)
		w.clock.BlockUntil(1)
		if out := p.take(); out == generator.AboveCeiling {
			t.Errorf("at tick %d a request would wait: the ceiling is %d", w.tick(), first.Ceiling())
		}
	}
	if out := p.take(); out != generator.Issued && out != generator.Full {
		t.Errorf("a request met %v", out)
	}
	w.clock.Step(-time.Hour)
	p.ReLease(first)
	for p.inUse() == first {
		w.clock.BlockUntil(1)
		w.clock.Advance(time.Millisecond)
	}
	if !first.Closed() && p.worker() == first.Worker() {
		t.Error("the first lane goes on")
	}
	stop()
	must.Do(t, <-ended)
}

func (p *process) inUse() *generator.Lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lane
}
