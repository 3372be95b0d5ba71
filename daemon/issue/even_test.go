package issue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// arrivals say how long it is from one request to the next, and for how many IDs that is.
type arrivals struct {
	name string
	next func(r *rand.Rand, rate float64) (after time.Duration, n int)
}

func every(rate float64) time.Duration { return time.Duration(float64(time.Second) / rate) }

var patterns = []arrivals{
	{"one by one", func(_ *rand.Rand, rate float64) (time.Duration, int) { return every(rate), 1 }},
	{"at random", func(r *rand.Rand, rate float64) (time.Duration, int) {
		return time.Duration(r.ExpFloat64() * float64(every(rate))), 1
	}},
	{"1 to 100 at once", func(r *rand.Rand, rate float64) (time.Duration, int) {
		n := 1 + r.IntN(100)
		return every(rate / float64(n)), n
	}},
}

var (
	shardRates  = []int{50, 440, 1000, 3000, 100_000} // IDs a second
	shardCounts = []int{2, 4, 16, 64, 256, 1024, 7, 10, 100}
)

// issuerFor issues from a new lane, by a clock that the test moves.
func issuerFor(t *testing.T, rolls bool) (*issue.Issuer, *clocktest.Manual) {
	t.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	lane := must.Get(generator.NewLane(layout, 0, 7, 0))(t)
	if rolls {
		lane.Roll()
	}
	lane.Raise(layout.MaxTick())
	clock := clocktest.NewManual(layout.Epoch().Add(1000 * time.Hour))
	limits := must.Get(clockguard.NewLimits(5*time.Millisecond, 2048*time.Millisecond, time.Millisecond))(t)
	issuer := issue.New(layout, clock, issue.Limits{Guard: limits, MaxBlock: 2 * time.Second}, &owner{})
	issuer.Use(lane)
	return issuer, clock
}

// shards counts the IDs of some time by id % N, for each N of shardCounts.
func shards(t *testing.T, rolls bool, rate int, of arrivals, length time.Duration) (counts [][]int, issued int) {
	t.Helper()
	issuer, clock := issuerFor(t, rolls)
	// Each N divides one of the two.
	var of1024 [1024]int
	var of700 [700]int
	random := rand.New(rand.NewPCG(16, uint64(rate)))
	conns := make([]issue.Connection, 8)
	for spent, i := time.Duration(0), 0; spent < length; i++ {
		after, n := of.next(random, float64(rate))
		spent += after
		clock.Advance(after)
		conn := &conns[i%len(conns)]
		conn.Begin()
		run, wait := issuer.Take(conn, 0, n)
		if run.N != n {
			t.Fatalf("%d of %d, waits %+v", run.N, n, wait)
		}
		for id := run.First; id < run.First+int64(n); id++ {
			of1024[id%1024]++
			of700[id%700]++
		}
		issued += n
	}
	for _, n := range shardCounts {
		fold := make([]int, n)
		from := of1024[:]
		if len(from)%n != 0 {
			from = of700[:]
		}
		for i, of := range from {
			fold[i%n] += of
		}
		counts = append(counts, fold)
	}
	return counts, issued
}

// largest is the largest of the shards, in shares.
func largest(counts []int, issued int) float64 {
	return float64(slices.Max(counts)) * float64(len(counts)) / float64(issued)
}

// At any rate, however the requests come, id % N puts nearly as many IDs into the largest shard as
// into the others. Where ticks begin at 0 it does not.
func TestIDsAreEvenAtEveryRate(t *testing.T) {
	var table strings.Builder
	for _, rate := range shardRates {
		length := 3 * time.Minute
		if rate > 3000 {
			length = 10 * time.Second
		}
		zero, all := shards(t, false, rate, patterns[0], length)
		fmt.Fprintf(&table, "\n%d IDs/s, zero:", rate)
		for i, n := range shardCounts {
			fmt.Fprintf(&table, " %d: %.2f", n, largest(zero[i], all))
		}
		if l := largest(zero[3], all); rate <= 3000 && l < 1.2 {
			t.Errorf("%d IDs/s: of 64 shards the largest has %.2f shares with zero as well", rate, l)
		}
		for _, of := range patterns {
			counts, issued := shards(t, true, rate, of, length)
			fmt.Fprintf(&table, "\n%d IDs/s, rolling, %s:", rate, of.name)
			for i, n := range shardCounts {
				l := largest(counts[i], issued)
				fmt.Fprintf(&table, " %d: %.2f", n, l)
				if l > 1.2 && issued/n >= 1000 {
					t.Errorf("%d IDs/s %s: of %d shards the largest has %.2f times its share", rate, of.name, n, l)
				}
			}
		}
	}
	t.Log(table.String())
}
