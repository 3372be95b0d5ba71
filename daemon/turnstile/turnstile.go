// Package turnstile lets work begin in turn, so that much of it at once holds up nothing else.
package turnstile

import (
	"context"
	"runtime"
	"sync"
)

// Turnstile lets goroutines pass one after the other, and lets others run after each. So however many
// come at once, few of them can run at a time, and the event loop, which is one goroutine among them,
// waits for no more than those. Users, which are comparable values, have their turns, and what a user
// has begun passes in the order in which it came. The zero value is ready for use.
type Turnstile struct {
	mu    sync.Mutex
	busy  bool  // somebody passes
	users []any // for whom somebody waits, the next one first
	waits map[any][]*entrant
}

// entrant is a goroutine that waits.
type entrant struct {
	turn chan struct{} // closed when it is its turn
	gone bool          // it does not wait any more
}

// Pass returns true when it is the caller's turn, or false if ctx ends before.
func (t *Turnstile) Pass(ctx context.Context, u any) bool {
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

// begin returns nil if it is the caller's turn, or else what it waits for.
func (t *Turnstile) begin(u any) *entrant {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.busy {
		t.busy = true
		return nil
	}
	if t.waits == nil {
		t.waits = make(map[any][]*entrant)
	}
	if len(t.waits[u]) == 0 {
		t.users = append(t.users, u)
	}
	e := &entrant{turn: make(chan struct{})}
	t.waits[u] = append(t.waits[u], e)
	return e
}

// leave reports whether it no longer waits; false: it is its turn.
func (t *Turnstile) leave(e *entrant) bool {
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

// Waiting is how many wait for the user's turns, some of whom may have gone.
func (t *Turnstile) Waiting(u any) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.waits[u])
}

// Hold has all wait until the function that it returns is called: for tests.
func (t *Turnstile) Hold(u any) (release func()) {
	if e := t.begin(u); e != nil {
		<-e.turn
	}
	return t.next
}

// next has the next one begin.
func (t *Turnstile) next() {
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
