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

// pool is a pool with lanes that a test puts in and takes away. Worker IDs come back, above what
// was issued of them.
type pool struct {
	*issue.Pool
	layout  *generator.Layout
	clock   *clocktest.Manual
	issuers []*issue.Issuer
	owners  []*owner
	lanes   []*generator.Lane      // nil: none
	free    map[int]generator.Tick // worker IDs that no lane has, with the floor of the next
	changes int
}

const maxSleep = 5 * time.Millisecond

func newPool(t rapid.TB, layout string, lanes int, limits issue.Limits) *pool {
	t.Helper()
	l := must.Get(generator.ParseLayout(layout))(t)
	g := &pool{layout: l, clock: clocktest.NewManual(l.Epoch().Add(1000 * time.Hour)), lanes: make([]*generator.Lane, lanes), free: map[int]generator.Tick{}}
	guard := must.Get(clockguard.NewLimits(max(maxSleep, l.TickLength()), max(2048*time.Millisecond, 2*l.TickLength()), l.TickLength()))(t)
	limits.Guard, limits.FirstWait, limits.MaxBlock = guard, 1100*time.Millisecond, 2*time.Second
	for range lanes {
		o := &owner{reachable: true}
		g.owners = append(g.owners, o)
		g.issuers = append(g.issuers, issue.New(l, g.clock, limits, o))
	}
	g.Pool = issue.NewPool(g.issuers...)
	g.OnChange(func() { g.changes++ })
	for worker := range 2 * lanes {
		g.free[worker] = 1
	}
	for i := range lanes {
		g.acquire(t, i, 2*lanes-1-i, time.Hour) // the higher the lane, the lower its worker ID: the harder order is to keep
	}
	return g
}

func (g *pool) tick() generator.Tick { return g.layout.TickAt(g.clock.Now().Wall) }

// acquire puts a lane of that worker ID in, which may issue for some time from now.
func (g *pool) acquire(t rapid.TB, i, worker int, grant time.Duration) {
	t.Helper()
	lane := must.Get(generator.NewLane(g.layout, 0, worker, g.free[worker]))(t)
	delete(g.free, worker)
	lane.Roll()
	lane.Raise(g.layout.TickAt(g.clock.Now().Wall + int64(grant)))
	g.lanes[i] = lane
	g.issuers[i].Use(lane)
}

// drop takes a lane away. Its issuer may keep it for a while, closed.
func (g *pool) drop(i int, keep bool) {
	if lane := g.lanes[i]; lane != nil {
		g.free[lane.Worker()] = lane.Close()
		g.lanes[i] = nil
	}
	if !keep {
		g.issuers[i].Use(nil)
	}
}

// idOf is the worker ID and the tick of a run.
func (g *pool) idOf(t rapid.TB, run generator.Run) (worker int, tick generator.Tick) {
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
	lane   int            // that its last ID is of
}

// TestPoolKeepsOrderAndServesWhileAnyCan: lanes come, go, close and reach their ceilings, and the
// clock goes back by little at times. Each connection's IDs rise, none is issued twice, none of a
// lane that may not; a connection waits only if its own lane has merely used up the tick or no
// other could serve it either; and its preferred lane serves it whenever that can.
func TestPoolKeepsOrderAndServesWhileAnyCan(t *testing.T) {
	var served, stood, waited int
	rapid.Check(t, func(rt *rapid.T) {
		lanes := rapid.IntRange(2, 4).Draw(rt, "lanes")
		g := newPool(rt, "time=40@1ms,worker=4,sequence=3;epoch=2026-01-01", lanes, issue.Limits{})
		conns := make([]connection, 5)
		for i := range conns {
			conns[i].conn.Number, conns[i].conn.Singles = uint32(i), true
		}
		issued := map[int64]bool{}
		highest := g.tick() // that the clock has shown
		lane := rapid.IntRange(0, lanes-1)
		rt.Repeat(map[string]func(*rapid.T){
			"advance": func(rt *rapid.T) {
				g.clock.Advance(time.Duration(rapid.IntRange(1, 5000).Draw(rt, "us")) * time.Microsecond)
			},
			"step back": func(rt *rapid.T) {
				g.clock.Step(-time.Duration(rapid.IntRange(1, 2000).Draw(rt, "us")) * time.Microsecond)
			},
			"drop":            func(rt *rapid.T) { g.drop(lane.Draw(rt, "lane"), false) },
			"close":           func(rt *rapid.T) { g.drop(lane.Draw(rt, "lane"), true) },
			"raise":           func(rt *rapid.T) { g.raise(lane.Draw(rt, "lane"), time.Hour) },
			"acquire":         func(rt *rapid.T) { g.replace(rt, lane.Draw(rt, "lane"), time.Hour) },
			"acquire briefly": func(rt *rapid.T) { g.replace(rt, lane.Draw(rt, "lane"), 2*time.Millisecond) },
			"ask": func(rt *rapid.T) {
				c := &conns[rapid.IntRange(0, len(conns)-1).Draw(rt, "connection")]
				switch rapid.IntRange(0, 2).Draw(rt, "request") {
				case 0:
					c.conn.Begin()
				case 1:
					c.conn.BeginQueued()
				}
				preferred := g.lanes[int(c.conn.Number)%lanes]
				preferredAble := preferred != nil && g.inOrder(preferred, c)
				able := -1 // a lane that could serve at once
				for i, lane := range g.lanes {
					if lane != nil && g.inOrder(lane, c) {
						able = i
					}
				}
				run, wait := g.Take(&c.conn, 0, rapid.IntRange(1, 12).Draw(rt, "n"))
				if run.N == 0 {
					g.mayWait(rt, c, wait, preferred, able)
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
				if preferredAble && worker != preferred.Worker() {
					rt.Fatalf("worker ID %d served, and the connection's own %d could", worker, preferred.Worker())
				}
				if preferred == nil || worker != preferred.Worker() {
					stood++
				}
				c.lane = slices.IndexFunc(g.lanes, func(lane *generator.Lane) bool { return lane != nil && lane.Worker() == worker })
				c.id, c.worker, c.tick = run.First+int64(run.N-1)*g.layout.Step(), worker, tick
			},
			"": func(rt *rapid.T) {
				if tick := g.tick(); tick < highest-2 {
					g.clock.Step(time.Duration(highest-tick) * time.Millisecond) // no more than what is slept for
				}
				highest = max(highest, g.tick())
			},
		})
	})
	t.Logf("%d served by the preferred lane, %d elsewhere, %d waited", served-stood, stood, waited)
	if !t.Failed() && (served == stood || stood == 0 || waited == 0) {
		t.Error("that is not all that may happen")
	}
}

// raise lifts a lane's ceiling.
func (g *pool) raise(i int, grant time.Duration) {
	if g.lanes[i] != nil {
		g.lanes[i].Raise(g.layout.TickAt(g.clock.Now().Wall + int64(grant)))
		g.issuers[i].Changed()
	}
}

// replace puts another lane in, of any worker ID that is free.
func (g *pool) replace(rt *rapid.T, i int, grant time.Duration) {
	g.drop(i, true)
	g.acquire(rt, i, rapid.SampledFrom(slices.Sorted(maps.Keys(g.free))).Draw(rt, "worker ID"), grant)
}

// open reports whether the lane can issue at the clock's tick in the order of its own IDs.
func (g *pool) open(lane *generator.Lane) bool {
	tick := g.tick()
	return !lane.Closed() && tick >= lane.Highest() && tick > lane.Floor() && tick <= lane.Ceiling()
}

// inOrder reports whether the lane can issue at the clock's tick in the order of the connection,
// too, and has numbers.
func (g *pool) inOrder(lane *generator.Lane, c *connection) bool {
	return g.open(lane) && lane.Room(g.tick()) > 0 && (g.tick() > c.tick || c.worker == lane.Worker() && g.tick() == c.tick)
}

// mayWait judges a request that got nothing.
func (g *pool) mayWait(rt *rapid.T, c *connection, wait issue.Wait, preferred *generator.Lane, able int) {
	if wait.Err != nil {
		var u *issue.UnavailableError
		if !errors.As(wait.Err, &u) || u.After != 2*time.Second {
			rt.Fatalf("refused: %v", wait.Err)
		}
	} else if wait.For <= 0 && !wait.Event {
		rt.Fatalf("it waits for nothing: %+v", wait)
	}
	if able < 0 {
		return
	}
	// One could have served it. Then its own lane, or the one it is served from instead, only needs
	// a moment: the next tick, or the end of a short sleep.
	if wait.Err != nil || wait.For > maxSleep {
		rt.Fatalf("lane %d can serve it, and it waits %+v", able, wait)
	}
	if c.conn.Waits() { // behind others, or for numbers that the present tick keeps
		return
	}
	for i, lane := range g.lanes {
		if lane == nil || lane != preferred && i != c.lane {
			continue
		}
		if !lane.Closed() && g.tick() <= lane.Ceiling() && !g.inOrder(lane, c) {
			return
		}
	}
	rt.Fatalf("lane %d can serve it, and it waits %+v for none that has more to come", able, wait)
}
