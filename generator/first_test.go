package generator_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// fewSlots has rings of 32 slots, of 4 IDs each.
const fewSlots = "time=40@100ms,worker=4,tenant=1,sequence=2;epoch=2026-01-01"

func TestTakeFirstOutside(t *testing.T) {
	_, ln := openLane(t, fewSlots, 1000)
	if _, _, out := ln.TakeFirst(2, 1001, 1002, 1); out != generator.BadTenant {
		t.Errorf("a tenant that there is not: %v", out)
	}
	if _, _, out := ln.TakeFirst(0, 900, 1000, 1); out != generator.Full {
		t.Errorf("at the floor: %v", out)
	}
	if _, tick, out := ln.TakeFirst(0, 900, 1020, 1); out != generator.Issued || tick != 1001 {
		t.Errorf("from below the floor: tick %d, %v", tick, out)
	}
	ln.Close()
	if _, _, out := ln.TakeFirst(0, 1001, 1020, 1); out != generator.Closed {
		t.Errorf("closed: %v", out)
	}
}

// A tick whose slot holds a later one is passed over, as one that is used up is.
func TestTakeFirstAfterAPassedTick(t *testing.T) {
	_, ln := openLane(t, fewSlots, 0)
	ln.Take(0, 18+32, 1)
	ln.Take(0, 19, 4)
	if run, tick, out := ln.TakeFirst(0, 18, 30, 3); out != generator.Issued || tick != 20 || run.N != 3 {
		t.Errorf("took %d of tick %d (%v), want 3 of tick 20", run.N, tick, out)
	}
	if run, tick, out := ln.TakeFirst(0, 18, 30, 3); out != generator.Issued || tick != 20 || run.N != 1 {
		t.Errorf("then took %d of tick %d (%v), want the one that tick 20 has left", run.N, tick, out)
	}
}

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
