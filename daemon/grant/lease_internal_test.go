package grant

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// What is known to be issued from a worker ID is the most that any lane has issued, in whatever
// order they ended.
func TestIssuedIsTheMost(t *testing.T) {
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	k := New(Config{Layout: layout, Clock: clocktest.NewManual(time.Now())}, nil)
	for _, l := range []struct {
		worker      int
		floor, last generator.Tick
	}{{1, 0, 20}, {1, 0, 10}, {2, 30, 30}} {
		lane := must.Get(generator.NewLane(layout, 0, l.worker, l.floor))(t)
		lane.Raise(l.last)
		lane.Take(0, l.last, 1)
		if last := k.end(lease{worker: l.worker, lane: lane}); last != k.issued[l.worker] || last == (generator.Last{}) {
			t.Fatalf("ended at %v, and known is %v", last, k.issued[l.worker])
		}
	}
	for worker, want := range []generator.Tick{-1, 20, 0} { // of 0 no lane was ended
		if got := k.issued[worker].Or(-1); got != want {
			t.Errorf("worker ID %d is known to be issued from up to %d, want %d", worker, got, want)
		}
	}
}
