package await

import (
	"context"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
)

// dealer is a source whose requests wait in turn: issue.Issuer's Deal.
type dealer interface {
	Deal(named func(*issue.Connection)) (again time.Duration)
}

// turns wakes the callers whose requests the source names, so that of thousands that wait in turn only
// those try again that get something.
type turns struct {
	source dealer // nil: each request is tried again and again
	clock  clockguard.Clock
	timer  *timer
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	deals  sync.WaitGroup
	sooner chan struct{} // gets one if the source is to deal before it said

	mu      sync.Mutex
	waiting map[*issue.Connection]chan struct{} // each closed when its request is named
	next    clockguard.Mono                     // when the source deals again
	dealing bool                                // the goroutine runs
}

func newTurns(source Source, clock clockguard.Clock, timer *timer) *turns {
	t := &turns{clock: clock, timer: timer, sooner: make(chan struct{}, 1), waiting: make(map[*issue.Connection]chan struct{})}
	t.source, _ = source.(dealer)
	t.ctx, t.cancel = context.WithCancel(context.Background())
	return t
}

// wait returns what is closed once the source names the connection's request, which may get something
// after again. The caller calls leave in any case.
func (t *turns) wait(c *issue.Connection, again time.Duration) <-chan struct{} {
	due := t.clock.Now().Mono + clockguard.Mono(again)
	t.mu.Lock()
	defer t.mu.Unlock()
	named := make(chan struct{})
	t.waiting[c] = named
	switch {
	case t.ctx.Err() != nil:
	case !t.dealing:
		t.dealing, t.next = true, due
		t.deals.Go(t.deal)
	case due < t.next:
		t.next = due
		select {
		case t.sooner <- struct{}{}:
		default:
		}
	}
	return named
}

func (t *turns) leave(c *issue.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, c)
}

// deal has the source deal as often as it wants, until nobody waits.
func (t *turns) deal() {
	for {
		wait := t.left()
		if wait < 0 {
			return
		}
		if wait > 0 {
			select {
			case <-t.timer.after(wait):
			case <-t.sooner:
			case <-t.ctx.Done():
			}
			continue
		}
		again := t.source.Deal(t.name)
		if again <= 0 {
			again = vagueWait
		}
		t.mu.Lock()
		t.next = t.clock.Now().Mono + clockguard.Mono(again)
		t.mu.Unlock()
	}
}

// left is how long it takes until the source deals again; below 0: nobody waits for that.
func (t *turns) left() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dealing = len(t.waiting) > 0 && t.ctx.Err() == nil; !t.dealing {
		return -1
	}
	return max(0, t.next.Sub(t.clock.Now().Mono))
}

// name wakes the caller of a request. A caller that does not wait yet is named again the next time.
func (t *turns) name(c *issue.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if named := t.waiting[c]; named != nil {
		close(named)
		delete(t.waiting, c)
	}
}

// close ends the dealing, and returns once it has.
func (t *turns) close() {
	t.cancel()
	t.deals.Wait()
}
