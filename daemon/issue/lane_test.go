package issue_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
)

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
