package generator_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// FuzzBounds: between the lowest and the highest ID of a span lie exactly the IDs of its ticks.
func FuzzBounds(f *testing.F) {
	f.Add("twitter", int64(1656432460105000000), int64(1656432460205000000))
	f.Add("uidgenerator", int64(1463702400000000000), int64(1)<<62)
	f.Add("sonyflake", int64(-1), int64(1)<<62)
	f.Add("uidgenerator", int64(1463702400000000000), int64(1463702400000000000))
	f.Fuzz(func(t *testing.T, text string, from, to int64) {
		l, err := generator.ParseLayout(text)
		if err != nil {
			return
		}
		lowest, highest, err := l.Bounds(time.Unix(0, from), time.Unix(0, to))
		if err != nil {
			if lowest != 0 || highest != 0 {
				t.Errorf("%s: %d to %d, %v", l, lowest, highest, err)
			}
			return
		}
		first, last := max(l.TickAt(from), 0), min(l.TickAt(to), l.MaxTick())
		for _, want := range []struct {
			id   int64
			tick generator.Tick
		}{{lowest, first}, {highest, last}} {
			if parts, err := l.Decompose(want.id); err != nil || parts.Tick != want.tick {
				t.Errorf("%s: from %d to %d: %d is of tick %d, %v; want %d", l, from, to, want.id, parts.Tick, err, want.tick)
			}
		}
		if parts, err := l.Decompose(lowest - 1); err == nil && parts.Tick >= first {
			t.Errorf("%s: %d is below the span, of tick %d", l, lowest-1, parts.Tick)
		}
		if parts, err := l.Decompose(highest + 1); err == nil && parts.Tick <= last {
			t.Errorf("%s: %d is above the span, of tick %d", l, highest+1, parts.Tick)
		}
	})
}
