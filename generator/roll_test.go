package generator_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// rolling returns a lane that rolls, and what takes n IDs from a tick and returns the first one's
// number.
func rolling(tb testing.TB, layout string) (*generator.Lane, func(tenant uint32, t generator.Tick, n int) int) {
	tb.Helper()
	l, ln := openLane(tb, layout, 0)
	ln.Roll()
	return ln, func(tenant uint32, t generator.Tick, n int) int {
		run, out := ln.Take(tenant, t, n)
		if out != generator.Issued || run.N != n {
			tb.Fatalf("%d of tick %d: %d, %v", n, t, run.N, out)
		}
		return sequence(tb, l, run)
	}
}

func sequence(tb testing.TB, l *generator.Layout, run generator.Run) int {
	parts, err := l.Decompose(run.First) // millions of times, under the race detector: no helper
	if err != nil {
		tb.Fatal(err)
	}
	return int(parts.Sequence)
}

// The ceiling is not lowered: whatever one tick gave, the next has room for as much, and a tick
// that was used up is followed by a whole one.
func TestATickHasRoomForWhatTheLastOneGave(t *testing.T) {
	for n := 1; n <= 4096; n++ {
		_, take := rolling(t, "flakeward")
		for tick := range generator.Tick(40) {
			take(0, 1+tick, n)
		}
	}
	random := rand.New(rand.NewPCG(16, 1))
	ln, take := rolling(t, "flakeward")
	for tick := generator.Tick(1); tick < 100_000; tick++ {
		n := 1 + random.IntN(ln.Room(tick))
		if begins := take(0, tick, n); ln.Room(tick+1) < n || n > 3584 && ln.Room(tick+1) < 4096 {
			t.Fatalf("tick %d gave %d from %d on, and the next has room for %d", tick, n, begins, ln.Room(tick+1))
		}
	}
}

// Whatever the rate, id % N is even for N up to a quarter of the tick.
func TestEveryRateIsEven(t *testing.T) {
	const quarter, share = 1024, 1000
	rates := []int{1, 2, 3, 5, 8, 13, 64, 99, 100, 341, 512, 1000, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 2100, 2500, 2900, 3071, 3072, 3073, 3100, 3300, 3413, 3500, 3583, 3584, 3585, 4000, 4095, 4096}
	for r := 20; r < 4096; r += 61 {
		rates = append(rates, r)
	}
	// Constant, and anything from nothing to twice as much.
	for _, of := range []func(*rand.Rand, int) int{
		func(_ *rand.Rand, rate int) int { return rate },
		func(r *rand.Rand, rate int) int { return r.IntN(2*rate + 1) },
	} {
		for _, rate := range rates {
			random := rand.New(rand.NewPCG(16, uint64(rate)))
			ln, take := rolling(t, "flakeward")
			counts, more, turns, issued := make([]int, quarter), make([]int, quarter), 0, 0
			for tick := generator.Tick(1); issued < quarter*share; tick++ {
				n := min(of(random, rate), ln.Room(tick))
				if n == 0 {
					continue
				}
				first := take(0, tick, n)
				// n in a row: whole turns of the shards, and from first on one more each.
				turns += n / quarter
				from, to := first%quarter, (first+n)%quarter
				more[from]++
				more[to]--
				if from > to {
					more[0]++
				}
				issued += n
			}
			for i, now := 0, turns; i < quarter; i++ {
				now += more[i]
				counts[i] = now
			}
			for n := quarter; n > 1; n /= 2 {
				if largest := float64(slices.Max(counts)) * float64(n) / float64(issued); largest > 1.2 {
					t.Errorf("%d a tick: the largest of %d shards has %.2f times its share", rate, n, largest)
				}
				for i := range n / 2 {
					counts[i] += counts[i+n/2]
				}
				counts = counts[:n/2]
			}
		}
	}
}

// Where room is scarce a tick begins at 0: below the highest tick that was issued, which the
// clock's guard asks for after a step back, and where TakeFirst draws on the past.
func TestATickOfThePastBeginsAtZero(t *testing.T) {
	ln, take := rolling(t, "flakeward")
	take(0, 100, 7)
	take(0, 110, 3)
	if got := take(0, 105, 1); got != 0 {
		t.Errorf("a tick below the highest begins at %d", got)
	}
	if got := take(0, 100, 1); got != 7 {
		t.Errorf("a tick of which 7 were given goes on at %d", got)
	}
	if got := take(0, 110, 1); got != 10 {
		t.Errorf("the highest tick goes on at %d", got)
	}
	if run, tick, out := ln.TakeFirst(0, 115, 120, 4); out != generator.Issued || tick != 115 || run.N != 4 || run.First&4095 != 0 {
		t.Errorf("a tick that a burst begins: %+v of tick %d, %v", run, tick, out)
	}
	if room, first := ln.RoomFirst(115, 119); room != 4092+4*4096 || first != 115 {
		t.Errorf("a burst has room for %d from tick %d on", room, first)
	}
	if got := take(0, 120, 1); got != 4 {
		t.Errorf("the tick after a burst begins at %d", got)
	}
	ln.Close()
	if run, _, out := ln.TakeFirst(0, 121, 130, 1); out != generator.Closed || run.N != 0 || ln.Close().Or(-1) != 120 {
		t.Errorf("a burst on a closed lane: %+v, %v, closed at %d", run, out, ln.Close().Or(-1))
	}
}
