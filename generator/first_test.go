package generator_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// fewSlots has rings of 32 slots, of 4 IDs each.
const fewSlots = "time=40@100ms,worker=4,tenant=1,sequence=2;epoch=2026-01-01"

// widerSlots has as many, of 16 IDs each.
const widerSlots = "time=40@100ms,worker=4,tenant=1,sequence=4;epoch=2026-01-01"

// TakeFirst takes from the tick that a look at each one finds, whatever was taken before, and in
// ticks of any size.
func TestTakeFirstIsTheFirstWithRoom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := must.Get(generator.ParseLayout(rapid.SampledFrom([]string{fewSlots, widerSlots}).Draw(rt, "layout")))(rt)
		capacity := 1 << l.Bits(generator.Sequence)
		floor := rapid.SampledFrom([]generator.Tick{0, 1000, l.MaxTick() - 200}).Draw(rt, "floor")
		ln := must.Get(generator.NewLane(l, 0, 1, floor))(rt)
		if rapid.Bool().Draw(rt, "roll") {
			ln.Roll()
		}
		now := floor + 1
		ln.Raise(floor + 150)
		tenant := rapid.Uint32Range(0, 1)
		n := rapid.IntRange(1, 20)
		rt.Repeat(map[string]func(*rapid.T){
			"advance": func(rt *rapid.T) { now = min(now+generator.Tick(rapid.IntRange(0, 40).Draw(rt, "by")), floor+160) },
			"take": func(rt *rapid.T) {
				tenant, n := tenant.Draw(rt, "tenant"), n.Draw(rt, "n")
				room := ln.Room(now)
				if run, _ := ln.Take(tenant, now, n); run.N != min(n, room) {
					rt.Fatalf("took %d of %d, and Room was %d", run.N, n, room)
				}
			},
			"take first": func(rt *rapid.T) {
				tenant, n := tenant.Draw(rt, "tenant"), n.Draw(rt, "n")
				from := now - generator.Tick(rapid.IntRange(-2, 50).Draw(rt, "back"))
				first, room, all := generator.Tick(0), 0, 0
				for tick := max(from, now-31, 1); tick <= now; tick++ {
					of, _ := ln.RoomFirst(tick, tick)
					if room == 0 {
						first, room = tick, of
					}
					all += of
				}
				if n, at := ln.RoomFirst(from, now); n != all || n > 0 && at != first {
					rt.Fatalf("RoomFirst is %d from tick %d on, want %d from %d on", n, at, all, first)
				}
				run, tick, out := ln.TakeFirst(tenant, from, now, n)
				switch {
				case room > 0:
					if out != generator.Issued || tick != first || run.N != min(n, room) {
						rt.Fatalf("took %d of tick %d (%v), want %d of %d", run.N, tick, out, min(n, room), first)
					}
					if parts, err := l.Decompose(run.First); err != nil || parts.Tick != tick || parts.Tenant != uint64(tenant) {
						rt.Fatalf("%d is %+v (%v), want tick %d of tenant %d", run.First, parts, err, tick, tenant)
					}
				case out == generator.Issued || run.N != 0:
					rt.Fatalf("took %d of tick %d, want none", run.N, tick)
				}
			},
			"": func(rt *rapid.T) {
				for tick := max(now-40, 0); tick < now+2; tick++ {
					_, ok := ln.NextRoom(tick, tick)
					if room := ln.Room(tick); ok != (room > 0) || room > capacity {
						rt.Fatalf("tick %d: room for %d, NextRoom says %v", tick, room, ok)
					}
				}
			},
		})
	})
}

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
