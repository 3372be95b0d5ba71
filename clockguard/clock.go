// Package clockguard keeps a daemon safe from its own clock: a clock whose wall and monotonic
// readings come together, known time (the documents call it trusted time), which is a wall clock
// that is not believed when it steps ahead, and two decisions: whether to believe it, and what to
// do while it is behind what a lane may issue.
//
// Nothing here holds a lock while it waits, and uniqueness rests on none of it:
// the guard chooses between order, delay and another worker ID, while the
// lane's floor, ceiling and slots decide what may be issued at all.
package clockguard

import (
	"context"
	"math"
	"time"
)

// Mono is a point on the monotonic clock: nanoseconds since an arbitrary start
// that is the same for all readings of one process. Only differences mean
// something. On Linux it stands still while the machine is suspended.
type Mono int64

// Sub returns how long after u the point m lies.
func (m Mono) Sub(u Mono) time.Duration { return time.Duration(m - u) }

// Reading is both clocks, read as close together as the platform allows. Under
// load the two were seen 8 ms apart.
type Reading struct {
	Wall int64 // nanoseconds since 1970-01-01T00:00:00Z; may step either way
	Mono Mono  // never goes back
}

// Clock tells the time and waits.
type Clock interface {
	// Now reads both clocks. It allocates nothing and never blocks.
	Now() Reading

	// Sleep returns nil once d has passed on the monotonic clock, never
	// earlier, whatever the wall clock does meanwhile. It returns ctx.Err()
	// if ctx ended first, or had ended already. A d of 0 or less does not wait.
	Sleep(ctx context.Context, d time.Duration) error
}

// since returns a - b, saturating instead of wrapping round.
func since(a, b int64) int64 {
	d := a - b
	if (a >= b) != (d >= 0) {
		if a >= b {
			return math.MaxInt64
		}
		return math.MinInt64
	}
	return d
}
