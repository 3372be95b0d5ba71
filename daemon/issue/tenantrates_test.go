package issue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

const tenanted = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"

type source interface {
	Take(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait)
}

// limitedTenants is a pool whose tenant 3 has 1,000 IDs a second and 100 at once.
func limitedTenants(t *testing.T, each issue.Rate) (*pool, source) {
	t.Helper()
	g := newPool(t, tenanted, 1, issue.Limits{})
	g.clock.Advance(time.Second)
	rates := issue.Rates{Each: each, ByTenant: map[uint32]issue.Rate{3: {PerSecond: 1000, Burst: 100}, 4: {}}}
	return g, g.Limit(rates, g.clock, 2*time.Second)
}

// pull takes as many IDs as come in a time from several connections of several users.
func pull(t *testing.T, g *pool, from source, users int, tenant uint32, ms int) (got []int) {
	t.Helper()
	conns := make([]issue.Connection, users)
	got = make([]int, users)
	for i := range conns {
		conns[i] = issue.Connection{Number: uint32(i), User: queue.User{UID: uint32(1000 + i)}, Singles: true}
	}
	for range ms {
		for i := range conns {
			run, wait := from.Take(&conns[i], tenant, 10)
			if wait.Err != nil {
				t.Fatal(wait.Err)
			}
			if got[i] += run.N; run.N > 0 {
				conns[i].Begin()
			}
		}
		g.clock.Advance(time.Millisecond)
	}
	return got
}

func sum(all []int) (n int) {
	for _, one := range all {
		n += one
	}
	return n
}

// Whoever asks for a tenant's IDs shares its rate; other tenants have none.
func TestATenantGetsItsRateAndNoMore(t *testing.T) {
	const ms = 3000
	g, from := limitedTenants(t, issue.Rate{})
	got := pull(t, g, from, 3, 3, ms)
	if n := sum(got); n < ms || n > ms+100 {
		t.Errorf("in %d ms a tenant got %d IDs at a rate of 1000/s and a burst of 100", ms, n)
	}
	for i, n := range got {
		if n < ms/3-100 || n > ms/3+200 {
			t.Errorf("user %d got %d of %d, want a third", i, n, ms)
		}
	}
	other := issue.Connection{User: queue.User{UID: 1000}}
	if run, wait := from.Take(&other, 4, 3000); run.N != 3000 {
		t.Errorf("a tenant without a rate gets %d, waits %+v", run.N, wait)
	}
}

// The lower of the two rates counts, whichever that is.
func TestUserAndTenantHaveARateEach(t *testing.T) {
	const ms = 3000
	for _, c := range []struct {
		user          issue.Rate
		users, atMost int
	}{
		{issue.Rate{PerSecond: 200, Burst: 20}, 1, 620},
		{issue.Rate{PerSecond: 200, Burst: 20}, 3, 1860},
		{issue.Rate{PerSecond: 5000, Burst: 100}, 3, 3100},
	} {
		g, from := limitedTenants(t, c.user)
		if n := sum(pull(t, g, from, c.users, 3, ms)); n > c.atMost || n < c.atMost*9/10 {
			t.Errorf("%d users with %v each got %d IDs of a tenant with 1000/s, want %d at most", c.users, c.user, n, c.atMost)
		}
	}
}

// A count over the tenant's rate is refused before the user's rate is drawn on, and names the tenant.
func TestACountOverTheTenantsRateTakesNothing(t *testing.T) {
	g, from := limitedTenants(t, issue.Rate{PerSecond: 1000, Burst: 10000})
	g.clock.Advance(10 * time.Second)
	conn := issue.Connection{User: queue.User{UID: 7}}
	_, wait := from.Take(&conn, 3, 9000)
	var many *issue.TooManyError
	if !errors.As(wait.Err, &many) || many.Count != 9000 || !strings.Contains(many.Error(), "at the tenant's rate of 1000/s") {
		t.Fatalf("9000 at 1000/s within 2 s: %v", wait.Err)
	}
	conn.Begin()
	g.clock.Advance(time.Millisecond) // the tick that it came in may be used up
	if run, wait := from.Take(&conn, 4, 4096); run.N == 0 {
		t.Errorf("after that, another tenant gets %d of what its user has left, waits %+v", run.N, wait)
	}
}

// Who waits for a tenant's rate longer than allowed is told the code.
func TestARequestThatWaitsForATenantsRateHasItsCode(t *testing.T) {
	g := newPool(t, tenanted, 1, issue.Limits{})
	g.clock.Advance(time.Second)
	from := g.Limit(issue.Rates{ByTenant: map[uint32]issue.Rate{3: {PerSecond: 1, Burst: 1}}}, g.clock, 2*time.Second)
	conns := make([]issue.Connection, 3)
	for i := range conns {
		conns[i].User = queue.User{UID: uint32(1000 + i)}
		if run, wait := from.Take(&conns[i], 3, 1); wait.Err != nil || (run.N == 1) != (i == 0) {
			t.Fatalf("connection %d gets %d of the one there is, waits %+v", i, run.N, wait)
		}
	}
	g.clock.Advance(3 * time.Second) // it is the second one's turn, and the third has waited too long
	_, wait := from.Take(&conns[2], 3, 1)
	if !errors.Is(wait.Err, issue.ErrTenantRate) || !strings.Contains(wait.Err.Error(), "code="+string(condition.TenantRate)) {
		t.Fatalf("the last in turn is told %v", wait.Err)
	}
	if run, wait := from.Take(&conns[1], 3, 1); run.N != 1 {
		t.Errorf("the first in turn waits %+v", wait)
	}
}

// A request within both rates allocates nothing.
func TestTenantRatesAllocateNothing(t *testing.T) {
	g := newPool(t, tenanted, 1, issue.Limits{})
	from := g.Limit(issue.Rates{Each: issue.Rate{PerSecond: 1e9, Burst: 1e9}, ByTenant: map[uint32]issue.Rate{3: {PerSecond: 1e9, Burst: 1e9}}}, g.clock, 2*time.Second)
	conn := issue.Connection{User: queue.User{UID: 7}, Singles: true}
	if n := testing.AllocsPerRun(200, func() {
		g.clock.Advance(time.Millisecond)
		conn.Begin()
		if run, wait := from.Take(&conn, 3, 1); run.N != 1 {
			t.Fatalf("%+v", wait)
		}
	}); n != 0 {
		t.Errorf("%v allocations a request", n)
	}
}
