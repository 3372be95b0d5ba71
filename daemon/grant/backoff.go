package grant

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

const (
	// firstAgain is how long a holder waits after the first answer that no worker ID is to be had.
	// Each further one doubles that, up to againHeld where all worker IDs are held, since the answer
	// costs little and a session may end at any time, and up to againAhead where the free ones are
	// ahead of the clock.
	firstAgain = time.Second
	againHeld  = 1500 * time.Millisecond
	againAhead = 30 * time.Second
	// soonest is how soon after an answer a clock that steps has the holder ask again.
	soonest = 100 * time.Millisecond
)

// backoff is when a holder may ask for a worker ID again, after answers that none is to be had.
type backoff struct {
	pace *pace
	next atomic.Pointer[again] // nil: the last answer was another
	each time.Duration         // the last wait, before jitter; only the goroutine that asks uses it
}

// again is the wait after an answer. It ends at a time, when the clock has reached a tick, or when the
// clock has stepped.
type again struct {
	answered clockguard.Reading
	at       clockguard.Mono
	reached  generator.Tick
}

// none reports whether an answer says that there is no worker ID to be had, and begins the wait then.
func (b *backoff) none(answer error) bool {
	var held *coord.ExhaustedError
	var ahead *coord.AheadError
	next := again{answered: b.pace.now(), reached: math.MaxInt64}
	longest := againHeld
	switch {
	case errors.As(answer, &ahead):
		// A floor suits once it is at most restartWait ahead. The random part keeps daemons apart that
		// wait for the same floor.
		longest = againAhead
		apart := generator.Tick(b.pace.Random() * float64(ticks(b.pace.Layout, max(b.pace.RestartWait, lastRetry))))
		next.reached = ahead.Lowest - ticks(b.pace.Layout, b.pace.RestartWait) + apart
	case !errors.As(answer, &held):
		return false
	}
	b.each = min(max(firstAgain, 2*b.each), longest)
	next.at = next.answered.Mono + clockguard.Mono(b.each/2+time.Duration(b.pace.Random()*float64(b.each/2)))
	b.next.Store(&next)
	return true
}

// reset ends the wait: there was a worker ID to be had, or the servers do not answer.
func (b *backoff) reset() {
	b.each = 0
	b.next.Store(nil)
}

// waits reports whether the last answer was that none is to be had, however long ago.
func (b *backoff) waits() bool { return b.next.Load() != nil }

// over reports whether the holder may ask again.
func (b *backoff) over() bool {
	a := b.next.Load()
	if a == nil {
		return true
	}
	now := b.pace.now()
	waited := now.Mono - a.answered.Mono
	switch {
	case now.Mono >= a.at:
		return true
	case waited < clockguard.Mono(soonest):
		return false
	}
	step := time.Duration(now.Wall-a.answered.Wall) - time.Duration(waited)
	ahead := clockguard.Tolerance + time.Duration(waited)/8
	back := clockguard.Tolerance + time.Duration(waited)/2 // so slow is time that never goes back
	return b.pace.Layout.TickAt(now.Wall) >= a.reached || step < -back || step > ahead
}

// left is how long the wait still is, at the most.
func (b *backoff) left() time.Duration {
	if a := b.next.Load(); a != nil && !b.over() {
		return time.Duration(a.at - b.pace.now().Mono)
	}
	return 0
}
