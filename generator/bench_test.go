package generator_test

import (
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// sink keeps the compiler from dropping what a benchmark computes.
var sink int64

// openLane returns a lane of the layout whose ceiling is MaxTick.
func openLane(tb testing.TB, layout string, floor generator.Tick) (*generator.Layout, *generator.Lane) {
	tb.Helper()
	l := must.Get(generator.ParseLayout(layout))(tb)
	ln := must.Get(generator.NewLane(l, 0, 1, floor))(tb)
	if !ln.Raise(l.MaxTick()) {
		tb.Fatal("a new lane refuses its ceiling")
	}
	return l, ln
}

// wideSequence has room for 1,048,576 IDs in each millisecond, so that no
// benchmark that uses it ever waits for a tick.
const wideSequence = "time=41@1ms,worker=2,sequence=20;epoch=2026-01-01"

// BenchmarkTimeNow is the yardstick for BenchmarkTakeWithClock.
func BenchmarkTimeNow(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sink += time.Now().UnixNano()
	}
}

// BenchmarkTake is Take alone: single IDs, a new tick every 2^20.
func BenchmarkTake(b *testing.B) {
	_, ln := openLane(b, wideSequence, 0)
	b.ReportAllocs()
	var i int64
	for b.Loop() {
		i++
		run, outcome := ln.Take(0, generator.Tick(1+i>>20), 1)
		if outcome != generator.Issued {
			b.Fatal(outcome)
		}
		sink += run.First
	}
}

// BenchmarkTakeRun takes 100 IDs at a time.
func BenchmarkTakeRun(b *testing.B) {
	_, ln := openLane(b, wideSequence, 0)
	b.ReportAllocs()
	var i int64
	for b.Loop() {
		i++
		run, outcome := ln.Take(0, generator.Tick(1+i>>13), 100)
		if outcome != generator.Issued || run.N != 100 {
			b.Fatal(outcome, run.N)
		}
		sink += run.First
	}
}

// BenchmarkTakeWithClock is what one ID costs its caller: a clock reading, its
// tick, and Take.
func BenchmarkTakeWithClock(b *testing.B) {
	l, ln := openLane(b, wideSequence, 0)
	b.ReportAllocs()
	for b.Loop() {
		run, outcome := ln.Take(0, l.TickAt(time.Now().UnixNano()), 1)
		if outcome != generator.Issued {
			b.Fatal(outcome)
		}
		sink += run.First
	}
}

// BenchmarkCeiling issues single IDs as fast as the layout allows: 4,096 in
// each millisecond.
func BenchmarkCeiling(b *testing.B) {
	b.Run("goroutines=1", func(b *testing.B) { benchmarkCeiling(b, 1) })
	b.Run("goroutines=8", func(b *testing.B) { benchmarkCeiling(b, 8) })
}

func benchmarkCeiling(b *testing.B, goroutines int) {
	const perSecond = 4_096_000
	l, ln := openLane(b, "flakeward", 0)
	b.ReportAllocs()
	b.ResetTimer()
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	for range goroutines {
		wg.Go(func() {
			from := l.TickAt(time.Now().UnixNano())
			for left.Add(-1) >= 0 {
				from = takeOne(l, ln, from)
			}
		})
	}
	wg.Wait()
	rate := float64(b.N) / b.Elapsed().Seconds()
	b.ReportMetric(rate, "IDs/s")
	b.ReportMetric(100*rate/perSecond, "%ofceiling")
}

// takeOne takes one ID at the first tick from "from" up to now that has room,
// and waits for the next tick if there is none. It returns the tick taken: the
// caller's ticks never go down. A caller that wakes up late finds the ticks
// that it slept over still unused.
func takeOne(l *generator.Layout, ln *generator.Lane, from generator.Tick) generator.Tick {
	if _, outcome := ln.Take(0, from, 1); outcome == generator.Issued {
		return from
	}
	for {
		unixNanos := time.Now().UnixNano()
		now := l.TickAt(unixNanos)
		if t, ok := ln.NextRoom(0, from, now); ok {
			if _, outcome := ln.Take(0, t, 1); outcome == generator.Issued {
				return t
			}
			continue
		}
		from = max(from, now+1)
		wait := syscall.NsecToTimespec(l.UnixNanos(from) - unixNanos)
		_ = syscall.Nanosleep(&wait, nil) // woken early, it looks again
	}
}
