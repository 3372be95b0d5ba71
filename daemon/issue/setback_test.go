package issue_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
)

// setBack has a connection that got an ID, and then the clock set back by more than the ring remembers, which has cost every lane its worker
// ID.
func setBack(t *testing.T, g *group, ticket *issue.Ticket) {
	t.Helper()
	g.clock.Advance(10 * time.Second)
	if run, wait := g.Take(ticket, 0, 1); run.N != 1 {
		t.Fatalf("before the step it waits %+v", wait)
	}
	g.clock.Step(-8 * time.Second)
	lanes := len(g.lanes)
	for i := range lanes {
		g.drop(i, false)
		g.lend(t, i, (i+1)%lanes, time.Hour)
	}
	g.clock.Advance(3 * time.Second)
	ticket.Renew()
}

// What a connection gets after a step back rises, also over a change of lane, though it is below what it got before.
func TestOrderAfterASetback(t *testing.T) {
	g := newGroup(t, "flakeward", 3, issue.Limits{})
	var ticket issue.Ticket
	setBack(t, g, &ticket)
	first, wait := g.Take(&ticket, 0, 1)
	if first.N != 1 {
		t.Fatalf("after the step it waits %+v", wait)
	}
	g.drop(0, false) // which serves it
	ticket.Renew()
	if run, wait := g.Take(&ticket, 0, 1); run.N != 0 || wait.For <= 0 || wait.For > time.Millisecond {
		t.Errorf("after %d it gets %d from %d in the same tick, and waits %+v; want a wait for the next tick", first.First, run.N, run.First, wait)
	}
	g.clock.Advance(time.Millisecond)
	run, wait := g.Take(&ticket, 0, 1)
	if run.N != 1 || run.First <= first.First {
		t.Errorf("after %d it gets %d from %d (%+v), want one above it", first.First, run.N, run.First, wait)
	}
	// Once more: neither what was before the first step nor what was before this one keeps it from being served.
	g.clock.Step(-4 * time.Second)
	for i := range g.lanes {
		g.drop(i, false)
	}
	g.lend(t, 0, 4, time.Hour) // nothing was issued from these
	g.lend(t, 1, 3, time.Hour)
	ticket.Renew()
	again, wait := g.Take(&ticket, 0, 1)
	if again.N != 1 || again.First >= first.First {
		t.Fatalf("after another step it gets %d from %d (%+v), want one of the time that the clock shows", again.N, again.First, wait)
	}
	g.drop(ticket.Lane(), false)
	ticket.Renew()
	if run, wait := g.Take(&ticket, 0, 1); run.N != 0 || wait.For > time.Millisecond {
		t.Errorf("after %d it gets %d from %d in the same tick, and waits %+v; want a wait for the next tick", again.First, run.N, run.First, wait)
	}
}

// A burst after a step back draws on what the connection's order allows, which is what it got since.
func TestBurstAfterASetback(t *testing.T) {
	const ticks = 3
	g := newGroup(t, "flakeward", 1, issue.Limits{Burst: 20 * time.Millisecond})
	var ticket issue.Ticket
	setBack(t, g, &ticket)
	last := int64(-1)
	for got := 0; got < ticks*perTick; {
		run, wait := g.Take(&ticket, 0, ticks*perTick-got)
		if run.N == 0 {
			t.Fatalf("after %d of %d it waits %+v", got, ticks*perTick, wait)
		}
		if run.First <= last {
			t.Fatalf("%d and then %d", last, run.First)
		}
		got, last = got+run.N, run.First+int64(run.N-1)*g.layout.Step()
	}
}

// A connection away from its home waits for whichever of the lanes is the first, that where it is as well.
func TestWaitsForTheLaneWhereItIs(t *testing.T) {
	g := newGroup(t, "flakeward", 2, issue.Limits{})
	g.drop(0, false) // its home
	var ticket issue.Ticket
	if run, wait := g.Take(&ticket, 0, 1); run.N != 1 {
		t.Fatalf("the other lane has it wait %+v", wait)
	}
	g.drop(1, true)
	g.free[1] = g.tick() + 300
	g.lend(t, 1, 1, time.Hour)
	ticket.Renew()
	if run, wait := g.Take(&ticket, 0, 1); run.N != 0 || !wait.Event || wait.For != 301*time.Millisecond {
		t.Errorf("it gets %d, waits %+v, want 301ms or a change", run.N, wait)
	}
}
