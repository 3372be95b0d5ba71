package generator_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// manyIDs is how many IDs TestNoIDTwice issues. The long form:
//
//	go test -run TestNoIDTwice ./generator -generator.ids=50000000
var manyIDs = flag.Int64("generator.ids", 3_000_000, "IDs that the concurrency test issues")

// yield lets others run, in a loop that waits for them.
func yield() { runtime.Gosched() }

// TestNoIDTwice: eight goroutines take runs of random length for two tenants
// while the clock steps forth and back at random and the ceiling rises. Each
// ID has a bit of its own in a bitmap, so that a duplicate is found exactly.
func TestNoIDTwice(t *testing.T) {
	const (
		goroutines = 8
		floor      = 1000
		seqBits    = 10
		tenants    = 2
	)
	l := parse(t, "time=41@1ms,worker=3,tenant=1,sequence=10;epoch=2026-01-01")
	ln := must.Get(generator.NewLane(l, 0, 5, floor))(t)
	ln.Roll()
	last := generator.Tick(floor + 8192 + 8**manyIDs>>seqBits)
	seen := make([]atomic.Uint64, (int64(last)+1)<<seqBits/64+1)
	var issued, back atomic.Int64
	var clock atomic.Int64
	clock.Store(floor + 1)

	check := func(tenant uint32, tick generator.Tick, run generator.Run) bool {
		if tick <= floor || tick > ln.Ceiling() {
			t.Errorf("tick %d is outside (%d, %d]", tick, floor, ln.Ceiling())
			return false
		}
		for i := range run.N {
			id := run.First + int64(i)*l.Step()
			parts, err := l.Decompose(id)
			if err != nil || parts.Tick != tick || parts.Worker != 5 || parts.Tenant != uint64(tenant) {
				t.Errorf("Take(%d, %d) gives %d: %+v, %v", tenant, tick, id, parts, err)
				return false
			}
			at := uint64(parts.Tick)<<seqBits | parts.Sequence // whatever the tenant
			if bit := uint64(1) << (at % 64); seen[at/64].Or(bit)&bit != 0 {
				t.Errorf("ID %d issued twice: %+v", id, parts)
				return false
			}
		}
		return true
	}
	var wg sync.WaitGroup
	for g := range uint64(goroutines) {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(g, 2))
			for !t.Failed() && issued.Load() < *manyIDs {
				now := generator.Tick(clock.Load())
				if now > last {
					t.Errorf("the clock ran off the bitmap after %d IDs", issued.Load())
					return
				}
				switch random.IntN(2000) {
				case 0:
					clock.Add(-random.Int64N(600))
					back.Add(1)
				case 1:
					clock.Add(random.Int64N(40))
				}
				if random.IntN(100) == 0 {
					ln.Raise(min(now+generator.Tick(random.IntN(100)), last))
				}
				tenant := uint32(random.IntN(tenants))
				run, outcome := ln.Take(tenant, now, 1+random.IntN(12))
				switch outcome {
				case generator.Issued:
					if !check(tenant, now, run) {
						return
					}
					issued.Add(int64(run.N))
				case generator.AboveCeiling:
					ln.Raise(now)
				case generator.Full, generator.Passed, generator.BelowFloor:
					clock.CompareAndSwap(int64(now), int64(now)+1)
				default:
					t.Errorf("Take(%d, %d): %s", tenant, now, outcome)
					return
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d IDs in %d ticks, the clock set back %d times", issued.Load(), ln.Highest()-floor, back.Load())
	if !t.Failed() && (issued.Load() < *manyIDs || back.Load() == 0) {
		t.Errorf("%d IDs issued, the clock set back %d times", issued.Load(), back.Load())
	}
}

// TestNothingAboveWhatCloseReturned closes lanes in the midst of Takes and
// Raises. What was issued, also of a tenant whose ring was made at that very
// moment, is at or below the tick that Close returned.
func TestNothingAboveWhatCloseReturned(t *testing.T) {
	const (
		rounds = 1500
		takers = 4
	)
	l := parse(t, "time=30@1s,worker=3,tenant=10,sequence=10;epoch=2026-01-01")
	for round := range rounds {
		ln := must.Get(generator.NewLane(l, 0, 1, 50))(t)
		var clock, calls atomic.Int64
		clock.Store(50)
		var highest [takers]generator.Tick
		var wg sync.WaitGroup
		for g := range takers {
			wg.Go(func() {
				// Each call at a new tick, and most at a new tenant.
				for {
					tick := generator.Tick(clock.Add(1))
					calls.Add(1)
					_, outcome := ln.Take(uint32(tick)%1024, tick, 1)
					switch outcome {
					case generator.Issued:
						highest[g] = max(highest[g], tick)
						if seen := ln.Highest(); seen < tick {
							t.Errorf("tick %d was issued, Highest is %d", tick, seen)
						}
					case generator.Closed:
						return
					case generator.AboveCeiling:
						yield()
					case generator.Passed: // by one that came 1024 ticks later
					default:
						t.Errorf("tick %d: %s", tick, outcome)
					}
				}
			})
		}
		wg.Go(func() {
			for ln.Raise(generator.Tick(clock.Load() + 3)) {
				yield()
			}
			if ln.Raise(l.MaxTick()) || !ln.Closed() {
				t.Error("a closed lane was raised")
			}
		})
		var returned [2]generator.Tick
		for i := range returned {
			wg.Go(func() {
				for calls.Load() < int64(round%97) {
					yield()
				}
				returned[i] = ln.Close().Or(-1)
			})
		}
		wg.Wait()
		for _, tick := range highest {
			if tick > returned[0] {
				t.Errorf("round %d: tick %d was issued, Close returned %d", round, tick, returned[0])
			}
		}
		if returned[0] != returned[1] || ln.Close().Or(-1) != returned[0] || ln.Highest() > max(returned[0], ln.Floor()) {
			t.Errorf("round %d: Close returned %d, %d and %d; highest %d", round, returned[0], returned[1], ln.Close().Or(-1), ln.Highest())
		}
		if t.Failed() {
			return
		}
	}
}

// longRing is a layout whose ring has 262,144 slots: to read them takes a while.
const longRing = "time=45@10us,worker=3,tenant=3,sequence=10;epoch=2026-01-01"

// TestTakesWhileCloseWalks: reading all slots takes Close a while, in which
// another goroutine goes on taking. It gets nothing that Close did not see.
func TestTakesWhileCloseWalks(t *testing.T) {
	for round := range 10 {
		_, ln := openLane(t, longRing, 50)
		var highest atomic.Int64
		var wg sync.WaitGroup
		wg.Go(func() {
			for tick := generator.Tick(52); ; tick++ {
				_, outcome := ln.Take(uint32(tick)%8, tick, 1)
				if outcome == generator.Closed {
					return
				}
				highest.Store(int64(tick))
			}
		})
		for highest.Load() < 100 {
			yield()
		}
		last := ln.Close().Or(-1)
		wg.Wait()
		if got := generator.Tick(highest.Load()); got > last {
			t.Fatalf("round %d: tick %d was issued, Close returned %d", round, got, last)
		}
	}
}

// TestHighestNeverFalls: of two Takes at once, at neighbouring ticks, the later
// tick stays the highest.
func TestHighestNeverFalls(t *testing.T) {
	const takers, rounds = 2, 100_000
	_, ln := openLane(t, "flakeward", 0)
	var turn, arrived atomic.Int64
	var wg sync.WaitGroup
	for g := range int64(takers) {
		wg.Go(func() {
			for round := range int64(rounds) {
				// Mostly without a yield, so that both start in the same moment.
				for spins := 1; turn.Load() < round; spins++ {
					if spins%500 == 0 {
						yield()
					}
				}
				if _, outcome := ln.Take(0, generator.Tick(takers*round+g+1), 1); outcome != generator.Issued {
					t.Errorf("round %d: %s", round, outcome)
				}
				if arrived.Add(1)%takers == 0 {
					if got := int64(ln.Highest()); got != takers*(round+1) {
						t.Errorf("Highest is %d after ticks up to %d", got, takers*(round+1))
					}
					turn.Store(round + 1)
				}
			}
		})
	}
	wg.Wait()
}
