package generator_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// Goroutines that look for what is left, and others that take as the clock goes, use up every
// number exactly once.
func TestNothingIsLeftAndNothingTwice(t *testing.T) {
	const ticks, capacity = 32, 1 << 8
	l, ln := openLane(t, "time=40@100ms,worker=4,sequence=8;epoch=2026-01-01", 0)
	var seen [ticks * capacity]atomic.Bool
	note := func(run generator.Run) {
		for i := range run.N {
			parts, err := l.Decompose(run.First + int64(i))
			if err != nil || parts.Tick < 1 || parts.Tick > ticks || seen[int(parts.Tick-1)*capacity+int(parts.Sequence)].Swap(true) {
				t.Errorf("%+v (%v) is outside or was issued before", parts, err)
				return
			}
		}
	}
	var clock atomic.Int64
	clock.Store(1)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { // the clock goes on when half of a tick is used
			for i := 0; clock.Load() < ticks && !t.Failed(); i++ {
				now := clock.Load()
				run, _ := ln.Take(0, generator.Tick(now), 1+i%7)
				note(run)
				if i%(capacity/64) == 0 {
					clock.CompareAndSwap(now, now+1)
				}
				yield()
			}
		})
		wg.Go(func() {
			for i := 0; !t.Failed(); i++ {
				now := generator.Tick(clock.Load())
				run, _, out := ln.TakeFirst(0, now-generator.Tick(i%ticks), now, 1+i%5)
				note(run)
				if out == generator.Full && now == ticks && i%ticks == ticks-1 {
					return
				}
			}
		})
	}
	wg.Wait()
	for i := range seen {
		if !t.Failed() && !seen[i].Load() {
			t.Errorf("sequence %d of tick %d is left", i%capacity, 1+i/capacity)
		}
	}
}
