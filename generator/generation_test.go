package generator_test

import (
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// boundLane is openLane in a machine of generation 7.
func boundLane(tb testing.TB, layout string, floor generator.Tick) (*generator.Lane, *atomic.Uint64) {
	tb.Helper()
	_, ln := openLane(tb, layout, floor)
	now := new(atomic.Uint64)
	now.Store(7)
	ln.Bind(generator.Generation{Now: now, Then: 7})
	return ln, now
}

func TestACopyOfTheMachineGivesNothing(t *testing.T) {
	for name, copied := range map[string]uint64{"the next generation": 8, "an earlier one": 0, "one of other high bits": 1<<63 | 7} {
		ln, now := boundLane(t, "flakeward", 100)
		if run, out := ln.Take(0, 500, 2); out != generator.Issued || run.N != 2 || ln.Closed() {
			t.Fatalf("%s: before: %+v, %s, closed %v", name, run, out, ln.Closed())
		}
		if _, at, out := ln.TakeFirst(0, 490, 499, 1); out != generator.Issued || at != 490 {
			t.Fatalf("%s: before: tick %d, %s", name, at, out)
		}
		now.Store(copied)
		for _, tick := range []generator.Tick{499, 500, 501, 9000} {
			if run, out := ln.Take(0, tick, 2); out != generator.Closed || run != (generator.Run{}) {
				t.Errorf("%s: Take at tick %d gives %+v, %s", name, tick, run, out)
			}
		}
		// In a tenant's first ring, at a tick begun before, and at one that nobody used.
		for _, from := range []generator.Tick{490, 495, 510} {
			if run, _, out := ln.TakeFirst(0, from, from+3, 1); out != generator.Closed || run != (generator.Run{}) {
				t.Errorf("%s: TakeFirst from tick %d gives %+v, %s", name, from, run, out)
			}
		}
		if !ln.Closed() || ln.Highest() != 500 {
			t.Errorf("%s: closed %v, highest %d, want 500", name, ln.Closed(), ln.Highest())
		}
		// What a copy took and threw away counts: too high is right, too low is not.
		if last := ln.Close().Or(-1); last < 500 {
			t.Errorf("%s: Close returns %d after tick 500 was given", name, last)
		}
	}
}
