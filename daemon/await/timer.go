package await

import (
	"context"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// timer wakes any number of goroutines with one that sleeps. A short sleep occupies a thread, so
// they cannot each sleep for themselves.
type timer struct {
	clock  clockguard.Clock
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	sleeps sync.WaitGroup
	sooner chan struct{} // gets one if something is due before the sleep ends

	mu       sync.Mutex
	due      map[clockguard.Mono]chan struct{} // each closed when it is due
	next     clockguard.Mono                   // the earliest, until which is slept
	sleeping bool                              // the goroutine runs
}

func newTimer(clock clockguard.Clock) *timer {
	t := &timer{clock: clock, sooner: make(chan struct{}, 1), due: make(map[clockguard.Mono]chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// A time may be late by grain, or by 1/256 of the wait, so that those of one tick share a channel, and
// waits that were given up are few.
const (
	grain = 1 << 14 * time.Nanosecond
	parts = 256
)

// after returns what is closed once d has passed, or never after close.
func (t *timer) after(d time.Duration) <-chan struct{} {
	step := clockguard.Mono(grain)
	for step < clockguard.Mono(d/parts) {
		step *= 2
	}
	due := (t.clock.Now().Mono+clockguard.Mono(d))&^(step-1) + step
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.due[due]
	if c != nil {
		return c
	}
	c = make(chan struct{})
	t.due[due] = c
	switch {
	case t.ctx.Err() != nil:
	case !t.sleeping:
		t.sleeping = true
		t.sleeps.Go(t.sleep)
	case due < t.next:
		select {
		case t.sooner <- struct{}{}:
		default:
		}
	}
	return c
}

// sleep wakes all that is due, until nothing more is.
func (t *timer) sleep() {
	for {
		wait := t.wake()
		if wait == 0 {
			return
		}
		clockguard.Pause(t.ctx, t.clock, wait, t.sooner)
	}
}

// wake wakes what is due, and returns how long it takes until the next is; 0 if there is none.
func (t *timer) wake() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now().Mono
	t.next = 0
	for due, c := range t.due {
		switch {
		case due <= now:
			close(c)
			delete(t.due, due)
		case t.next == 0 || due < t.next:
			t.next = due
		}
	}
	if t.sleeping = len(t.due) > 0 && t.ctx.Err() == nil; !t.sleeping {
		return 0
	}
	return t.next.Sub(now)
}

// close ends the sleep, and returns once it has.
func (t *timer) close() {
	t.cancel()
	t.sleeps.Wait()
}
