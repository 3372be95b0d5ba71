//go:build drill

package generator_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/must"
)

// held is a lane whose Takes of a tick that nobody took yet are held for so long.
func held(t *testing.T, floor generator.Tick, long time.Duration) *generator.Lane {
	t.Helper()
	l := must.Get(generator.ParseLayout("flakeward"))(t)
	ln := must.Get(generator.NewLane(l, 0, 1, floor))(t)
	t.Cleanup(fault.HoldEach(1, long))
	return ln
}

// TestDrillALaneClosedWhileATakeIsHeld: the Take comes back after the lane was closed, and gives
// nothing out. If this goroutine was too slow to close before that, the tick that is given is in
// what Close returns.
func TestDrillALaneClosedWhileATakeIsHeld(t *testing.T) {
	ln := held(t, 10, 50*time.Millisecond)
	ln.Raise(1000)
	done := make(chan struct{})
	var run generator.Run
	var out generator.Outcome
	go func() {
		defer close(done)
		run, out = ln.Take(0, 600, 1)
	}()
	// The Take has counted itself when it is held.
	for fault.Held() == 0 {
		select {
		case <-done:
			t.Fatal("the Take was not held")
		default:
		}
	}
	last := ln.Close().Or(-1)
	<-done
	if out == generator.Closed && run == (generator.Run{}) && last == 0 || out == generator.Issued && last == 600 {
		return
	}
	t.Errorf("the held Take of tick 600 gave %v, %v, and Close %d", run, out, last)
}

func TestDrillTheTakesThatAreHeld(t *testing.T) {
	ln := held(t, 0, time.Nanosecond)
	ln.Raise(10)
	for _, tick := range []generator.Tick{1, 1, 2, 11, 5, 5, 2} {
		ln.Take(0, tick, 1)
	}
	if n := fault.Held(); n != 3 {
		t.Errorf("%d Takes were held, want the first of ticks 1, 2 and 5", n)
	}
}
