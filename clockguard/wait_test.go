package clockguard_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
)

const aCentury = 100 * 365 * 24 * time.Hour

// Each of the three ends of a pause is enough, with a clock whose time does not come.
func TestPauseEnds(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(0, 0))
	signal := make(chan struct{}, 1)
	signal <- struct{}{}
	clockguard.Pause(t.Context(), clock, aCentury, signal)
	if len(signal) != 0 {
		t.Error("the signal that ended the pause was not taken")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	clockguard.Pause(ended, clock, aCentury, signal)
	clockguard.Pause(t.Context(), clock, 0, nil)
}

func TestAwaitTakesOneStroke(t *testing.T) {
	signal := make(chan struct{}, 2)
	signal <- struct{}{}
	signal <- struct{}{}
	clockguard.Await(clockguard.System{}, signal)
	if len(signal) != 1 {
		t.Errorf("%d signals are left, want 1", len(signal))
	}
}

func TestWithTimeoutOfTheMachine(t *testing.T) {
	ctx, cancel := clockguard.WithTimeout(t.Context(), clocktest.NewManual(time.Unix(0, 0)), 0)
	defer cancel()
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Errorf("%v, want DeadlineExceeded: the clock that stands still was asked", ctx.Err())
	}
}

// knowing is a Waiter that notes what it is asked.
type knowing struct {
	clockguard.System
	asked []time.Duration
}

func (k *knowing) Pause(_ context.Context, d time.Duration, _ <-chan struct{}) {
	k.asked = append(k.asked, d)
}
func (k *knowing) Await(<-chan struct{}) { k.asked = append(k.asked, math.MaxInt64) }
func (k *knowing) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	k.asked = append(k.asked, d)
	return ctx, func() {}
}

func TestWaiterIsAsked(t *testing.T) {
	k := &knowing{}
	clockguard.Pause(t.Context(), k, 1, nil)
	clockguard.Await(k, nil)
	_, cancel := clockguard.WithTimeout(t.Context(), k, 2)
	cancel()
	if len(k.asked) != 3 || k.asked[0] != 1 || k.asked[1] != math.MaxInt64 || k.asked[2] != 2 {
		t.Errorf("asked %v", k.asked)
	}
}
