package issue_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

const perTick = 4096 // IDs of a tick in the default layout

// owner notes what requests ask of it.
type owner struct {
	mu        sync.Mutex
	reachable bool
	condition error
	released  []*generator.Lane
	extended  int
}

func (o *owner) ReLease(lane *generator.Lane) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.released = append(o.released, lane)
}

func (o *owner) ExtendNow() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.extended++
}

func (o *owner) CanAcquire() bool { return o.reachable }
func (o *owner) Condition() error { return o.condition }

// newBench has a lane whose floor is a second back and whose ceiling is an hour ahead.
func newBench(t testing.TB) *fixture {
	t.Helper()
	g := newFixture(t, "flakeward", issue.Limits{})
	g.use(t, g.tick()-1000)
	return g
}

// use puts a lane in that has issued nothing and whose floor is that.
func (g *fixture) use(t testing.TB, floor generator.Tick) {
	t.Helper()
	g.free[7] = floor
	g.acquire(t, 7, time.Hour)
}

// take takes n numbers with a conn of its own and returns the tick that they are of, 0 if there
// were none.
func (g *fixture) take(t testing.TB, n int) (generator.Tick, issue.Wait) {
	t.Helper()
	conn := issue.Connection{Singles: true}
	defer conn.End()
	run, wait := g.Take(&conn, 0, n)
	if run.N == 0 {
		return 0, wait
	}
	_, tick := g.idOf(t, run)
	return tick, wait
}

func TestClockBehind(t *testing.T) {
	for _, c := range []struct {
		name      string
		back      time.Duration
		reachable bool
		answer    clockguard.Answer
		issued    bool          // at the clock's own tick
		backfill  bool          // at an earlier lane tick, ahead of the clock
		wait      time.Duration // 0: not looked at
		release   bool
	}{
		{name: "1 ms: sleep", back: time.Millisecond, reachable: true, answer: clockguard.Sleep, wait: time.Millisecond},
		{name: "5 ms: sleep", back: 5 * time.Millisecond, reachable: true, answer: clockguard.Sleep, wait: 5 * time.Millisecond},
		{name: "6 ms: ring", back: 6 * time.Millisecond, reachable: true, answer: clockguard.Ring, issued: true},
		{name: "2,047 ms: ring", back: 2047 * time.Millisecond, reachable: true, answer: clockguard.Ring, issued: true},
		{name: "2,049 ms: re-lease", back: 2049 * time.Millisecond, reachable: true, answer: clockguard.ReLease, release: true},
		{name: "1 h: re-lease", back: time.Hour, reachable: true, answer: clockguard.ReLease, release: true},
		{name: "1 h, no coordinator: backfill", back: time.Hour, answer: clockguard.Backfill, backfill: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.clock.Advance(5 * time.Second) // the ring's whole span lies above the floor
			high, _ := b.take(t, 1)
			b.owner.reachable = c.reachable
			b.clock.Step(-c.back)
			got, wait := b.take(t, 1)
			if n := b.Answers(c.answer); n != 1 {
				t.Errorf("the guard answered %v %d times, want once", c.answer, n)
			}
			switch {
			case c.issued && got != b.tick():
				t.Errorf("issued at tick %d (%+v), want the clock's %d", got, wait, b.tick())
			case c.backfill && (got <= b.tick() || got > high):
				t.Errorf("issued at tick %d, want one of the ring's ticks up to %d", got, high)
			case !c.issued && !c.backfill && got != 0:
				t.Errorf("issued at tick %d, want none", got)
			}
			if c.wait != 0 && wait.For != c.wait {
				t.Errorf("waits %v, want %v", wait.For, c.wait)
			}
			if c.release != (len(b.owner.released) == 1) {
				t.Errorf("asked for %d other worker IDs", len(b.owner.released))
			}
		})
	}
}

// Once the ring has been used, order is lost, and the last few ticks of the lag are no reason to
// sleep.
func TestRingServesUntilTheClockHasCaughtUp(t *testing.T) {
	b := newBench(t)
	b.clock.Advance(5 * time.Second)
	high, _ := b.take(t, 1)
	b.clock.Step(-20 * time.Millisecond)
	for b.tick() < high {
		if got, wait := b.take(t, 1); got != b.tick() {
			t.Errorf("%d ticks before it has caught up a request waits %+v", high-b.tick(), wait)
		}
		b.clock.Advance(time.Millisecond)
	}
	b.clock.Advance(time.Millisecond)
	b.take(t, 1)
	b.clock.Step(-3 * time.Millisecond) // another step back: there is order to keep again
	if got, wait := b.take(t, 1); got != 0 || wait.For != 3*time.Millisecond {
		t.Errorf("issued at tick %d, wait %+v, want a sleep", got, wait)
	}
}

// After a sleep or a full tick the request goes on from the tick that it waited for, however late
// it is woken, and takes nothing from before.
func TestLateWakeWastesNothing(t *testing.T) {
	b := newBench(t)
	b.clock.Advance(10 * time.Millisecond) // these ticks have all their numbers left
	if _, wait := b.take(t, perTick); wait != (issue.Wait{}) {
		t.Fatalf("the tick's first request waits: %+v", wait)
	}
	first := b.tick()
	conn := issue.Connection{Singles: true}
	if run, wait := b.Take(&conn, 0, 3*perTick); run.N != 0 || wait.For != time.Millisecond || wait.Event {
		t.Fatalf("took %d, waits %+v, want the next tick in 1ms", run.N, wait)
	}
	b.clock.Advance(3 * time.Millisecond)
	for want := first + 1; want <= first+3; want++ {
		run, wait := b.Take(&conn, 0, int(first+4-want)*perTick)
		parts, err := b.layout.Decompose(run.First)
		if err != nil || run.N != perTick || parts.Tick != want {
			t.Fatalf("took %d at tick %d (%v, %+v), want %d at %d", run.N, parts.Tick, err, wait, perTick, want)
		}
	}
	if run, _ := b.Take(&conn, 0, 1); run.N != 0 {
		t.Errorf("took %d more than three ticks have", run.N)
	}
}

// A request that begins after the wait takes nothing from before it came.
func TestNewRequestTakesNoOlderTick(t *testing.T) {
	b := newBench(t)
	b.take(t, perTick)
	b.clock.Advance(3 * time.Millisecond)
	if got, _ := b.take(t, 1); got != b.tick() {
		t.Errorf("issued at tick %d, want the clock's %d", got, b.tick())
	}
}

func TestFreshLaneWaitsForItsFloor(t *testing.T) {
	b := newBench(t)
	b.use(t, b.tick()+1000)
	if _, wait := b.take(t, 1); wait.For < time.Second || len(b.owner.released) != 0 {
		t.Errorf("waits %v and asked for %d other worker IDs, want the floor's second and none", wait.For, len(b.owner.released))
	}
	b.use(t, b.tick()+1200)
	if _, wait := b.take(t, 1); len(b.owner.released) != 1 {
		t.Errorf("asked for %d other worker IDs with a floor further ahead (%+v), want 1", len(b.owner.released), wait)
	}
}

// The lane that has issued does not wait as long as a fresh one may.
func TestIssuedLaneDoesNotWaitLikeAFreshOne(t *testing.T) {
	b := newBench(t)
	b.take(t, 1)
	b.clock.Step(-1050 * time.Millisecond) // below the floor, within RestartWait
	if _, wait := b.take(t, 1); len(b.owner.released) != 1 {
		t.Errorf("waits %+v, want another worker ID", wait)
	}
}

func TestCeiling(t *testing.T) {
	b := newBench(t)
	b.owner.condition = errors.New("the disk is full")
	b.clock.Advance(time.Hour + time.Millisecond)
	var conn issue.Connection
	run, wait := b.Take(&conn, 0, 1)
	if run.N != 0 || !wait.Event || wait.Err != nil || b.owner.extended == 0 {
		t.Fatalf("above the ceiling: took %d, wait %+v, extended %d", run.N, wait, b.owner.extended)
	}
	b.clock.Advance(2 * time.Second)
	_, wait = b.Take(&conn, 0, 1)
	var u *issue.UnavailableError
	if !errors.As(wait.Err, &u) || !errors.Is(u, b.owner.condition) || u.After != 2*time.Second {
		t.Errorf("after the deadline: %v, want the condition and the time", wait.Err)
	}
	if !errors.Is(u, issue.ErrCeiling) {
		t.Errorf("%v is not said to be for the ceiling", u)
	}
	changes := 0
	b.OnChange(func() { changes++ })
	b.lane.Raise(b.tick() + 10)
	b.Changed()
	if got, wait := b.take(t, 1); got != b.tick() || changes != 1 {
		t.Errorf("after the raise: tick %d, %+v, %d changes", got, wait, changes)
	}
}

func TestNoLane(t *testing.T) {
	b := newBench(t)
	b.Use(nil)
	if got, wait := b.take(t, 1); got != 0 || !wait.Event || wait.For != 2*time.Second {
		t.Errorf("issued %d, wait %+v, want a wait for a lane", got, wait)
	}
	b.use(t, b.tick()-1)
	b.lane.Close()
	if got, wait := b.take(t, 1); got != 0 || !wait.Event {
		t.Errorf("a closed lane issued %d, wait %+v", got, wait)
	}
}

// A request that meets a lane of a machine that was cloned tells the lane's owner at once, and
// waits for another lane.
func TestALaneOfAClonedMachine(t *testing.T) {
	for name, behind := range map[string]time.Duration{"in time": 0, "the clock behind": -time.Minute} {
		b := newBench(t)
		var now atomic.Uint64
		b.use(t, b.tick()-1)
		b.lane.Bind(generator.Generation{Now: &now})
		if got, _ := b.take(t, 1); got == 0 || b.owner.extended != 0 {
			t.Fatalf("%s: before: tick %d, extended %d times", name, got, b.owner.extended)
		}
		now.Store(1)
		b.clock.Step(behind)
		if got, wait := b.take(t, 1); got != 0 || !wait.Event || wait.Err != nil || b.owner.extended != 1 || len(b.owner.released) != 0 {
			t.Errorf("%s: tick %d, wait %+v, extended %d times, asked for %d other worker IDs", name, got, wait, b.owner.extended, len(b.owner.released))
		}
		b.use(t, b.tick()-1)
		if got, wait := b.take(t, 1); got == 0 {
			t.Errorf("%s: the next lane gives nothing: %+v", name, wait)
		}
	}
}

func TestEndOfTime(t *testing.T) {
	b := newBench(t)
	b.clock.Advance(b.layout.End().Sub(time.Unix(0, b.clock.Now().Wall)))
	b.lane.Raise(b.layout.MaxTick() + 1000)
	if got, wait := b.take(t, 1); got != 0 || wait.Err == nil {
		t.Errorf("issued at tick %d after the layout's end, wait %+v", got, wait)
	}
}

func TestCheckAsksBeforeARequestDoes(t *testing.T) {
	b := newBench(t)
	b.take(t, 1)
	b.Check()
	b.clock.Step(-1100 * time.Millisecond)
	if b.Check(); len(b.owner.released) != 1 { // below the floor the ring has no room
		t.Errorf("asked %d times, want once", len(b.owner.released))
	}
	b = newBench(t)
	b.clock.Advance(5 * time.Second)
	b.take(t, 1)
	b.clock.Step(-time.Second)
	if b.Check(); len(b.owner.released) != 0 {
		t.Errorf("asked for another worker ID although the ring serves")
	}
}
