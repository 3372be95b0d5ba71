package generator_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

const tenantsLayout = "time=41@1ms,worker=4,tenant=10,sequence=8;epoch=2026-01-01"

func TestATenantBeyondTheBoundIsRefusedAndTheOthersGoOn(t *testing.T) {
	_, lane := openLane(t, tenantsLayout, 0)
	lane.BoundTenants(2)
	take := func(tenant uint32, at generator.Tick, want generator.Outcome) {
		t.Helper()
		if run, out := lane.Take(tenant, at, 1); out != want || (run.N == 1) != (want == generator.Issued) {
			t.Errorf("tenant %d got %d IDs: %s, want %s", tenant, run.N, out, want)
		}
	}
	take(7, 1, generator.Issued)
	take(8, 1, generator.Issued)
	take(9, 1, generator.TooManyTenants)
	take(0, 1, generator.Issued) // no tenant at all
	take(7, 2, generator.Issued)
	if _, _, out := lane.TakeFirst(9, 1, 3, 1); out != generator.TooManyTenants {
		t.Errorf("a search for room says %s", out)
	}
	if lane.Admits(9, 3) || !lane.Admits(8, 3) || !lane.Admits(0, 3) || lane.Tenants() != 2 {
		t.Errorf("9: %v, 8: %v, 0: %v, of %d tenants", lane.Admits(9, 3), lane.Admits(8, 3), lane.Admits(0, 3), lane.Tenants())
	}
}

func TestTenantsThatComeAtOnceKeepToTheBound(t *testing.T) {
	_, lane := openLane(t, tenantsLayout, 0)
	const bound, callers = 100, 8
	lane.BoundTenants(bound)
	var issued atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for i := range 2 * bound {
				// Two callers at a time come for one tenant.
				if _, out := lane.Take(uint32(1+(caller/2*50+i)%(4*bound)), 1, 1); out == generator.Issued {
					issued.Add(1)
				}
			}
		})
	}
	all.Wait()
	served := 0
	for tenant := uint32(1); tenant <= 4*bound; tenant++ {
		if _, out := lane.Take(tenant, 2, 1); out == generator.Issued {
			served++
		}
	}
	if served != bound || lane.Tenants() != bound || issued.Load() < bound {
		t.Errorf("%d tenants are served, %d counted, %d IDs; the bound is %d", served, lane.Tenants(), issued.Load(), bound)
	}
}

// Who comes first of one tenant makes its ring; whoever comes with it is not refused.
func TestCallersOfOneNewTenantAreAllServed(t *testing.T) {
	for range 2000 {
		_, lane := openLane(t, tenantsLayout, 0)
		lane.BoundTenants(1)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, out := lane.Take(7, 1, 1); out != generator.Issued {
					t.Errorf("the last tenant that there is room for got %s", out)
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
	}
}
