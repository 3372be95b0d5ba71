package generator_test

import (
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The tests here are named after faults of well-known generators, by the numbers that
// docs/verification.md lists.

// TestHole5MarksInMillisecondsTicksInSeconds: a generator with ticks of a second kept its mark in
// milliseconds; its successor began the sequence anew in the same second. Here a mark is a tick, so
// the successor's first tick is the next second.
func TestHole5MarksInMillisecondsTicksInSeconds(t *testing.T) {
	l, first := openLane(t, "uidgenerator;epoch=2026-01-01", 0)
	clock := l.Epoch().Add(1000*time.Second + 200*time.Millisecond)
	run, outcome := first.Take(0, l.TickAt(clock.UnixNano()), 3)
	if outcome != generator.Issued {
		t.Fatal(outcome)
	}
	mark := first.Close().Or(-1)

	successor := must.Get(generator.NewLane(l, 0, 1, mark))(t)
	successor.Raise(l.MaxTick())
	last := run.First + int64(run.N-1)*l.Step()
	for step := range 10 {
		now := clock.Add(time.Duration(step) * 100 * time.Millisecond) // to 1001.1 s
		run, outcome := successor.Take(0, l.TickAt(now.UnixNano()), 1)
		switch sameSecond := now.Before(l.Epoch().Add(1001 * time.Second)); {
		case sameSecond && outcome != generator.BelowFloor:
			t.Fatalf("%s: the successor's answer is %s", now, outcome)
		case !sameSecond && (outcome != generator.Issued || run.First <= last):
			t.Fatalf("%s: the successor's answer is %s, ID %d after %d", now, outcome, run.First, last)
		}
	}
}

// TestHole8LastSlotToTwoThreads: a ring buffer handed its last ID to two threads. Here goroutines
// race for the last number of each of many ticks, and exactly one has it.
func TestHole8LastSlotToTwoThreads(t *testing.T) {
	const (
		goroutines = 8
		ticks      = 5000
	)
	_, ln := openLane(t, "flakeward", 0)
	var issued [ticks + 1]atomic.Int32
	var turn atomic.Int64 // the tick being raced for
	var arrived atomic.Int64
	var wg sync.WaitGroup
	prepare := func(tick int64) {
		if run, _ := ln.Take(0, generator.Tick(tick), 4095); run.N != 4095 {
			t.Errorf("tick %d: %d numbers prepared", tick, run.N)
		}
		turn.Store(tick)
	}
	prepare(1)
	for range goroutines {
		wg.Go(func() {
			for tick := int64(1); tick <= ticks; tick++ {
				for turn.Load() < tick {
					yield()
				}
				run, outcome := ln.Take(0, generator.Tick(tick), 2)
				if outcome == generator.Issued {
					issued[tick].Add(int32(run.N))
				} else if outcome != generator.Full {
					t.Errorf("tick %d: %s", tick, outcome)
				}
				if arrived.Add(1)%goroutines == 0 && tick < ticks {
					prepare(tick + 1)
				}
			}
		})
	}
	wg.Wait()
	for tick := 1; tick <= ticks; tick++ {
		if got := issued[tick].Load(); got != 1 {
			t.Fatalf("tick %d: the last number was issued %d times", tick, got)
		}
	}
}

// TestHole8TimeBitsIntoSign: a generator never looked for the end of its time bits and ran into the
// sign. Here the last tick is issued whole, nothing after it is, and no ceiling changes that.
func TestHole8TimeBitsIntoSign(t *testing.T) {
	for _, name := range generator.Presets() {
		l := parse(t, name)
		ln := must.Get(generator.NewLane(l, 0, l.Workers()-1, l.MaxTick()-1))(t)
		ln.Raise(math.MaxInt64)
		if ln.Ceiling() != l.MaxTick() {
			t.Errorf("%s: the ceiling is %d, the last tick %d", name, ln.Ceiling(), l.MaxTick())
		}
		run, outcome := ln.Take(0, l.MaxTick(), math.MaxInt)
		if outcome != generator.Issued || run.N != 1<<l.Bits(generator.Sequence) {
			t.Errorf("%s: the last tick gives %d IDs, %s", name, run.N, outcome)
		}
		if last := run.First + int64(run.N-1)*l.Step(); run.First < 0 || last < run.First {
			t.Errorf("%s: the last tick's IDs are %d to %d", name, run.First, last)
		}
		for _, tick := range []generator.Tick{l.MaxTick() + 1, l.MaxTick() + 2, math.MaxInt64} {
			if run, outcome := ln.Take(0, tick, 1); outcome != generator.AboveCeiling || run.N != 0 {
				t.Errorf("%s: tick %d after the end gives %+v, %s", name, tick, run, outcome)
			}
		}
		if _, ok := ln.NextRoom(l.MaxTick(), math.MaxInt64); ok {
			t.Errorf("%s: there is room after the end", name)
		}
	}
}

// TestHole13WorkerShiftedBeforeWidened: a generator shifted the worker ID in a
// 16-bit type before it widened it, so that workers 1 and 17 gave equal IDs at
// 12 sequence bits. Here all workers of a tick differ.
func TestHole13WorkerShiftedBeforeWidened(t *testing.T) {
	for _, text := range []string{"flakeward", "twitter", "sonyflake", "uidgenerator", "instagram", "js53"} {
		l := parse(t, text)
		seen := make(map[int64]int)
		for worker := range min(l.Workers(), 1<<16) {
			ln := must.Get(generator.NewLane(l, 0, worker, 0))(t)
			ln.Raise(1)
			run, outcome := ln.Take(0, 1, 1)
			if outcome != generator.Issued {
				t.Fatalf("%s: worker %d: %s", text, worker, outcome)
			}
			if other, dup := seen[run.First]; dup {
				t.Fatalf("%s: workers %d and %d both give %d", text, other, worker, run.First)
			}
			seen[run.First] = worker
			if parts, err := l.Decompose(run.First); err != nil || parts.Worker != uint64(worker) {
				t.Fatalf("%s: worker %d gives %d, which is worker %d (%v)", text, worker, run.First, parts.Worker, err)
			}
		}
	}
}
