package generator_test

import (
	"testing"

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
