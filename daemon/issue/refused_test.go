package issue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
)

// A request that is refused for its count leaves nothing behind: its tenant has no ring, so it takes
// none of the room that other tenants need.
func TestARefusedCountMakesNoRing(t *testing.T) {
	for _, burst := range []time.Duration{0, 100 * time.Millisecond} {
		g := newPool(t, "time=40@1ms,worker=4,tenant=2,sequence=6;epoch=2026-01-01", 1, issue.Limits{Burst: burst})
		g.clock.Advance(time.Second)
		before := g.lanes[0].Tenants()
		var conn issue.Connection
		if run, wait := g.Take(&conn, 3, 1e6); run.N > 0 || wait.Err == nil {
			t.Fatalf("burst %v: it gets %d, waits %+v", burst, run.N, wait)
		}
		if n := g.lanes[0].Tenants(); n != before {
			t.Errorf("burst %v: the lane remembers %d tenants, before it was %d", burst, n, before)
		}
	}
}

// Who asks for the IDs of ever more tenants keeps nobody else out for longer than it goes on with each
// of them.
func TestATenantIsAdmittedOnceAnotherIsIdle(t *testing.T) {
	g := newPool(t, "time=40@1ms,worker=4,tenant=2,sequence=6;epoch=2026-01-01", 1, issue.Limits{})
	g.lanes[0].BoundTenants(2)
	g.clock.Advance(time.Second)
	var conn issue.Connection
	take := func(tenant uint32, want error) {
		t.Helper()
		conn.Begin()
		if run, wait := g.Take(&conn, tenant, 1); (run.N == 1) != (want == nil) || want != nil && !errors.Is(wait.Err, want) {
			t.Errorf("tenant %d gets %d, waits %+v, want %v", tenant, run.N, wait, want)
		}
	}
	take(1, nil)
	take(2, nil)
	g.clock.Advance(time.Second)
	take(2, nil)
	take(3, issue.ErrTenants)
	g.clock.Advance(2 * time.Second)
	take(2, nil)
	take(3, nil)
	take(1, issue.ErrTenants) // 3 has its place, and 2 is not idle
	take(0, nil)
}
