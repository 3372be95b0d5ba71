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

// turns wakes the callers whose requests the source names, so that of thousands that wait in turn
// only those try again that get something.
type turns struct {
	source dealer // nil: each request is tried again and again
	clock  clockguard.Clock

	mu      sync.Mutex
	waiting map[*issue.Connection]chan struct{} // each closed when its request is named
	next    clockguard.Mono                     // when the source deals again,
	dealing bool                                // if it does
	cancel  func()                              // ends the wait for that
}

func newTurns(source Source, clock clockguard.Clock) *turns {
	t := &turns{clock: clock, waiting: make(map[*issue.Connection]chan struct{}), cancel: func() {}}
	t.source, _ = source.(dealer)
	return t
}

// wait returns what is closed once the source names the connection's request, which may get
// something after again. The caller calls leave in any case.
func (t *turns) wait(c *issue.Connection, again time.Duration) <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	named := make(chan struct{})
	t.waiting[c] = named
	if !t.dealing || t.after(again) < t.next {
		t.dealAfter(again)
	}
	return named
}

func (t *turns) after(d time.Duration) clockguard.Mono {
	return t.clock.Now().Mono + clockguard.Mono(d)
}

func (t *turns) leave(c *issue.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, c)
}

// dealAfter has deal called once d has passed, and not when it was to be called before. The caller
// holds mu.
func (t *turns) dealAfter(d time.Duration) {
	t.cancel()
	t.dealing, t.next = true, t.after(d)
	due, cancel := clockguard.WithTimeout(context.Background(), t.clock, d)
	stop := context.AfterFunc(due, t.deal)
	t.cancel = func() {
		stop()
		cancel()
	}
}

// deal has the source deal, and again as often as it wants, until nobody waits.
func (t *turns) deal() {
	t.mu.Lock()
	t.dealing = len(t.waiting) > 0
	dealing := t.dealing
	t.mu.Unlock()
	if !dealing {
		return
	}
	again := t.source.Deal(t.name)
	if again <= 0 {
		again = vagueWait
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.dealAfter(again)
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
