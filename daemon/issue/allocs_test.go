package issue_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

// A request that is served at once allocates nothing, and one that begins to wait for numbers does
// not either.
func TestARequestAllocatesNothing(t *testing.T) {
	const wide = "time=33@1ms,worker=10,sequence=20;epoch=2026-01-01"
	type take = func(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait)
	for _, c := range []struct {
		name string
		n    int // what a request asks for
		take func(g *fixture) take
	}{
		{"one ID", 1, func(g *fixture) take { return g.Take }},
		{"a burst", 1<<20 + 1, func(g *fixture) take { return g.Take }},
		{"a rate", 1, func(g *fixture) take {
			return g.Limit(issue.Rate{PerSecond: 1e9, Burst: 1e9}, g.clock, time.Second).Take
		}},
	} {
		g := newFixture(t, wide, issue.Limits{Burst: time.Second})
		g.clock.Advance(5 * time.Second)
		take := c.take(g)
		conn := issue.Connection{Singles: true}
		if n := testing.AllocsPerRun(100, func() {
			conn.Begin()
			if run, wait := take(&conn, 0, c.n); run.N < 1 {
				t.Fatalf("%s: %+v, %+v", c.name, run, wait)
			}
			g.clock.Advance(time.Millisecond)
		}); n != 0 {
			t.Errorf("%s: a request allocates %v times", c.name, n)
		}
	}
	b := newBench(t)
	b.take(t, perTick)
	var conn issue.Connection
	if n := testing.AllocsPerRun(100, func() {
		conn.Begin()
		b.Take(&conn, 0, 1)
	}); n != 0 {
		t.Errorf("a request that must wait allocates %v times", n)
	}
}
