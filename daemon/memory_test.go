package daemon_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/budget"
)

// A tenant that there is no memory for is refused at once, and those before it are served on, as is
// who names none.
func TestTenantsBeyondTheMemoryAreRefusedAndNobodyElse(t *testing.T) {
	c := config(dir(t))
	c.IDs.Layout = "time=38@1ms,tenant=16,worker=2,sequence=6;epoch=2026-01-01"
	c.Memory = budget.LeastMemory
	r := start(t, c)
	served, refusal := 0, error(nil)
	for tenant := 1; tenant < 1000 && refusal == nil; tenant++ {
		if refusal = r.client.Do(t.Context(), "NEXT", "TENANT", tenant).Err(); refusal == nil {
			served++
		}
	}
	if refusal == nil || !strings.HasPrefix(refusal.Error(), "ERR too many tenants: ") || served < 100 {
		t.Fatalf("after %d tenants: %v", served, refusal)
	}
	for _, request := range [][]any{{"NEXT", "TENANT", 1}, {"NEXT", "TENANT", served}, {"NEXT"}, {"RUN", 3, "TENANT", 2}} {
		if err := r.client.Do(t.Context(), request...).Err(); err != nil {
			t.Errorf("%v: %v", request, err)
		}
	}
	if info := r.info(); info["tenants"] != info["tenants_limit"] || info["memory_limit"] != "67108864" {
		t.Errorf("%s tenants of %s, in %s bytes", info["tenants"], info["tenants_limit"], info["memory_limit"])
	}
}
