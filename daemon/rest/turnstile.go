package rest

import (
	"context"
	"runtime"
	"sync"

	"github.com/flakeward/flakeward/daemon/queue"
)

// turnstile lets requests begin one after the other, and lets other goroutines run after each. So
// however many come at once, few of them can run at a time, and the event loop, which is one goroutine
// among them, waits for no more than those. Users have their turns, and a user's requests are in the
// order in which they came.
type turnstile struct {
	mu    sync.Mutex
	busy  bool         // somebody passes
	users []queue.User // for whom somebody waits, the next one first
	waits map[queue.User][]*entrant
}

// entrant is a request that waits.
type entrant struct {
	turn chan struct{} // closed when it is its turn
	gone bool          // it does not wait any more
}

// pass returns when it is the turn of the user's request, or false if ctx ends before.
func (t *turnstile) pass(ctx context.Context, u queue.User) bool {
	if e := t.begin(u); e != nil {
		select {
		case <-e.turn:
		case <-ctx.Done():
			if !t.leave(e) {
				t.next()
			}
			return false
		}
	}
	runtime.Gosched()
	t.next()
	return true
}

// begin returns nil if it is the request's turn, or else what it waits for.
func (t *turnstile) begin(u queue.User) *entrant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.busy {
		t.busy = true
		return nil
	}
	if t.waits == nil {
		t.waits = make(map[queue.User][]*entrant)
	}
	if len(t.waits[u]) == 0 {
		t.users = append(t.users, u)
	}
	e := &entrant{turn: make(chan struct{})}
	t.waits[u] = append(t.waits[u], e)
	return e
}

// leave reports whether the request no longer waits; false: it is its turn.
func (t *turnstile) leave(e *entrant) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.gone = true
	select {
	case <-e.turn:
		return false
	default:
		return true
	}
}

// next has the next one begin.
func (t *turnstile) next() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.users) > 0 {
		u := t.users[0]
		t.users = t.users[1:]
		e := t.waits[u][0]
		if t.waits[u] = t.waits[u][1:]; len(t.waits[u]) > 0 {
			t.users = append(t.users, u)
		} else {
			delete(t.waits, u)
		}
		if !e.gone {
			close(e.turn)
			return
		}
	}
	t.busy = false
}
