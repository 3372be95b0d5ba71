package issue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Each lane that is lost leaves its connections to the others, and gets them back.
func TestPoolFailsOverAndBack(t *testing.T) {
	g := newPool(t, "flakeward", 3, issue.Limits{})
	preferred := []int{5, 4, 3} // the lanes' worker IDs
	conns := make([]issue.Connection, 6)
	take := func(i int) int {
		t.Helper()
		conns[i].Begin()
		run, wait := g.Take(&conns[i], 0, 1)
		if run.N == 0 {
			t.Fatalf("connection %d waits: %+v", i, wait)
		}
		worker, _ := g.idOf(t, run)
		return worker
	}
	for i := range conns {
		conns[i].Number = uint32(i)
		if worker := take(i); worker != preferred[i%3] {
			t.Errorf("connection %d is served by worker ID %d, want %d", i, worker, preferred[i%3])
		}
	}
	g.drop(1, false)
	if run, wait := g.Take(&conns[1], 0, 1); run.N != 0 || wait.For <= 0 || wait.For > time.Millisecond {
		t.Errorf("in the tick of its last ID it gets %d of another worker ID, or waits %v", run.N, wait.For)
	}
	g.clock.Advance(time.Millisecond)
	if a, b := take(1), take(4); a == b || a == 4 || b == 4 {
		t.Errorf("the lost lane's connections are served by %d and %d, want the two others", a, b)
	}
	for i := range conns {
		if worker := take(i); i%3 != 1 && worker != preferred[i%3] {
			t.Errorf("connection %d is served by worker ID %d, want its own %d", i, worker, preferred[i%3])
		}
	}
	g.acquire(t, 1, 1, time.Hour)
	if worker := take(1); worker == 1 {
		t.Error("it goes back within the tick")
	}
	g.clock.Advance(time.Millisecond)
	if a, b := take(1), take(4); a != 1 || b != 1 {
		t.Errorf("after the lane is back its connections are served by %d and %d", a, b)
	}
}

// A lane that is over its ceiling, or should have another worker ID, says so even while another
// serves for it.
func TestPoolAsksForWhatItsLanesNeed(t *testing.T) {
	g := newPool(t, "flakeward", 2, issue.Limits{})
	var conn issue.Connection
	g.drop(0, false)
	g.acquire(t, 0, 0, 0)
	g.clock.Advance(time.Millisecond)
	if run, wait := g.Take(&conn, 0, 1); run.N != 1 || g.owners[0].extended != 1 {
		t.Errorf("at its lane's ceiling it gets %d (%+v), and the lane was extended %d times", run.N, wait, g.owners[0].extended)
	}
	g.raise(0, time.Hour)
	g.clock.Advance(5 * time.Second)
	conn = issue.Connection{}
	g.Take(&conn, 0, 1) // lane 0 has issued up to here, and lane 1 has not for 5 s
	g.clock.Step(-3 * time.Second)
	conn.Begin()
	run, wait := g.Take(&conn, 0, 1)
	if worker, tick := g.idOf(t, run); run.N != 1 || worker != 2 || tick != g.tick() || len(g.owners[0].released) != 1 || len(g.owners[1].released) != 0 {
		t.Errorf("with the clock 3 s behind one of two lanes: %d of worker ID %d at tick %d (%+v); asked for %d and %d others",
			run.N, worker, tick, wait, len(g.owners[0].released), len(g.owners[1].released))
	}
	g.Check()
	if len(g.owners[0].released) != 2 || len(g.owners[1].released) != 0 {
		t.Errorf("Check asked for %d and %d worker IDs in all, want the one lane's two", len(g.owners[0].released), len(g.owners[1].released))
	}
	g.clock.Advance(5 * time.Second)
	g.Take(&issue.Connection{Number: 1}, 0, 1)
	g.clock.Step(-10 * time.Second)
	if g.Check(); len(g.owners[0].released) != 3 || len(g.owners[1].released) != 1 {
		t.Errorf("Check asked for %d and %d worker IDs in all, want one more of each", len(g.owners[0].released), len(g.owners[1].released))
	}
	g.changes = 0
	if g.Changed(); g.changes != 1 {
		t.Errorf("%d changes, want 1", g.changes)
	}
}

// A connection that is away stays where it is while its own lane has no number for it at once, and
// is served by any when it has lost both.
func TestPoolAway(t *testing.T) {
	away := func() (*pool, *issue.Connection) {
		g := newPool(t, "flakeward", 3, issue.Limits{})
		g.clock.Advance(5 * time.Second)
		g.drop(0, false)
		conn := &issue.Connection{}
		if run, wait := g.Take(conn, 0, 1); run.N != 1 {
			t.Fatalf("with its own lane lost it waits %+v", wait)
		} else if worker, _ := g.idOf(t, run); worker != 4 {
			t.Fatalf("with its own lane lost it is served by worker ID %d", worker)
		}
		conn.Begin()
		return g, conn
	}
	g, conn := away()
	g.acquire(t, 0, 0, time.Hour)
	g.clock.Advance(time.Millisecond)
	g.Take(&issue.Connection{Singles: true}, 0, perTick) // all that its own lane has of this tick
	if run, wait := g.Take(conn, 0, 1); run.N != 1 {
		t.Errorf("its own lane has used up the tick, and it waits %+v", wait)
	}

	g, conn = away()
	g.clock.Advance(time.Millisecond)
	g.Take(&issue.Connection{Number: 1, Singles: true}, 0, perTick)
	if run, wait := g.Take(conn, 0, 1); run.N != 0 || wait.For != time.Millisecond {
		t.Errorf("the lane that serves it has used up the tick: it gets %d, waits %+v, want a wait for the next", run.N, wait)
	}

	g, conn = away()
	g.acquire(t, 0, 0, time.Hour)
	g.clock.Advance(20 * time.Millisecond)
	g.Take(&issue.Connection{}, 0, 1)
	g.clock.Step(-15 * time.Millisecond)
	if run, wait := g.Take(conn, 0, 1); run.N != 1 {
		t.Errorf("its own lane is ahead of the clock, and it waits %+v", wait)
	} else if worker, _ := g.idOf(t, run); worker != 4 {
		t.Errorf("its own lane is ahead of the clock, and it is served by worker ID %d, want the one that is not", worker)
	}
	g.drop(1, true)
	g.drop(2, true)
	if run, wait := g.Take(conn, 0, 1); run.N != 1 {
		t.Errorf("only its own lane's ring is left, and it waits %+v", wait)
	}
}

// A lane that was just acquired may wait for its floor for longer than a tick; its connections need
// not.
func TestPoolDoesNotWaitForAFloor(t *testing.T) {
	g := newPool(t, "flakeward", 2, issue.Limits{})
	g.drop(0, true)
	g.free[0] = g.tick() + 1000
	g.acquire(t, 0, 0, time.Hour)
	var conn issue.Connection
	if run, wait := g.Take(&conn, 0, 1); run.N != 1 {
		t.Errorf("it waits %+v", wait)
	}
	g.drop(1, true)
	g.clock.Advance(time.Millisecond)
	conn = issue.Connection{}
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || !wait.Event || wait.For != 1000*time.Millisecond {
		t.Errorf("with no other lane it gets %d, waits %+v, want the floor or a change", run.N, wait)
	}
}

// With no lane at all a request waits for a change, and is refused with what is known of its own.
func TestPoolWithNoLane(t *testing.T) {
	g := newPool(t, "flakeward", 3, issue.Limits{})
	for i := range 3 {
		g.drop(i, i == 1)
	}
	g.owners[2].condition = errors.New("the disk is full")
	conn := issue.Connection{Number: 2}
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || !wait.Event || wait.For != 2*time.Second {
		t.Errorf("took %d, waits %+v", run.N, wait)
	}
	g.clock.Advance(2 * time.Second)
	if _, wait := g.Take(&conn, 0, 1); !errors.Is(wait.Err, g.owners[2].condition) {
		t.Errorf("refused with %v", wait.Err)
	}
}

// With one lane the pool is its issuer, and order over a re-lease holds there, too: within a tick
// the other worker ID may be lower.
func TestPoolOfOne(t *testing.T) {
	g := newPool(t, "flakeward", 1, issue.Limits{})
	g.drop(0, false)
	g.acquire(t, 0, 5, time.Hour)
	var conn issue.Connection
	before, _ := g.Take(&conn, 0, 1)
	g.drop(0, false)
	g.free[2] = 1
	g.acquire(t, 0, 2, time.Hour)
	run, wait := g.Take(&conn, 0, 1)
	if run.N != 0 || wait.For != time.Millisecond {
		t.Errorf("after a re-lease within the tick it took %d and waits %+v", run.N, wait)
	}
	g.clock.Advance(wait.For)
	if run, wait = g.Take(&conn, 0, 1); run.N != 1 || run.First <= before.First {
		t.Errorf("at the next tick: %+v after %+v, and waits %+v", run, before, wait)
	}
}

// A step back that may be slept for loses no order, however long a tick is.
func TestPoolKeepsOrderOfLongTicks(t *testing.T) {
	for _, layout := range []string{"time=40@1s,worker=4,sequence=13;epoch=2026-01-01", "time=40@10ms,worker=4,sequence=8;epoch=2026-01-01", "time=40@1ms,worker=4,sequence=3;epoch=2026-01-01"} {
		g := newPool(t, layout, 2, issue.Limits{})
		c := issue.Connection{Number: 0}
		preferred := g.lanes[0].Worker()
		g.drop(0, false)
		g.clock.Advance(g.layout.TickLength()) // the start of a tick
		first, _ := g.Take(&c, 0, 1)           // from the other lane
		g.free[preferred] = 1
		g.acquire(t, 0, preferred, time.Hour)
		g.clock.Step(-time.Millisecond)
		c.Begin()
		if run, _ := g.Take(&c, 0, 1); run.N > 0 && run.First <= first.First {
			t.Errorf("%s: %d and then %d", layout, first.First, run.First)
		}
	}
}

// A change of any lane is told, for whoever waits waits for all of them.
func TestPoolTellsOfEachLanesChange(t *testing.T) {
	g := newPool(t, "flakeward", 3, issue.Limits{})
	for i := range g.issuers {
		g.changes = 0
		g.drop(i, false)
		if g.raise(i, time.Hour); g.changes != 1 {
			t.Errorf("lane %d goes: %d changes, want 1", i, g.changes)
		}
		g.acquire(t, i, i, time.Hour)
		if g.raise(i, time.Hour); g.changes != 3 {
			t.Errorf("lane %d comes, and its ceiling rises: %d changes in all, want 3", i, g.changes)
		}
	}
}

// A request that no lane can serve yet waits for the one that can be the first to, whichever its
// own is.
func TestPoolWaitsForTheFirstLane(t *testing.T) {
	g := newPool(t, "flakeward", 3, issue.Limits{})
	for i, ahead := range []generator.Tick{900, 300, 600} {
		g.drop(i, true)
		g.free[i] = g.tick() + ahead
		g.acquire(t, i, i, time.Hour)
	}
	for number := range uint32(6) {
		conn := issue.Connection{Number: number}
		if run, wait := g.Take(&conn, 0, 1); run.N != 0 || !wait.Event || wait.For != 301*time.Millisecond {
			t.Errorf("connection %d: it gets %d, waits %+v, want 301ms or a change", number, run.N, wait)
		}
	}
}

// Each request has a deadline of its own, also one that follows another at once.
func TestDeadlineIsOfOneRequest(t *testing.T) {
	g := newPool(t, "flakeward", 1, issue.Limits{})
	g.drop(0, false)
	var conn issue.Connection
	g.Take(&conn, 0, 1)
	g.clock.Advance(1900 * time.Millisecond)
	g.acquire(t, 0, 0, time.Hour)
	if run, wait := g.Take(&conn, 0, 1); run.N != 1 {
		t.Fatalf("it waits %+v", wait)
	}
	g.drop(0, false)
	conn.BeginQueued()
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || wait.For != 2*time.Second {
		t.Errorf("the request after it gets %d, waits %+v, want all of 2s", run.N, wait)
	}
}

// A request that began to wait while the clock was set back, and another lane served, does not get
// ticks below the connection's highest ID from its own lane once the clock is right again.
func TestPoolKeepsOrderOnceTheClockIsRight(t *testing.T) {
	g := newPool(t, "flakeward", 2, issue.Limits{})
	g.clock.Advance(5 * time.Second)
	conn := issue.Connection{Singles: true}
	first, _ := g.Take(&conn, 0, 1)
	g.clock.Step(-3 * time.Second)
	conn.Begin()
	if run, wait := g.Take(&conn, 0, perTick); run.N != perTick || run.First > first.First {
		t.Fatalf("with the clock set back it gets %d from %d (%+v), want a tick of the other lane", run.N, run.First, wait)
	}
	conn.BeginQueued()
	if run, wait := g.Take(&conn, 0, 1); run.N != 0 || wait.For != time.Millisecond {
		t.Fatalf("in the same tick it gets %d, waits %+v", run.N, wait)
	}
	g.clock.Step(3*time.Second + 10*time.Millisecond)
	run, wait := g.Take(&conn, 0, 1)
	if worker, tick := g.idOf(t, run); run.N != 1 || worker != g.lanes[0].Worker() || run.First <= first.First || tick > g.tick() {
		t.Errorf("with the clock right again it gets %+v of worker ID %d, tick %d, after %d (%+v)", run, worker, tick, first.First, wait)
	}
}

// BenchmarkPool is a request that its preferred lane serves, and one whose lane is lost.
func BenchmarkPool(b *testing.B) {
	layout := must.Get(generator.ParseLayout("time=37@1ms,worker=6,sequence=20;epoch=2026-01-01"))(b)
	limits := must.Get(clockguard.NewLimits(maxSleep, 2*time.Second, time.Millisecond))(b)
	for _, lanes := range []int{1, 4, 64} {
		for _, lost := range []int{0, 1} {
			if lost == lanes {
				continue // none is left
			}
			b.Run(fmt.Sprintf("lanes=%d/lost=%d", lanes, lost), func(b *testing.B) {
				var issuers []*issue.Issuer
				for i := range lanes {
					issuers = append(issuers, issue.New(layout, clockguard.System{}, issue.Limits{Guard: limits, MaxBlock: time.Second}, &owner{}))
					lane := must.Get(generator.NewLane(layout, 0, i, 0))(b)
					lane.Roll()
					if lane.Raise(layout.MaxTick()); i >= lost {
						issuers[i].Use(lane)
					}
				}
				g := issue.NewPool(issuers...)
				var conn issue.Connection
				b.ReportAllocs()
				for b.Loop() {
					conn.Begin()
					g.Take(&conn, 0, 1)
				}
			})
		}
	}
}
