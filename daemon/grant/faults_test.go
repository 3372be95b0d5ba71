package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/internal/must"
)

// fail makes calls of one kind fail before they are made; none if call is empty.
func (p *process) fail(call string) {
	p.coord.before = func(c string) error {
		if c == call {
			return errCut
		}
		return nil
	}
}

// A worker ID whose giving back has failed is given back before another is taken: there is room for
// one.
func TestWorkerIDThatWasNotGivenBackIsNotForgotten(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	p.fail("release")
	go func() { ended <- p.Hold(ctx) }()
	for range 2 {
		w.clock.BlockUntil(1)
		p.ReLease(p.inUse())
		w.clock.Advance(window)
	}
	w.clock.BlockUntil(1)
	p.fail("")
	for held := 0; held != 1; {
		w.clock.Advance(window)
		w.clock.BlockUntil(1)
		members := must.Get(p.coord.Members(t.Context()))(t)
		if held = len(members); held > 2 {
			t.Fatalf("%d worker IDs are held", held)
		}
	}
	stop()
	must.Do(t, <-ended)
}

// A record beyond the layout's last tick makes its worker ID useless, and nothing else: whoever has
// it asks for another one.
func TestRecordBeyondTheLastTick(t *testing.T) {
	w := newFixture(t)
	raiser := w.host("raiser").boot()
	raiser.attach()
	claim := must.Get(raiser.coord.Claim(t.Context(), coord.Request{Worker: 0}))(t)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: w.layout.MaxTick() + 1}))
	raiser.close() // frees it, and lowers nothing
	var held []*process
	for len(held) < w.layout.Workers()-1 {
		held = append(held, w.host(string(rune('A'+len(held)))).start())
	}
	late := w.host("late").boot()
	late.attach()
	late.acquire()
	var c *condition.Condition
	if !errors.As(late.Condition(), &c) || c.Code != condition.FloorAhead || late.issueAll() > 0 {
		t.Errorf("holds worker ID %d, and the condition is %v; want that nothing can be issued", late.worker(), c)
	}
	must.Do(t, held[0].Shut(t.Context()))
	w.clock.Advance(window)
	must.Do(t, late.Acquire(t.Context(), true))
	late.issues()
}

// Requests that wait for another worker ID are told when none is to be had: they may be served
// otherwise.
func TestFailedReLeaseIsTold(t *testing.T) {
	w := newFixture(t)
	p := w.host("J").start()
	told := 0
	p.changed = func() { told++ }
	p.fail("claim")
	must.Fail(t, p.Acquire(t.Context(), true), errCut)
	if told == 0 || p.CanAcquire() {
		t.Errorf("told %d times that there is no other worker ID", told)
	}
	// It answers again, and what is granted is no more than before, for the clock is behind: those
	// who wait can have another worker ID now.
	w.clock.Step(-time.Hour)
	p.coord.before = nil
	told = 0
	must.Do(t, p.Publish(t.Context()))
	if told == 0 || !p.CanAcquire() {
		t.Errorf("told %d times that another worker ID can be had", told)
	}
}
