package issue_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
)

// rollBack has a connection that got an ID, and then the clock set back by more than the ring
// remembers, which has cost its worker ID.
func rollBack(t *testing.T, g *fixture, conn *issue.Connection) {
	t.Helper()
	g.clock.Advance(10 * time.Second)
	if run, wait := g.Take(conn, 0, 1); run.N != 1 {
		t.Fatalf("before the step it waits %+v", wait)
	}
	g.clock.Step(-8 * time.Second)
	g.drop(false)
	g.acquire(t, 0, time.Hour)
	g.clock.Advance(3 * time.Second)
	conn.Begin()
}

// What a connection gets after a step back rises, also over a change of lane, though it is below
// what it got before.
func TestOrderAfterARollback(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	var conn issue.Connection
	rollBack(t, g, &conn)
	first, wait := g.Take(&conn, 0, 1)
	if first.N != 1 {
		t.Fatalf("after the step it waits %+v", wait)
	}
	g.drop(false)
	g.acquire(t, 2, time.Hour)
	conn.Begin()
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || wait.For <= 0 || wait.For > time.Millisecond {
		t.Errorf("after %d it gets %d from %d in the same tick, and waits %+v; want a wait for the next tick", first.First, run.N, run.First, wait)
	}
	g.clock.Advance(time.Millisecond)
	run, wait := g.Take(&conn, 0, 1)
	if run.N != 1 || run.First <= first.First {
		t.Errorf("after %d it gets %d from %d (%+v), want one above it", first.First, run.N, run.First, wait)
	}
	// Once more: neither what was before the first step nor what was before this one keeps it from
	// being served.
	g.clock.Step(-4 * time.Second)
	g.drop(false)
	g.acquire(t, 4, time.Hour) // nothing was issued from it
	conn.Begin()
	again, wait := g.Take(&conn, 0, 1)
	if again.N != 1 || again.First >= first.First {
		t.Fatalf("after another step it gets %d from %d (%+v), want one of the time that the clock shows", again.N, again.First, wait)
	}
	g.drop(false)
	g.acquire(t, 3, time.Hour)
	conn.Begin()
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || wait.For > time.Millisecond {
		t.Errorf("after %d it gets %d from %d in the same tick, and waits %+v; want a wait for the next tick", again.First, run.N, run.First, wait)
	}
}

// A burst after a step back draws on what the connection's order allows, which is what it got
// since.
func TestBurstAfterARollback(t *testing.T) {
	const ticks = 3
	g := newFixture(t, "flakeward", issue.Limits{Burst: 20 * time.Millisecond})
	conn := issue.Connection{Singles: true}
	rollBack(t, g, &conn)
	last := int64(-1)
	for got := 0; got < ticks*perTick; {
		run, wait := g.Take(&conn, 0, ticks*perTick-got)
		if run.N == 0 {
			t.Fatalf("after %d of %d it waits %+v", got, ticks*perTick, wait)
		}
		if run.First <= last {
			t.Fatalf("%d and then %d", last, run.First)
		}
		got, last = got+run.N, run.First+int64(run.N-1)*g.layout.Step()
	}
}
