package issue

import (
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// The next ID exceeds the highest, or, once the clock is further back than may be slept for, the
// highest since then.
func TestMinimumOfAnOrder(t *testing.T) {
	const maxSleep, own, other = 5, 1, 2
	var o Order
	want := func(what string, tick, same, another generator.Tick) {
		t.Helper()
		if got := o.minimum(own, tick, maxSleep); got != same {
			t.Errorf("%s, at tick %d: minimum tick %d for the same worker ID, want %d", what, tick, got, same)
		}
		if got := o.minimum(other, tick, maxSleep); got != another {
			t.Errorf("%s, at tick %d: minimum tick %d for another worker ID, want %d", what, tick, got, another)
		}
	}
	want("no ID", 100, 1, 1)
	o.record(own, 100, maxSleep)
	want("an ID of tick 100", 100, 100, 101)
	want("a step back that may be slept for", 95, 100, 101)
	want("a longer step back", 94, 1, 1)
	o.record(own, 60, maxSleep)
	o.record(own, 58, maxSleep)
	want("an ID after the step back", 60, 60, 61)
	want("the clock is right again", 100, 100, 101)
	o.record(own, 101, maxSleep)
	want("a higher ID, and a step back again", 60, 1, 1)
}
