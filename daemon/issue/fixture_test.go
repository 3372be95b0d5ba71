package issue_test

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// fixture is an issuer with a lane that a test puts in and takes away. Worker IDs come back, above
// what was issued of them.
type fixture struct {
	*issue.Issuer
	layout *generator.Layout
	clock  *clocktest.Manual
	owner  *owner
	lane   *generator.Lane        // nil: none
	free   map[int]generator.Tick // worker IDs that no lane has, with the floor of the next
}

const maxSleep = 5 * time.Millisecond

func newFixture(t rapid.TB, layout string, limits issue.Limits) *fixture {
	t.Helper()
	l := must.Get(generator.ParseLayout(layout))(t)
	g := &fixture{layout: l, clock: clocktest.NewManual(l.Epoch().Add(1000 * time.Hour)), owner: &owner{reachable: true}, free: map[int]generator.Tick{}}
	guard := must.Get(clockguard.NewLimits(max(maxSleep, l.TickLength()), max(2048*time.Millisecond, 2*l.TickLength()), l.TickLength()))(t)
	limits.Guard, limits.RestartWait, limits.MaxBlock = guard, 1100*time.Millisecond, 2*time.Second
	g.Issuer = issue.New(l, g.clock, limits, g.owner)
	for worker := range 6 {
		g.free[worker] = 1
	}
	g.acquire(t, 1, time.Hour)
	return g
}

func (g *fixture) tick() generator.Tick { return g.layout.TickAt(g.clock.Now().Wall) }

// acquire puts a lane of that worker ID in, which may issue for some time from now.
func (g *fixture) acquire(t rapid.TB, worker int, grant time.Duration) {
	t.Helper()
	lane := must.Get(generator.NewLane(g.layout, 0, worker, g.free[worker]))(t)
	delete(g.free, worker)
	lane.Roll()
	lane.Raise(g.layout.TickAt(g.clock.Now().Wall + int64(grant)))
	g.lane = lane
	g.Use(lane)
}

// drop takes a lane away. Its issuer may keep it for a while, closed.
func (g *fixture) drop(keep bool) {
	if lane := g.lane; lane != nil {
		g.free[lane.Worker()] = max(lane.Floor(), lane.Close().Or(-1))
		g.lane = nil
	}
	if !keep {
		g.Use(nil)
	}
}

// idOf is the worker ID and the tick of a run.
func (g *fixture) idOf(t rapid.TB, run generator.Run) (worker int, tick generator.Tick) {
	t.Helper()
	parts := must.Get(g.layout.Decompose(run.First))(t)
	return int(parts.Worker), parts.Tick
}

// connection is one whose order is watched.
type connection struct {
	conn   issue.Connection
	id     int64          // its highest ID
	worker int            // of it
	tick   generator.Tick // of it
}

// TestOrderIsKeptOverLanes: a lane comes, goes, closes and reaches its ceiling, and the clock goes
// back by little at times. Each connection's IDs rise, none is issued twice, none of a lane that
// may not; a connection waits only if the lane cannot serve it in order.
func TestOrderIsKeptOverLanes(t *testing.T) {
	var served, changed, waited int
	rapid.Check(t, func(rt *rapid.T) {
		g := newFixture(rt, "time=40@1ms,worker=4,sequence=3;epoch=2026-01-01", issue.Limits{})
		conns := make([]connection, 2)
		for i := range conns {
			conns[i].conn.Singles = true
		}
		issued := map[int64]bool{}
		highest := g.tick() // that the clock has shown
		ask := func(rt *rapid.T) {
			g.clock.Advance(time.Duration(rapid.IntRange(0, 1000).Draw(rt, "us")) * time.Microsecond)
			c := &conns[rapid.IntRange(0, len(conns)-1).Draw(rt, "connection")]
			switch rapid.IntRange(0, 2).Draw(rt, "request") {
			case 0:
				c.conn.Begin()
			case 1:
				c.conn.BeginQueued()
			}
			able := g.lane != nil && g.inOrder(g.lane, c)
			run, wait := g.Take(&c.conn, 0, rapid.IntRange(1, 12).Draw(rt, "n"))
			if run.N == 0 {
				g.mayWait(rt, c, wait, able)
				waited++
				return
			}
			served++
			worker, tick := g.idOf(rt, run)
			for i := range run.N {
				id := run.First + int64(i)*g.layout.Step()
				if issued[id] {
					rt.Fatalf("%d was issued before", id)
				}
				issued[id] = true
			}
			if run.First <= c.id {
				rt.Fatalf("%d (worker ID %d, tick %d) after %d (%d, %d) on one connection", run.First, worker, tick, c.id, c.worker, c.tick)
			}
			if c.id != 0 && worker != c.worker && tick <= c.tick {
				rt.Fatalf("another worker ID at tick %d after %d", tick, c.tick)
			}
			if c.id != 0 && worker != c.worker {
				changed++
			}
			c.id, c.worker, c.tick = run.First+int64(run.N-1)*g.layout.Step(), worker, tick
		}
		rt.Repeat(map[string]func(*rapid.T){
			"advance": func(rt *rapid.T) {
				g.clock.Advance(time.Duration(rapid.IntRange(1, 5000).Draw(rt, "us")) * time.Microsecond)
			},
			"step back": func(rt *rapid.T) {
				g.clock.Step(-time.Duration(rapid.IntRange(1, 2000).Draw(rt, "us")) * time.Microsecond)
			},
			"lose": func(rt *rapid.T) {
				if rapid.IntRange(0, 2).Draw(rt, "at all") == 0 {
					g.drop(rapid.Bool().Draw(rt, "closed"))
				}
			},
			"raise":           func(rt *rapid.T) { g.raise(time.Hour) },
			"acquire":         func(rt *rapid.T) { g.replace(rt, time.Hour) },
			"acquire briefly": func(rt *rapid.T) { g.replace(rt, 2*time.Millisecond) },
			"ask": func(rt *rapid.T) {
				for range rapid.IntRange(4, 24).Draw(rt, "requests") {
					ask(rt)
				}
			},
			"": func(rt *rapid.T) {
				if tick := g.tick(); tick < highest-2 {
					g.clock.Step(time.Duration(highest-tick) * time.Millisecond) // no more than what is slept for
				}
				highest = max(highest, g.tick())
			},
		})
	})
	t.Logf("%d served, %d of another worker ID than before, %d waited", served, changed, waited)
	if !t.Failed() && (served == changed || changed == 0 || waited == 0) {
		t.Error("that is not all that may happen")
	}
}

// raise lifts a lane's ceiling.
func (g *fixture) raise(grant time.Duration) {
	if g.lane != nil {
		g.lane.Raise(g.layout.TickAt(g.clock.Now().Wall + int64(grant)))
		g.Changed()
	}
}

// replace puts another lane in, of any worker ID that is free.
func (g *fixture) replace(rt *rapid.T, grant time.Duration) {
	g.drop(true)
	g.acquire(rt, rapid.SampledFrom(slices.Sorted(maps.Keys(g.free))).Draw(rt, "worker ID"), grant)
}

// open reports whether the lane can issue at the clock's tick in the order of its own IDs.
func (g *fixture) open(lane *generator.Lane) bool {
	tick := g.tick()
	return !lane.Closed() && tick >= lane.Highest() && tick > lane.Floor() && tick <= lane.Ceiling()
}

// inOrder reports whether the lane can issue at the clock's tick in the order of the connection,
// too, and has numbers.
func (g *fixture) inOrder(lane *generator.Lane, c *connection) bool {
	return g.open(lane) && lane.Room(g.tick()) > 0 && (g.tick() > c.tick || c.worker == lane.Worker() && g.tick() == c.tick)
}

// mayWait judges a request that got nothing.
func (g *fixture) mayWait(rt *rapid.T, c *connection, wait issue.Wait, able bool) {
	if wait.Err != nil {
		var u *issue.UnavailableError
		if !errors.As(wait.Err, &u) || u.After != 2*time.Second {
			rt.Fatalf("refused: %v", wait.Err)
		}
	} else if wait.For <= 0 && !wait.Event {
		rt.Fatalf("it waits for nothing: %+v", wait)
	}
	if able && !c.conn.Waits() { // behind others, or for numbers that the present tick keeps
		rt.Fatalf("the lane can serve it, and it waits %+v", wait)
	}
}
