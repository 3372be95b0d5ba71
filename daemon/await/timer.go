package await

import (
	"context"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// timer wakes any number of goroutines, and calls functions, with one that sleeps. A short sleep
// occupies a thread, so they cannot each sleep for themselves.
type timer struct {
	clock  clockguard.Clock
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	sleeps sync.WaitGroup
	sooner chan struct{} // gets one if something is due before the sleep ends

	mu       sync.Mutex
	due      map[clockguard.Mono]*alarm
	next     clockguard.Mono // the earliest, until which is slept
	sleeping bool            // the goroutine runs
}

// alarm is what is done at a time.
type alarm struct {
	rings chan struct{} // is closed
	calls []func()      // are called
}

func newTimer(clock clockguard.Clock) *timer {
	t := &timer{clock: clock, sooner: make(chan struct{}, 1), due: make(map[clockguard.Mono]*alarm)}
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
func (t *timer) after(d time.Duration) <-chan struct{} { return t.set(d, nil) }

// call has a function called once d has passed, which may not wait.
func (t *timer) call(d time.Duration, f func()) { t.set(d, f) }

func (t *timer) set(d time.Duration, f func()) <-chan struct{} {
	step := clockguard.Mono(grain)
	for step < clockguard.Mono(d/parts) {
		step *= 2
	}
	due := (t.clock.Now().Mono+clockguard.Mono(d))&^(step-1) + step
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.due[due]
	if a == nil {
		a = &alarm{rings: make(chan struct{})}
		t.due[due] = a
	}
	if f != nil {
		a.calls = append(a.calls, f)
	}
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
	return a.rings
}

// sleep does all that is due, until nothing more is.
func (t *timer) sleep() {
	for {
		calls, wait := t.wake()
		for _, f := range calls {
			f()
		}
		switch {
		case len(calls) > 0: // and may have set something
		case wait == 0:
			return
		default:
			clockguard.Pause(t.ctx, t.clock, wait, t.sooner)
		}
	}
}

// wake wakes whom it is due to wake, and returns what is to be called, or else how long it takes until
// the next is due; 0 if nothing is.
func (t *timer) wake() (calls []func(), wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.Now().Mono
	t.next = 0
	for due, a := range t.due {
		switch {
		case due <= now:
			close(a.rings)
			calls = append(calls, a.calls...)
			delete(t.due, due)
		case t.next == 0 || due < t.next:
			t.next = due
		}
	}
	if t.sleeping = (len(t.due) > 0 || len(calls) > 0) && t.ctx.Err() == nil; !t.sleeping {
		return nil, 0
	}
	return calls, t.next.Sub(now)
}

// close ends the sleep, and returns once it has.
func (t *timer) close() {
	t.cancel()
	t.sleeps.Wait()
}
