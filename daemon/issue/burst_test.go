package issue_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// twoTenants has 8 IDs in a tick, for two tenants.
const twoTenants = "time=40@1ms,worker=4,tenant=1,sequence=3;epoch=2026-01-01"

// TestBurstTakesExactlyWhatIsLeft: connections ask for IDs of two tenants, of a lane that may
// be replaced. Whatever waits, waits because none is left that it may have; whatever is
// issued is young enough, within the lane's grant and issued once; and no
// connection's tick falls, and each tenant's IDs rise on it.
func TestBurstTakesExactlyWhatIsLeft(t *testing.T) {
	var young, old, waited int
	rapid.Check(t, func(rt *rapid.T) {
		burst := generator.Tick(rapid.SampledFrom([]int{1, 5, 40, 2000}).Draw(rt, "burst"))
		g := newFixture(rt, twoTenants, issue.Limits{Burst: time.Duration(burst) * time.Millisecond})
		floors := map[*generator.Lane]generator.Tick{}
		conns := make([]burstConnection, 3)
		for i := range conns {
			conns[i].conn.Singles = true
		}
		issued := map[int64]bool{}
		rt.Repeat(map[string]func(*rapid.T){
			"advance": func(rt *rapid.T) {
				g.clock.Advance(time.Duration(rapid.IntRange(0, 12).Draw(rt, "ms")) * time.Millisecond)
			},
			"replace": func(rt *rapid.T) { g.replace(rt, time.Hour) },
			"briefly": func(rt *rapid.T) { g.replace(rt, 20*time.Millisecond) },
			"ask": func(rt *rapid.T) {
				c := &conns[rapid.IntRange(0, len(conns)-1).Draw(rt, "connection")]
				fresh := c.last == [2]int64{} && !c.since
				if rapid.Bool().Draw(rt, "renew") {
					c.conn.Begin()
					c.since, fresh = false, true
				}
				tenant, n := rapid.Uint32Range(0, 1).Draw(rt, "tenant"), rapid.IntRange(1, 30).Draw(rt, "n")
				tick := g.tick()
				run, wait := g.Take(&c.conn, tenant, n)
				if run.N == 0 {
					waited++
					c.since = true
					if wait.Err == nil && !behind(conns, c) && tick <= g.lane.Ceiling() {
						g.nothingLeft(rt, c, burst)
					}
					return
				}
				worker, at := g.idOf(rt, run)
				if at < tick {
					old++
				} else {
					young++
				}
				if at > tick || at < tick-burst && fresh {
					rt.Fatalf("issued at tick %d, the clock is at %d and a burst of %d", at, tick, burst)
				}
				lane := g.lane
				if at <= lane.Floor() || at > lane.Ceiling() || floors[lane] != 0 && floors[lane] != lane.Floor() {
					rt.Fatalf("issued at tick %d of (%d, %d]", at, lane.Floor(), lane.Ceiling())
				}
				for i := range run.N {
					id := run.First + int64(i)*g.layout.Step()
					if issued[id] {
						rt.Fatalf("%d was issued before", id)
					}
					issued[id] = true
				}
				if run.First <= c.last[tenant] || at < c.tick {
					rt.Fatalf("%d at tick %d comes after %d and tick %d", run.First, at, c.last[tenant], c.tick)
				}
				c.last[tenant], c.tick, c.worker = max(c.last[tenant], run.First+int64(run.N-1)), max(at, c.tick), worker
			},
		})
	})
	t.Logf("%d at the clock's tick, %d at an earlier one, %d waited", young, old, waited)
	if !t.Failed() && (young == 0 || old == 0 || waited == 0) {
		t.Error("that is not all that may happen")
	}
}

// burstConnection is a connection, with the highest ID of each tenant.
type burstConnection struct {
	conn   issue.Connection
	last   [2]int64
	tick   generator.Tick
	worker int
	since  bool // it has waited, and may draw on the ticks since
}

// behind reports whether other connections wait in turn: then one that asks stands behind them.
func behind(conns []burstConnection, c *burstConnection) bool {
	for i := range conns {
		if other := &conns[i]; other != c && other.conn.Waits() {
			return true
		}
	}
	return false
}

// nothingLeft looks at each tick that a connection that was told to wait may have IDs of.
func (g *fixture) nothingLeft(rt *rapid.T, c *burstConnection, burst generator.Tick) {
	lane, tick := g.lane, g.tick()
	from := max(tick-burst, c.tick)
	if c.worker != lane.Worker() { // order over a change of worker ID is no matter of bursts
		from = max(from, c.tick+1)
	}
	if tick <= lane.Floor() { // it waits for that
		return
	}
	for at := max(from, lane.Floor()+1); at <= tick; at++ {
		if lane.Room(at) > 0 && !(c.since && at < tick) {
			rt.Fatalf("it waits at tick %d, and tick %d has %d left", tick, at, lane.Room(at))
		}
	}
}

// A burst gives at once what the last ticks have left, the earliest first, and then goes on as
// without.
func TestBurst(t *testing.T) {
	const back = 10
	const first = perTick*7/8 + 1 // so many that the next tick begins at number 0
	g := newFixture(t, "flakeward", issue.Limits{Burst: back * time.Millisecond})
	g.clock.Advance(time.Second)
	busy, idle := issue.Connection{Singles: true}, issue.Connection{Singles: true}
	take := func(conn *issue.Connection, n int) (generator.Tick, int, issue.Wait) {
		conn.Begin()
		run, wait := g.Take(conn, 0, n)
		if run.N == 0 {
			return 0, 0, wait
		}
		_, tick := g.idOf(t, run)
		return tick, run.N, wait
	}
	g.Take(&idle, 0, first)
	g.clock.Advance(back / 2 * time.Millisecond)
	now := g.tick()
	if tick, n, _ := take(&busy, perTick); tick != now || n != perTick {
		t.Errorf("what the tick has room for comes from %d (%d of them), want the clock's %d", tick, n, now)
	}
	want := now - back/2 // where idle got its ID
	for ; want < now; want++ {
		left := perTick
		if want == now-back/2 {
			left -= first
		}
		if tick, n, wait := take(&idle, perTick+1); tick != want || n != left {
			t.Errorf("the burst gives %d of tick %d (%+v), want %d of %d", n, tick, wait, left, want)
		}
	}
	if tick, _, wait := take(&idle, 1); tick != 0 || wait.For != time.Millisecond || wait.Event {
		t.Errorf("after the burst: tick %d, wait %+v, want the next tick in 1ms", tick, wait)
	}
	if tick, _, _ := take(&busy, 1); tick != 0 {
		t.Errorf("a connection that has an ID of the tick gets one of tick %d", tick)
	}
}

// While the clock is behind, and at the ceiling, there is no burst.
func TestNoBurst(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{Burst: time.Second})
	g.clock.Advance(5 * time.Second)
	conn := issue.Connection{Singles: true}
	g.Take(&conn, 0, perTick)
	g.clock.Step(-2 * time.Millisecond)
	conn = issue.Connection{Singles: true}
	if run, wait := g.Take(&conn, 0, perTick+1); run.N != 0 || wait.For != 3*time.Millisecond {
		t.Errorf("with the clock behind it gets %d, waits %+v", run.N, wait)
	}
	g.clock.Advance(time.Hour - 5*time.Second + 10*time.Millisecond)
	conn = issue.Connection{Singles: true}
	if run, wait := g.Take(&conn, 0, 2*perTick); run.N != 0 || !wait.Event || g.owner.extended == 0 {
		t.Errorf("above the ceiling it gets %d, waits %+v", run.N, wait)
	}
}

// How far back a burst draws is so many of the layout's ticks, however long they are.
func TestBurstInLongTicks(t *testing.T) {
	for _, c := range []struct {
		tick string
		back generator.Tick
	}{{"1ms", 100}, {"10ms", 10}, {"100ms", 1}} {
		g := newFixture(t, "time=40@"+c.tick+",worker=4,sequence=3;epoch=2026-01-01", issue.Limits{Burst: 100 * time.Millisecond})
		g.clock.Advance(5 * time.Second)
		var conn issue.Connection
		run, wait := g.Take(&conn, 0, 9)
		if _, tick := g.idOf(t, run); run.N != 8 || tick != g.tick()-c.back {
			t.Errorf("in ticks of %s a burst gives %d of %d ticks ago (%+v), want 8 of %d ago", c.tick, run.N, g.tick()-tick, wait, c.back)
		}
	}
}

// Ticks at or below a lane's floor may be another's, so no burst draws on those.
func TestNothingIsDrawnFromBelowTheFloor(t *testing.T) {
	const back = 2000 // ticks that a burst may draw on
	g := newFixture(t, "flakeward", issue.Limits{Burst: back * time.Millisecond})
	g.clock.Advance(10 * time.Second)
	lane := must.Get(generator.NewLane(g.layout, 0, 5, g.tick()-1))(t)
	lane.Raise(g.tick() + 3_600_000)
	start := g.tick()
	g.Issuer.Use(lane)
	drawn := func(what string, want generator.Tick) {
		t.Helper()
		conn := issue.Connection{Singles: true}
		defer conn.End()
		run, wait := g.Take(&conn, 0, perTick+1)
		if want == 0 {
			if run.N != 0 || wait.Err != nil {
				t.Errorf("%s: %d IDs (%+v), want a wait for the next tick", what, run.N, wait)
			}
			return
		}
		if _, tick := g.idOf(t, run); tick != want || run.N != perTick {
			t.Errorf("%s: %d IDs of tick %d, want a whole tick of %d, started at %d", what, run.N, tick, want, start)
		}
	}
	drawn("at the start", start)
	drawn("at the start, used up", 0)
	g.clock.Advance(3 * time.Millisecond)
	for at := start + 1; at <= start+3; at++ {
		drawn("3 ticks later", at)
	}
	drawn("3 ticks later, used up", 0)
}

// A request has waited since before the lane was there.
func TestLateRequestDrawsOnNothingFromBelowTheFloor(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(10 * time.Second)
	var late issue.Connection
	g.Take(&issue.Connection{Singles: true}, 0, perTick)
	if run, wait := g.Take(&late, 0, 1); run.N != 0 || wait.Err != nil {
		t.Fatalf("of a tick that is used up %d IDs were given (%+v)", run.N, wait)
	}
	g.clock.Advance(5 * time.Millisecond)
	lane := must.Get(generator.NewLane(g.layout, 0, 6, g.tick()-1))(t)
	lane.Raise(g.tick() + 3_600_000)
	start := g.tick()
	g.Issuer.Use(lane)
	g.clock.Advance(time.Millisecond)
	run, wait := g.Take(&late, 0, 1)
	if _, tick := g.idOf(t, run); tick != start {
		t.Errorf("woken late, a request gets tick %d (%+v), and the lane begins at %d", tick, wait, start)
	}
}
