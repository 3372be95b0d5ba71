package await

import (
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

	mu      sync.Mutex
	waiting map[*issue.Connection]chan struct{} // each closed when its request is named
	next    clockguard.Mono                     // when the source deals again,
	dealing bool                                // if it does
}

func newTurns(source Source, clock clockguard.Clock, timer *timer) *turns {
	t := &turns{clock: clock, timer: timer, waiting: make(map[*issue.Connection]chan struct{})}
	t.source, _ = source.(dealer)
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
	if !t.dealing || due < t.next {
		t.dealing, t.next = true, due
		t.timer.call(again, t.deal)
	}
	return named
}

func (t *turns) leave(c *issue.Connection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.waiting, c)
}

// deal has the source deal, and again as often as it wants, until nobody waits.
func (t *turns) deal() {
	if !t.due() {
		return
	}
	again := t.source.Deal(t.name)
	if again <= 0 {
		again = vagueWait
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.next = t.clock.Now().Mono + clockguard.Mono(again)
	t.timer.call(again, t.deal)
}

// due reports whether the source is to deal now: somebody waits, and it did not deal earlier than was
// meant at first.
func (t *turns) due() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.clock.Now().Mono < t.next {
		return false
	}
	t.dealing = len(t.waiting) > 0
	return t.dealing
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
