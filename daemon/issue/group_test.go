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
)

// group is a group with lanes that a test puts in and takes away. Worker IDs come back, above what was issued of them.
type group struct {
	*issue.Group
	layout  *generator.Layout
	clock   *clocktest.Manual
	issuers []*issue.Issuer
	lenders []*lender
	lanes   []*generator.Lane      // nil: none
	free    map[int]generator.Tick // worker IDs that no lane has, with the floor of the next
	changes int
}

const maxSleep = 5 * time.Millisecond

func newGroup(t rapid.TB, layout string, lanes int, limits issue.Limits) *group {
	t.Helper()
	l, err := generator.ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	g := &group{layout: l, clock: clocktest.NewManual(l.Epoch().Add(1000 * time.Hour)), lanes: make([]*generator.Lane, lanes), free: map[int]generator.Tick{}}
	guard, err := clockguard.NewLimits(max(maxSleep, l.TickLength()), max(2048*time.Millisecond, 2*l.TickLength()), l.TickLength())
	if err != nil {
		t.Fatal(err)
	}
	limits.Guard, limits.FirstWait, limits.MaxBlock = guard, 1100*time.Millisecond, 2*time.Second
	for range lanes {
		lender := &lender{lends: true}
		g.lenders = append(g.lenders, lender)
		g.issuers = append(g.issuers, issue.New(l, g.clock, limits, lender))
	}
	g.Group = issue.NewGroup(g.issuers...)
	g.OnChange(func() { g.changes++ })
	for worker := range 2 * lanes {
		g.free[worker] = 1
	}
	for i := range lanes {
		g.lend(t, i, 2*lanes-1-i, time.Hour) // the higher the lane, the lower its worker ID: the harder order is to keep
	}
	return g
}

func (g *group) tick() generator.Tick { return g.layout.TickAt(g.clock.Now().Wall) }

// lend puts a lane of that worker ID in, which may issue for some time from now.
func (g *group) lend(t rapid.TB, i, worker int, grant time.Duration) {
	t.Helper()
	lane, err := generator.NewLane(g.layout, 0, worker, g.free[worker])
	if err != nil {
		t.Fatal(err)
	}
	delete(g.free, worker)
	lane.Raise(g.layout.TickAt(g.clock.Now().Wall + int64(grant)))
	g.lanes[i] = lane
	g.issuers[i].Use(lane)
}

// drop takes a lane away. Its issuer may keep it for a while, closed.
func (g *group) drop(i int, keep bool) {
	if lane := g.lanes[i]; lane != nil {
		g.free[lane.Worker()] = lane.Close()
		g.lanes[i] = nil
	}
	if !keep {
		g.issuers[i].Use(nil)
	}
}

// idOf is the worker ID and the tick of a run.
func (g *group) idOf(t rapid.TB, run generator.Run) (worker int, tick generator.Tick) {
	t.Helper()
	parts, err := g.layout.Decompose(run.First)
	if err != nil {
		t.Fatal(err)
	}
	return int(parts.Worker), parts.Tick
}

// connection is one whose order is watched.
type connection struct {
	ticket issue.Ticket
	id     int64          // its highest ID
	worker int            // of it
	tick   generator.Tick // of it
	lane   int            // that its last ID is of
}

// TestGroupKeepsOrderAndServesWhileAnyCan: lanes come, go, close and reach their ceilings, and the clock goes back by little at times.
// Each connection's IDs rise, none is issued twice, none of a lane that may not; a connection waits only if its own lane has merely
// used up the tick or no other could serve it either; and it is at home whenever that can be.
func TestGroupKeepsOrderAndServesWhileAnyCan(t *testing.T) {
	var served, stood, waited int
	rapid.Check(t, func(rt *rapid.T) {
		lanes := rapid.IntRange(2, 4).Draw(rt, "lanes")
		g := newGroup(rt, "time=40@1ms,worker=4,sequence=3;epoch=2026-01-01", lanes, issue.Limits{})
		conns := make([]connection, 5)
		for i := range conns {
			conns[i].ticket.Home = uint32(i)
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
			"drop":         func(rt *rapid.T) { g.drop(lane.Draw(rt, "lane"), false) },
			"close":        func(rt *rapid.T) { g.drop(lane.Draw(rt, "lane"), true) },
			"raise":        func(rt *rapid.T) { g.raise(lane.Draw(rt, "lane"), time.Hour) },
			"lend":         func(rt *rapid.T) { g.replace(rt, lane.Draw(rt, "lane"), time.Hour) },
			"lend briefly": func(rt *rapid.T) { g.replace(rt, lane.Draw(rt, "lane"), 2*time.Millisecond) },
			"ask": func(rt *rapid.T) {
				c := &conns[rapid.IntRange(0, len(conns)-1).Draw(rt, "connection")]
				switch rapid.IntRange(0, 2).Draw(rt, "request") {
				case 0:
					c.ticket.Renew()
				case 1:
					c.ticket.Follow()
				}
				home := g.lanes[int(c.ticket.Home)%lanes]
				atHome := home != nil && g.inOrder(home, c)
				able := -1 // a lane that could serve at once
				for i, lane := range g.lanes {
					if lane != nil && g.inOrder(lane, c) {
						able = i
					}
				}
				run, wait := g.Take(&c.ticket, 0, rapid.IntRange(1, 12).Draw(rt, "n"))
				if run.N == 0 {
					g.mayWait(rt, c, wait, home, able)
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
				if atHome && worker != home.Worker() {
					rt.Fatalf("worker ID %d served, and the connection's own %d could", worker, home.Worker())
				}
				if home == nil || worker != home.Worker() {
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
	t.Logf("%d served at home, %d elsewhere, %d waited", served-stood, stood, waited)
	if !t.Failed() && (served == stood || stood == 0 || waited == 0) {
		t.Error("that is not all that may happen")
	}
}

// raise lifts a lane's ceiling.
func (g *group) raise(i int, grant time.Duration) {
	if g.lanes[i] != nil {
		g.lanes[i].Raise(g.layout.TickAt(g.clock.Now().Wall + int64(grant)))
		g.issuers[i].Changed()
	}
}

// replace puts another lane in, of any worker ID that is free.
func (g *group) replace(rt *rapid.T, i int, grant time.Duration) {
	g.drop(i, true)
	g.lend(rt, i, rapid.SampledFrom(slices.Sorted(maps.Keys(g.free))).Draw(rt, "worker ID"), grant)
}

// open tells whether the lane can issue at the clock's tick in the order of its own IDs.
func (g *group) open(lane *generator.Lane) bool {
	tick := g.tick()
	return !lane.Closed() && tick >= lane.Highest() && tick > lane.Floor() && tick <= lane.Ceiling()
}

// inOrder tells whether the lane can issue at the clock's tick in the order of the connection, too, and has numbers.
func (g *group) inOrder(lane *generator.Lane, c *connection) bool {
	return g.open(lane) && lane.Room(0, g.tick()) > 0 && (g.tick() > c.tick || c.worker == lane.Worker() && g.tick() == c.tick)
}

// mayWait judges a request that got nothing.
func (g *group) mayWait(rt *rapid.T, c *connection, wait issue.Wait, home *generator.Lane, able int) {
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
	// One could have served it. Then its own lane, or the one it is served from instead, only needs a moment: the next tick, or the
	// end of a short sleep.
	if wait.Err != nil || wait.For > maxSleep {
		rt.Fatalf("lane %d can serve it, and it waits %+v", able, wait)
	}
	for i, lane := range g.lanes {
		if lane == nil || lane != home && i != c.lane {
			continue
		}
		if !lane.Closed() && g.tick() <= lane.Ceiling() && !g.inOrder(lane, c) {
			return
		}
	}
	rt.Fatalf("lane %d can serve it, and it waits %+v for none that has more to come", able, wait)
}
