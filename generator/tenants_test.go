package generator_test

import (
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// A tenant is stamped into the ID and has no numbers of its own: two tenants share those of a tick.
func TestTenantsShareTheNumbersOfATick(t *testing.T) {
	l, lane := openLane(t, "time=19@1ms,worker=4,tenant=32,sequence=8;epoch=2026-01-01", 0)
	next := uint64(0)
	for _, tenant := range []uint32{0, 7, 1<<32 - 1, 7} {
		run, out := lane.Take(tenant, 1, 60)
		if out != generator.Issued || run.N != 60 {
			t.Fatalf("tenant %d got %d IDs: %s", tenant, run.N, out)
		}
		parts, err := l.Decompose(run.First)
		if err != nil || parts.Tenant != uint64(tenant) || parts.Sequence != next {
			t.Errorf("tenant %d got %+v (%v), want number %d", tenant, parts, err, next)
		}
		next += 60
	}
	if run, out := lane.Take(8, 1, 60); out != generator.Issued || run.N != 16 {
		t.Errorf("the tick's last numbers: %d, %s", run.N, out)
	}
	if _, out := lane.Take(9, 1, 1); out != generator.Full {
		t.Errorf("a tick that others have used up: %s", out)
	}
}
