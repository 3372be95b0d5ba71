package clockguard

import (
	"context"
	"time"
)

// Go's timers are served by the network poller, which rounds a short wait up to its own granularity
// of about 1 ms; the kernel's nanosleep is late by well under 0.1 ms but cannot be interrupted. So
// the tail of every wait is a nanosleep, short enough that a context which ends meanwhile is still
// honoured promptly, and what comes before the tail is a timer. A long wait has no tail: to be late
// by 1 ms does not matter to it, and the tail makes the runtime hand over the goroutine's
// processor, which was a third of what an idle daemon cost.
const (
	longestPrecise = 2 * time.Millisecond    // waits up to here need no timer
	preciseTail    = 1500 * time.Microsecond // left over by the timer of a longer wait
	shortestCoarse = 50 * time.Millisecond   // waits from here on are the timer's alone
)

// base is where System's monotonic clock starts.
var base = time.Now() //nolint:forbidigo // this is the clock that all others are injected for

// System is the machine's clock. The zero value is ready for use, by any number of goroutines.
type System struct{}

var _ Clock = System{}

// Now reads both clocks with one call.
func (System) Now() Reading {
	t := time.Now() //nolint:forbidigo // this is the clock that all others are injected for
	return Reading{Wall: t.UnixNano(), Mono: Mono(t.Sub(base))}
}

// Sleep waits as Clock describes. A context that ends during the last 2 ms of
// a wait is noticed at the wait's end. During those it occupies a thread, so
// short waits of many goroutines are better shared.
func (s System) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	until := s.Now().Mono + Mono(d)
	if d > longestPrecise {
		tail := time.Duration(preciseTail)
		if d >= shortestCoarse {
			tail = 0
		}
		timer := time.NewTimer(d - tail) //nolint:forbidigo // this is the clock that all others are injected for
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	// A signal ends a nanosleep early, hence the loop.
	for left := until.Sub(s.Now().Mono); left > 0; left = until.Sub(s.Now().Mono) {
		if err := ctx.Err(); err != nil {
			return err
		}
		pause(left)
	}
	return nil
}
