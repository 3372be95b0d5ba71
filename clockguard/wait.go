package clockguard

import (
	"context"
	"sync"
	"time"
)

// Waiter is a Clock that knows of all that is waited for, as that of a simulation does: its time
// passes only while everybody waits. Pause, Await and WithTimeout ask it; any other clock is served
// by goroutines and timers.
type Waiter interface {
	Clock

	// Pause is the function Pause.
	Pause(ctx context.Context, d time.Duration, signal <-chan struct{})

	// Await waits for a signal, however long that takes.
	Await(signal <-chan struct{})

	// WithTimeout is context.WithTimeout, on this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// Pause returns when d has passed on the clock, a signal has come (the channel may be nil), or
// ctx has ended.
func Pause(ctx context.Context, c Clock, d time.Duration, signal <-chan struct{}) {
	if w, ok := c.(Waiter); ok {
		w.Pause(ctx, d, signal)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	var listener sync.WaitGroup
	listener.Go(func() {
		select {
		case <-signal:
			cancel()
		case <-ctx.Done():
		}
	})
	_ = c.Sleep(ctx, d) // the caller looks again, whatever ended it
	cancel()
	listener.Wait()
}

// Await waits for a signal, however long that takes.
func Await(c Clock, signal <-chan struct{}) {
	if w, ok := c.(Waiter); ok {
		w.Await(signal)
		return
	}
	<-signal
}

// WithTimeout is context.WithTimeout, on the clock if that is a Waiter and in the machine's time
// otherwise: what is bounded is mostly an exchange with other machines.
func WithTimeout(ctx context.Context, c Clock, d time.Duration) (context.Context, context.CancelFunc) {
	if w, ok := c.(Waiter); ok {
		return w.WithTimeout(ctx, d)
	}
	return context.WithTimeout(ctx, d)
}
