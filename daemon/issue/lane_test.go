package issue_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
)

// Order holds over a re-lease: within a tick the other worker ID may be lower.
func TestOrderOverAReLease(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.drop(false)
	g.acquire(t, 5, time.Hour)
	var conn issue.Connection
	before, _ := g.Take(&conn, 0, 1)
	g.drop(false)
	g.free[2] = 1
	g.acquire(t, 2, time.Hour)
	run, wait := g.Take(&conn, 0, 1)
	if run.N != 0 || wait.For != time.Millisecond {
		t.Errorf("after a re-lease within the tick it took %d and waits %+v", run.N, wait)
	}
	g.clock.Advance(wait.For)
	if run, wait = g.Take(&conn, 0, 1); run.N != 1 || run.First <= before.First {
		t.Errorf("at the next tick: %+v after %+v, and waits %+v", run, before, wait)
	}
}

// Each request has a deadline of its own, also one that follows another at once.
func TestDeadlineIsOfOneRequest(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.drop(false)
	var conn issue.Connection
	g.Take(&conn, 0, 1)
	g.clock.Advance(1900 * time.Millisecond)
	g.acquire(t, 0, time.Hour)
	if run, wait := g.Take(&conn, 0, 1); run.N != 1 {
		t.Fatalf("it waits %+v", wait)
	}
	g.drop(false)
	conn.BeginQueued()
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || wait.For != 2*time.Second {
		t.Errorf("the request after it gets %d, waits %+v, want all of 2s", run.N, wait)
	}
}
