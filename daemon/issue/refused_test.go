package issue_test

import (
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
