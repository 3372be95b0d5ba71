package serve

import (
	"context"
	"sync"

	"github.com/flakeward/flakeward/clockguard"
)

// never is later than all times.
const never = clockguard.Mono(1<<63 - 1)

// alarm is for clocks that the kernel does not know: it calls ring at a time that may be moved, on a goroutine of its own.
type alarm struct {
	clock clockguard.Clock
	ring  func() // must not block
	moved chan struct{}
	end   context.CancelFunc
	ended sync.WaitGroup

	mu     sync.Mutex
	due    clockguard.Mono // never: not at all
	asleep clockguard.Mono // until when the goroutine sleeps
	cut    context.CancelFunc
}

func newAlarm(clock clockguard.Clock, ring func()) *alarm {
	ctx, end := context.WithCancel(context.Background())
	a := &alarm{clock: clock, ring: ring, moved: make(chan struct{}, 1), end: end, due: never, asleep: never}
	a.ended.Add(1)
	go func() {
		defer a.ended.Done()
		a.run(ctx)
	}()
	return a
}

// close ends the goroutine and waits for it.
func (a *alarm) close() {
	a.end()
	a.ended.Wait()
}

// set moves the alarm to due. A later time costs nothing: the goroutine finds out when it wakes.
func (a *alarm) set(due clockguard.Mono) {
	a.mu.Lock()
	a.due = due
	sooner := due < a.asleep
	if sooner && a.cut != nil {
		a.cut()
	}
	a.mu.Unlock()
	if sooner {
		select {
		case a.moved <- struct{}{}:
		default:
		}
	}
}

func (a *alarm) run(ctx context.Context) {
	var sleepCtx context.Context
	var cut context.CancelFunc = func() {}
	defer func() { cut() }()
	for ctx.Err() == nil {
		if sleepCtx == nil || sleepCtx.Err() != nil {
			cut()
			sleepCtx, cut = context.WithCancel(ctx)
		}
		now := a.clock.Now().Mono
		a.mu.Lock()
		due := a.due
		if due <= now {
			a.due = never
		}
		a.asleep, a.cut = due, cut
		a.mu.Unlock()
		switch {
		case due <= now:
			a.ring()
		case due == never:
			select {
			case <-a.moved:
			case <-ctx.Done():
			}
		default:
			_ = a.clock.Sleep(sleepCtx, due.Sub(now)) // cut short: look again
		}
	}
}
